"""The table of promises and the tests that prove them are held together, both ways."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parent
TABLE = TESTS / "FEATURES.md"

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

# What is tested there is no promise: the tools and helpers of the tests, and the rules of the code.
OF_THE_PROJECT = {
    *("support", "tools", "test_calls_per_flow.py", "test_contributing.py", "test_costs.py"),
    *("test_features.py", "test_floors.py", "test_style.py"),
}

# "F-LIFE-1 to F-LIFE-4" cites the rows between, too.
CITATION = re.compile(r"\bF-([A-Z]+)-(\d+)(?: to F-\1-(\d+))?")
ROW = re.compile(r"\| ([A-Z]+-\d+) \| (.+) \| (.+) \|")


def rows() -> dict[str, str]:
    """The state of each promise, by id."""
    found = [
        match.groups()
        for match in map(ROW.fullmatch, TABLE.read_text("utf-8").split("\n"))
        if match
    ]
    return {name: state for name, _, state in found}


def cited(text: str) -> Iterator[str]:
    """The ids that a string cites, also those within a range."""
    for family, first, last in CITATION.findall(text):
        for number in range(int(first), int(last or first) + 1):
            yield f"{family}-{number}"


def citations() -> dict[str, set[str]]:
    """The tests that cite each id, in the docstring of the function, its class or its module."""
    found: dict[str, set[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        for name, docstrings in cases_of(ast.parse(path.read_text("utf-8")), ()):
            for cited_id in cited(" ".join(docstrings)):
                found.setdefault(cited_id, set()).add(f"{path.name}::{name}")
    return found


def cases_of(node: ast.AST, outer: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each test of a module or a class, with its docstring and those around it."""
    assert isinstance(node, (ast.Module, ast.ClassDef))
    docstrings = (*outer, ast.get_docstring(node) or "")
    for each in node.body:
        if isinstance(each, ast.ClassDef):
            yield from cases_of(each, docstrings)
        elif isinstance(each, FUNCTIONS) and each.name.startswith("test"):
            yield each.name, (*docstrings, ast.get_docstring(each) or "")


def test_the_table_has_every_family() -> None:
    families = {name.partition("-")[0] for name in rows()}
    expected = "WIRE LIFE STD HTTP WS MEM EXT API AUTH MANY TOOL SHOW SAFE BOX VEND STUB CODE PACK"
    assert families == {*expected.split(), "AUDIT", "BRIDGE", "CONF"}


def test_a_promise_that_is_done_is_cited_by_a_test() -> None:
    proven = citations()
    assert not [name for name, state in rows().items() if state == "done" and name not in proven]


def test_an_id_that_is_cited_is_a_promise() -> None:
    promised = rows()
    assert not {name: files for name, files in citations().items() if name not in promised}


def test_a_test_of_the_package_cites_a_promise() -> None:
    """In the docstring of itself, its class or its module; or it should not be there."""
    bare = [
        f"{path.relative_to(TESTS)}::{name}"
        for path in TESTS.rglob("test_*.py")
        if path.relative_to(TESTS).parts[0] not in OF_THE_PROJECT
        for name, docstrings in cases_of(ast.parse(path.read_text("utf-8")), ())
        if not list(cited(" ".join(docstrings)))
    ]
    assert not bare


def test_a_promise_that_is_not_done_says_what_is_missing() -> None:
    for name, state in rows().items():
        assert state == "done" or state.startswith("missing: "), name


def test_ranges_are_read() -> None:
    assert list(cited("F-LIFE-1 to F-LIFE-3, F-API-7")) == ["LIFE-1", "LIFE-2", "LIFE-3", "API-7"]
