"""The tests, a few files of a folder in each process; what fails there is asked again, alone."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

from .limits import LIMITS, NOT_RUN
from .machine import TOP, Machine, windows_path

# Starting a process takes seconds in Wine, and one that hangs or crashes takes its files with it.
_AT_MOST = 8
# Seconds for one process, at first and for each of its files.
_START_LIMIT = 200.0
_FILE_LIMIT = 200.0

Counts = dict[str, int]


def files_to_test(named: Sequence[str]) -> list[str]:
    """Return the files to run: those below the named paths, or all that Windows can run."""
    found = sorted(path.relative_to(TOP).as_posix() for path in TOP.glob("tests/**/test_*.py"))
    wanted = [path for path in found if not path.startswith(tuple(NOT_RUN))]
    return [path for path in wanted if not named or path.startswith(tuple(named))]


def digest() -> str:
    """Return what identifies the code under test; results count for the same code only."""
    total = hashlib.sha256()
    for folder in ("mcpclient", "tests", "conformance"):
        for path in sorted((TOP / folder).rglob("*.py")):
            total.update(path.read_bytes())
    return total.hexdigest()


def run_suite(machine: Machine, files: Sequence[str], at_once: int) -> Iterator[str]:
    """Run files, yield a line for each that fails and one for all; what passed before is kept.

    The output of each process stands in the machine's ``logs`` folder.
    """
    results = Results(machine)
    waiting = [name for name in files if name not in results.passed]
    with ThreadPoolExecutor(at_once) as workers:
        for outcomes in workers.map(lambda names: run_together(machine, names), batches(waiting)):
            for name, counts in outcomes.items():
                results.add(name, counts)
                if not is_good(counts):
                    yield f"failed  {name}  {shown(counts)}  ({log_of(machine, name)})"
                elif counts.get("alone"):
                    yield f"passed  {name}  {shown(counts)}, but only in a process of its own"
    passed = [results.passed[name] for name in files if name in results.passed]
    totals: Counter[str] = Counter()
    for each in passed:
        totals.update(each)
    yield f"{len(passed)} of {len(files)} files pass: {shown(totals)}"


def batches(files: Sequence[str]) -> list[list[str]]:
    """Return the files in groups for one process each: neighbours of one folder."""
    found = []
    for _, group in groupby(files, key=lambda name: name.rpartition("/")[0]):
        names = list(group)
        found += [names[start : start + _AT_MOST] for start in range(0, len(names), _AT_MOST)]
    return found


def run_together(machine: Machine, names: Sequence[str]) -> dict[str, Counts]:
    """Run files in one process, and those that fail there once more, each in one of its own."""
    outcomes = run_files(machine, names)
    if len(names) > 1:
        for name in names:
            if not is_good(outcomes[name]):
                outcomes[name] = {**run_files(machine, [name])[name], "alone": 1}
    return outcomes


def run_files(machine: Machine, names: Sequence[str]) -> dict[str, Counts]:
    """Run test files in one process, and count the outcomes of the tests of each."""
    limits = [f"--deselect={test}" for test in LIMITS if test.startswith(tuple(names))]
    log = log_of(machine, names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more")
    log.parent.mkdir(parents=True, exist_ok=True)
    report = log.with_suffix(".xml")
    report.unlink(missing_ok=True)
    pytest = ["-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={windows_path(report)}"]
    pytest.append("--continue-on-collection-errors")
    begun = time.monotonic()
    outcome = machine.run([*pytest, *names, *limits], _START_LIMIT + _FILE_LIMIT * len(names))
    seconds = time.monotonic() - begun
    log.write_text(f"{outcome.output}\nexit code {outcome.code} after {seconds:.0f} s\n", "utf-8")
    # 5: no test was collected, as where everything is left out.
    is_complete = outcome.code in (0, 1, 5) and report.exists()
    outcomes = counted(report, names) if is_complete else {name: {"failed": 1} for name in names}
    if outcome.code == 1 and all(map(is_good, outcomes.values())):
        return {name: {"failed": 1} for name in names}
    return outcomes


def counted(report: Path, names: Sequence[str]) -> dict[str, Counts]:
    """Read from pytest's report how the tests of each file went."""
    kinds = {"failure": "failed", "error": "error", "skipped": "skipped"}
    outcomes: dict[str, Counts] = {name: {} for name in names}
    modules = {name[: -len(".py")].replace("/", "."): name for name in names}
    for case in ElementTree.parse(report).iter("testcase"):
        # Of a file that cannot be imported, only the name tells which it is.
        where = case.get("classname") or case.get("name") or ""
        counts = outcomes[
            next(modules[each] for each in modules if f"{where}.".startswith(f"{each}."))
        ]
        kind = next((kinds[child.tag] for child in case if child.tag in kinds), "passed")
        counts[kind] = counts.get(kind, 0) + 1
    return outcomes


def is_good(counts: Counts) -> bool:
    """Whether nothing failed."""
    return not (counts.get("failed") or counts.get("error"))


def shown(counts: Counts) -> str:
    """Return the counts as pytest shows them."""
    kinds = ("failed", "error", "passed", "skipped")
    return (
        ", ".join(f"{counts[kind]} {kind}" for kind in kinds if counts.get(kind)) or "nothing ran"
    )


def log_of(machine: Machine, name: str) -> Path:
    """Return where the output of a process stands that ran a test file."""
    return machine.folder / "logs" / f"{name.replace('/', '.')}.txt"


class Results:
    """Which files have passed with the code as it is, kept in a file to go on from."""

    def __init__(self, machine: Machine) -> None:
        self._path = machine.folder / "results.json"
        self._digest = digest()
        self.passed: dict[str, Counts] = {}
        if self._path.exists():
            kept = json.loads(self._path.read_text("utf-8"))
            if kept["digest"] == self._digest:
                self.passed = kept["passed"]

    def add(self, name: str, counts: Counts) -> None:
        """Remember how a file went."""
        if is_good(counts):
            self.passed[name] = dict(counts)
            kept = {"digest": self._digest, "passed": self.passed}
            self._path.write_text(json.dumps(kept, indent=1), "utf-8")
