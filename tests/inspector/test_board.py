"""F-SHOW-10: what is new for a page that has seen some of it."""

from __future__ import annotations

from mcpclient.inspector import board as module
from mcpclient.inspector.board import Board


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
