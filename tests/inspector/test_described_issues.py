"""F-SHOW-14: malformed entries are named, with the field and the reason."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpclient.inspector import described as module
from mcpclient.inspector.described import schema_issues
from tests.inspector.test_differences import run

OBJECT = {"type": "object"}


@pytest.mark.parametrize(
    ("kind", "entry", "expected"),
    [
        ("tools", {"inputSchema": OBJECT}, [("name", "is missing")]),
        ("tools", {"name": "a"}, [("inputSchema", "is missing")]),
        ("tools", {"name": "", "inputSchema": OBJECT}, [("name", "is empty")]),
        ("tools", {"name": 7, "inputSchema": OBJECT}, [("name", "is a number and not a string")]),
        (
            "tools",
            {"name": "a", "inputSchema": []},
            [("inputSchema", "is an array and not an object")],
        ),
        (
            "tools",
            {"name": "a", "inputSchema": {"type": "string"}},
            [("inputSchema", 'has a type other than "object"')],
        ),
        (
            "tools",
            {"name": "a", "inputSchema": OBJECT, "description": None, "annotations": True},
            [
                ("description", "is null and not a string"),
                ("annotations", "is a boolean and not an object"),
            ],
        ),
        ("resources", {"uri": "u"}, [("name", "is missing")]),
        ("templates", {"name": "a"}, [("uriTemplate", "is missing")]),
        ("prompts", {"name": "a", "arguments": {}}, [("arguments", "is not a list of objects")]),
        ("prompts", {"name": "a", "arguments": [1]}, [("arguments", "is not a list of objects")]),
        ("prompts", "text", [("", "is a string and not an object")]),
        ("prompts", {"name": "a"}, []),
    ],
)
def test_what_shows_at_a_glance(kind: str, entry: Any, expected: list[tuple[str, str]]) -> None:
    found = run("listingIssues", kind, [entry], module="listing")
    assert [(field, reason) for _, _, field, reason in found] == expected


def test_a_name_that_comes_twice() -> None:
    tools = [{"name": "a", "inputSchema": OBJECT}, {"name": "a", "inputSchema": OBJECT}]
    found = run("listingIssues", "tools", tools, module="listing")
    assert found == [[1, "a", "name", "is the same as in entry 1"]]


def test_schemas_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TURN", -1)
    tools: list[Any] = [
        {"name": "a", "inputSchema": {"type": 7}, "outputSchema": OBJECT},
        {"name": "b", "inputSchema": OBJECT, "outputSchema": {"properties": []}},
        {"inputSchema": {"type": 7}},
        "no tool",
    ]
    found = asyncio.run(schema_issues(tools))
    assert [odd[:3] for odd in found] == [
        (0, "a", "inputSchema"),
        (1, "b", "outputSchema"),
        (2, "", "inputSchema"),
    ]
    assert all(odd[3].startswith("is not a JSON Schema: ") for odd in found)
