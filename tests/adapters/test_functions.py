# ruff: noqa: UP006, UP035, UP045 - annotations that Python 3.9 can evaluate
"""Functions of one's own as tools."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import enum
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Callable, Dict, List, Literal, NewType, Optional, Tuple, TypedDict, Union

import pytest

from mcpclient.adapters.functions import function_tool
from mcpclient.adapters.providers import PROVIDERS
from mcpclient.errors import UsageError
from mcpclient.protocol.schema import compile_schema
from mcpclient.protocol.types import CallToolResult, TextContent
from tests.support.tables import each_row

STRING = {"type": "string"}


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Place(TypedDict, total=False):
    city: str
    country: Optional[str]


@dataclasses.dataclass
class Node:
    """A node."""

    name: str
    inner: Optional[Node] = None
    tags: List[str] = dataclasses.field(default_factory=list)


UserId = NewType("UserId", int)


class Model:
    """The shape of a pydantic model."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        inner = {"properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": STRING}}
        return {"type": "object", **inner}

    @classmethod
    def model_validate(cls, value: Any) -> Model:
        made = cls()
        made.x = value["x"]  # type: ignore[attr-defined]
        return made


def takes(kind: Any) -> Callable[..., Any]:
    def function(a: Any) -> Any:
        return a

    function.__annotations__ = {"a": kind}
    return function


@each_row(
    ("kind", "schema"),
    [
        (str, STRING),
        (bool, {"type": "boolean"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (None, {"type": "null"}),
        (Any, {}),
        (UserId, {"type": "integer"}),
        (Optional[str], {"anyOf": [STRING, {"type": "null"}]}),
        (Union[int, str], {"anyOf": [{"type": "integer"}, STRING]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, "b"], {"type": ["integer", "string"], "enum": [1, "b"]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (List[str], {"type": "array", "items": STRING}),
        (list, {"type": "array", "items": {}}),
        (Sequence[str], {"type": "array", "items": STRING}),
        (Tuple[str, ...], {"type": "array", "items": STRING}),
        (
            Tuple[str, int],
            {
                "type": "array",
                "prefixItems": [STRING, {"type": "integer"}],
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (Dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Mapping[str, Any], {"type": "object", "additionalProperties": True}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.date, {"type": "string", "format": "date"}),
    ],
)
def test_types(kind: Any, schema: dict[str, Any]) -> None:
    """F-TOOL-9: the schema is made of the annotations."""
    made = function_tool(takes(kind)).tool.input_schema
    assert made == {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    compile_schema(made)


def test_types_with_names() -> None:
    """F-TOOL-9: dataclasses, also such that hold themselves, TypedDicts, and pydantic's models."""

    def function(node: Node, place: Place, model: Model) -> None: ...

    made = function_tool(function).tool.input_schema
    assert made["properties"] == {
        "node": {"$ref": "#/$defs/Node"},
        "place": {"$ref": "#/$defs/Place"},
        "model": {"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}},
    }
    null = {"type": "null"}
    assert made["$defs"] == {
        "Node": {
            "type": "object",
            "properties": {
                "name": STRING,
                "inner": {"anyOf": [{"$ref": "#/$defs/Node"}, null]},
                "tags": {"type": "array", "items": STRING},
            },
            "required": ["name"],
        },
        "Place": {
            "type": "object",
            "properties": {"city": STRING, "country": {"anyOf": [STRING, null]}},
            "required": [],
        },
        "X": STRING,
    }
    compile_schema(made)
    for provider in PROVIDERS.values():
        assert len(provider.tools([function_tool(function).tool]).defined) == 1


def test_two_types_of_one_name() -> None:
    """F-TOOL-9"""

    def other() -> type:
        class Place(TypedDict):
            x: int

        return Place

    def function(a, b): ...  # type: ignore[no-untyped-def]

    function.__annotations__ = {"a": Place, "b": other()}
    assert list(function_tool(function).tool.input_schema["$defs"]) == ["Place", "Place_"]


def google(
    city: str, days: int = 3, *, unit: Literal["C", "F"] = "C", at: Colour = Colour.RED
) -> str:
    """Tell the weather.

    It may be wrong.

    Args:
        city: Where; with the country
            where it is not known.
        days (int): How many.
        unit: Degrees.

    Returns:
        A text: with a colon.
    """
    return f"{city} {days} {unit} {at.name}"


def run(function: Callable[..., Any], **arguments: Any) -> CallToolResult:
    return asyncio.run(function_tool(function).run(arguments))  # type: ignore[arg-type]


@each_row(
    ("arguments", "said"),
    [
        ({}, "city is missing. Call again."),
        ({"city": 5}, "city: expected text, got 5. Call again."),
        ({"city": "R", "unit": "K"}, "unit: expected 'C' or 'F', got 'K'. Call again."),
        ({"city": "R", "day": 1}, "there is no argument 'day'; did you mean 'days'?. Call again."),
    ],
)
def test_arguments_that_do_not_fit(arguments: dict[str, Any], said: str) -> None:
    """F-TOOL-9: the model gets an error, and may call again; the function is not called."""
    result = run(google, **arguments)
    assert (result.text, result.is_error) == (said, True)


class Sized:
    def model_dump(self) -> dict[str, int]:
        return {"size": 1}


@each_row(
    ("value", "text", "structured"),
    [
        ("a", "a", None),
        (None, "", None),
        ({"é": 1}, '{"é": 1}', {"é": 1}),
        (
            [Node("a")],
            '[{"name": "a", "inner": null, "tags": []}]',
            [{"name": "a", "inner": None, "tags": []}],
        ),
        (Colour.RED, '"red"', "red"),
        ({1}, "[1]", [1]),
        (Sized(), '{"size": 1}', {"size": 1}),
        (datetime.date(2026, 1, 2), '"2026-01-02"', "2026-01-02"),
        (TextContent({"type": "text", "text": "t"}), "t", None),
        (CallToolResult({"content": [], "isError": True}), "", None),
    ],
)
def test_what_is_returned(value: Any, text: str, structured: Any) -> None:
    """F-TOOL-9: text, JSON, or a result as it is."""

    def function() -> Any:
        return value

    result = run(function)
    assert (result.text, result.structured) == (text, structured)


def test_what_cannot_be_a_tool() -> None:
    """F-TOOL-9: it is said when the toolbox is made."""

    def many(*words: str) -> None: ...

    def unknown(a): ...  # type: ignore[no-untyped-def]

    unknown.__annotations__ = {"a": "Nowhere"}
    for function, said in (
        (lambda: 1, "functions with a name"),
        (partial(google, city="Rome"), "functions with a name"),
        ("google", "functions with a name"),
        (many, r"many has \*words: .*, which a model cannot name"),
        (unknown, "the types of unknown: name 'Nowhere' is not defined"),
        (takes(complex), "takes <class 'complex'>, which JSON cannot describe"),
        (takes(Literal), "which JSON cannot describe"),
    ):
        with pytest.raises(UsageError, match=said):
            function_tool(function)  # type: ignore[arg-type]
