"""``python -m conformance [PART ...]`` runs what this machine can, and says what not.

Nothing but Python is needed for the replay, which comes first. What the other parts need is
installed before each, once and into `.peers`, if there are Node.js, newer Pythons and a network.

``--strict``, or STRICT=1 in the environment, makes everything that could not run a failure.
``--offline`` installs nothing. ``--write-readme`` shows the table in the README when all is well.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from conformance import (
    authorized,
    bridged,
    judged,
    live,
    negotiate,
    official,
    peers,
    published,
    readme,
    replay,
    server_suite,
    traces,
)
from conformance.peers.install import install_all
from conformance.results import FAILED, LEFT_OUT, NOT_RUN, PASSED, Row, exit_code
from conformance.summary import groups, table, what_went_wrong
from conformance.websocket import autobahn, meetings


@dataclass(frozen=True)
class Part:
    """Something that reports rows, and the environments of `conformance.peers` it needs."""

    run: Callable[[], Iterator[Row]]
    environments: Sequence[str] = ()
    provide: Callable[[], None] | None = None
    """Installs what it needs beyond these."""


PARTS = {
    "replay": Part(replay.run),
    "published": Part(published.run, provide=published.provide),
    "live": Part(live.run, live.ENVIRONMENTS),
    "bridged": Part(bridged.run, bridged.ENVIRONMENTS),
    "scenarios": Part(server_suite.run, server_suite.ENVIRONMENTS),
    "websocket": Part(meetings.run, meetings.ENVIRONMENTS, autobahn.provide),
    "authorized": Part(authorized.run, authorized.ENVIRONMENTS),
    "negotiate": Part(negotiate.run),
    "official": Part(official.run, official.ENVIRONMENTS),
    "judged": Part(judged.run, provide=published.provide),  # the messages of the other parts
}


def main() -> int:
    """Run the parts that were asked for, all of them by default."""
    arguments = parse()
    begun = time.monotonic()
    rows: list[Row] = []
    with traces.kept() if "judged" in arguments.parts else nullcontext():
        for name in arguments.parts:
            if not arguments.offline:
                provide(PARTS[name])
            for row in rows_of(name):
                rows.append(row)
                if row.outcome != NOT_RUN:  # those are named in the end, by their reasons
                    print(textwrap.fill(str(row), 100, subsequent_indent=" " * 11), flush=True)
    print("", *report(rows), sep="\n")
    print(f"{total(rows)} in {time.monotonic() - begun:.0f}s")
    if arguments.write_readme and exit_code(rows, strict=True) == 0:
        readme.write(rows)
    return exit_code(rows, arguments.strict)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--strict", action="store_true", default=os.environ.get("STRICT") == "1")
    parser.add_argument("--offline", action="store_true")
    parser.add_argument("--write-readme", action="store_true")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if arguments.write_readme and arguments.parts:
        parser.error("the README shows a run of all parts")
    arguments.parts = [each for each in PARTS if each in (arguments.parts or PARTS)]
    return arguments


def provide(part: Part) -> None:
    """Install a part's missing packages, unless that has failed before."""
    missing = {
        name
        for name in part.environments
        if not peers.is_installed(name) and name not in peers.problems
    }
    if missing:
        print(f"installing {', '.join(sorted(missing))}", flush=True)
        install_all(missing)
    if part.provide:
        part.provide()


def rows_of(part: str) -> Iterator[Row]:
    """Run a part; an exception that it did not expect is a row like any other failure."""
    try:
        yield from PARTS[part].run()
    except Exception as error:
        yield Row(part, "the part itself", FAILED, f"{type(error).__name__}: {error}", checks=1)


def report(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the paragraphs that sum everything up."""
    for paragraph in (table(rows), groups(rows), what_went_wrong(rows)):
        if paragraph:
            yield f"{paragraph}\n"


def total(rows: Sequence[Row]) -> str:
    """Return one line: what passed, and how much of it all was not run."""
    outcomes = Counter(row.outcome for row in rows)
    checks, held = sum(row.checks for row in rows), sum(row.held for row in rows)
    not_run = ", ".join(f"{outcomes[name]} {name}" for name in (NOT_RUN, LEFT_OUT))
    passed = f"{outcomes[PASSED]} of {len(rows)} meetings passed, {held} of {checks} checks held"
    return f"{passed}; {not_run}"


if __name__ == "__main__":
    sys.exit(main())
