"""The benchmark harness, without a clock: every row runs, and the report has its shape."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from .__main__ import main, measure
from .columns import find_columns
from .marks import MARKS
from .processes import HttpServer, WorkerFailedError, WorkerProcess
from .rows import ROWS, Row
from .runner import Settings

pytestmark = pytest.mark.slow

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


def test_rows_of_this_library_alone() -> None:
    """The cost of many servers; another column has no such thing."""
    (ours,) = find_columns(["mcpclient"], NOWHERE)
    special = [replace(row, count=100, fresh_worker=False) for row in ROWS if row.is_special]
    special = [replace(row, count=3) if row.operation == "manager" else row for row in special]
    report = measure(special, [FLOOR, ours], replace(SETTINGS, rounds=1))

    for line in report["lines"]:
        assert line["errors"] == {} and "floor" not in line["rounds"]
        assert len(line["rounds"]["mcpclient"]) == 1


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
