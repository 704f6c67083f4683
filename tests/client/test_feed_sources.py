"""How a server tells of changes: with a request that stays open, and with its session."""

from __future__ import annotations

import asyncio

import pytest

from mcpclient.errors import CallTimeout
from mcpclient.protocol.listen import (
    EventsMissed,
    ListenFilter,
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
from tests.client.scripted_server import turns

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
