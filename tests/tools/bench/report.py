"""From the answers of the workers to medians, ratios and the printed table."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, TypedDict

from .columns import FLOOR, OFFICIAL, Column
from .marks import MARKS, Verdict, judge
from .rows import Measure, Row
from .runner import Cell


class Line(TypedDict):
    """One measure of one row: by column the median, the rounds and the two ratios."""

    row: str
    measure: str
    title: str
    unit: str
    digits: int
    median: dict[str, float]
    rounds: dict[str, list[float]]
    of_floor: dict[str, float | None]
    of_official: dict[str, float | None]
    errors: dict[str, str]


class Report(TypedDict):
    """The whole table, as `--json` writes it."""

    environment: dict[str, Any]
    columns: dict[str, str]
    absent: dict[str, str]
    lines: list[Line]
    marks: list[Verdict]


def lines_of(row: Row, cells: Mapping[str, Cell]) -> list[Line]:
    """One line per measure of the row."""
    return [_line(row, measure, cells) for measure in row.measures]


def _line(row: Row, measure: Measure, cells: Mapping[str, Cell]) -> Line:
    rounds = {
        key: [measure.value(answer, row) for answer in cell.answers]
        for key, cell in cells.items()
        if cell.answers
    }

    def ratios(reference: str) -> dict[str, float | None]:
        others = rounds.get(reference, [])
        return {key: _ratio(measure, values, others) for key, values in rounds.items()}

    return {
        "row": row.key,
        "measure": measure.key,
        "title": row.title if measure is row.measures[0] else "",
        "unit": measure.unit,
        "digits": measure.digits,
        "median": {key: median(values) for key, values in rounds.items()},
        "rounds": rounds,
        "of_floor": ratios(FLOOR),
        "of_official": ratios(OFFICIAL),
        "errors": {key: cell.error for key, cell in cells.items() if cell.error},
    }


def _ratio(measure: Measure, values: Sequence[float], references: Sequence[float]) -> float | None:
    """The median of the ratios within a round, where whatever else ran slowed both alike."""
    ratios = [measure.speed(value, other) for value, other in zip(values, references)]
    known = [ratio for ratio in ratios if ratio is not None]
    return median(known) if known else None


def environment() -> dict[str, Any]:
    """The facts that the numbers depend on."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpus": os.cpu_count(),
    }


LEGEND = """\
Each cell: how good the column is beside the asyncio floor (floor = 1.00), and beside the
official Python SDK (4.0x: four times as good). Higher is better everywhere, also where less time or
memory is what counts. Medians over interleaved rounds of the ratio within each round; all columns
call the same neutral server. CPU and memory are the client's own. More than 1.00 is possible: the
floor is asyncio's own transports as they are, whose read buffers of 256 KiB are dear."""


def render(report: Report, columns: Sequence[Column]) -> str:
    """The report as text: ratios first, then the numbers behind them."""
    present = [column for column in columns if column.key in report["columns"]]
    about = report["environment"]
    parts = [
        f"Python {about['python']} on {about['system']}, {about['cpus']} CPUs",
        LEGEND,
        _table("ratios", report["lines"], present, _ratio_cell),
        _table("absolute", report["lines"], present, _absolute_cell),
        _marks_table(report["marks"]),
        "\n".join(_notes(report, present)),
    ]
    return "\n\n".join(parts)


def _table(heading: str, lines: Sequence[Line], columns: Sequence[Column], cell: Any) -> str:
    titles = [[f"{heading}", ""], *([line["title"], line["unit"]] for line in lines)]
    body = [[column.title for column in columns]]
    body += [[cell(line, column.key) for column in columns] for line in lines]
    return _aligned([[*title, *cells] for title, cells in zip(titles, body)])


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """The rows as text, the first underlined: two columns to the left, the others to the right."""
    widths = [max(map(len, texts)) for texts in zip(*rows)]
    rendered = []
    for texts in rows:
        cells = [text.ljust(width) for text, width in zip(texts[:2], widths)]
        cells += [text.rjust(width) for text, width in zip(texts[2:], widths[2:])]
        rendered.append("  ".join(cells).rstrip())
    rendered.insert(1, "-" * max(map(len, rendered)))
    return "\n".join(rendered)


def verdicts_of(lines: Sequence[Line]) -> list[Verdict]:
    """Every mark beside its measurement in the lines."""
    rounds = {(line["row"], line["measure"]): line["rounds"] for line in lines}
    return [judge(mark, rounds) for mark in MARKS]


def _marks_table(verdicts: Sequence[Verdict]) -> str:
    words = {True: "met", False: "MISSED", None: "not measured"}
    rows = [["marks of mcpclient", "wanted", "measured", ""]]
    rows += [[each.row, each.wanted, each.measured, words[each.met]] for each in verdicts]
    return _aligned(rows)


def _ratio_cell(line: Line, key: str) -> str:
    if key not in line["median"]:
        return "failed" if key in line["errors"] else "-"
    of_floor, of_official = line["of_floor"].get(key), line["of_official"].get(key)
    parts = [f"{of_floor:.2f}" if of_floor is not None else ""]
    if key not in (FLOOR, OFFICIAL):
        parts.append(f"{of_official:5.1f}x" if of_official is not None else " " * 6)
    return " ".join(parts).rstrip() or "-"


def _absolute_cell(line: Line, key: str) -> str:
    if key not in line["median"]:
        return "failed" if key in line["errors"] else "-"
    return f"{line['median'][key]:,.{line['digits']}f}"


def _notes(report: Report, columns: Sequence[Column]) -> list[str]:
    runtimes = report["columns"]
    notes = [f"{column.title}: {runtimes[column.key] or 'not in these rows'}" for column in columns]
    notes += [f"not measured: {key}: {reason}" for key, reason in report["absent"].items()]
    seen = set()
    for line in report["lines"]:
        for key, error in line["errors"].items():
            if (line["row"], key) not in seen:
                seen.add((line["row"], key))
                notes.append(f"failed: {line['row']}, {key}: {error}")
    return notes
