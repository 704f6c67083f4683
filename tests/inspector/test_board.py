"""F-SHOW-10: the board: what changed, in the order of its changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpclient.inspector import board as module
from mcpclient.inspector.board import Board, with_limited_depth


def test_only_what_has_changed_is_news() -> None:
    board = Board()
    board.put("server", "a", {"status": "connecting"})
    board.put("call", "1", {"state": "running"})
    seen = board.version
    board.put("server", "a", {"status": "connecting"})
    assert board.since(seen) == []
    board.put("call", "1", {"state": "done"})
    board.put("server", "b", None)
    assert [(item.name, item.value) for item in board.since(seen)] == [
        ("1", {"state": "done"}),
        ("b", None),
    ]
    assert [item.name for item in board.since(0)] == ["a", "1", "b"]
    seen = board.version
    board.put("server", "a", {"status": "connected"})
    assert [item.name for item in board.since(seen)] == ["a"]
    assert [item.name for item in board.since(0)] == ["1", "b", "a"]


def test_it_does_not_grow_without_end() -> None:
    board = Board()
    board.put("server", "a", {})
    for number in range(module._MAX_ITEMS + 50):
        board.put("call", str(number), {"number": number})
    items = board.since(0)
    assert len(items) == module._MAX_ITEMS
    assert items[0].kind == "server"
    assert items[1].name == "51"


def nested(levels: int, inside: Any) -> Any:
    value = inside
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize("inside", [1, "text", [], {}, None])
@pytest.mark.parametrize("levels", [0, 1, 5])
def test_what_is_not_deep_stays_itself(levels: int, inside: Any) -> None:
    value = nested(levels, inside)
    assert with_limited_depth(value, 5) is value


@pytest.mark.parametrize("levels", [6, 7, 100_000])
def test_what_is_too_deep_is_a_text(levels: int) -> None:
    value: Any = [1, {"deep": nested(levels, "end"), "b": [2]}]
    shown = with_limited_depth(value, 5)
    text = json.dumps(shown)
    assert "nested too deeply" in text
    assert "end" not in text
    assert (shown[0], shown[1]["b"]) == (1, [2])
    assert with_limited_depth(shown, 5) is shown
    while isinstance(value, (list, dict)) and value:  # or it would be freed recursively
        value = value.pop() if isinstance(value, list) else value.popitem()[1]
