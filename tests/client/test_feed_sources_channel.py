"""Listeners of the handshake era over HTTP, which hear through the channel opened with GET."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpclient import Client
from mcpclient.errors import ConnectionLost, HttpError, McpError
from mcpclient.protocol.listen import ToolsChanged
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}

pytestmark = [pytest.mark.usefixtures("fresh_eras"), pytest.mark.virtual_time]


class Tuner(StreamableEndpoint):
    """A server that answers with event streams. ``gets``: what comes of one GET after the other,
    and of all after the last: ``"open"``: it stays open, ``"cut"``: it is offered and closed, or a
    status.
    """

    def __init__(self, *gets: str | int) -> None:
        super().__init__(McpServer(), json=False, session="one")
        self.asked = 0
        self._gets = list(gets)

    async def get(self, request: Request, answer: Answer) -> None:
        self.asked += 1
        step = self._gets.pop(0) if len(self._gets) > 1 else self._gets[0]
        if isinstance(step, int):
            answer.full(step)
            return
        answer.stream()
        self.channel = answer
        if step == "cut":
            answer.cut()
        else:
            await answer.stall()


@asynccontextmanager
async def tuned_to(tuner: Tuner, **options: Any) -> AsyncIterator[Client]:
    async with HttpServer(tuner.routes) as server:
        url = str(server.url())
        async with Client(url, protocol_version="2025-11-25", **options) as client:
            yield client


async def change_tools(client: Client) -> None:
    """Have the server report a change with the answer to a call."""
    await client.call_tool("notify", {"messages": [CHANGED]})


@pytest.mark.parametrize(
    ("gets", "kind", "earliest"),
    [(("cut",), ConnectionLost, 31), (("cut", 503), HttpError, 31), (("cut", 405), HttpError, 1)],
)
async def test_a_listener_learns_that_the_channel_is_gone(
    gets: tuple[Any, ...], kind: type[McpError], earliest: float
) -> None:
    """F-API-14, F-HTTP-4: after what came before it; ``on_error`` is called as well. Whatever
    comes with the answers to calls is heard even so.
    """
    errors: list[McpError] = []
    tuned = tuned_to(Tuner(*gets), on_error=errors.append)
    async with tuned as client, client.listen(tools=True) as subscription:
        await asyncio.sleep(0.5)
        await change_tools(client)
        assert isinstance(await subscription.__anext__(), ToolsChanged)
        with pytest.raises(kind) as caught:
            await subscription.__anext__()
        assert earliest <= asyncio.get_running_loop().time() <= 1.25 * earliest + 0.1
        assert [str(error) for error in errors] == [str(caught.value)]
        news = asyncio.ensure_future(subscription.__anext__())
        await asyncio.sleep(3600)
        assert not news.done()
        await change_tools(client)
        assert isinstance(await news, ToolsChanged)


async def test_every_listener_learns_of_it_and_a_new_one_has_the_channel_opened_again() -> None:
    """F-API-14, F-HTTP-4: where it can be, all listen again; where not, all get the error again."""
    tuner = Tuner("cut", 405, 405, "open")
    tuned = tuned_to(tuner)
    async with (
        tuned as client,
        client.listen(tools=True) as first,
        client.listen(tools=True) as second,
    ):
        for subscription in (first, second):
            with pytest.raises(HttpError):
                await subscription.__anext__()
        with pytest.raises(HttpError):  # it was offered before, so this is a loss as well
            await client.listen(tools=True).__anext__()
        with pytest.raises(HttpError):
            await first.__anext__()
        async with client.listen(tools=True) as third:
            assert tuner.asked == 4
            assert tuner.channel is not None
            tuner.channel.event(CHANGED)
            assert isinstance(await third.__anext__(), ToolsChanged)
            assert isinstance(await first.__anext__(), ToolsChanged)


async def test_a_server_without_a_channel_tells_with_its_answers() -> None:
    """F-API-14, F-HTTP-4: it is not a loss, so nothing is reported."""
    tuner = Tuner(405)
    errors: list[McpError] = []
    tuned = tuned_to(tuner, on_error=errors.append)
    async with tuned as client, client.listen(tools=True) as subscription:
        news = asyncio.ensure_future(subscription.__anext__())
        await asyncio.sleep(3600)
        assert not news.done()
        await change_tools(client)
        assert isinstance(await news, ToolsChanged)
    assert (tuner.asked, errors) == (1, [])
