"""``python -m tests.tools.soak.logins``: refresh logins under kills, and see that none is lost.

Twice: with refresh tokens that count until their successor is used, as most authorization servers
have it, and every kill there can be; and with tokens that count once, see `Chaos`. Exits with 1
after any violation. The seed decides what is disturbed; when, is the machine's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ..watch import Violations
from .chaos import Chaos


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.soak.logins", description=__doc__)
    parser.add_argument("--refreshes", type=int, default=10_000, help="how many (default 10000)")
    parser.add_argument("--seed", type=int, help="repeats a run (default: a new one)")
    parser.add_argument("--users", type=int, default=24)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--tokens", choices=("lenient", "strict"), nargs="+")
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else time.time_ns() % 1_000_000
    print(f"seed {seed}, Python {sys.version.split()[0]}", flush=True)
    violations = Violations(seed)
    for rotation in options.tokens or ("lenient", "strict"):
        with tempfile.TemporaryDirectory() as folder:
            chaos = Chaos(
                seed,
                Path(folder),
                violations,
                strict=rotation == "strict",
                processes=options.processes,
                users=options.users,
            )
            began = time.monotonic()
            chaos.run(options.refreshes)
        print(f"{rotation}, {time.monotonic() - began:.0f} s: {_summary(chaos)}", flush=True)
    if violations.found:
        print(f"{len(violations.found)} violations; again with: --seed {seed}")
        return 1
    print("no violations")
    return 0


def _summary(chaos: Chaos) -> str:
    facts = chaos.facts
    reasons = sorted(name for name in facts if name.startswith("disturbed by "))
    disturbances = ", ".join(f"{name[len('disturbed by ') :]} {facts[name]}" for name in reasons)
    return (
        f"{facts['rotated']} refreshes for {facts['users with a login']} users, "
        f"{chaos.started} processes, {facts['lost']} logins lost ({disturbances})"
    )


if __name__ == "__main__":
    sys.exit(main())
