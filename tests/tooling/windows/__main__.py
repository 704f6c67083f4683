"""``make windows``: the demo, real servers, the replay and the tests, by Windows Pythons."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import chain

from .limits import LIMITS
from .machine import HOME, TOP, VERSIONS, Lacking, Machine, prepare, windows_path
from .suite import files_to_test, run_suite

_LIMIT = 900.0


def main() -> int:
    """Run what is asked for on every version; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.tooling.windows", description=__doc__)
    parser.add_argument("paths", nargs="*", help="test files or folders; without any, everything")
    parser.add_argument("--version", action="append", choices=VERSIONS, dest="versions")
    parser.add_argument("--at-once", type=int, default=2, metavar="NUMBER", help="test processes")
    arguments = parser.parse_args()
    has_failed = False
    for version in arguments.versions or VERSIONS:
        try:
            machine = prepare(version)
        except Lacking as lacking:
            print(f"Windows Python {version} cannot be run: {lacking}", file=sys.stderr)
            return 1
        said = machine.run(["-c", "import sys; print(sys.version)"], _LIMIT).output.strip()
        print(f"== Windows Python {said}", flush=True)
        files = files_to_test(arguments.paths)
        parts = run_parts(machine) if not arguments.paths else ()
        for line in chain(parts, run_suite(machine, files, arguments.at_once)):
            print(line, flush=True)
            has_failed = has_failed or line.startswith("failed")
    print(f"{len(LIMITS)} tests are left out: tests/tooling/windows/limits.py has the reasons")
    return 1 if has_failed else 0


def run_parts(machine: Machine) -> Iterator[str]:
    """Run all that is not a test; yield a line on each, and what it said when it failed."""
    parts = {
        "demo": ["-m", "conformance.demo"],
        "replay": ["-m", "conformance.replay"],
        "servers": ["-m", "tests.tooling.windows.servers"],
    }
    for name, words in parts.items():
        servers = TOP / ".peers" / "node-servers"
        if name == "servers":
            if not (HOME / "node" / "package").exists() or not servers.exists():
                yield "servers were not met: npm is missing, or `make conformance` was never run"
                continue
            words = [*words, windows_path(servers)]
        outcome = machine.run(words, _LIMIT)
        last = outcome.output.strip().splitlines()[-1:] or [""]
        if outcome.code == 0:
            yield f"passed  {name}: {last[0]}"
        else:
            yield f"failed  {name}, exit code {outcome.code}:\n{outcome.output[-4000:]}"


if __name__ == "__main__":
    sys.exit(main())
