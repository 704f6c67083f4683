"""F-MANY-7: the values of fields: accepted, accepted with a warning, or refused."""

from __future__ import annotations

from typing import Any

from mcpclient.entries.applications import APPLICATIONS
from mcpclient.entries.entry import READERS, EntryReader
from tests.support.tables import each_row


def read(kind: str, given: Any, application: str = "mcpclient") -> tuple[Any, list[str]]:
    told: list[str] = []

    def report(message: str, *path: str | int, hint: str = "") -> None:
        told.append(".".join(map(str, path)))

    reader = EntryReader({}, APPLICATIONS[application], report)
    return READERS[kind](reader, given, "f"), told


READ = [
    ("text", "a", "a", []),
    ("words", ["a", 1, True], ["a", "1", "true"], ["f.1", "f.2"]),
    ("command", "npx -y a", ["npx -y a"], []),
    ("command", ["npx", "a"], ["npx", "a"], []),
    ("command", " ", [], []),
    ("texts", {"A": "b", "N": 3, "X": None}, {"A": "b", "N": "3"}, ["f.N", "f.X"]),
    ("texts", [{"name": "A", "value": "b"}], {"A": "b"}, []),
    ("flag", True, True, []),
    ("flag", "False", False, ["f"]),
    ("seconds", 30, 30.0, []),
    ("seconds", 3600, 3600.0, []),
    ("seconds", 3601, 3601.0, ["f"]),
    ("seconds", "30", None, ["f"]),
    ("seconds", -1, None, ["f"]),
    ("seconds", True, None, ["f"]),
    ("seconds", 10**400, None, ["f"]),
    ("milliseconds", 1500, 1.5, []),
    ("any", [1], [1], []),
]


@each_row(("kind", "given", "expected", "told"), READ)
def test_what_is_read(kind: str, given: Any, expected: Any, told: list[str]) -> None:
    """F-MANY-15"""
    assert read(kind, given) == (expected, told)


def test_a_time_has_the_unit_of_its_application() -> None:
    """F-MANY-15: over an hour is a warning, or a thousand seconds without a documented unit."""
    assert read("time", 600_000, "gemini") == (600.0, [])
    assert read("time", 3600, "roo") == (3600.0, [])
    assert read("time", 999, "cursor") == (999.0, [])
    assert read("time", 1000, "cursor") == (1000.0, ["f"])
    assert read("time", 60_000, "roo") == (60_000.0, ["f"])
