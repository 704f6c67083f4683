"""``python -m tests.tools.mutants``: which mutants of the package does only one test notice?

It runs where Python is 3.12 or newer, on a system that can fork. First each test is run once to
learn the lines it reaches; then each mutant is put into a fork of the process that has collected
the tests, which runs those that reach its line until one fails. Tests that noticed a mutant go
first, so that few tests notice all of them: a test that is never needed (``notices`` 0 in the
report) proves what others prove as well. Tests that start processes of their own are left out of
both, since those would not have the mutant.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pytest

from .hunt import Hunt, Reach


def main() -> int:
    """Write the report: for each test function its lines, and the mutants that it noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.mutants", description=__doc__)
    parser.add_argument("--reach", type=Path, required=True, help="file of the lines each reaches")
    parser.add_argument("--report", type=Path, help="file of the report; without it only --reach")
    parser.add_argument("--share", type=float, default=0.2, help="which part of the lines to edit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, nargs=2, default=(1, 0), metavar=("N", "K"))
    parser.add_argument("tests", nargs="*", default=["tests"])
    options = parser.parse_args()
    plugin: object
    if options.report is None:
        plugin = Reach(options.reach)
    else:
        reach = json.loads(options.reach.read_text("utf-8"))
        plugin = Hunt(reach, options.report, options.share, options.seed, options.every)
    quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"]
    return pytest.main([*quiet, *options.tests], plugins=[plugin])


if __name__ == "__main__":
    sys.exit(main())
