"""Listening, in both eras, over an in-process server in virtual time."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import pytest

from mcpclient import Client
from mcpclient.client.listen import Subscription
from mcpclient.errors import (
    CallTimeout,
    ClientClosed,
    ConnectionLost,
    McpError,
    PeerError,
    UsageError,
)
from mcpclient.protocol.listen import (
    EventsMissed,
    ListenEvent,
    ListenFilter,
    PromptsChanged,
    ResourceUpdated,
    TaskChanged,
    ToolsChanged,
)
from tests.client.scripted_server import HANDSHAKE, ScriptedServer, turns
from tests.support import virtual_time
from tests.support.http_server import Answer, HttpServer, Request

LISTEN = "subscriptions/listen"
TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"
UPDATED = "notifications/resources/updated"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
CHANGING = {"listChanged": True}


class ListeningServer(ScriptedServer):
    """Acknowledges subscriptions, and tells those that want it of changes.

    ``granted``: what it agrees to, None for everything. ``acknowledges``: whether it does at all.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__({LISTEN: self._listen}, **options)
        self.granted: dict[str, Any] | None = None
        self.acknowledges = True

    def _listen(self, params: dict[str, Any]) -> None:
        if self.acknowledges:
            self.acknowledge(self.ids(LISTEN)[-1], self.granted or params["notifications"])

    def acknowledge(self, subscription: object, granted: dict[str, Any]) -> None:
        self.tell(subscription, "notifications/subscriptions/acknowledged", notifications=granted)

    def tell(self, subscription: object, method: str, **params: Any) -> None:
        self.notify(method, _meta={SUBSCRIPTION_ID: subscription}, **params)


async def next_event(subscription: Subscription) -> ListenEvent:
    return await asyncio.wait_for(subscription.__anext__(), 100)


# The stateless era


def test_a_subscription_says_what_changes() -> None:
    """F-API-14: acknowledged first, then typed events, until the block ends."""
    server = ListeningServer()

    async def main() -> None:
        async with server.client() as client:
            async with client.listen(tools=True, uris=["a"]) as subscription:
                assert subscription.acknowledged == ListenFilter(tools=True, uris=("a",))
                assert not subscription.refused
                (request,) = server.ids(LISTEN)
                server.tell(request, TOOLS)
                server.tell(request, UPDATED, uri="a")
                assert isinstance(await next_event(subscription), ToolsChanged)
                updated = await next_event(subscription)
                assert isinstance(updated, ResourceUpdated) and updated.uri == "a"
                assert updated.raw["_meta"] == {SUBSCRIPTION_ID: request}
            await turns()
            assert server.sent("notifications/cancelled")[0]["requestId"] == request

    virtual_time.run(main())
    (params,) = server.sent(LISTEN)
    assert params["notifications"] == {"toolsListChanged": True, "resourceSubscriptions": ["a"]}


def test_a_bare_loop_opens_and_ends_the_subscription() -> None:
    """F-API-14: leaving the loop ends it, as nobody holds it any more."""
    server = ListeningServer()

    async def main() -> None:
        async with server.client() as client:
            asyncio.get_running_loop().call_later(5, server.notify, TOOLS)
            async for event in client.listen(tools=True):
                assert isinstance(event, ToolsChanged)
                break
            del event
            gc.collect()
            await turns()
            assert len(server.sent("notifications/cancelled")) == 1

    virtual_time.run(main())


def test_no_call_timeout_applies_once_the_server_has_agreed() -> None:
    """F-API-14, F-HTTP-13: hours of silence are nothing unusual."""
    server = ListeningServer()

    async def main() -> None:
        limited = server.client(timeout=1, max_timeout=2)
        async with limited as client, client.listen(tools=True) as subscription:
            await asyncio.sleep(7200)
            server.notify(TOOLS)
            assert isinstance(await next_event(subscription), ToolsChanged)

    virtual_time.run(main())
    assert len(server.sent(LISTEN)) == 1


def test_a_server_that_does_not_react_is_a_timeout() -> None:
    """F-API-14: until it is acknowledged, the request is one like any other."""
    server = ListeningServer()
    server.acknowledges = False

    async def main() -> None:
        async with server.client(timeout=3) as client:
            with pytest.raises(CallTimeout):
                async with client.listen(tools=True):
                    pass
            assert asyncio.get_running_loop().time() == 3

    virtual_time.run(main())


def test_giving_up_on_opening_tells_the_server() -> None:
    """F-API-8: cancelled while it waits for the acknowledgement."""
    server = ListeningServer()
    server.acknowledges = False

    async def main() -> None:
        async with server.client() as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.listen(tools=True).__aenter__(), 1)
            await turns()
            assert len(server.sent("notifications/cancelled")) == 1

    virtual_time.run(main())


def test_a_server_without_subscriptions_says_so() -> None:
    """F-API-14: a refusal is raised at once, from open and from the loop."""
    server = ScriptedServer()

    async def main() -> None:
        async with server.client() as client:
            subscription = client.listen(tools=True)
            for _ in range(2):
                with pytest.raises(PeerError):
                    await subscription.open()
            with pytest.raises(PeerError):
                await subscription.__anext__()

    virtual_time.run(main())
    assert len(server.sent(LISTEN)) == 1


def test_what_the_server_does_not_grant_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """F-API-14: the acknowledged filter is compared with what was asked for."""
    server = ListeningServer()
    server.granted = {"toolsListChanged": True}

    async def main() -> None:
        async with server.client() as client:
            subscription = await client.listen(tools=True, prompts=True, uris=["a"]).open()
            assert subscription.acknowledged == ListenFilter(tools=True)
            assert subscription.refused == ListenFilter(prompts=True, uris=("a",))

    virtual_time.run(main())
    assert "prompts, uris a" in caplog.text


def test_an_event_before_the_acknowledgement_is_not_lost(caplog: pytest.LogCaptureFixture) -> None:
    """F-API-14: a server that breaks the order is warned of, and understood."""
    server = ListeningServer()
    server.acknowledges = False

    async def main() -> None:
        async with server.client(timeout=1) as client:
            subscription = client.listen(tools=True)
            opening = asyncio.ensure_future(subscription.open())
            await turns()
            server.tell(server.ids(LISTEN)[0], TOOLS)
            await opening
            assert isinstance(await next_event(subscription), ToolsChanged)
            await asyncio.sleep(50)
            await subscription.close()

    virtual_time.run(main())
    assert "before it acknowledged" in caplog.text
    assert len(server.sent(LISTEN)) == 1


def test_listeners_side_by_side_get_their_own() -> None:
    """F-API-14: told apart by subscription id; what carries none is for all that want it."""
    server = ListeningServer()

    async def main() -> None:
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

    virtual_time.run(main())


def test_tasks_can_be_listened_to() -> None:
    """F-API-13, F-API-14: notifications/tasks on the same stream."""
    server = ListeningServer()

    async def main() -> None:
        async with server.client() as client, client.listen(tasks=["t1"]) as subscription:
            request = server.ids(LISTEN)[0]
            server.tell(request, "notifications/tasks", taskId="t1", status="completed")
            event = await next_event(subscription)
            assert isinstance(event, TaskChanged) and event.task.is_over

    virtual_time.run(main())
    assert server.sent(LISTEN)[0]["notifications"] == {"taskIds": ["t1"]}


def test_a_graceful_end_ends_the_loop() -> None:
    """F-API-14: what came before it is still delivered."""
    server = ListeningServer()

    async def main() -> None:
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

    virtual_time.run(main())
    assert len(server.sent(LISTEN)) == 1


def test_an_end_before_the_acknowledgement_is_an_end() -> None:
    server = ScriptedServer({LISTEN: {"resultType": "complete"}})

    async def main() -> None:
        async with server.client() as client, client.listen(tools=True) as subscription:
            assert subscription.acknowledged is None
            assert subscription.refused == ListenFilter(tools=True)
            assert [event async for event in subscription] == []

    virtual_time.run(main())


def test_a_lost_connection_is_made_anew_and_said() -> None:
    """F-API-14: the request is sent again; what was missed meanwhile is not passed over."""
    server = ListeningServer()

    async def main() -> None:
        async with server.client() as client, client.listen(tools=True) as subscription:
            server.lose()
            assert isinstance(await next_event(subscription), EventsMissed)
            assert client.is_connected
            server.tell(server.ids(LISTEN)[-1], TOOLS)
            assert isinstance(await next_event(subscription), ToolsChanged)

    virtual_time.run(main())
    assert server.connections == 2
    assert len(server.sent(LISTEN)) == 2


def test_a_server_that_takes_the_stream_down_is_asked_again() -> None:
    """F-API-14: notifications/cancelled from the server, on transports with one channel."""
    server = ListeningServer()

    async def main() -> None:
        async with server.client() as client, client.listen(tools=True) as subscription:
            server.notify("notifications/cancelled", requestId=server.ids(LISTEN)[0])
            assert isinstance(await next_event(subscription), EventsMissed)

    virtual_time.run(main())
    assert server.connections == 1
    assert len(server.sent(LISTEN)) == 2


def test_a_stream_that_keeps_breaking_is_given_up() -> None:
    """F-API-14: five tries in a row without an event; the loop does not spin."""
    server = ListeningServer()

    async def main() -> None:
        async with server.client() as client:
            loop = asyncio.get_running_loop()
            async with client.listen(tools=True) as subscription:
                server.answers[LISTEN] = lambda _: server.lose()
                server.lose()
                with pytest.raises(ConnectionLost):
                    await next_event(subscription)
                assert loop.time() >= 31

    virtual_time.run(main())
    assert len(server.sent(LISTEN)) == 6


def test_a_stream_that_brought_something_counts_anew() -> None:
    """F-API-14: with an event, or after a minute, a break is a new failure."""
    server = ListeningServer()

    async def main() -> None:
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

    virtual_time.run(main())
    assert len(server.sent(LISTEN)) == 17


def test_a_refusal_after_a_reconnection_is_raised() -> None:
    """F-API-14: what trying again would not change is not tried again."""
    server = ListeningServer()

    async def main() -> None:
        async with server.client() as client, client.listen(tools=True) as subscription:
            del server.answers[LISTEN]
            server.lose()
            with pytest.raises(PeerError):
                await next_event(subscription)

    virtual_time.run(main())


def test_closing_the_client_ends_the_loop() -> None:
    """F-LIFE-6: a listener does not outlive its client, nor reconnect it."""
    server = ListeningServer()

    async def main() -> None:
        async with server.client() as client:
            subscription = await client.listen(tools=True).open()
            asyncio.get_running_loop().call_later(5, lambda: asyncio.ensure_future(client.close()))
            assert [event async for event in subscription] == []
            await subscription.close()
            assert not client.is_connected

    virtual_time.run(main())
    assert server.connections == 1


def test_closing_while_reconnecting_ends_the_loop() -> None:
    server = ListeningServer()

    async def main() -> None:
        async with server.client() as client:
            subscription = await client.listen(tools=True).open()
            server.lose()
            await asyncio.sleep(0.5)
            await client.close()
            assert [event async for event in subscription] == []

    virtual_time.run(main())
    assert server.connections == 1


def test_listening_needs_a_connection_and_something_to_hear() -> None:
    server = ListeningServer()

    async def main() -> None:
        client = server.client()
        with pytest.raises(ClientClosed):
            await client.listen(tools=True).open()
        with pytest.raises(UsageError, match="something to listen for"):
            client.listen()
        with pytest.raises(UsageError, match="lists of strings"):
            client.listen(uris="file:///a")
        await client.listen(tools=True).close()

    virtual_time.run(main())


def test_closing_twice_is_closing_once() -> None:
    server = ListeningServer()

    async def main() -> None:
        async with server.client() as client:
            subscription = await client.listen(tools=True).open()
            await subscription.close()
            await subscription.close()
            assert [event async for event in subscription] == []
            await turns()
        assert len(server.sent("notifications/cancelled")) == 1

    virtual_time.run(main())


def test_a_failure_of_the_listener_itself_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ListeningServer()

    async def main() -> None:
        async with server.client() as client:
            monkeypatch.setattr(client._connection, "restore", lambda: 1 / 0)
            subscription = client.listen(tools=True)
            assert [event async for event in subscription] == []

    virtual_time.run(main())
    assert "a subscription failed" in caplog.text


def test_a_dropped_client_ends_its_listeners() -> None:
    """F-LIFE-5: also when the event loop is gone already."""
    server = ListeningServer()

    async def listen() -> Any:
        client = await server.client()
        return client, await client.listen(tools=True).open()

    loop = asyncio.new_event_loop()
    client, subscription = loop.run_until_complete(listen())
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(turns())
    loop.close()
    client._connection.abort()
    del subscription
    gc.collect()


def test_a_listener_serves_another_event_loop() -> None:
    """F-API-18: whichever loop asks, the work is done in the client's own."""
    server = ListeningServer()
    acknowledge = server.acknowledge

    def acknowledge_and_tell(subscription: object, granted: dict[str, Any]) -> None:
        acknowledge(subscription, granted)
        server.tell(subscription, TOOLS)

    server.acknowledge = acknowledge_and_tell  # type: ignore[method-assign]

    async def main() -> None:
        async with server.client() as client:
            found: list[ListenEvent] = []

            async def elsewhere() -> None:
                async with client.listen(tools=True) as subscription:
                    found.append(await subscription.__anext__())

            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, lambda: asyncio.run(elsewhere()))
            assert isinstance(found[0], ToolsChanged)

    asyncio.run(main())


def test_a_silent_stream_counts_as_dead_where_liveness_is_asked_for() -> None:
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

    async def main() -> None:
        async with HttpServer({"POST /mcp": endpoint}) as server:
            url = str(server.url())
            async with Client(url, protocol_version="2026-07-28", liveness=30) as client:
                subscription = await client.listen(tools=True).open()
                assert isinstance(await subscription.__anext__(), EventsMissed)
                assert 130 <= asyncio.get_running_loop().time() < 133
                await subscription.close()

    virtual_time.run(main())
    assert opened == 2


# The handshake era


def handshake_server(**capabilities: Any) -> ScriptedServer:
    capabilities = capabilities or {"tools": CHANGING, "resources": {"subscribe": True}}
    server = ScriptedServer(version=HANDSHAKE, capabilities=capabilities)
    server.answers["resources/subscribe"] = {}
    server.answers["resources/unsubscribe"] = {}
    return server


def test_the_same_loop_in_the_handshake_era() -> None:
    """F-API-14: fed by the server's notifications and by resources/subscribe."""
    server = handshake_server()

    async def main() -> None:
        async with server.client() as client:
            subscription = await client.listen(tools=True, uris=["a"]).open()
            assert subscription.acknowledged == ListenFilter(tools=True, uris=("a",))
            server.notify(PROMPTS)
            server.notify(TOOLS)
            server.notify(UPDATED, uri="a")
            assert isinstance(await next_event(subscription), ToolsChanged)
            assert isinstance(await next_event(subscription), ResourceUpdated)
            await subscription.close()

    virtual_time.run(main())
    assert server.sent("resources/subscribe") == [{"uri": "a"}]
    assert server.sent("resources/unsubscribe") == [{"uri": "a"}]


def test_a_handshake_server_that_announces_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """F-API-14: what its capabilities do not offer, and what it refuses, is told."""
    server = handshake_server(tools={})
    del server.answers["resources/subscribe"]

    async def main() -> None:
        async with server.client() as client:
            subscription = await client.listen(tools=True, uris=["a"]).open()
            assert subscription.refused == ListenFilter(tools=True, uris=("a",))

    virtual_time.run(main())
    assert "tools, uris a" in caplog.text


def test_a_handshake_session_is_subscribed_anew() -> None:
    """F-API-14: after a loss, the new session is told what to watch."""
    server = handshake_server()

    async def main() -> None:
        async with server.client() as client, client.listen(uris=["a"]) as subscription:
            server.notify(UPDATED, uri="a")
            assert isinstance(await next_event(subscription), ResourceUpdated)
            server.lose()
            assert isinstance(await next_event(subscription), EventsMissed)
            server.notify(UPDATED, uri="a")
            assert isinstance(await next_event(subscription), ResourceUpdated)

    virtual_time.run(main())
    assert server.connections == 2
    assert server.sent("resources/subscribe") == [{"uri": "a"}] * 2


def test_a_renewed_session_is_subscribed_anew_at_once() -> None:
    """F-HTTP-6, F-API-14: an expired session is renewed for some other call."""
    server = handshake_server()

    async def main() -> None:
        async with server.client() as client, client.listen(uris=["a"]) as subscription:
            await client._connection.renew(client._connection.generation)
            before = asyncio.get_running_loop().time()
            assert isinstance(await next_event(subscription), EventsMissed)
            assert asyncio.get_running_loop().time() == before

    virtual_time.run(main())
    assert len(server.sent("resources/subscribe")) == 2


def test_a_resource_stays_subscribed_while_somebody_listens() -> None:
    """F-API-14: only the last listener unsubscribes; what the server says to that is no error."""
    server = handshake_server()
    del server.answers["resources/unsubscribe"]

    async def main() -> None:
        async with server.client() as client, client.listen(uris=["a", "b"]):
            async with client.listen(uris=["a"]):
                pass
            assert server.sent("resources/unsubscribe") == []

    virtual_time.run(main())
    assert server.sent("resources/unsubscribe") == [{"uri": "a"}, {"uri": "b"}]


# Subscribing to a resource


@pytest.mark.parametrize("make", [ListeningServer, handshake_server])
def test_a_resource_can_be_subscribed_to_in_either_era(make: Any) -> None:
    """F-API-4: updated events reach on_notification, until it is taken back."""
    server, heard = make(), []

    async def main() -> None:
        async with server.client(on_notification=lambda *said: heard.append(said)) as client:
            await client.subscribe_resource("a")
            await client.subscribe_resource("a")
            server.notify(UPDATED, uri="a")
            await turns()
            await client.unsubscribe_resource("a")
            await client.unsubscribe_resource("a")
            await turns()

    virtual_time.run(main())
    assert (UPDATED, {"uri": "a"}) in heard
    ends = server.sent("notifications/cancelled") or server.sent("resources/unsubscribe")
    assert len(ends) == 1


def test_a_resource_that_cannot_be_subscribed_to() -> None:
    """F-API-4: what the server says is raised; where it says nothing, that."""
    refusing = handshake_server()
    del refusing.answers["resources/subscribe"]
    ignoring = ListeningServer()
    ignoring.granted = {"toolsListChanged": True}

    async def main(server: ScriptedServer, error: type[McpError]) -> None:
        async with server.client() as client:
            for _ in range(2):
                with pytest.raises(error):
                    await client.subscribe_resource("a")

    virtual_time.run(main(refusing, PeerError))
    virtual_time.run(main(ignoring, UsageError))
    assert len(refusing.sent("resources/subscribe")) == 2
