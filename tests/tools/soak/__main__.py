"""``python -m tests.tools.soak``: use everything at random, and see that nothing breaks.

Exits with 1 after any violation. The seed decides what is called and disturbed; when each thing
happens is the machine's.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .fronted_lane import FRONTED
from .lanes import KINDS, PATHS
from .managed_lane import MANAGED
from .report import summary
from .run import Run

_KINDS = [*KINDS, *dict(FRONTED)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="how long (default 300)")
    parser.add_argument("--seed", type=int, help="repeats a run (default: a new one)")
    parser.add_argument("--only", choices=_KINDS, nargs="+", default=_KINDS)
    parser.add_argument("--workers", type=int, default=6, help="callers per transport and era")
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else time.time_ns() % 1_000_000
    print(f"seed {seed}, Python {sys.version.split()[0]}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        chosen = ([p for p in each if p[0] in options.only] for each in (PATHS, MANAGED, FRONTED))
        run = Run(seed, Path(folder), *chosen)
        asyncio.run(run.last(options.seconds, options.workers, _tell))
    print(summary(run))
    if run.violations.found:
        print(f"{len(run.violations.found)} violations; again with: --seed {seed}")
        return 1
    print("no violations")
    return 0


def _tell(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
