"""``python -m conformance [PART ...] [--strict]`` runs what this machine can, and says what not.

``--strict``, or STRICT=1 in the environment, makes everything that could not run a failure.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator

from conformance import authorized, live, official
from conformance.results import FAILED, NOT_RUN, Row, exit_code, summary
from conformance.websocket import meetings

PARTS: dict[str, Callable[[], Iterator[Row]]] = {
    "live": live.run,
    "websocket": meetings.run,
    "authorized": authorized.run,
    "official": official.run,
}


def main() -> int:
    """Run the parts that were asked for, all of them by default."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--strict", action="store_true", default=os.environ.get("STRICT") == "1")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")

    rows: list[Row] = []
    for part in arguments.parts or PARTS:
        for row in PARTS[part]():
            print(row, flush=True)
            rows.append(row)
    for outcome in (FAILED, NOT_RUN):
        listed = [row for row in rows if row.outcome == outcome]
        if listed:
            print(f"\n{outcome}:", *listed, sep="\n  ")
    print("", summary(rows), sep="\n")
    return exit_code(rows, arguments.strict)


if __name__ == "__main__":
    sys.exit(main())
