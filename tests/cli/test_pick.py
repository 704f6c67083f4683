"""``--pick``: parts of what a server answers."""

from __future__ import annotations

import pytest

from mcpclient import UsageError
from tests.cli.in_process import ask, prepared

ITEMS = {"items": [{"id": 1, "title": "One\x1b"}, {"id": 2, "title": "Two"}]}


def test_parts_of_a_call() -> None:
    """F-SHOW-20: of structured content, or of JSON in the text; strings stay as they are."""
    structured = {"tools/call": {"content": [], "structuredContent": ITEMS}}
    text = ask("call", "echo", "message=x", "--pick", "items[].{id}", answers=structured).text
    assert text.splitlines() == ['{"id": 1}', '{"id": 2}']
    written = {"tools/call": {"content": [{"type": "text", "text": '{"a": ["x\\u001b", 5]}'}]}}
    assert ask("call", "echo", "message=x", "--pick", ".a[]", answers=written).text == "x\\x1b\n5"
    with pytest.raises(UsageError, match="needs JSON"):
        ask("call", "echo", "message=x", "--pick", ".a[]")
    failed = {"tools/call": {"content": [{"type": "text", "text": "no"}], "isError": True}}
    assert ask("call", "echo", "message=x", "--pick", ".a", answers=failed).text == "no"


def test_parts_of_a_resource_and_of_the_tools() -> None:
    """F-SHOW-20"""
    held = {"resources/read": {"contents": [{"uri": "a:b", "text": '{"a": 1}'}]}}
    assert ask("read", "a:b", "--pick", "a", answers=held).text == "1"
    assert ask("tools", "--pick", "tools[].name").text.splitlines()[:2] == ["echo", "add"]


def test_a_pick_is_read_before_anything_starts() -> None:
    """F-SHOW-20"""
    with pytest.raises(UsageError, match="column 7"):
        prepared("call", "echo", "--pick", "items[")
