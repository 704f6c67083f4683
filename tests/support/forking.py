"""A pytest plugin: collect the tests once, and run them in forks of the process that did.

Each worker of pytest-xdist imports and collects all tests by itself, which takes as long as a tenth
of the quick ones. Here the numbers of the files wait in a pipe, from which each fork reads the next
one; fixtures of a file are made once, as with ``--dist loadfile``. Where processes cannot be forked
safely, which is everywhere but on Linux, ``-n`` starts the workers of pytest-xdist as ever.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Generator, Iterator
from itertools import groupby
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

from tests.support import properties

FORKS = 2  # for each core: many a test waits, which keeps no core busy
_COUNT = pytest.StashKey[int]()
_NUMBER = 4  # bytes of a file's number in the pipe


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    count = config.option.numprocesses
    if count and sys.platform == "linux" and not config.option.collectonly:
        cores = len(os.sched_getaffinity(0))
        config.stash[_COUNT] = count if isinstance(count, int) else cores * FORKS
        config.option.numprocesses = 0
    return (yield)


@pytest.hookimpl
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    if _COUNT not in session.config.stash or session.testsfailed:
        return None
    properties.fill_caches()
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    forks: dict[Connection, BaseProcess] = {}
    numbers, writing = os.pipe()
    files = [list(items) for _, items in groupby(session.items, lambda item: item.path)]
    os.write(writing, b"".join(number.to_bytes(_NUMBER, "big") for number in range(len(files))))
    os.close(writing)
    context = multiprocessing.get_context("fork")
    try:
        for _ in range(session.config.stash[_COUNT]):
            reading, sending = context.Pipe(duplex=False)
            items = _read(files, numbers)
            fork: BaseProcess = context.Process(target=_run, args=(session, items, sending))
            fork.start()
            sending.close()
            forks[reading] = fork
        _report(session, forks)
    finally:
        os.close(numbers)
        for fork in forks.values():
            fork.terminate()
    return True


def _report(session: pytest.Session, forks: dict[Connection, BaseProcess]) -> None:
    """Hand the messages of the forks to pytest, until all have ended."""
    hook, running = session.config.hook, dict.fromkeys(forks, "between tests")
    while running:
        for reading in wait([*running]):
            assert isinstance(reading, Connection)
            try:
                message = reading.recv()
            except EOFError:
                name = running.pop(reading)
                forks[reading].join()
                if code := forks[reading].exitcode:
                    what = f"the process ended with the exit code {code}"
                    report = pytest.TestReport(name, (name, 0, name), {}, "failed", what, "call")
                    hook.pytest_runtest_logreport(report=report)
                continue
            if isinstance(message, str):
                running[reading] = message
                continue
            location = {"nodeid": message[0].nodeid, "location": message[0].location}
            hook.pytest_runtest_logstart(**location)
            for report in message:
                hook.pytest_runtest_logreport(report=report)
            hook.pytest_runtest_logfinish(**location)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)


def _read(files: list[list[pytest.Item]], numbers: int) -> Iterator[pytest.Item]:
    while number := os.read(numbers, _NUMBER):
        yield from files[int.from_bytes(number, "big")]


def _run(session: pytest.Session, items: Iterator[pytest.Item], sending: Connection) -> None:
    """Run tests until none is left, in a fork."""
    factory = session.config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.mktemp("fork")
    manager = session.config.pluginmanager
    terminal: Any = manager.unregister(name="terminalreporter")
    manager.register(_Reporter(sending, terminal._tw), "terminalreporter")
    capture: Any = manager.get_plugin("capturemanager")
    capture.stop_global_capturing()  # all forks share its files
    capture.start_global_capturing()
    try:
        item = next(items, None)
        while item:
            # The next one is known first, since fixtures that both of them use are kept for it.
            following = next(items, None)
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            item = following
    finally:
        capture.stop_global_capturing()  # prints the output between tests


class _Reporter:
    """Sends the name of each test, and all reports of it at once; pytest asks it how to write."""

    def __init__(self, sending: Connection, writer: object) -> None:
        self._tw = writer
        self._sending = sending
        self._reports: list[pytest.TestReport] = []

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._sending.send(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    def pytest_runtest_logfinish(self) -> None:
        self._sending.send(self._reports)
        self._reports = []
