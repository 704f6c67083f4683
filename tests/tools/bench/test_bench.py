"""The benchmark harness, without a clock: every row runs, and the report has its shape."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from . import rows
from .__main__ import main, measure
from .columns import find_columns
from .marks import MARKS, Mark, judge
from .processes import HttpServer, WorkerFailedError, WorkerProcess, run_command_line
from .report import render
from .rows import ROWS, Row
from .runner import Settings

SETTINGS = Settings(rounds=2, round_seconds=0.0, patience=30, quick=True)
NOWHERE = Path("no-such-folder")
FLOOR = find_columns(["floor"], NOWHERE)[0]


def short(row: Row) -> Row:
    """The same row with as little to do as it can have."""
    return replace(
        row,
        count=row.count and 3,
        quick_count=None,
        size=row.size and 100_000,
        tools=min(row.tools, 5),
        fresh_worker=False,
    )


@pytest.mark.slow
def test_every_row_gives_a_number_for_each_of_its_measures() -> None:
    # Other proxies and servers may not be on this machine.
    usual = [row for row in ROWS if row.proxy in ("", "bridge") and not row.server]
    shared = [row for row in usual if not row.is_special]
    report = measure([short(row) for row in shared], [FLOOR], replace(SETTINGS, rounds=1))

    assert [(line["row"], line["measure"]) for line in report["lines"]] == [
        (row.key, each.key) for row in shared for each in row.measures
    ]
    for line in report["lines"]:
        assert line["errors"] == {}
        assert len(line["rounds"]["floor"]) == 1
        assert line["of_floor"]["floor"] in (1.0, None)
    assert report["columns"]["floor"].startswith("Python 3.")


@pytest.mark.slow
def test_rows_of_this_library_alone() -> None:
    """What many servers cost; another column has no such thing."""
    (ours,) = find_columns(["mcpclient"], NOWHERE)
    special = [replace(row, count=100, fresh_worker=False) for row in ROWS if row.is_special]
    special = [replace(row, count=3) if row.operation == "manager" else row for row in special]
    report = measure(special, [FLOOR, ours], replace(SETTINGS, rounds=1))

    for line in report["lines"]:
        assert line["errors"] == {} and "floor" not in line["rounds"]
        assert len(line["rounds"]["mcpclient"]) == 1


def test_a_column_that_has_nothing_of_the_kind_has_a_dash() -> None:
    """It has not failed: the row measures what only another column has."""
    row = Row("ours", "ours", "manager-call", "stdio", rows.CALLS, count=1)

    report = measure([row], [FLOOR], SETTINGS)

    assert [(line["errors"], line["rounds"]) for line in report["lines"]] == [({}, {})] * 2
    table = render(report, [FLOOR])
    assert "failed" not in table
    assert [line.split()[-1] for line in table.splitlines() if line.startswith("ours ")] == [
        "-"
    ] * 2


def test_a_column_that_fails_says_why_and_leaves_the_others_alone() -> None:
    broken = replace(FLOOR, key="mcp", title="broken", worker=[*FLOOR.worker[:2], "no.such.module"])
    row = Row("stdio", "stdio", "sequence", "stdio", rows.CALLS, count=3)

    report = measure([row], [FLOOR, broken], SETTINGS)

    rate = report["lines"][0]
    assert "no.such" in rate["errors"]["mcp"]
    assert list(rate["median"]) == ["floor"]
    assert "failed: stdio, mcp: " in render(report, [FLOOR, broken])


def test_ratios_compare_within_a_round_and_higher_is_better() -> None:
    assert rows.RATE.speed(50.0, 100.0) == 0.5
    assert rows.SECONDS.speed(2.0, 1.0) == 0.5
    assert rows.PEAK.speed(0.0, 1.0) is None


@pytest.mark.parametrize(
    ("mark", "rounds", "met"),
    [
        (Mark("stdio-100", times=10, than="mcp"), {"mcpclient": [90, 120], "mcp": [10, 10]}, True),
        (Mark("stdio-100", times=10, than="mcp"), {"mcpclient": [90, 99], "mcp": [10, 10]}, False),
        (Mark("stdio-100", times=10, than="mcp"), {"mcpclient": [90]}, None),
        (Mark("notifications", limit=100), {"mcpclient": [101.0]}, True),
        (Mark("notifications", limit=100), {"mcpclient": [99.0]}, False),
        (Mark("servers-200", "each", limit=100), {"mcpclient": [99.0]}, True),
        (Mark("servers-200", "each", limit=100), {"mcpclient": [101.0]}, False),
        (Mark("json-connect", "time", beyond=5), {"mcpclient": [9], "floor": [3]}, False),
        (Mark("json-connect", "time", beyond=5), {"mcpclient": [7], "floor": [3]}, True),
        (Mark("in-flight-10000", "kept", times=0.5), {"mcpclient": [3], "floor": [2]}, True),
    ],
)
def test_a_mark_is_met_or_missed_or_not_measured(
    mark: Mark, rounds: dict[str, list[float]], met: bool | None
) -> None:
    assert judge(mark, {(mark.row, mark.measure): rounds}).met is met


@pytest.mark.slow
def test_every_mark_has_its_place_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert {mark.row for mark in MARKS} <= {row.key for row in ROWS}

    main(["--quick", "--rows", "import", "--rounds", "1", "--columns", "floor,mcpclient"])

    table = capsys.readouterr().out.split("marks of mcpclient")[1]
    assert table.count("not measured") == sum(mark.row != "import" for mark in MARKS)


def test_an_answer_that_is_wrong_fails_the_worker() -> None:
    with HttpServer() as server, closing(WorkerProcess(FLOOR.worker, patience=30)) as worker:
        with pytest.raises(WorkerFailedError, match="did not come first"):
            worker.order(do="run", operation="sequence", count=1)
        target = {"url": server.url("json")}
        worker.order(do="open", target=target, era="handshake")
        assert worker.order(do="run", operation="sequence", count=1)["count"] == 1
        worker.order(do="close")


def test_peers_that_are_not_installed_are_named() -> None:
    absent = find_columns(["mcp", "fastmcp", "typescript"], NOWHERE)
    assert all(column.absent for column in absent)


def test_peers_are_found_by_what_their_environments_hold(tmp_path: Path) -> None:
    environments = {
        "alone": ["mcp-2.3.0"],
        "crowded": ["mcp-2.3.0", "other-1.0"],
        "old": ["mcp-1.29.1"],
        "both": ["mcp-2.4.0", "fastmcp-4.1.0"],
    }
    for folder, packages in environments.items():
        (tmp_path / folder / "bin").mkdir(parents=True)
        (tmp_path / folder / "bin" / "python").touch()
        (tmp_path / folder / "pyvenv.cfg").touch()
        for package in packages:
            site = tmp_path / folder / "lib" / "python3.12" / "site-packages"
            (site / f"{package}.dist-info").mkdir(parents=True)
    modules = tmp_path / "node" / "node_modules"
    (modules / "@modelcontextprotocol" / "client").mkdir(parents=True)
    (modules / "@modelcontextprotocol" / "client" / "package.json").write_text(
        '{"version": "2.4.0"}', encoding="utf-8"
    )
    node = tmp_path / "elsewhere" / "node_modules" / "node-here" / "bin"
    node.mkdir(parents=True)
    (node / "node").touch()

    official, fastmcp, typescript = find_columns(["mcp", "fastmcp", "typescript"], tmp_path)

    assert (official.title, Path(official.worker[0]).parts[-3]) == ("mcp 2.3.0", "alone")
    assert (fastmcp.title, Path(fastmcp.worker[0]).parts[-3]) == ("fastmcp 4.1.0", "both")
    assert typescript.title == "TypeScript 2.4.0"
    assert typescript.worker[0] == str(node / "node")


def test_the_command_prints_the_table_and_writes_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report.json"
    arguments = ["--quick", "--rows", "import", "--rounds", "1", "--columns", "floor"]

    assert main([*arguments, "--json", str(file)]) == 0

    assert "asyncio floor" in capsys.readouterr().out
    assert json.loads(file.read_text(encoding="utf-8"))["lines"][0]["row"] == "import"


@pytest.mark.parametrize("arguments", [["--rows", "nothing"], ["--columns", "floor,other"]])
def test_unknown_keys_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert "not one of" in capsys.readouterr().err


def test_a_command_line_that_fails_says_why() -> None:
    """F-SHOW-1: else a client that prints an error would be the fastest of all."""
    with pytest.raises(WorkerFailedError, match="out of order"):
        run_command_line([sys.executable, "-c", "raise SystemExit('out of order')"], 30)
    answer = run_command_line([sys.executable, "-c", "print(1)"], 30)
    assert answer["bytes"] == 2
    assert answer["cpu"] > 0


def test_the_command_line_of_this_library_is_measured() -> None:
    (ours,) = find_columns(["mcpclient"], NOWHERE)
    wanted = [row for row in ROWS if row.operation == "command-line"]
    report = measure([short(row) for row in wanted], [FLOOR, ours], replace(SETTINGS, rounds=1))
    for line in report["lines"]:
        assert line["errors"] == {}
        assert set(line["rounds"]) == {"floor", "mcpclient"}


def test_calls_with_a_token_are_compared_with_those_without() -> None:
    """A mark may compare two rows of this library."""
    mark = Mark("json-authorized", times=0.85, beside="json-sequence")
    own = {"mcpclient": [90.0]}
    for plain, met in ((100.0, True), (120.0, False)):
        rounds = {
            ("json-authorized", "rate"): own,
            ("json-sequence", "rate"): {"mcpclient": [plain]},
        }
        assert judge(mark, rounds).met is met
    assert judge(mark, {("json-authorized", "rate"): own}).met is None
