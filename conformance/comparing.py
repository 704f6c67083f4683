"""Compare this library's results from a server with a reference client's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Report = dict[str, Any]
"""What a client got: single values, and lists of what it was told or answered."""

KEYS = {"tools": "name", "resources": "uri", "templates": "uriTemplate", "prompts": "name"}
"""What the items of the lists of a server are called by."""


@dataclass(frozen=True)
class Allowance:
    """A difference that is not a fault of this library, and why."""

    reference: str
    """The name of the reference client."""
    pattern: str
    """A regular expression that matches the whole line of `differences`."""
    reason: str

    def covers(self, reference: str, difference: str) -> bool:
        """Say whether a difference from a reference client is this one."""
        return self.reference == reference and bool(re.fullmatch(self.pattern, difference, re.S))


@dataclass(frozen=True)
class Comparison:
    """The number of answers compared, and every difference, with the answer it belongs to."""

    checks: int
    differences: tuple[tuple[str, str], ...]

    @property
    def held(self) -> int:
        """The number of answers that were alike."""
        return self.checks - len({answer for answer, _ in self.differences})


def compare(
    reference: str, theirs: Report, ours: Report, allowances: tuple[Allowance, ...] = ()
) -> Comparison:
    """Compare answer by answer; what one side got and the other did not is a difference, too."""
    expected, actual = dict(_answers(theirs, ours)), dict(_answers(ours, theirs))
    answers = list(dict.fromkeys([*expected, *actual]))
    found = [
        (name, difference)
        for name in answers
        for difference in differences(expected.get(name), actual.get(name), name)
        if not any(allowed.covers(reference, difference) for allowed in allowances)
    ]
    return Comparison(len(answers), tuple(found))


def _answers(report: Report, other: Report) -> Iterator[tuple[str, Any]]:
    """Yield every answer in a report with its name, and in which order it has what both have."""
    for name, value in report.items():
        if not isinstance(value, list):
            yield name, value
        elif name in KEYS:
            items = _by_key(name, report)
            yield f"{name} (order)", [key for key in items if key in _by_key(name, other)]
            for key, item in items.items():
                yield f"{name}[{key}]", item
        else:
            for index, item in enumerate(value):
                yield f"{name}[{index}]", item


def _by_key(name: str, report: Report) -> dict[str, Any]:
    return {item[KEYS[name]]: item for item in report.get(name, ())}


def differences(theirs: Any, ours: Any, path: str = "") -> Iterator[str]:
    """Name every place where this library's results differ from the reference client's."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key, value in theirs.items():
            if key in ours:
                yield from differences(value, ours[key], f"{path}.{key}")
            else:
                yield f"{path}.{key} is missing"
        for key in ours.keys() - theirs.keys():
            yield f"{path}.{key} is new"
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for index, pair in enumerate(zip(theirs, ours)):
            yield from differences(*pair, f"{path}[{index}]")
    elif theirs != ours or isinstance(theirs, bool) != isinstance(ours, bool):
        yield f"{path} is {str(ours)[:100]} where the reference got {str(theirs)[:100]}"
