"""The tests, a few files of a folder in each process; what fails there is asked again, alone."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

from .limits import LIMITS, NOT_RUN
from .machine import TOP, Machine, windows_path

# Starting a process takes seconds in Wine, and one that hangs or crashes takes its files with it.
_AT_MOST = 8
# Seconds for one process, at first and for each of its files.
_START_LIMIT = 100.0
_FILE_LIMIT = 200.0

Counts = dict[str, int]


def files_to_test(named: Sequence[str]) -> list[str]:
    """Return the files to run: those below the named paths, or all that Windows can run."""
    found = sorted(path.relative_to(TOP).as_posix() for path in TOP.glob("tests/**/test_*.py"))
    wanted = [path for path in found if not path.startswith(tuple(NOT_RUN))]
    named = [Path(each).as_posix() for each in named]
    return [
        path
        for path in wanted
        if not named or any(path == each or path.startswith(f"{each}/") for each in named)
    ]


def folder_of(name: str) -> str:
    """Return the folder of a test file."""
    return name.rpartition("/")[0]


def run_suite(machine: Machine, files: Sequence[str]) -> Iterator[str]:
    """Run files, yield a line for each folder and for each file that fails, and one for all.

    What passed before is not run again, unless it has changed, or what is not a test. The output of
    each process stands in the machine's ``logs`` folder.
    """
    results = Results(machine)
    totals: Counter[str] = Counter()
    failed = 0
    for folder, group in groupby(sorted(files, key=folder_of), key=folder_of):
        names = list(group)
        begun = time.monotonic()
        outcomes = run_folder(machine, [name for name in names if name not in results])
        for name, counts in outcomes.items():
            results.add(name, counts)
            if not is_good(counts):
                failed += 1
                yield f"failed  {name}  {shown(counts)}  ({log_of(machine, name)})"
            elif counts.get("alone"):
                yield f"        {name} passed only in a process of its own"
        before = {name: results.counts(name) for name in names if name not in outcomes}
        of_folder: Counter[str] = Counter()
        for counts in (*outcomes.values(), *before.values()):
            of_folder.update(counts)
        totals.update(of_folder)
        word = "passed" if all(map(is_good, outcomes.values())) else "failed"
        earlier = f", {len(before)} files before" if before else ""
        seconds = f"{time.monotonic() - begun:.0f} s"
        yield f"{word}  {folder:28} {shown(of_folder)} ({len(names)} files{earlier}, {seconds})"
    yield f"{len(files) - failed} of {len(files)} files pass: {shown(totals)}"


def run_folder(machine: Machine, names: Sequence[str]) -> dict[str, Counts]:
    """Run the files of one folder, and count the outcomes of each."""
    outcomes: dict[str, Counts] = {}
    for start in range(0, len(names), _AT_MOST):
        outcomes.update(run_together(machine, names[start : start + _AT_MOST]))
    return outcomes


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
    report = log.with_suffix(".xml")
    report.unlink(missing_ok=True)
    pytest = ["-m", "pytest", "-vv", "-p", "no:cacheprovider"]
    pytest += [f"--junitxml={windows_path(report)}", "--continue-on-collection-errors"]
    begun = time.monotonic()
    limit = _START_LIMIT + _FILE_LIMIT * len(names)
    outcome = machine.run([*pytest, *names, *limits], limit, log)
    with log.open("a", encoding="utf-8") as file:
        file.write(f"\nexit code {outcome.code} after {time.monotonic() - begun:.0f} s\n")
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
    """Files that have passed as they are, with the rest of the code as it is; kept in a file."""

    def __init__(self, machine: Machine) -> None:
        self._path = machine.folder / "results.json"
        self._shared = _digest_of_the_rest()
        self._passed: dict[str, dict[str, Counts]] = {}
        if self._path.exists():
            self._passed = json.loads(self._path.read_text("utf-8"))

    def __contains__(self, name: str) -> bool:
        return self._digest(name) in self._passed.get(name, {})

    def counts(self, name: str) -> Counts:
        """Return how a file went that has passed."""
        return self._passed[name][self._digest(name)]

    def add(self, name: str, counts: Counts) -> None:
        """Remember how a file went."""
        if is_good(counts):
            self._passed[name] = {self._digest(name): dict(counts)}
            self._path.write_text(json.dumps(self._passed, indent=1), "utf-8")

    def _digest(self, name: str) -> str:
        return hashlib.sha256(self._shared + (TOP / name).read_bytes()).hexdigest()


def _digest_of_the_rest() -> bytes:
    """Return what identifies all that may decide how a test goes, but for the test files."""
    total = hashlib.sha256()
    for folder in ("mcpclient", "tests", "conformance"):
        for path in sorted((TOP / folder).rglob("*")):
            is_test = path.name.startswith("test_") or "tools" in path.parts
            if path.is_file() and not is_test and path.suffix != ".pyc":
                total.update(path.read_bytes())
    return total.digest()
