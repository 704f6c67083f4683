"""Run the Autobahn testsuite against the WebSocket connection and print the counts.

    python -m conformance.websocket [--cases PATTERN ...] [--reports DIR]

The suite is installed on the first run, which takes CPython 2.7 and a C compiler. PATTERN is like
``6.*``; without one all of the 517 cases run, which takes many minutes, most of them for
compression. DIR receives the suite's own report, an ``index.html`` and a page for each case. The
exit status is 1 when a case is anything but OK, NON-STRICT or INFORMATIONAL.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from conformance.peers.install import CannotInstall
from conformance.websocket.autobahn import bad_cases, meet
from conformance.websocket.install import install


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.websocket", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--cases", nargs="+", metavar="PATTERN", default=["*"])
    parser.add_argument("--reports", type=Path, metavar="DIR")
    arguments = parser.parse_args()
    try:
        install()
    except CannotInstall as reason:
        print(f"the Autobahn testsuite could not be installed: {reason}")
        return 1
    if arguments.reports:
        arguments.reports.mkdir(parents=True, exist_ok=True)
        arguments.reports = arguments.reports.absolute()
    results = meet(arguments.cases, arguments.reports)
    show(results)
    return int(bool(bad_cases(results)) or not results)


def show(results: dict[str, dict[str, Any]]) -> None:
    """Print the counts, and every case that is not plainly OK."""
    for case, result in results.items():
        outcome = {result["behavior"], result["behaviorClose"]}
        if outcome != {"OK"}:
            print(f"{case:8} {result['behavior']}, closing {result['behaviorClose']}")
    for title, key in (("behaviour", "behavior"), ("closing", "behaviorClose")):
        counts = Counter(result[key] for result in results.values())
        print(f"{title}: " + ", ".join(f"{count} {name}" for name, count in counts.most_common()))


if __name__ == "__main__":
    sys.exit(main())
