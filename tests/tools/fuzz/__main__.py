"""Run targets with atheris: ``python -m tests.tools.fuzz [--seconds 60] [NAME…]``.

One line for each target says how often it ran and how far it got. Its findings stay in
``.fuzz/<target>/``: ``inputs`` goes on growing from run to run, ``findings`` has the inputs that
break something. The exit code is 1 if there are any new ones.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from .catalog import CORPUS, names

STATE = Path(".fuzz")

LONGEST_INPUT = 6000
# An input of that size which takes so many seconds is a finding, too.
LONGEST_RUN = 10
MEGABYTES = 2048

_COVERAGE = re.compile(r"#\d+\s+(INITED|\w+)\s+cov: (\d+)")
_RUNS = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_SPEED = re.compile(r"stat::average_exec_per_sec:\s*(\d+)")
_FINDING = re.compile(r"Test unit written to (\S+)")


class Outcome(NamedTuple):
    """The outcome of one target. ``edges``: covered before and after; ``finding``: a file."""

    name: str
    runs: int
    per_second: int
    edges: tuple[int, int]
    finding: str | None
    failed: bool

    def __str__(self) -> str:
        before, after = self.edges
        result = f"FOUND {self.finding}" if self.finding else "FAILED" if self.failed else "nothing"
        reached = f"{after:6} edges (+{after - before})"
        return f"{self.name:20} {self.runs:10} runs {self.per_second:7}/s {reached:22} {result}"


def fuzz(name: str, seconds: int) -> Outcome:
    """Run one target for so long. The fuzzer's output goes to a file beside its findings."""
    folder = STATE / name
    for part in ("inputs", "findings"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    flags = [
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST_INPUT}",
        "-len_control=100",  # short ones first
        f"-timeout={LONGEST_RUN}",
        f"-rss_limit_mb={MEGABYTES}",
        f"-artifact_prefix={folder / 'findings'}/",
        "-print_final_stats=1",
        str(folder / "inputs"),  # the first folder takes new inputs
        str(CORPUS / name),
    ]
    command = [sys.executable, "-m", f"{__package__}.worker", name, *flags]
    log = folder / "log"
    with log.open("wb") as output:
        code = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False)
    return outcome_of(name, log.read_text("utf-8", "replace"), code.returncode)


def outcome_of(name: str, log: str, code: int) -> Outcome:
    coverage = [(stage, int(edges)) for stage, edges in _COVERAGE.findall(log)]
    before = next((edges for stage, edges in coverage if stage == "INITED"), 0)
    finding = _FINDING.search(log)
    return Outcome(
        name,
        _number(_RUNS, log),
        _number(_SPEED, log),
        (before, coverage[-1][1] if coverage else 0),
        finding[1] if finding else None,
        failed=code != 0,
    )


def _number(expression: re.Pattern[str], log: str) -> int:
    found = expression.search(log)
    return int(found[1]) if found else 0


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.fuzz", description="Fuzz targets.")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: 60)")
    every = ", ".join(names())
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"by default all: {every}")
    options = parser.parse_args(words)
    unknown = set(options.names) - set(names())
    if unknown:
        parser.error(f"there is no target {', '.join(sorted(unknown))}")
    if find_spec("atheris") is None:
        parser.error("atheris is not installed here; `make fuzz` takes care of that")
    failed = False
    for name in options.names or names():
        outcome = fuzz(name, options.seconds)
        failed = failed or outcome.failed
        print(outcome, flush=True)
        if outcome.failed:
            print(f"{'':20} see {STATE / name / 'log'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
