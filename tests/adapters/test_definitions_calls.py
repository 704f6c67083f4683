"""Calls as models make them, right and wrong."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.adapters.definitions import (
    Binding,
    RawCall,
    ToolCall,
    ToolDefinitions,
    plain,
    read_calls,
)
from mcpclient.protocol.types import Tool
from tests.support.tables import each_row

SEARCH = Tool({"name": "web.search"})
KNOWN = ToolDefinitions((), (), {"web_search": Binding(SEARCH, {"a_b": "a b"})})


def read(name: object, arguments: object, tools: Any = KNOWN) -> ToolCall:
    (call,) = read_calls([RawCall("c", name, arguments)], tools)
    return call


@each_row(
    ("arguments", "problem"),
    [
        ("{", "The arguments are not valid JSON: Expecting property name"),
        ('{"a": NaN}', "The arguments are not valid JSON: NaN is not JSON"),
        ("[1]", "The arguments are not a JSON object."),
        ('"{}"', "The arguments are not a JSON object."),
        (5, "The arguments are not a JSON object."),
        ({1: 2}, "The arguments are not a JSON object."),
        ("[" * 100_000, "The arguments are nested too deeply."),
    ],
)
def test_arguments_that_are_none(arguments: object, problem: str) -> None:
    """F-TOOL-2: the model gets an error, and can call again."""
    call = read("web_search", arguments)
    assert call.problem is not None
    assert call.problem.startswith(problem)
    assert (call.id, call.name, call.arguments) == ("c", "web.search", {})
    with pytest.raises(ValueError, match="The arguments"):
        call.as_tool_use()


class Dumping:
    def model_dump(self, **options: object) -> dict[str, object]:
        return {"by": options}


class Converting:
    def to_dict(self) -> dict[str, object]:
        return {"a": 1}


def test_objects_of_the_sdks_become_plain() -> None:
    """F-TOOL-2: through their own methods."""
    assert plain(Dumping()) == {"by": {"by_alias": True, "warnings": False}}
    assert plain((Converting(), 5, {"b": 2})) == [{"a": 1}, 5, {"b": 2}]
