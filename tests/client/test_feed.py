"""A listener at work: kept up over losses, and ended in every way."""

from __future__ import annotations

import asyncio
import json

import pytest

from mcpclient import Client
from mcpclient.errors import ConnectionLost, PeerError
from mcpclient.protocol.listen import EventsMissed, ListenFilter, PromptsChanged, ToolsChanged
from tests.client.listening_server import (
    LISTEN,
    PROMPTS,
    SUBSCRIPTION_ID,
    TOOLS,
    ListeningServer,
    next_event,
)
from tests.client.scripted_server import ScriptedServer, turns
from tests.support.http_server import Answer, HttpServer, Request

pytestmark = pytest.mark.virtual_time


async def test_a_graceful_end_ends_the_loop() -> None:
    """F-API-14: what came before it is still delivered."""
    server = ListeningServer()
    async with server.client() as client:
        events = []
        async with client.listen(tools=True, prompts=True) as subscription:
            request = server.ids(LISTEN)[0]
            server.tell(request, TOOLS)
            server.tell(request, PROMPTS)
            server.reply(request, {"resultType": "complete"})
            await turns()
            async for event in subscription:
                events.append(type(event))
        assert events == [ToolsChanged, PromptsChanged]
    assert len(server.sent(LISTEN)) == 1


async def test_an_end_before_the_acknowledgement_is_an_end() -> None:
    """F-API-14"""
    server = ScriptedServer({LISTEN: {"resultType": "complete"}})
    async with server.client() as client, client.listen(tools=True) as subscription:
        assert subscription.acknowledged is None
        assert subscription.refused == ListenFilter(tools=True)
        assert [event async for event in subscription] == []


async def test_a_lost_connection_is_made_anew_and_said() -> None:
    """F-API-14: the request is sent again; what was missed meanwhile is not passed over."""
    server = ListeningServer()
    async with server.client() as client, client.listen(tools=True) as subscription:
        server.lose()
        assert isinstance(await next_event(subscription), EventsMissed)
        assert client.is_connected
        server.tell(server.ids(LISTEN)[-1], TOOLS)
        assert isinstance(await next_event(subscription), ToolsChanged)
    assert server.connections == 2
    assert len(server.sent(LISTEN)) == 2


async def test_a_server_that_takes_the_stream_down_is_asked_again() -> None:
    """F-API-14: notifications/cancelled from the server, on transports with one channel."""
    server = ListeningServer()
    async with server.client() as client, client.listen(tools=True) as subscription:
        server.notify("notifications/cancelled", requestId=server.ids(LISTEN)[0])
        assert isinstance(await next_event(subscription), EventsMissed)
    assert server.connections == 1
    assert len(server.sent(LISTEN)) == 2


async def test_a_stream_that_keeps_breaking_is_given_up() -> None:
    """F-API-14: five tries in a row without an event; the loop does not spin."""
    server = ListeningServer()
    async with server.client() as client:
        loop = asyncio.get_running_loop()
        async with client.listen(tools=True) as subscription:
            server.answers[LISTEN] = lambda _: server.lose()
            server.lose()
            with pytest.raises(ConnectionLost):
                await next_event(subscription)
            assert loop.time() >= 31
            assert [event async for event in subscription] == []  # the reason is raised once
    assert len(server.sent(LISTEN)) == 6


async def test_a_stream_that_brought_something_counts_anew() -> None:
    """F-API-14: with an event, or after a minute, a break is a new failure."""
    server = ListeningServer()
    async with server.client() as client, client.listen(tools=True) as subscription:
        for _ in range(8):
            server.tell(server.ids(LISTEN)[-1], TOOLS)
            assert isinstance(await next_event(subscription), ToolsChanged)
            server.lose()
            assert isinstance(await next_event(subscription), EventsMissed)
        for _ in range(8):
            await asyncio.sleep(61)
            server.lose()
            assert isinstance(await next_event(subscription), EventsMissed)
    assert len(server.sent(LISTEN)) == 17


async def test_a_refusal_after_a_reconnection_is_raised() -> None:
    """F-API-14: what trying again would not change is not tried again."""
    server = ListeningServer()
    async with server.client() as client, client.listen(tools=True) as subscription:
        del server.answers[LISTEN]
        server.lose()
        with pytest.raises(PeerError):
            await next_event(subscription)


async def test_closing_the_client_ends_the_loop() -> None:
    """F-LIFE-5: a listener does not outlive its client, nor reconnect it."""
    server = ListeningServer()
    async with server.client() as client:
        subscription = await client.listen(tools=True).open()
        asyncio.get_running_loop().call_later(5, lambda: asyncio.ensure_future(client.close()))
        assert [event async for event in subscription] == []
        await subscription.close()
        assert not client.is_connected
    assert server.connections == 1


async def test_closing_while_reconnecting_ends_the_loop() -> None:
    """F-API-14"""
    server = ListeningServer()
    async with server.client() as client:
        subscription = await client.listen(tools=True).open()
        server.lose()
        await asyncio.sleep(0.5)
        await client.close()
        assert [event async for event in subscription] == []
    assert server.connections == 1


@pytest.mark.loses_an_exception
async def test_a_failure_of_the_listener_itself_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-API-14"""
    server = ListeningServer()
    async with server.client() as client:
        monkeypatch.setattr(client._connection, "restore", lambda: 1 / 0)
        subscription = client.listen(tools=True)
        assert [event async for event in subscription] == []
    assert "a subscription failed" in caplog.text


async def test_a_silent_stream_counts_as_dead_where_liveness_is_asked_for() -> None:
    """F-HTTP-13: over HTTP, liveness= is the only limit of an open stream; comments are life."""
    opened = 0

    async def endpoint(request: Request, answer: Answer) -> None:
        nonlocal opened
        message = request.message
        if message["method"] != LISTEN:
            result = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
            answer.json({"jsonrpc": "2.0", "id": message["id"], "result": result})
            return
        opened += 1
        answer.stream()
        params = {"_meta": {SUBSCRIPTION_ID: message["id"]}, "notifications": {}}
        method = "notifications/subscriptions/acknowledged"
        answer.event(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))
        for _ in range(5):
            await asyncio.sleep(20)
            answer.chunk(b": still here\n\n")
        await answer.stall()

    async with HttpServer({"POST /mcp": endpoint}) as server:
        url = str(server.url())
        async with Client(url, protocol_version="2026-07-28", liveness=30) as client:
            subscription = await client.listen(tools=True).open()
            assert isinstance(await subscription.__anext__(), EventsMissed)
            assert 130 <= asyncio.get_running_loop().time() < 133
            await subscription.close()
    assert opened == 2
