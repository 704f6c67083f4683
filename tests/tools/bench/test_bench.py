"""The benchmark without a clock: its rows run, and a worker that errs is seen."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from .__main__ import measure
from .columns import find_columns
from .processes import HttpServer, WorkerFailedError, WorkerProcess
from .rows import ROWS, Row
from .runner import Settings

pytestmark = pytest.mark.slow

SETTINGS = Settings(rounds=1, round_seconds=0.0, patience=30, quick=True)
FLOOR, OURS = find_columns(["floor", "mcpclient"], Path("no-such-folder"))


def test_every_row_gives_a_number_for_each_of_its_measures() -> None:
    """As little of each as there can be; a row of this library alone has no floor."""
    # Other proxies and servers may not be on this machine.
    usual = [row for row in ROWS if row.proxy in ("", "bridge") and not row.server]
    for columns in ([FLOOR], [FLOOR, OURS]):
        rows = [short(row) for row in usual if row.is_special == (OURS in columns)]
        lines = measure(rows, columns, SETTINGS)["lines"]
        wanted = [(row.key, each.key) for row in rows for each in row.measures]
        assert [(line["row"], line["measure"]) for line in lines] == wanted
        for line in lines:
            assert line["errors"] == {} and list(line["rounds"]) == [columns[-1].key], line["row"]


def short(row: Row) -> Row:
    if row.is_special:
        return replace(row, count=3 if row.operation == "manager" else 100, fresh_worker=False)
    return replace(
        row,
        count=row.count and 3,
        quick_count=None,
        size=row.size and 100_000,
        tools=min(row.tools, 5),
        fresh_worker=False,
    )


def test_an_answer_that_is_wrong_fails_the_worker() -> None:
    with HttpServer() as server, closing(WorkerProcess(FLOOR.worker, patience=30)) as worker:
        with pytest.raises(WorkerFailedError, match="did not come first"):
            worker.order(do="run", operation="sequence", count=1)
        worker.order(do="open", target={"url": server.url("json")}, era="handshake")
        assert worker.order(do="run", operation="sequence", count=1)["count"] == 1
        worker.order(do="close")
