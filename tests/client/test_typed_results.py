"""Results as the caller's own types."""

from __future__ import annotations

import collections.abc
import datetime
import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Literal, NewType, Optional, TypedDict, TypeVar, Union

import pytest
from hypothesis import given

from mcpclient.client import typed_results
from mcpclient.client.typed_results import typed_result
from mcpclient.errors import ResultMismatch, ToolError, UsageError
from mcpclient.protocol.types import CallToolResult
from tests.support.strategies import hostile_json, json_values
from tests.support.tables import each_row

UTC = datetime.timezone.utc


fill = partial(typed_results.fill, place="the result")


class Color(enum.Enum):
    RED = "red"
    BLUE = 2


@dataclass
class Item:
    name: str
    price: float
    color: Color = Color.RED
    tags: set[str] = field(default_factory=set)
    parent: Optional[Item] = None  # noqa: UP045 - Python 3.9 evaluates it
    derived: int = field(init=False, default=7)


@dataclass
class Positive:
    n: int

    def __post_init__(self) -> None:
        if self.n <= 0:
            raise ValueError("n is positive")


class Base(TypedDict):
    id: int


class Order(Base, total=False):
    items: list[Item]
    when: datetime.datetime


@dataclass
class Local:
    value: Missing  # type: ignore[name-defined]  # noqa: F821


UserId = NewType("UserId", int)
N = TypeVar("N")


class Model:
    """The outside of a pydantic model."""

    def __init__(self, value: object) -> None:
        self.value = value

    @classmethod
    def model_validate(cls, value: object) -> Model:
        if value == "bad":
            raise ValueError("bad value")
        return cls(value)


class Unfillable(Generic[N]):
    pass


@each_row(
    ("value", "wanted", "filled"),
    [
        ({"name": "a", "price": 1}, Item, Item("a", 1.0)),
        (
            {"name": "a", "price": 1.5, "color": 2, "tags": ["x", "x"], "more": 1, "derived": 1},
            Item,
            Item("a", 1.5, Color.BLUE, {"x"}),
        ),
        (
            {"name": "a", "price": 1, "parent": {"name": "b", "price": 2, "parent": None}},
            Item,
            Item("a", 1.0, parent=Item("b", 2.0)),
        ),
        (
            {"id": 1, "items": [{"name": "a", "price": 1}], "more": 1},
            Order,
            {"id": 1, "items": [Item("a", 1.0)], "more": 1},
        ),
        ({"id": 1}, Order, {"id": 1}),
        (1, float, 1.0),
        (2.0, int, 2),
        (1, UserId, 1),
        ("x", Any, "x"),
        (None, Optional[int], None),
        (None, type(None), None),
        ("x", Union[int, str], "x"),
        (2, Literal["a", 2], 2),
        ([1, 2], list[int], [1, 2]),
        ([1, "x"], tuple[int, str], (1, "x")),
        ([1, 2], tuple[int, ...], (1, 2)),
        ([1, 2], tuple, (1, 2)),
        ([1], Sequence[int], [1]),
        ([1], collections.abc.Sequence, [1]),
        ({"a": 1}, dict[str, float], {"a": 1.0}),
        ({"a": 1}, Mapping[str, int], {"a": 1}),
        ({"a": 1}, dict, {"a": 1}),
        ({"red": 1}, dict[Color, int], {Color.RED: 1}),
        ("2026-11-22", datetime.date, datetime.date(2026, 11, 22)),
        ("12:30:00", datetime.time, datetime.time(12, 30)),
        (
            "2026-11-22T12:30:00.5Z",
            datetime.datetime,
            datetime.datetime(2026, 11, 22, 12, 30, 0, 500_000, UTC),
        ),
        (
            "2026-11-22T12:30:00.123456789+00:00",
            datetime.datetime,
            datetime.datetime(2026, 11, 22, 12, 30, 0, 123_456, UTC),
        ),
    ],
)
def test_what_fits(value: object, wanted: Any, filled: object) -> None:
    """F-API-3."""
    result = fill(value, wanted)
    assert result == filled
    assert type(result) is type(filled)


@each_row(
    ("value", "wanted", "problem"),
    [
        ("x", int, "the result: expected an integer, got 'x'"),
        (True, int, "the result: expected an integer, got True"),
        (1, bool, "the result: expected a boolean, got 1"),
        (True, float, "the result: expected a number, got True"),
        (1.5, int, "the result: expected an integer, got 1.5"),
        ("1", float, "the result: expected a number, got '1'"),
        ([], str, "the result: expected text, got a list"),
        (1, type(None), "the result: expected null, got 1"),
        ({}, Item, "the result.name: is missing"),
        ([], Item, "the result: expected an object (Item), got a list"),
        ({"name": "a", "price": "1"}, Item, "the result.price: expected a number, got '1'"),
        (
            {"id": 1, "items": [{"name": "a", "price": 1}, {"name": 2, "price": 1}]},
            Order,
            "the result.items[1].name: expected text, got 2",
        ),
        ({}, Order, "the result.id: is missing"),
        ("ab", list[str], "the result: expected a list, got 'ab'"),
        ([], dict[str, int], "the result: expected an object, got a list"),
        ("b", Literal["a"], "the result: expected 'a', got 'b'"),
        (3, Order, "the result: expected an object (Order), got 3"),
        ("green", Color, "the result: expected 'red' or 2, got 'green'"),
        (2.0, Literal[2], "the result: expected 2, got 2.0"),
        ("x", Optional[int], "the result: expected an integer, got 'x'"),
        ([], Union[int, str], "the result: a list fits none of int, str"),
        ([1, 2], tuple[int], "the result: expected a list of 1, got a list"),
        ({"a": "x"}, dict[str, int], "the result.a: expected an integer, got 'x'"),
        ("soon", datetime.date, "the result: expected a date in ISO 8601, got 'soon'"),
        (5, datetime.date, "the result: expected a date in ISO 8601, got 5"),
        ({"n": 0}, Positive, "the result: Positive does not take it: n is positive"),
        ("bad", Model, "the result: expected Model, got 'bad': bad value"),
        ("x" * 100, int, f"the result: expected an integer, got '{'x' * 59}…"),
    ],
)
def test_what_does_not_fit_is_named_by_its_place(value: object, wanted: Any, problem: str) -> None:
    """F-API-3: the error names the field, what was expected and what came."""
    with pytest.raises(ValueError, match=re.escape(problem)) as raised:
        fill(value, wanted)
    assert str(raised.value) == problem


@each_row("wanted", [bytes, complex, Unfillable[int], TypeVar("X")])
def test_types_that_json_cannot_fill(wanted: Any) -> None:
    """F-API-3: that is the caller's mistake, not the server's."""
    with pytest.raises(UsageError, match="is not a type that a result can be filled into"):
        fill("x", wanted)


def test_a_type_that_cannot_be_looked_up() -> None:
    """F-API-3."""
    with pytest.raises(UsageError, match=r"the types of Local in .*: name 'Missing' is not"):
        fill({"value": 1}, Local)


def result_of(structured: object, text: str = "", **fields: Any) -> CallToolResult:
    content = [{"type": "text", "text": text}]
    return CallToolResult({"content": content, "structuredContent": structured, **fields})


def test_a_wrapper_is_taken_off_where_that_fits() -> None:
    """F-API-3."""

    @dataclass
    class Outcome:
        result: int

    globals()["Outcome"] = Outcome
    for text in ("3", '{"result": 3}'):  # a wrapper, and an object that happens to look like one
        result = result_of({"result": 3}, text)
        assert typed_result("t", result, int) == 3
        assert typed_result("t", result, Outcome) == Outcome(3)
    with pytest.raises(ResultMismatch, match="expected text, got 3"):
        typed_result("t", result_of({"result": 3}, "3"), str)


def test_a_mismatch_has_fields() -> None:
    """F-API-3."""
    result = result_of({"n": "x"})
    with pytest.raises(ResultMismatch) as raised:
        typed_result("t", result, Positive)
    error = raised.value
    assert (error.tool, error.place, error.result) == ("t", ".n", result)
    assert str(error) == "the result of tool 't' does not fit at .n: expected an integer, got 'x'"


def test_a_failed_tool_has_nothing_to_fill() -> None:
    """F-API-3."""
    with pytest.raises(ToolError):
        typed_result("t", result_of(None, isError=True), int)


@given(hostile_json({"name", "price", "color", "parent", "tags"}))
def test_whatever_a_server_sends_fits_or_is_named(value: object) -> None:
    """F-API-3: no other exception, whatever the data are."""
    try:
        assert isinstance(fill(value, Item), Item)
    except ValueError as error:
        assert ": " in str(error)


@given(json_values)
def test_anything_fits_any(value: object) -> None:
    """F-API-3"""
    assert fill(value, Any) == value


@pytest.mark.parametrize("value", [[[1]], [{"a": 1}]], ids=["list", "object"])
@pytest.mark.parametrize("wanted", [set, frozenset, set[Any]], ids=str)
def test_what_cannot_be_in_a_set_does_not_fit_one(value: object, wanted: Any) -> None:
    """F-API-3: data of a server raises nothing but the mismatch."""
    with pytest.raises(ValueError, match="the result: expected a list of plain values, got a list"):
        fill(value, wanted)
