"""How a server tells of changes: with a request that stays open, and with its session."""

from __future__ import annotations

import asyncio
import json

import pytest

from mcpclient import Client
from mcpclient.errors import CallTimeout, ConnectionLost, PeerError
from mcpclient.protocol.listen import (
    EventsMissed,
    ListenFilter,
    PromptsChanged,
    ResourceUpdated,
    TaskChanged,
    ToolsChanged,
)
from tests.client.listening_server import (
    LISTEN,
    PROMPTS,
    SUBSCRIPTION_ID,
    TOOLS,
    UPDATED,
    ListeningServer,
    handshake_server,
    next_event,
)
from tests.client.scripted_server import ScriptedServer, turns
from tests.support.http_server import Answer, HttpServer, Request

pytestmark = pytest.mark.virtual_time


async def test_no_call_timeout_applies_once_the_server_has_agreed() -> None:
    """F-API-14, F-HTTP-13: hours of silence are nothing unusual."""
    server = ListeningServer()
    limited = server.client(timeout=1, max_timeout=2)
    async with limited as client, client.listen(tools=True) as subscription:
        await asyncio.sleep(7200)
        server.notify(TOOLS)
        assert isinstance(await next_event(subscription), ToolsChanged)
    assert len(server.sent(LISTEN)) == 1


async def test_a_server_that_does_not_react_is_a_timeout() -> None:
    """F-API-14: until it is acknowledged, the request is one like any other."""
    server = ListeningServer()
    server.acknowledges = False
    async with server.client(timeout=3) as client:
        with pytest.raises(CallTimeout):
            async with client.listen(tools=True):
                pass
        assert asyncio.get_running_loop().time() == 3


async def test_news_that_a_closed_client_still_reads_are_left() -> None:
    """F-LIFE-5: they may have been under way when it was closed, and are no fault of the server."""
    server = ListeningServer()
    async with server.client() as client, client.listen(tools=True) as subscription:
        observers = list(client._connection.observers)
        meta = {SUBSCRIPTION_ID: server.ids(LISTEN)[-1]}
        closing = asyncio.ensure_future(client.close())
        while client.is_connected:  # noqa: ASYNC110 - nobody is told of this very moment
            await asyncio.sleep(0)
        for observer in observers:
            observer.notified(TOOLS, {"_meta": meta})
        await closing
        with pytest.raises(StopAsyncIteration):
            await next_event(subscription)


async def test_giving_up_on_opening_tells_the_server() -> None:
    """F-API-8: cancelled while it waits for the acknowledgement."""
    server = ListeningServer()
    server.acknowledges = False
    async with server.client() as client:
        listening = client.listen(tools=True)  # held, so that it is not its end that tells
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(listening.__aenter__(), 1)
        await turns()
        assert len(server.sent("notifications/cancelled")) == 1
        del listening


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


async def test_listeners_side_by_side_get_their_own() -> None:
    """F-API-14: told apart by subscription id; what carries none is for all that want it."""
    server = ListeningServer()
    async with server.client() as client:
        one = await client.listen(tools=True).open()
        other = await client.listen(tools=True).open()
        first, second = server.ids(LISTEN)
        server.tell(second, TOOLS, n=2)
        server.tell(first, TOOLS, n=1)
        assert (await next_event(one)).raw["n"] == 1
        assert (await next_event(other)).raw["n"] == 2
        server.notify(TOOLS, n=3)
        assert (await next_event(one)).raw["n"] == 3
        assert (await next_event(other)).raw["n"] == 3


async def test_tasks_can_be_listened_to() -> None:
    """F-API-13, F-API-14: notifications/tasks on the same stream."""
    server = ListeningServer()
    async with server.client() as client, client.listen(tasks=["t1"]) as subscription:
        request = server.ids(LISTEN)[0]
        server.tell(request, "notifications/tasks", taskId="t1", status="completed")
        event = await next_event(subscription)
        assert isinstance(event, TaskChanged) and event.task.is_over
    assert server.sent(LISTEN)[0]["notifications"] == {"taskIds": ["t1"]}


async def test_the_same_loop_in_the_handshake_era() -> None:
    """F-API-14: fed by the server's notifications and by resources/subscribe."""
    server = handshake_server()
    async with server.client() as client:
        subscription = await client.listen(tools=True, uris=["a"]).open()
        assert subscription.acknowledged == ListenFilter(tools=True, uris=("a",))
        server.notify(PROMPTS)
        server.notify(TOOLS)
        server.notify(UPDATED, uri="a")
        assert isinstance(await next_event(subscription), ResourceUpdated)
        assert isinstance(await next_event(subscription), ToolsChanged)
        await subscription.close()
    assert server.sent("resources/subscribe") == [{"uri": "a"}]
    assert server.sent("resources/unsubscribe") == [{"uri": "a"}]


async def test_a_handshake_server_that_announces_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """F-API-14: what its capabilities do not offer, and what it refuses, is told."""
    server = handshake_server(tools={})
    del server.answers["resources/subscribe"]
    async with server.client() as client:
        subscription = await client.listen(tools=True, uris=["a"]).open()
        assert subscription.refused == ListenFilter(tools=True, uris=("a",))
    assert "tools, uris a" in caplog.text


async def test_a_handshake_session_is_subscribed_anew() -> None:
    """F-API-14: after a loss, the new session is told what to watch."""
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
        await client._connection.renew(client._connection.generation)
        before = asyncio.get_running_loop().time()
        assert isinstance(await next_event(subscription), EventsMissed)
        assert asyncio.get_running_loop().time() == before
    assert len(server.sent("resources/subscribe")) == 2


async def test_a_resource_stays_subscribed_while_somebody_listens() -> None:
    """F-API-14: only the last listener unsubscribes; what the server says to that is no error."""
    server = handshake_server()
    del server.answers["resources/unsubscribe"]
    async with server.client() as client, client.listen(uris=["a", "b"]):
        async with client.listen(uris=["a"]):
            pass
        assert server.sent("resources/unsubscribe") == []
    assert server.sent("resources/unsubscribe") == [{"uri": "a"}, {"uri": "b"}]


# A listener at work: kept up over losses, and ended in every way


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
