"""The protocol's objects: F-WIRE-8, F-API-2 to F-API-5 and F-API-17."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.protocol.types import (
    ReadResourceResult,
    ResourceContents,
    Tool,
)
from tests.support.properties import examples

# Results of tools


# Binary data


@given(st.binary(max_size=40), st.text(max_size=10))
@examples(80)
def test_any_base64_and_any_text(data: bytes, text: str) -> None:
    """F-API-4: what was encoded is decoded, and nothing makes the decoder raise."""
    encoded = base64.b64encode(data).decode()
    assert ResourceContents({"blob": encoded}).data == data
    assert ResourceContents({"blob": encoded.rstrip("=")}).data == data
    assert isinstance(ResourceContents({"blob": encoded + text}).data, bytes)


# Resources


def test_reading_a_resource() -> None:
    """F-API-4: text and bytes of every part."""
    result = ReadResourceResult(
        {
            "contents": [
                {"uri": "a://1", "mimeType": "text/plain", "text": "é"},
                {"uri": "a://2", "blob": "AAE="},
                {"uri": "a://3", "text": ""},
                {"uri": "a://4"},
            ]
        }
    )
    assert [part.uri for part in result.contents] == ["a://1", "a://2", "a://3", "a://4"]
    assert result.contents[0].mime_type == "text/plain"
    assert result.text == "é\n"
    assert result.data == "é".encode() + b"\0\1"
    assert ResourceContents({"text": "\ud800"}).data == b"\xed\xa0\x80"
    assert ReadResourceResult({}).contents == []


# Tools, prompts, and the rest


@pytest.mark.parametrize(
    ("hints", "read_only", "destructive", "idempotent"),
    [
        (None, False, True, False),
        ({}, False, True, False),
        ({"readOnlyHint": True}, True, False, True),
        ({"readOnlyHint": True, "destructiveHint": True}, True, False, True),
        ({"readOnlyHint": False}, False, True, False),
        ({"readOnlyHint": "yes", "destructiveHint": "no"}, False, True, False),
        ({"destructiveHint": False}, False, False, False),
        ({"idempotentHint": True}, False, True, True),
        ({"idempotentHint": 1, "destructiveHint": 0}, False, True, False),
    ],
)
def test_the_hints_of_a_tool(
    hints: dict[str, Any] | None, read_only: bool, destructive: bool, idempotent: bool
) -> None:
    """F-API-2: where they are silent, the defaults of the specification, the worst there is."""
    tool = Tool({"name": "t"} if hints is None else {"name": "t", "annotations": hints})
    found = (tool.read_only, tool.destructive, tool.idempotent)
    assert found == (read_only, destructive, idempotent)


def test_a_tool_without_a_schema_shares_nothing() -> None:
    """F-WIRE-8: changing the empty schema of one tool changes no other."""
    Tool({"inputSchema": "no"}).input_schema["properties"] = {}
    assert Tool({}).input_schema == {}
