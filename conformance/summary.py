"""One table of all that was checked, as Markdown, and lists of what failed and what did not run."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from conformance.results import FAILED, LEFT_OUT, NOT_RUN, TRANSPORTS, Row
from mcpclient.protocol.negotiation import HANDSHAKE_VERSIONS, STATELESS_VERSIONS

REVISIONS = (*HANDSHAKE_VERSIONS, *STATELESS_VERSIONS)
PARTS = ("replay", "live", "websocket", "authorized", "bridged", "official", "judged")

NOTHING = "–"


def table(rows: Iterable[Row]) -> str:
    """Return how many checks held, of how many, by revision and transport and by part.

    Every revision is there with every transport, whether they met or not. What belongs to no
    transport is not counted.
    """
    rows = [row for row in rows if row.part in PARTS]
    lines = [["revision", "transport", *PARTS, "all"]]
    for revision, transport in _places(rows):
        here = [row for row in rows if (row.revision, row.transport) == (revision, transport)]
        lines.append([revision or "any", transport or "any", *_counts(here)])
    lines.append(["all", "all", *_counts(rows)])
    return _markdown(lines)


def _places(rows: Sequence[Row]) -> Iterable[tuple[str, str]]:
    """Return the pairs of revision and transport: the known ones, then what else was met."""
    known = [(revision, transport) for revision in REVISIONS for transport in TRANSPORTS]
    met = sorted({(row.revision, row.transport) for row in rows if row.checks})
    return dict.fromkeys([*known, *met])


def _counts(rows: Sequence[Row]) -> Iterator[str]:
    for part in PARTS:
        yield _count([row for row in rows if row.part == part])
    yield _count(rows)


def _count(rows: Iterable[Row]) -> str:
    rows = list(rows)
    checks, held = sum(row.checks for row in rows), sum(row.held for row in rows)
    return f"{held} of {checks}" if checks else NOTHING


def groups(rows: Iterable[Row]) -> str:
    """Return the outcomes of every group of rows, such as the sets of the official suite."""
    rows = list(rows)
    lines = [["set", "scenarios", "passed", "failed", "warnings", "skipped"]]
    for group in dict.fromkeys(row.group for row in rows if row.group):
        members = [row for row in rows if row.group == group]
        held, warnings = sum(row.held for row in members), sum(row.warnings for row in members)
        failed = sum(row.checks for row in members) - held - warnings
        skipped = sum(row.skipped for row in members)
        lines.append([group, *map(str, (len(members), held, failed, warnings, skipped))])
    return _markdown(lines) if len(lines) > 1 else ""


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    """Return a table that reads well as it is, too."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |"
        for line in (lines[0], rule, *lines[1:])
    )


def what_went_wrong(rows: Iterable[Row]) -> str:
    """Return the parts that failed, could not run, or were left out, each with its reason."""
    rows = list(rows)
    paragraphs = []
    for outcome in (FAILED, NOT_RUN, LEFT_OUT):
        reasons: dict[tuple[str, str], list[str]] = {}
        for row in rows:
            if row.outcome == outcome:
                reasons.setdefault((row.part, row.detail), []).append(row.name)
        if reasons:
            paragraphs.append(f"{outcome}:")
            for (part, reason), names in reasons.items():
                paragraphs[-1] += "\n" + _wrapped(f"{part}: {', '.join(names)}: {reason}")
    return "\n\n".join(paragraphs)


def _wrapped(text: str) -> str:
    lines = textwrap.wrap(text, 94, break_long_words=False, break_on_hyphens=False)
    return "  " + "\n    ".join(lines)
