"""F-CONF-5: the suite judges strictly, and says what it could not run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conformance import __main__ as suite
from conformance import live, official, peers
from conformance.results import FAILED, NOT_RUN, PASSED, Row, exit_code, summary


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


def test_what_is_not_installed_has_no_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "INSTALLED", tmp_path)
    assert peers.command("time") is None
    assert peers.command("everything-stdio") is None
    stamp = peers.stamp("time")
    stamp.parent.mkdir()
    stamp.write_text(peers.pins("time"), "utf-8")
    command = peers.command("time")
    assert command is not None
    assert command[0].startswith(str(tmp_path))
    assert command[1:3] == ["-m", "mcp_server_time"]


def test_other_pins_than_the_installed_ones_are_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "INSTALLED", tmp_path)
    peers.stamp("time").parent.mkdir()
    peers.stamp("time").write_text("mcp-server-time==1", "utf-8")
    assert not peers.is_installed("time")


@pytest.mark.parametrize(
    ("theirs", "ours", "named"),
    [
        ({"a": 1}, {"a": 1, "unknown": 2}, []),
        ({"a": 1}, {}, [".a is missing"]),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, [".a[1].b is 3 where the reference got 2"]),
        ([1, 2], [1], [" is [1] where the reference got [1, 2]"]),
        ({"a": None}, {"a": {}}, [".a is {} where the reference got None"]),
    ],
)
def test_differences_are_named_by_their_path(
    theirs: object, ours: object, named: list[str]
) -> None:
    assert list(live.differences(theirs, ours)) == named


def judged(
    folder: Path, checks: list[dict[str, str]], last_words: str = "", scenario: str = "sse-retry"
) -> Row:
    results = folder / f"{scenario}-2026-07-28T11-39-14-218Z"
    results.mkdir(parents=True)
    (results / "checks.json").write_text(json.dumps(checks), "utf-8")
    (results / "stderr.txt").write_text(last_words, "utf-8")
    return official.judge("all", results / "checks.json", folder)


def test_a_scenario_passes_when_something_passed_and_nothing_failed(tmp_path: Path) -> None:
    row = judged(tmp_path, [{"id": "a", "status": "SUCCESS"}, {"id": "b", "status": "SKIPPED"}])
    assert row == Row("official", "sse-retry (all)", PASSED, "1 checks")


def test_a_scenario_that_checked_nothing_has_not_passed(tmp_path: Path) -> None:
    row = judged(tmp_path, [{"id": "a", "status": "INFO"}], "Traceback\nValueError: why\n")
    assert row.outcome == FAILED
    assert row.detail == "no check passed: ValueError: why"


def test_a_scenario_the_driver_does_not_know_could_not_run(tmp_path: Path) -> None:
    row = judged(tmp_path, [{"id": "a", "status": "FAILURE"}], scenario="auth/no-such-scenario")
    assert row.name == "auth/no-such-scenario (all)"
    assert row.outcome == NOT_RUN


@pytest.mark.parametrize("status", ["FAILURE", "WARNING"])
def test_a_warning_counts_as_a_failure(tmp_path: Path, status: str) -> None:
    bad = {"id": "b", "status": status, "errorMessage": "because"}
    row = judged(tmp_path, [{"id": "a", "status": "SUCCESS"}, bad])
    assert row.outcome == FAILED
    assert row.detail == f"1 passed, 1 did not: {status} b because"


def test_what_could_not_run_fails_only_a_strict_suite() -> None:
    rows = [Row("live", "one", PASSED), Row("live", "two", NOT_RUN, "why")]
    assert exit_code(rows, strict=False) == 0
    assert exit_code(rows, strict=True) == 1
    assert exit_code([Row("live", "one", FAILED)], strict=False) == 1


def test_the_summary_counts_every_part() -> None:
    rows = [Row("live", "1", PASSED), Row("live", "2", PASSED), Row("official", "3", NOT_RUN)]
    counts = [line.split() for line in summary(rows).splitlines()[1:]]
    assert counts == [["live", "2", "0", "0"], ["official", "0", "0", "1"]]


def test_without_peers_every_part_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "INSTALLED", tmp_path)
    monkeypatch.setattr("sys.argv", ["conformance", "--strict"])
    assert suite.main() == 1
    printed = capsys.readouterr().out
    assert "time: python -m conformance.peers install time" in printed
    assert "official  could not run every scenario" in printed
