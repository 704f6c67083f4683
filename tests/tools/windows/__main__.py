"""``make windows``: the demo, real servers, the replay and the tests, by Windows Pythons."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence

from .limits import LIMITS
from .machine import (
    HOME,
    PYTHON_SERVERS,
    SERVERS_HOME,
    TOP,
    VERSIONS,
    Lacking,
    Machine,
    prepare,
    python_of_servers,
    windows_path,
)
from .suite import files_to_test, log_of, run_suite

# What is run besides the tests, unless paths are named.
PARTS = {
    "demo": ["-m", "conformance.demo"],
    "servers": ["-m", "tests.tools.windows.servers"],
    "replay": ["-m", "conformance.replay"],
}
_LIMIT = 1200.0


def main() -> int:
    """Run the tests on every version; return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.windows", description=__doc__)
    parser.add_argument(
        "paths",
        nargs="*",
        help="test files or folders, or demo, servers, replay; without any, everything",
    )
    parser.add_argument("--version", action="append", choices=VERSIONS, dest="versions")
    arguments = parser.parse_args()
    files = files_to_test([path for path in arguments.paths if path not in PARTS])
    parts = [part for part in PARTS if not arguments.paths or part in arguments.paths]
    if arguments.paths and len(parts) == len(arguments.paths):
        files = []
    if not files and not parts:
        parser.error(f"no test of Windows is in {', '.join(arguments.paths)}")
    summary = []
    for version in arguments.versions or VERSIONS:
        try:
            machine = prepare(version)
        except Lacking as lacking:
            print(f"Windows Python {version} cannot be run: {lacking}", file=sys.stderr)
            return 1
        try:
            for line in run_version(machine, parts, files):
                print(line, flush=True)
                if line.startswith("failed"):
                    summary.append(f"{version}  {line.splitlines()[0]}")
        finally:
            machine.stop()
    print(f"{len(LIMITS)} tests are left out: tests/tools/windows/limits.py has the reasons")
    print("\n".join(["", *summary] if summary else ["nothing failed"]))
    return 1 if summary else 0


def run_version(machine: Machine, parts: Sequence[str], files: Sequence[str]) -> Iterator[str]:
    """Run all that was asked for on one version, whatever fails; yield lines to be printed."""
    words = ["-c", "import sys; print(sys.version)"]
    said = machine.run(words, _LIMIT, log_of(machine, "version")).output.strip()
    yield f"== Windows Python {said}"
    for name in parts:
        yield run_part(machine, name)
    if files:
        yield from run_suite(machine, files)


def server_options() -> Iterator[str]:
    """Yield where the servers are, and say which are not there."""
    servers = TOP / ".peers" / "node-servers"
    if (HOME / "node" / "package").exists() and servers.exists():
        yield f"--npm={windows_path(servers.resolve())}"
    else:
        print("npm's servers are not met: npm is missing, or `make conformance` was never run")
    if (SERVERS_HOME / PYTHON_SERVERS[0]).exists():
        yield f"--python={windows_path(python_of_servers())}"
        yield f"--packages={windows_path(SERVERS_HOME)}"
    else:
        print("servers in Python are not met: the compiler is missing (gcc-mingw-w64-x86-64)")


def run_part(machine: Machine, name: str) -> str:
    """Run a command that is not a test; return a line on it, and its output when it failed."""
    words = [*PARTS[name], *(server_options() if name == "servers" else ())]
    begun = time.monotonic()
    log = log_of(machine, name)
    outcome = machine.run(words, _LIMIT, log)
    seconds = f"{time.monotonic() - begun:.0f} s"
    last = outcome.output.strip().splitlines()[-1:] or [""]
    if outcome.code == 0:
        return f"passed  {name}: {last[0]} ({seconds})"
    return f"failed  {name}, exit code {outcome.code}, {seconds} ({log})\n{outcome.output[-4000:]}"


if __name__ == "__main__":
    sys.exit(main())
