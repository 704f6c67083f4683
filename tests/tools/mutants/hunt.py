"""The two runs of pytest: which lines each test reaches, and which test notices a mutant."""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import random
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType

import pytest

import mcpclient

from .edits import Mutant, code_with, mutants_of

_PACKAGE = Path(mcpclient.__file__).parent
_TOOL = 3  # an id of sys.monitoring without an owner
_SECONDS = 8.0
_MOST_TESTS = 150
"""A mutant that so many tests miss counts as one that none notices."""


def function_of(nodeid: str) -> str:
    """Return the id of a test without its parameters."""
    return nodeid.partition("[")[0]


class Reach:
    """Writes down which lines of functions of the package each test runs, and how long it takes."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines: set[tuple[str, int]] = set()
        self._spawns = False
        self._found: dict[str, dict[str, object]] = {}
        self._monitoring = sys.monitoring  # type: ignore[attr-defined]
        self._prefix = f"{_PACKAGE}{os.sep}"
        self._monitoring.use_tool_id(_TOOL, "mutants")
        self._monitoring.register_callback(_TOOL, self._monitoring.events.LINE, self._on_line)
        self._monitoring.set_events(_TOOL, self._monitoring.events.LINE)
        sys.addaudithook(self._on_event)

    def _on_line(self, code: CodeType, line: int) -> object:
        if code.co_filename.startswith(self._prefix):
            self._lines.add((code.co_filename[len(self._prefix) :], line))
        return self._monitoring.DISABLE

    def _on_event(self, event: str, _: object) -> None:
        if event in ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.forkpty"):
            self._spawns = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._lines, self._spawns = set(), False
        self._monitoring.restart_events()
        begun = time.process_time()
        try:
            return (yield)
        finally:
            found = self._found.setdefault(
                function_of(item.nodeid), {"seconds": 0.0, "spawns": False, "items": {}}
            )
            lines: dict[str, list[int]] = defaultdict(list)
            for file, line in sorted(self._lines):
                lines[file].append(line)
            found["seconds"] += time.process_time() - begun  # type: ignore[operator]
            found["spawns"] = found["spawns"] or self._spawns
            found["items"][item.nodeid] = lines  # type: ignore[index]

    def pytest_sessionfinish(self) -> None:
        self._file.write_text(json.dumps(self._found), "utf-8")


class Hunt:
    """Puts in one mutant after the other, and writes down which test noticed it."""

    def __init__(
        self,
        reach: Mapping[str, Mapping[str, object]],
        report: Path,
        share: float,
        seed: int,
        every: Sequence[int],
    ) -> None:
        self._reach = reach
        self._report = report
        self._chance = random.Random(seed)
        self._share = share
        self._every = every
        self._noticed: dict[str, list[str]] = defaultdict(list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.unfreeze()  # a frozen function is in no list of referrers
        for module in pkgutil.walk_packages(mcpclient.__path__, "mcpclient."):
            if not module.name.endswith(("__main__", "hook-mcpclient", "launcher", "program")):
                importlib.import_module(module.name)
        items = {item.nodeid: item for item in session.items}
        by_line: dict[tuple[str, int], list[str]] = defaultdict(list)
        for function in self._reach.values():
            if not function["spawns"]:
                for nodeid, files in function["items"].items():  # type: ignore[attr-defined]
                    if nodeid in items:
                        for file, lines in files.items():
                            for line in lines:
                                by_line[file, line].append(nodeid)
        mutants = [
            mutant
            for path in sorted(_PACKAGE.rglob("*.py"))
            for mutant in mutants_of(path, path.relative_to(_PACKAGE).as_posix(), self._chance)
            if by_line.get((mutant.path, mutant.line)) and self._chance.random() < self._share
        ]
        step, offset = self._every
        self._chance.shuffle(mutants)
        missed = 0
        for number, mutant in enumerate(mutants[offset::step]):
            killer = self._first_to_notice(mutant, by_line[mutant.path, mutant.line], items)
            if killer is None:
                missed += 1
            else:
                self._noticed[function_of(killer)].append(str(mutant))
            if number % 100 == 99:
                self._write(number + 1, missed)
        self._write(len(mutants), missed)
        return True

    def _write(self, tried: int, missed: int) -> None:
        functions = {
            name: {"seconds": found["seconds"], "notices": self._noticed.get(name, [])}
            for name, found in self._reach.items()
            if not found["spawns"]
        }
        report = {"tried": tried, "missed": missed, "tests": functions}
        self._report.write_text(json.dumps(report, indent=1), "utf-8")

    def _first_to_notice(
        self, mutant: Mutant, nodeids: Sequence[str], items: Mapping[str, pytest.Item]
    ) -> str | None:
        """Return the test that fails first, those first that have noticed a mutant before."""

        def rank(nodeid: str) -> tuple[bool, float]:
            function = function_of(nodeid)
            found = self._reach[function]
            return function not in self._noticed, found["seconds"] / len(found["items"])  # type: ignore[arg-type, operator]

        try:
            code = code_with(_PACKAGE / mutant.path, mutant)
        except (StopIteration, SyntaxError):
            return None
        chosen = sorted(nodeids, key=rank)[:_MOST_TESTS]
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.close(reading)
                _put_in(mutant, code)
                _run(chosen, items, writing)
            finally:
                os._exit(0)
        os.close(writing)
        return _verdict(child, reading, chosen)


def _verdict(child: int, reading: int, chosen: Sequence[str]) -> str | None:
    """Return the test that failed, or ran when the time was up or the process died."""
    told = b""
    end = time.monotonic() + _SECONDS
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, end - time.monotonic()))
        chunk = os.read(reading, 65536) if ready else b""
        told += chunk
        if not chunk:
            break
    os.close(reading)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    *done, last = told.decode().split("\n")
    if "end" in done:
        return None
    begun = [int(word[1:]) for word in (*done, last) if word.startswith("b")]
    return chosen[begun[-1]] if begun else None


def _put_in(mutant: Mutant, code: CodeType) -> None:
    """Give every function that has the original code the edited one."""
    name = str(_PACKAGE / mutant.path)
    found = [
        each
        for each in gc.get_objects()
        if isinstance(each, FunctionType)
        and each.__code__.co_filename == name
        and each.__code__.co_qualname == mutant.function  # type: ignore[attr-defined]
        and each.__code__.co_firstlineno == code.co_firstlineno
    ]
    if not found:
        os._exit(0)
    for function in found:
        function.__code__ = code


def _run(chosen: Sequence[str], items: Mapping[str, pytest.Item], writing: int) -> None:
    """Run tests until one fails; say which begins, and that all have passed."""
    from _pytest.runner import runtestprotocol

    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    for number, nodeid in enumerate(chosen):
        os.write(writing, f"b{number}\n".encode())
        following = items[chosen[number + 1]] if number + 1 < len(chosen) else None
        reports = runtestprotocol(items[nodeid], log=False, nextitem=following)
        if any(report.failed for report in reports):
            return
    os.write(writing, b"end\n")
