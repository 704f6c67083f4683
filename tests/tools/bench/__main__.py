"""`python -m tests.tools.bench`: measure, then print the table, and which marks are met.

The other clients are looked for in `.peers` of this repository, or where the environment variable
MCPCLIENT_PEERS says: virtual environments and a folder with `node_modules`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from .columns import COLUMN_KEYS, Column, find_columns, peers_folder
from .report import Report, environment, lines_of, render, verdicts_of
from .rows import ROWS, Row
from .runner import Runner, Settings

QUICK = Settings(rounds=3, round_seconds=0.1, budget=1.0, patience=60, quick=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is 1 when this library failed in a row."""
    options = _parse(arguments)
    columns = find_columns(options.columns, peers_folder())
    settings = QUICK if options.quick else Settings()
    if options.heavy:
        settings = replace(settings, patience=600)
    if options.rounds:
        settings = replace(settings, rounds=options.rounds)
    report = measure(_chosen_rows(options), columns, settings)
    print(render(report, columns))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(any("mcpclient" in line["errors"] for line in report["lines"]))


def measure(rows: Sequence[Row], columns: Sequence[Column], settings: Settings) -> Report:
    """Run the rows in the columns that are there."""
    present = [column for column in columns if not column.absent]
    with Runner(present, settings, _tell) as runner:
        lines = [line for row in rows for line in lines_of(row, runner.run(row))]
        runtimes = runner.runtimes
    return {
        "environment": environment(),
        "columns": {column.key: runtimes.get(column.key, "") for column in present},
        "absent": {column.key: column.absent for column in columns if column.absent},
        "lines": lines,
        "marks": verdicts_of(lines),
    }


def _tell(text: str) -> None:
    print(f"... {text}", file=sys.stderr, flush=True)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.bench", description=__doc__)
    parser.add_argument(
        "--rows", type=_keys([row.key for row in ROWS]), help="KEY,KEY,… as in rows.py"
    )
    parser.add_argument(
        "--columns",
        type=_keys(COLUMN_KEYS),
        default=list(COLUMN_KEYS),
        help=f"KEY,KEY,… of {', '.join(COLUMN_KEYS)}",
    )
    parser.add_argument("--rounds", type=int, help="rounds per row (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there too")
    parser.add_argument("--quick", action="store_true", help="a minute's look, less exact")
    parser.add_argument("--heavy", action="store_true", help="also the rows of endurance")
    return parser.parse_args(arguments)


def _keys(known: Sequence[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        keys = text.split(",")
        for key in keys:
            if key not in known:
                raise argparse.ArgumentTypeError(f"{key}: not one of {', '.join(known)}")
        return keys

    return parse


def _chosen_rows(options: argparse.Namespace) -> list[Row]:
    if options.rows:
        return [row for row in ROWS if row.key in options.rows]
    return [
        row
        for row in ROWS
        if (options.heavy or not row.heavy) and (row.in_quick or not options.quick)
    ]


if __name__ == "__main__":
    sys.exit(main())
