"""Runs the rows: rounds of all columns interleaved, so that all meet the same weather."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

from .columns import Column
from .processes import (
    HttpServer,
    WorkerFailedError,
    WorkerProcess,
    proxy_command,
    run_command_line,
    run_first_call,
    run_importer,
    sdk_server_command,
    server_command,
)
from .rows import Answer, Row
from .worker import NothingToMeasureError

FIRST_COUNT = 100


@dataclass(frozen=True)
class Settings:
    """The extent of the measurements. Seconds, all of them."""

    rounds: int = 5
    round_seconds: float = 0.4
    budget: float = 6.0
    """What one column may take for one row before it gets no further round."""
    patience: float = 120.0
    quick: bool = False


@dataclass
class Cell:
    """The result of one column in one row: an answer per round, or why there is none.

    ``absent``: the library has nothing of the kind, which is not an error.
    """

    answers: list[Answer] = field(default_factory=list)
    error: str = ""
    absent: str = ""
    spent: float = 0.0


class Runner:
    """Holds the workers while the rows run; use it with `with`."""

    def __init__(
        self, columns: list[Column], settings: Settings, tell: Callable[[str], None]
    ) -> None:
        self.columns = columns
        self.settings = settings
        self.tell = tell
        self.runtimes: dict[str, str] = {}
        self.workers: dict[str, WorkerProcess] = {}
        self.stack = ExitStack()

    def __enter__(self) -> Runner:
        self.http = self.stack.enter_context(HttpServer())
        self.stack.callback(self._close_workers)
        return self

    def __exit__(self, *exception: object) -> None:
        self.stack.close()

    def run(self, row: Row) -> dict[str, Cell]:
        """All rounds of one row; the cell of each column by its key."""
        self.tell(row.title)
        if row.fresh_worker:
            self._close_workers()
        cells = {column.key: Cell() for column in self.columns}
        counts: dict[str, int] = {}
        baselines: dict[str, float] = {}
        columns = [column for column in self.columns if column.takes(row)]
        for column in columns:
            with _Recorded(cells[column.key]):
                baselines[column.key] = self._open(column, row)
                counts[column.key] = self._count(column, row)
        for _ in range(self.settings.rounds):
            for column in columns:
                cell = cells[column.key]
                is_over = cell.answers and cell.spent > self.settings.budget
                if cell.error or cell.absent or is_over:
                    continue
                with _Recorded(cell):
                    answer = self._round(column, row, counts[column.key])
                    cell.answers.append({**answer, "baseline": baselines[column.key]})
        for column in columns:
            self._close_row(column, row)
        return cells

    def _open(self, column: Column, row: Row) -> float:
        """Connect, where the row wants a connection; the resident memory before it runs."""
        if row.operation in ("import", "first", "command-line"):
            if row.key in column.around:
                run_command_line(column.around[row.key][0], self.settings.patience)
            self._round(column, row, 1)
            return 0.0
        worker = self._worker(column)
        if not row.opens:
            return 0.0
        memory: float = worker.order(do="open", **self._where(row))["memory"]
        return memory

    def _count(self, column: Column, row: Row) -> int:
        """So many calls that a round takes its time; finding out warms the worker up."""
        if row.count is not None:
            return row.quick_count if self.settings.quick and row.quick_count else row.count
        count, wanted, spent = FIRST_COUNT, self.settings.round_seconds, 0.0
        while True:
            answer = self._round(column, row, count)
            spent += answer["seconds"]
            if spent >= wanted:
                return max(FIRST_COUNT, int(count * wanted / answer["seconds"]))
            count *= 2

    def _round(self, column: Column, row: Row, count: int) -> dict[str, Any]:
        if row.operation == "import":
            return dict(run_importer(column.importers[row.key], self.settings.patience))
        if row.operation == "command-line":
            return dict(run_command_line(column.command_lines[row.key], self.settings.patience))
        if row.operation == "first":
            where = self._where(row)["target"]
            return dict(run_first_call(column.worker, self.settings.patience, where))
        where = {} if row.opens else self._where(row)
        return self._worker(column).order(
            do="run", operation=row.operation, count=count, size=row.size, **where
        )

    def _where(self, row: Row) -> dict[str, Any]:
        if row.transport == "stdio":
            own = server_command("stdio", "--tools", str(row.tools))
            command = sdk_server_command(row.server) if row.server else own
            if row.proxy:
                command = proxy_command(row.proxy, ["--", *command])
            return {"target": {"command": command}, "era": row.era}
        target = {"url": self.http.url(row.transport)}
        if row.proxy:
            return {
                "target": {"command": proxy_command(row.proxy, [target["url"]])},
                "era": row.era,
            }
        if row.authorized:
            target["token"] = "a-token-of-the-usual-length-1234567890"
        return {"target": target, "era": row.era}

    def _worker(self, column: Column) -> WorkerProcess:
        worker = self.workers.get(column.key)
        if worker is None:
            worker = WorkerProcess(column.worker, self.settings.patience)
            self.workers[column.key] = worker
            self.runtimes[column.key] = worker.runtime
        return worker

    def _close_row(self, column: Column, row: Row) -> None:
        """Close the connection; a worker that cannot is replaced by the next row."""
        if row.key in column.around:
            with suppress(WorkerFailedError):
                run_command_line(column.around[row.key][1], self.settings.patience)
        worker = self.workers.get(column.key)
        if worker is None:
            return
        try:
            if row.opens and worker.alive:
                worker.order(do="close")
        except WorkerFailedError:
            pass
        if not worker.alive:
            self.workers.pop(column.key).close()

    def _close_workers(self) -> None:
        for worker in self.workers.values():
            worker.close()
        self.workers.clear()


class _Recorded:
    """Adds the time of its block to a cell, and why a worker has no answer."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell

    def __enter__(self) -> None:
        self.start = time.perf_counter()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self.cell.spent += time.perf_counter() - self.start
        if isinstance(error, WorkerFailedError):
            self.cell.error = str(error)
            return True
        if isinstance(error, NothingToMeasureError):
            self.cell.absent = str(error)
            return True
        return False
