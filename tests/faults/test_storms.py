"""Servers that accept and close, again and again: tries are bounded, with growing pauses."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

import mcpclient
from mcpclient.errors import ConnectionLost, McpError
from tests.net.peers import serve
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

pytestmark = pytest.mark.virtual_time


class Storm(StreamableEndpoint):
    """A server whose event streams end at once. ``news``: each brings an id first; ``retry``: and
    asks to be called again after so many milliseconds. ``channel``: whether there is one for other
    messages than answers. ``times``: when streams were asked for.
    """

    def __init__(
        self, *, news: bool = False, retry: int | None = None, channel: bool = True
    ) -> None:
        super().__init__(McpServer("both"))
        self.times: list[float] = []
        self.calls = 0
        self._news = news
        self._retry = retry
        self._channel = channel
        self._ids = itertools.count(1)

    async def get(self, request: Request, answer: Answer) -> None:
        if not self._channel and "last-event-id" not in request.headers:
            answer.full(405)
            return
        self.times.append(asyncio.get_running_loop().time())
        self._begin(answer)
        answer.cut()

    def _begin(self, answer: Answer) -> None:
        answer.stream()
        if self._news:
            answer.event("", id=str(next(self._ids)), retry=self._retry)

    async def post(self, request: Request, answer: Answer) -> None:
        method = request.message.get("method")
        if method == "subscriptions/listen":
            await self._end_subscription(request, answer)
        elif method == "tools/call" and request.message["params"]["name"] == "never":
            self.calls += 1
            self._begin(answer)
            answer.cut()
        else:
            await super().post(request, answer)

    async def _end_subscription(self, request: Request, answer: Answer) -> None:
        self.times.append(asyncio.get_running_loop().time())
        answer.stream()
        meta = {"io.modelcontextprotocol/subscriptionId": request.message["id"]}
        params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
        method = "notifications/subscriptions/acknowledged"
        answer.event({"jsonrpc": "2.0", "method": method, "params": params})
        answer.cut()

    @property
    def pauses(self) -> list[float]:
        return [later - earlier for earlier, later in zip(self.times, self.times[1:])]


async def test_the_channel_is_given_up_after_five_tries() -> None:
    """F-HTTP-4: with growing pauses; ``on_error`` is called, and calls continue."""
    storm = Storm()
    errors: list[McpError] = []
    async with HttpServer(storm.routes) as server:
        url = str(server.url())
        client = await mcpclient.connect(url, protocol_version="2025-11-25", on_error=errors.append)
        await asyncio.sleep(3600)
        assert (await client.call_tool("echo", {"text": "x"})).text == "x"
        await client.close()
    assert len(storm.times) == 6
    for pause, least in zip(storm.pauses, (1, 2, 4, 8, 16)):
        assert least <= pause <= 1.25 * least + 0.001
    assert [type(error) for error in errors] == [ConnectionLost]


@pytest.mark.parametrize("retry", [None, 0, 5000])
async def test_a_channel_that_brings_a_little_each_time_is_not_hurried(retry: int | None) -> None:
    """F-HTTP-4: what the server asks for with ``retry:`` counts, but no pause is nothing."""
    storm = Storm(news=True, retry=retry)
    least = {None: 1.0, 0: 0.05, 5000: 5.0}[retry]
    seconds = 20 * least
    async with HttpServer(storm.routes) as server:
        client = await mcpclient.connect(str(server.url()), protocol_version="2025-11-25")
        await asyncio.sleep(seconds)
        await client.close()
    assert min(storm.pauses) >= least - 1e-6
    assert len(storm.times) <= 21


async def test_a_subscription_that_ends_at_once_fails_after_five_tries() -> None:
    """F-API-14: with growing pauses, and the last reason."""
    storm = Storm()
    async with HttpServer(storm.routes) as server:
        url = str(server.url())
        async with mcpclient.connect(url, protocol_version="2026-07-28") as client:
            with pytest.raises(ConnectionLost):
                async for _ in client.listen(tools=True):
                    pass
            assert (await client.call_tool("echo", {"text": "x"})).text == "x"
    assert len(storm.times) == 6
    assert all(pause >= least for pause, least in zip(storm.pauses, (1, 2, 4, 8, 16)))


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28", None])
async def test_a_door_that_is_closed_at_once(version: str | None) -> None:
    """F-LIFE-3: connecting is tried once, or once more when the probe may have been the reason."""
    opened: list[Any] = []

    async def slam(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(writer)

    async with serve(slam) as port:
        for scheme in ("tcp", "ws", "http"):
            opened.clear()
            client = mcpclient.connect(f"{scheme}://127.0.0.1:{port}", protocol_version=version)
            with pytest.raises(McpError):
                await client.connect()
            is_probed = version is None and scheme != "ws"  # It is never open.
            assert len(opened) == (2 if is_probed else 1)
            assert asyncio.get_running_loop().time() == 0
