"""``python -m conformance.replay [NAME ...]``: replay the transcripts whose names contain a NAME.

Without names, all are replayed, and the list of known differences is checked as well.
"""

from __future__ import annotations

import argparse
import sys
import time

from conformance import replay
from conformance.results import FAILED, NOT_RUN, PASSED, exit_code


def main() -> int:
    """Print a row for each meeting, those that failed once more at the end."""
    parser = argparse.ArgumentParser(prog="python -m conformance.replay", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as http/ or sdk1-cancel")
    names = parser.parse_args().names
    if not replay.transcripts(names):
        parser.error(f"no transcript has a name with {' or '.join(names)}")
    begun = time.monotonic()
    rows = []
    for row in replay.run(names):
        print(row, flush=True)
        rows.append(row)
    failed = [row for row in rows if row.outcome == FAILED]
    if failed:
        print("\nfailed:", *failed, sep="\n  ")
    checks = sum(row.checks for row in rows)
    passed = sum(row.outcome == PASSED for row in rows)
    seconds = time.monotonic() - begun
    print(f"\n{checks} checks; {passed} of {len(rows)} meetings passed in {seconds:.0f}s", end="")
    unable = sum(row.outcome == NOT_RUN for row in rows)
    print(f"; {unable} could not run" if unable else "")
    return exit_code(rows, strict=False)


if __name__ == "__main__":
    sys.exit(main())
