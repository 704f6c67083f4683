"""The tests, each file in a process of its own: one that hangs or crashes fails alone."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .limits import LIMITS, NOT_RUN
from .machine import TOP, Machine

# Seconds for one file. Starting a process and a turn of an event loop take long in Wine.
_FILE_LIMIT = 400.0

_COUNTS = re.compile(r"(\d+) (passed|failed|errors?|skipped|deselected)")


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

    The output of each file stands in the machine's ``logs`` folder.
    """
    results = Results(machine)
    waiting = [name for name in files if name not in results.passed]
    with ThreadPoolExecutor(at_once) as workers:
        for name, counts in zip(waiting, workers.map(lambda one: run_file(machine, one), waiting)):
            results.add(name, counts)
            if not is_good(counts):
                yield f"failed  {name}  {shown(counts)}  ({log_of(machine, name)})"
    passed = [results.passed[name] for name in files if name in results.passed]
    totals: Counter[str] = Counter()
    for each in passed:
        totals.update(each)
    yield f"{len(passed)} of {len(files)} files pass: {shown(totals)}"


def run_file(machine: Machine, name: str) -> Counter[str]:
    """Run one test file and count the outcomes of its tests."""
    limits = [f"--deselect={test}" for test in LIMITS if test.startswith(f"{name}::")]
    begun = time.monotonic()
    outcome = machine.run(["-m", "pytest", "-p", "no:cacheprovider", name, *limits], _FILE_LIMIT)
    seconds = time.monotonic() - begun
    log = log_of(machine, name)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"{outcome.output}\nexit code {outcome.code} after {seconds:.0f} s\n", "utf-8")
    counts: Counter[str] = Counter()
    # In quiet mode the last line but one counts, such as "1 failed, 24 passed in 0.50s".
    for line in outcome.output.splitlines()[-3:]:
        for number, kind in _COUNTS.findall(line):
            counts[kind.rstrip("s") if kind.startswith("error") else kind] = int(number)
    if outcome.code not in (0, 5):
        counts["failed"] = max(counts["failed"], 1)
    return counts


def is_good(counts: Counter[str]) -> bool:
    """Whether nothing failed."""
    return not (counts["failed"] or counts["error"])


def shown(counts: Counter[str]) -> str:
    """Return the counts as pytest shows them."""
    kinds = ("failed", "error", "passed", "skipped", "deselected")
    return ", ".join(f"{counts[kind]} {kind}" for kind in kinds if counts[kind]) or "nothing ran"


def log_of(machine: Machine, name: str) -> Path:
    """Return where the output of a test file stands."""
    return machine.folder / "logs" / f"{name.replace('/', '.')}.txt"


class Results:
    """Which files have passed with the code as it is, kept in a file to go on from."""

    def __init__(self, machine: Machine) -> None:
        self._path = machine.folder / "results.json"
        self._digest = digest()
        self.passed: dict[str, dict[str, int]] = {}
        if self._path.exists():
            kept = json.loads(self._path.read_text())
            if kept["digest"] == self._digest:
                self.passed = kept["passed"]

    def add(self, name: str, counts: Counter[str]) -> None:
        """Remember how a file went."""
        if is_good(counts):
            self.passed[name] = dict(counts)
            kept = {"digest": self._digest, "passed": self.passed}
            self._path.write_text(json.dumps(kept, indent=1))
