"""``python -m conformance.replay [NAME ...]``: replay transcripts, all or those so named."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from conformance import replay
from conformance.results import FAILED, PASSED, Row, exit_code


def main() -> int:
    """Print a row for each session, those that failed once more at the end."""
    parser = argparse.ArgumentParser(prog="python -m conformance.replay", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as http/ or sdk1-cancel")
    names = parser.parse_args().names
    if not replay.names_of(names):
        parser.error(f"no transcript has a name with {' or '.join(names)}")
    begun = time.monotonic()
    rows = []
    for row in replay.run(names):
        print(row, flush=True)
        rows.append(row)
    failed = [row for row in rows if row.outcome == FAILED]
    if failed:
        print("\nfailed:", *failed, sep="\n  ")
    seconds = time.monotonic() - begun
    print(f"\n{_total(rows)}, in {seconds:.0f}s")
    return exit_code(rows, strict=False)


def _total(rows: Sequence[Row]) -> str:
    passed = sum(row.outcome == PASSED for row in rows)
    checks, accepted = sum(row.checks for row in rows), sum(row.accepted for row in rows)
    return (
        f"{passed} of {len(rows)} sessions passed: {checks} checks, each in several chunkings, "
        f"{accepted} accepted differences"
    )


if __name__ == "__main__":
    sys.exit(main())
