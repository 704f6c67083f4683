"""Lists that come in pages: F-API-9."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.client.connection.connection import MAX_PAGES, all_pages
from mcpclient.errors import PeerError, ProtocolViolation


class Server:
    """Gives these pages in order, the last one again and again, and remembers what was asked."""

    def __init__(self, *pages: dict[str, Any]) -> None:
        self.pages = list(pages)
        self.asked: list[dict[str, Any]] = []

    async def fetch(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append(dict(params))
        return self.pages.pop(0) if len(self.pages) > 1 else self.pages[0]

    def list_all(self) -> list[dict[str, Any]]:
        return asyncio.run(all_pages(self.fetch, "tools"))


def page(*names: str, **more: Any) -> dict[str, Any]:
    return {"tools": [{"name": name} for name in names], **more}


def test_one_page() -> None:
    """F-API-9: the first request has no cursor; an absent or null one ends the list."""
    for result in (page("a", "b"), page("a", "b", nextCursor=None)):
        server = Server(result)
        assert server.list_all() == [{"name": "a"}, {"name": "b"}]
        assert server.asked == [{}]


@pytest.mark.parametrize("cursors", [["x", "y"], ["", "0"], ['{"page": 2}', " "], [1, {"page": 2}]])
def test_all_pages_in_order(cursors: list[Any]) -> None:
    """F-API-9: a cursor is opaque: it goes back as it came, also an empty one."""
    server = Server(
        page("a", nextCursor=cursors[0]), page("b", "c", nextCursor=cursors[1]), page("d")
    )
    assert [item["name"] for item in server.list_all()] == ["a", "b", "c", "d"]
    assert server.asked == [{}, {"cursor": cursors[0]}, {"cursor": cursors[1]}]


def test_empty_pages_do_not_end_the_list() -> None:
    """F-API-9: only the cursor tells; what is no object is left out."""
    server = Server(
        page(nextCursor="1"),
        {"nextCursor": "2"},
        {"tools": {}, "nextCursor": "3"},
        {"tools": [None, {"name": "a"}, "b"]},
    )
    assert server.list_all() == [{"name": "a"}]


@pytest.mark.parametrize("tools", ["none", {"echo": {"name": "echo"}}, 7])
def test_what_is_no_list_is_an_error(tools: Any) -> None:
    """F-API-9: a server that offers something is not taken for one that offers nothing."""
    with pytest.raises(ProtocolViolation, match="the tools of the server are not a list"):
        Server({"tools": tools}).list_all()


@pytest.mark.parametrize("cursors", [["x"], ["x", "y", "x"], [""], [7]])
def test_a_repeated_cursor_is_an_error(cursors: list[Any]) -> None:
    """F-API-9: a server that turns in circles is told from one that has much to say."""
    server = Server(*(page(nextCursor=cursor) for cursor in cursors))
    with pytest.raises(ProtocolViolation, match=r"gave tools the cursor .* twice"):
        server.list_all()


def test_an_endless_list_is_an_error() -> None:
    """F-API-9: there is a limit of pages."""
    server = Server(*(page("a", nextCursor=str(number)) for number in range(MAX_PAGES + 5)))
    with pytest.raises(ProtocolViolation, match=f"did not end within {MAX_PAGES} pages"):
        server.list_all()
    assert len(server.asked) == MAX_PAGES


def test_a_long_cursor_is_not_shown_whole() -> None:
    """F-API-9: an error's text stays readable."""
    with pytest.raises(ProtocolViolation) as caught:
        Server(page(nextCursor="x" * 100_000)).list_all()
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(("code", "times"), [(-32602, 2), (-32603, 1)])
def test_a_refused_page_is_the_servers_error(code: int, times: int) -> None:
    """F-API-9: half a list is no list."""
    asked = []

    async def fetch(params: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(params)
        if params:
            raise PeerError(code, "invalid cursor")
        return page("a", nextCursor="x")

    with pytest.raises(PeerError):
        asyncio.run(all_pages(fetch, "tools"))
    assert asked == [{}, {"cursor": "x"}] * times


def test_a_list_is_begun_anew_when_a_cursor_has_become_invalid() -> None:
    """F-API-9: nothing of the first try is in the list, whose cursors may be the same."""
    first = Server(page("old", nextCursor="x"), page("newer", nextCursor="x"), page("last"))
    asked = []

    async def fetch(params: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(params)
        if len(asked) == 2:
            raise PeerError(-32602, "invalid cursor")
        return await first.fetch(params)

    assert asyncio.run(all_pages(fetch, "tools")) == [{"name": "newer"}, {"name": "last"}]
    assert asked == [{}, {"cursor": "x"}] * 2


def test_a_first_page_that_is_refused_is_not_asked_for_again() -> None:
    """F-API-9: no cursor, no reason to begin anew."""
    asked = []

    async def fetch(params: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(params)
        raise PeerError(-32602, "invalid params")

    with pytest.raises(PeerError):
        asyncio.run(all_pages(fetch, "tools"))
    assert asked == [{}]


def test_the_pages_of_a_list_are_bounded_in_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-9: a thousand pages of 4 MB would be 3 GB and more; one page is a message like any."""
    monkeypatch.setattr("mcpclient.client.connection.connection.MAX_WEIGHT", 3_000_000)

    class Endless(Server):
        async def fetch(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
            self.asked.append(dict(params))
            return page("x" * 1_000_000, nextCursor=f"{len(self.asked)}")

    server = Endless()
    with pytest.raises(ProtocolViolation, match="the list of tools exceeds 2 MiB"):
        server.list_all()
    assert len(server.asked) == 3
    assert len(Server(page("x" * 9_000_000)).list_all()) == 1


def test_a_cursor_may_be_too_deep_to_be_shown() -> None:
    """F-WIRE-7: it is no reason for a bare RecursionError."""
    cursor: list[Any] = []
    for _ in range(100_000):
        cursor = [cursor]
    with pytest.raises(ProtocolViolation, match="nested too deeply to be shown"):
        Server(page("a", nextCursor=cursor)).list_all()
