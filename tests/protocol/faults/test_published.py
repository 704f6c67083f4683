"""F-SHOW-24: the schemas of the revisions, compact, as the specification publishes them."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.published import REVISIONS, compact, difference
from mcpclient.protocol.faults.published import patched, revision, schema_of

TOOL = {"description": "A tool.", "properties": {"name": {"type": "string"}, "any": {}}}


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize("name", REVISIONS)
def test_every_definition_of_a_revision_can_be_used(name: str) -> None:
    found = revision(name)
    named = {*found["results"].values(), *found["notifications"].values()}
    assert named | {*found["requests"].values()} <= found["$defs"].keys()
    assert found["results"]["tools/call"] == "CallToolResult"
    assert all(schema_of(name, definition) is not None for definition in found["$defs"])


def test_a_schema_is_compacted_to_what_servers_send() -> None:
    """Without descriptions, and without members that may be anything."""
    method = {"properties": {"method": {"const": "tools/call"}}}
    document = {
        "definitions": {
            "CallToolRequest": method,
            "CallToolResult": {"$ref": "#/definitions/Tool"},
            "ClientRequest": {"anyOf": [{"$ref": "#/definitions/CallToolRequest"}]},
            "Tool": TOOL,
            "Unused": {"type": "string"},
        }
    }
    found = compact(document)
    assert found["results"] == {"tools/call": "CallToolResult"}
    assert found["$defs"] == {
        "CallToolResult": {"$ref": "#/$defs/Tool"},
        "Tool": {"properties": {"name": {"type": "string"}}},
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"a": {"b": 1}}),
        ({"a": {"b": 1, "c": [1]}}, {"a": {"c": [2]}}),
        ({"a": 1}, {}),
        ({"a": [1]}, {"a": {"b": 2}}),
    ],
)
def test_the_difference_of_two_revisions_is_applied(before: Any, after: Any) -> None:
    assert patched(before, difference(before, after)) == after
