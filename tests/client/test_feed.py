"""A server's reports of changes: with a request that stays open, and with its session."""

from __future__ import annotations

import asyncio

import pytest

from mcpclient.client.requests import connection_of
from mcpclient.protocol.listen import EventsMissed, ListenFilter, ResourceUpdated, ToolsChanged
from tests.client.listening_server import (
    LISTEN,
    TOOLS,
    UPDATED,
    ListeningServer,
    handshake_server,
    next_event,
)
from tests.client.scripted_server import ScriptedServer, turns

pytestmark = pytest.mark.virtual_time


async def test_an_event_before_the_acknowledgement_is_not_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """F-API-14: a server that breaks the order is warned of, and understood."""
    server = ListeningServer()
    server.acknowledges = False
    async with server.client(timeout=1) as client:
        subscription = client.listen(tools=True)
        opening = asyncio.ensure_future(subscription.open())
        await turns()
        server.tell(server.ids(LISTEN)[0], TOOLS)
        await opening
        assert isinstance(await next_event(subscription), ToolsChanged)
        await asyncio.sleep(50)
        await subscription.close()
    assert "before it acknowledged" in caplog.text
    assert len(server.sent(LISTEN)) == 1


async def test_a_handshake_server_that_announces_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """F-API-14: events that are not offered, or refused, are reported."""
    server = handshake_server(tools={})
    del server.answers["resources/subscribe"]
    async with server.client() as client:
        subscription = await client.listen(tools=True, uris=["a"]).open()
        assert subscription.refused == ListenFilter(tools=True, uris=("a",))
    assert "tools, uris a" in caplog.text


async def test_a_handshake_session_is_subscribed_anew() -> None:
    """F-API-14: after a loss, the new session subscribes again."""
    server = handshake_server()
    async with server.client() as client, client.listen(uris=["a"]) as subscription:
        server.notify(UPDATED, uri="a")
        assert isinstance(await next_event(subscription), ResourceUpdated)
        server.lose()
        assert isinstance(await next_event(subscription), EventsMissed)
        server.notify(UPDATED, uri="a")
        assert isinstance(await next_event(subscription), ResourceUpdated)
    assert server.connections == 2
    assert server.sent("resources/subscribe") == [{"uri": "a"}] * 2


async def test_a_renewed_session_is_subscribed_anew_at_once() -> None:
    """F-HTTP-6, F-API-14: an expired session is renewed for some other call."""
    server = handshake_server()
    async with server.client() as client, client.listen(uris=["a"]) as subscription:
        await connection_of(client).renew(connection_of(client).generation)
        before = asyncio.get_running_loop().time()
        assert isinstance(await next_event(subscription), EventsMissed)
        assert asyncio.get_running_loop().time() == before
    assert len(server.sent("resources/subscribe")) == 2


async def test_a_resource_stays_subscribed_while_somebody_listens() -> None:
    """F-API-14: only the last listener unsubscribes; the server's answer to that cannot fail."""
    server = handshake_server()
    del server.answers["resources/unsubscribe"]
    async with server.client() as client, client.listen(uris=["a", "b"]):
        async with client.listen(uris=["a"]):
            pass
        assert server.sent("resources/unsubscribe") == []
    assert server.sent("resources/unsubscribe") == [{"uri": "a"}, {"uri": "b"}]


async def test_an_end_before_the_acknowledgement_is_an_end() -> None:
    """F-API-14"""
    server = ScriptedServer({LISTEN: {"resultType": "complete"}})
    async with server.client() as client, client.listen(tools=True) as subscription:
        assert subscription.acknowledged is None
        assert subscription.refused == ListenFilter(tools=True)
        assert [event async for event in subscription] == []


async def test_a_server_that_takes_the_stream_down_is_asked_again() -> None:
    """F-API-14: notifications/cancelled from the server, on transports with one channel."""
    server = ListeningServer()
    async with server.client() as client, client.listen(tools=True) as subscription:
        server.notify("notifications/cancelled", requestId=server.ids(LISTEN)[0])
        assert isinstance(await next_event(subscription), EventsMissed)
    assert server.connections == 1
    assert len(server.sent(LISTEN)) == 2


@pytest.mark.loses_an_exception
async def test_a_failure_of_the_listener_itself_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-API-14"""
    server = ListeningServer()
    async with server.client() as client:
        monkeypatch.setattr(connection_of(client), "restore", lambda: 1 / 0)
        subscription = client.listen(tools=True)
        assert [event async for event in subscription] == []
    assert "a subscription failed" in caplog.text
