"""Lists that come in pages: F-API-9."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.client.connection.connection import all_pages
from mcpclient.errors import ProtocolViolation


class Server:
    """Gives these pages in order, the last one again and again, and remembers the requests."""

    def __init__(self, *pages: dict[str, Any]) -> None:
        self.pages = list(pages)
        self.asked: list[dict[str, Any]] = []

    async def fetch(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append(dict(params))
        return self.pages.pop(0) if len(self.pages) > 1 else self.pages[0]

    def list_all(self) -> list[dict[str, Any]]:
        return asyncio.run(all_pages(self.fetch, "tools"))


@pytest.mark.parametrize("tools", ["none", {"echo": {"name": "echo"}}, 7])
def test_what_is_no_list_is_an_error(tools: Any) -> None:
    """F-API-9: a server that offers something is not taken for one that offers nothing."""
    with pytest.raises(ProtocolViolation, match="the tools of the server are not a list"):
        Server({"tools": tools}).list_all()
