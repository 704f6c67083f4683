"""F-CONF-5: the suite judges strictly, and lists the parts it could not run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance import __main__ as suite
from conformance import official, peers
from conformance.peers.install import CannotInstall
from conformance.results import FAILED, PASSED, Row
from conformance.websocket import autobahn


def test_the_pins_are_exact() -> None:
    for path in (peers.PINS / "python").glob("*.txt"):
        for line in path.read_text("utf-8").splitlines():
            assert re.match(r"#|[a-z-]+==[0-9.]+( #.*)?$", line), f"{path.name}: {line}"
    for path in peers.PINS.glob("node-*/package.json"):
        package = json.loads(path.read_text("utf-8"))
        pins = {**package["dependencies"], **package.get("optionalDependencies", {})}
        assert not [pin for pin in pins.items() if not re.match(r"[0-9.]+(-alpha\.\d+)?$", pin[1])]


def test_the_locks_name_no_place_to_download_from() -> None:
    for path in peers.PINS.glob("node-*/package-lock.json"):
        for name, package in json.loads(path.read_text("utf-8"))["packages"].items():
            assert "resolved" not in package, name
            assert not name or "integrity" in package, name


def test_every_server_belongs_to_something_that_can_be_installed() -> None:
    assert {server.environment for server in peers.SERVERS.values()} <= set(peers.environments())


def judged(
    folder: Path, checks: list[dict[str, str]], last_words: str = "", scenario: str = "sse-retry"
) -> Row:
    results = folder / f"{scenario}-2026-07-28T11-39-14-218Z"
    results.mkdir(parents=True)
    (results / "checks.json").write_text(json.dumps(checks), "utf-8")
    (results / "stdout.txt").write_text("2026-07-28\n", "utf-8")
    (results / "stderr.txt").write_text(last_words, "utf-8")
    return official.judge("all", results / "checks.json", folder)


def test_a_scenario_that_checked_nothing_has_not_passed(tmp_path: Path) -> None:
    row = judged(tmp_path, [{"id": "a", "status": "INFO"}], "Traceback\nValueError: why\n")
    assert row.outcome == FAILED
    assert row.detail == "no check passed: ValueError: why"


def test_a_scenario_the_driver_does_not_know_is_a_failure(tmp_path: Path) -> None:
    """A new release of the suite is not passed by skipping its new parts."""
    row = judged(tmp_path, [{"id": "a", "status": "FAILURE"}], scenario="auth/no-such-scenario")
    assert row.name == "auth/no-such-scenario (all)"
    assert (row.outcome, row.checks, row.held) == (FAILED, 1, 0)


@pytest.mark.parametrize("status", ["FAILURE", "WARNING"])
def test_a_warning_counts_as_a_failure(tmp_path: Path, status: str) -> None:
    bad = {"id": "b", "status": status, "errorMessage": "because"}
    row = judged(tmp_path, [{"id": "a", "status": "SUCCESS"}, bad])
    assert row.outcome == FAILED
    assert row.detail == f"1 passed, 1 did not: {status} b because"


def test_without_peers_every_part_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """F-CONF-5 where nothing is installed"""
    monkeypatch.setattr(peers, "INSTALLED", tmp_path)
    monkeypatch.setattr(peers, "problems", {})
    monkeypatch.setattr(autobahn, "is_installed", lambda: False)
    monkeypatch.setattr(autobahn, "install", no_python)
    autobahn.provide()
    parts = ["live", "websocket", "authorized", "official"]
    monkeypatch.setattr("sys.argv", ["conformance", "--strict", "--offline", *parts])
    assert suite.main() == 1
    printed = capsys.readouterr().out
    assert re.search(r"live: time 2026-07-28, .*not\s+installed \(python\s+-m\s+conf", printed)
    assert "official: every scenario: not installed (" in printed
    assert "left out:\n  websocket: Autobahn testsuite, speed" in printed
    assert "websocket: Autobahn testsuite: no Python 2.7" in printed
    passed = "0 of ([0-9]+) meetings passed, 0 of 0 checks held"
    last = printed.rstrip().splitlines()[-1]
    counts = re.fullmatch(f"{passed}; ([0-9]+) could not run, ([0-9]+) left out in [0-9]+s", last)
    assert counts is not None
    assert int(counts[1]) == int(counts[2]) + int(counts[3]) > 20


def no_python() -> None:
    raise CannotInstall("no Python 2.7")


def test_a_part_that_breaks_down_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaking() -> Iterator[Row]:
        yield Row("live", "one", PASSED, checks=1, held=1)
        raise OSError("disk full")

    monkeypatch.setitem(suite.PARTS, "live", suite.Part(breaking))
    rows = list(suite.rows_of("live"))
    assert [row.outcome for row in rows] == [PASSED, FAILED]
    assert rows[1].detail == "OSError: disk full"
