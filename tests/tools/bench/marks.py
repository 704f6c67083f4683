"""The promises of this library about its speed and size, and whether a report keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from .columns import FASTMCP, FLOOR, LIBRARY, OFFICIAL
from .rows import ROWS, Measure

TYPESCRIPT = "typescript"
WEBSOCKETS = "websockets"
NAMES = {
    FLOOR: "the floor",
    OFFICIAL: "the official SDK",
    FASTMCP: "fastmcp",
    TYPESCRIPT: "TypeScript",
    WEBSOCKETS: "websockets",
}

Rounds = Mapping[tuple[str, str], Mapping[str, Sequence[float]]]
"""By row and measure, what each column did in each round."""


@dataclass(frozen=True)
class Mark:
    """One promise about one measure of one row.

    ``times``: so many times as good as the column ``than``, or as this library in the row
    ``beside``; ``beyond``: how much more than these it may be, in the measure's unit, not counting
    how much more the two rows of the floor are apart with ``over_floor``; ``limit``: a number that
    it does not pass.
    """

    row: str
    measure: str = "rate"
    times: float | None = None
    than: str = FLOOR
    beside: str | None = None
    limit: float | None = None
    beyond: float | None = None
    over_floor: bool = False


MARKS = (
    Mark("stdio-sequence", times=0.85),
    Mark("bridge-stdio", times=0.5, beside="relay-stdio"),
    Mark("mcp-bridge", times=1 / 1.5, beside="mcp-direct"),
    Mark("typescript-bridge", times=1 / 2.5, beside="typescript-direct"),
    Mark("bridge-http", times=3, beside="mcp-remote-http"),
    Mark("bridge-http", times=3, beside="fastmcp-http"),
    Mark("gateway-http", times=3, beside="fastmcp-http"),
    Mark("typescript-gateway", times=3, beside="typescript-fastmcp"),
    Mark("stdio-100", times=10, than=OFFICIAL),
    Mark("stdio-100", "cpu", times=1, than=TYPESCRIPT),
    Mark("stdio-batch", "cpu", times=1.5, than=TYPESCRIPT),  # the server sets the pace of both
    Mark("first-stdio", "cpu", times=1.5, than=OFFICIAL),
    Mark("first-stdio", "memory", limit=23),
    Mark("json-sequence", times=0.8),
    Mark("json-handshake", times=0.8),
    Mark("json-counted", times=0.7),
    Mark("json-100", times=0.7),
    Mark("json-authorized", "cpu", beyond=15, beside="json-sequence"),
    Mark("sse-sequence", times=0.7),
    Mark("json-sequence", times=5, than=OFFICIAL),
    Mark("json-100", times=5, than=OFFICIAL),
    Mark("json-100", times=1.5, than=TYPESCRIPT),
    Mark("sse-sequence", times=7, than=OFFICIAL),
    Mark("notifications", limit=100_000),
    Mark("ws-100", "cpu", beyond=4, beside="stdio-100", over_floor=True),
    Mark("stdio-connect", "time", beyond=5),
    Mark("json-connect", "time", beyond=5),
    Mark("import", "name_cpu", limit=60),
    Mark("import", "name_memory", limit=25),
    Mark("import", "memory", limit=25),
    Mark("import", "cpu", times=1 / 1.6),
    Mark("import-http", "cpu", times=1 / 1.75),
    Mark("version", "cpu", times=1 / 1.25),
    Mark("help", "cpu", times=1 / 2),
    Mark("tools", "cpu", times=1 / 2),
    Mark("session", "time", times=1 / 3),
    Mark("tools", "time", times=1, than=FASTMCP),
    Mark("tools", "time", times=1, than=TYPESCRIPT),
    # Flat, but for what a second look at the same thing differs by.
    Mark("calls-100000", "later", limit=1.15),
    Mark("tools-10000", "later", limit=1.15),
    # Memory comes back as far as the allocator gives back what asyncio itself has used.
    Mark("in-flight-10000", "kept", times=0.5),
    Mark("servers-200", "each", limit=100),
    Mark("sessions-1000", "each", limit=40),
    Mark("ws-1000", "each", limit=40),
    Mark("manager-call", "times", limit=3.25),
    Mark("manager-tools", "cpu", limit=100),
    Mark("blocking-call", "times", limit=1.3),
    Mark("sandbox-start", "more", limit=40),
    Mark("audit-call", "times", limit=3),
)


class Verdict(NamedTuple):
    """A mark beside the measured value; ``met`` is None where there is none."""

    row: str
    wanted: str
    measured: str
    met: bool | None


def judge(mark: Mark, rounds: Rounds) -> Verdict:
    """Compare a mark with the rounds of a report."""
    title, measure = _find(mark)
    columns = rounds.get((mark.row, mark.measure), {})
    values, others = columns.get(LIBRARY, ()), columns.get(mark.than, ())
    reference = NAMES[mark.than]
    both = mark.row, mark.beside or mark.row
    if mark.beside is not None:
        reference = f"the row {mark.beside}"
        others = rounds.get((mark.beside, mark.measure), {}).get(LIBRARY, ())
    if mark.times is not None:
        wanted = f"{mark.times:.3g} x {reference}"
        ratios = [measure.speed(value, other) for value, other in zip(values, others)]
        found = [ratio for ratio in ratios if ratio is not None]
        return _verdict(title, wanted, found, mark.times, " x", higher_is_better=True)
    unit, better = f" {measure.unit}", measure.higher_is_better
    if mark.beyond is not None:
        wanted = f"{reference} + {mark.beyond:g}{unit}"
        found = [value - other for value, other in zip(values, others)]
        if mark.over_floor:
            floor = (rounds.get((row, mark.measure), {}).get(FLOOR, ()) for row in both)
            found = [more - (value - other) for more, value, other in zip(found, *floor)]
            wanted += ", beyond the floor's difference"
        return _verdict(title, wanted, found, mark.beyond, unit, higher_is_better=better)
    assert mark.limit is not None
    wanted = f"{'at least' if better else 'at most'} {mark.limit:,.12g}{unit}"
    return _verdict(title, wanted, values, mark.limit, unit, higher_is_better=better)


def _find(mark: Mark) -> tuple[str, Measure]:
    row = next(row for row in ROWS if row.key == mark.row)
    return row.title, next(each for each in row.measures if each.key == mark.measure)


def _verdict(
    title: str,
    wanted: str,
    found: Sequence[float],
    value: float,
    unit: str,
    *,
    higher_is_better: bool,
) -> Verdict:
    if not found:
        return Verdict(title, wanted, "-", None)
    middle = median(found)
    met = middle >= value if higher_is_better else middle <= value
    digits = 0 if middle > 1000 else 2
    return Verdict(title, wanted, f"{middle:,.{digits}f}{unit}", met)
