"""The protocol's objects: F-WIRE-8, F-API-2 to F-API-5 and F-API-17."""

from __future__ import annotations

from typing import Any

from mcpclient.protocol.types import Tool
from tests.support.tables import each_row

# Results of tools


# Binary data


# Resources


# Tools, prompts, and the rest


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
