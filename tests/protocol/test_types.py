"""The protocol's objects: F-WIRE-8, F-API-2 to F-API-5 and F-API-17."""

from __future__ import annotations

from typing import Any

from mcpclient.protocol.types import CallToolResult, ImageContent, ResourceContents, Tool
from tests.support.tables import each_row


def text_result(*texts: str, **more: Any) -> CallToolResult:
    return CallToolResult({"content": [{"type": "text", "text": text} for text in texts], **more})


@each_row(
    ("result", "data"),
    [
        (text_result("[1, 2]", structuredContent={"a": 1}), {"a": 1}),
        (text_result("1", structuredContent=0), 0),
        # The wrapper of a value that is not an object, and an object that only looks like one.
        (text_result("1", structuredContent={"result": 1}), 1),
        (
            text_result("1", structuredContent={"result": 1, "unit": "m"}),
            {"result": 1, "unit": "m"},
        ),
        (text_result('{"result": 1}', structuredContent={"result": 1}), {"result": 1}),
        # Some servers write null for a missing member; a tool whose value is null says so in text.
        (text_result("[1, 2]", structuredContent=None), [1, 2]),
        (text_result("null", structuredContent=None), None),
        (text_result(" 5 "), 5),
        (text_result("5", "6"), "5\n6"),
        (text_result("plain words"), "plain words"),
        (text_result("[-Infinity]"), "[-Infinity]"),
        (text_result("[" * 100_000), "[" * 100_000),
        (CallToolResult({}), ""),
    ],
)
def test_the_most_useful_data(result: CallToolResult, data: Any) -> None:
    """F-API-3: structured content, else JSON found in the text, else the text."""
    assert result.data == data


@each_row(
    ("data", "decoded"),
    [
        ("aGVsbG8=", b"hello"),
        ("aGVsbG8", b"hello"),
        ("aGVsbG8====", b"hello"),
        ("aGVs\r\nbG8=\n", b"hello"),
        ("-_-_", b"\xfb\xff\xbf"),
        ("+/+/", b"\xfb\xff\xbf"),
        ("a", b""),
        ("aGVs$$bG8=", b""),
        ("=aGVs", b""),
        ("\ud800", b""),
        (None, b""),
    ],
)
def test_base64(data: Any, decoded: bytes) -> None:
    """F-API-4: line breaks, both alphabets and missing padding are read; bad data is empty."""
    assert ImageContent({"type": "image", "data": data}).data == decoded
    assert ResourceContents({"blob": data}).data == decoded


@each_row(
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
