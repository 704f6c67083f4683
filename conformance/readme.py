"""The counts of replays, and the table of the last full run, in the README."""

from __future__ import annotations

import platform
import re
import textwrap
from collections.abc import Sequence
from datetime import datetime, timezone

from conformance.claims import counted
from conformance.peers import TOP
from conformance.results import Row
from conformance.summary import groups, table

README = TOP / "README.md"
BEGIN = "<!-- conformance: written by `python -m conformance --write-readme` -->"
END = "<!-- end of conformance -->"

_ABOUT = textwrap.fill(
    "WebSocket checks without a revision are cases of Autobahn's test suite, except for "
    "compression and speed; HTTP logins without a revision use Negotiate. The column "
    '"bridged" counts the reference clients\' sessions through `mcpclient bridge` and the '
    'official suite\'s server scenarios, and "judged" the messages, both ways, in all the others '
    "that are valid by the specification's schemas. The sets below belong to the official suite.",
    100,
)

_SECTION = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)


def section(text: str) -> str:
    """Return the text between the markers; ValueError when they are not there."""
    found = _SECTION.search(text)
    if found is None:
        raise ValueError(f"README.md lacks the lines {BEGIN} and {END}")
    return found[0][len(BEGIN) : -len(END)].strip()


def write(rows: Sequence[Row]) -> None:
    """Put the tables of a run between the markers."""
    today = datetime.now(timezone.utc).date().isoformat()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    held = f"Checks that held, on {today} with {python} on {platform.system()}:"
    heading = textwrap.fill(f"{counted()} {held}", 100, break_on_hyphens=False)
    content = "\n\n".join([heading, table(rows), _ABOUT, groups(rows)])
    text = README.read_text("utf-8")
    section(text)
    README.write_text(_SECTION.sub(lambda _: f"{BEGIN}\n{content}\n{END}", text), "utf-8")
