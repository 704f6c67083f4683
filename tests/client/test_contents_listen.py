"""Listening, in both eras, over an in-process server in virtual time."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from mcpclient import Client
from mcpclient.errors import ClientClosed, McpError, PeerError, UsageError
from mcpclient.protocol.listen import ListenEvent, ListenFilter, ResourceUpdated, ToolsChanged
from tests.client.listening_server import (
    LISTEN,
    SUBSCRIPTION_ID,
    TOOLS,
    UPDATED,
    ListeningServer,
    handshake_server,
    next_event,
)
from tests.client.scripted_server import ScriptedServer, turns
from tests.support import virtual_time

pytestmark = pytest.mark.virtual_time


async def test_a_subscription_says_what_changes() -> None:
    """F-API-14: acknowledged first, then typed events, until the block ends."""
    server = ListeningServer()
    async with server.client() as client:
        async with client.listen(tools=True, uris=["a"]) as subscription:
            assert subscription.acknowledged == ListenFilter(tools=True, uris=("a",))
            assert not subscription.refused
            (request,) = server.ids(LISTEN)
            server.tell(request, TOOLS)
            server.tell(request, UPDATED, uri="a")
            updated = await next_event(subscription)
            assert isinstance(updated, ResourceUpdated) and updated.uri == "a"
            assert updated.raw["_meta"] == {SUBSCRIPTION_ID: request}
            assert isinstance(await next_event(subscription), ToolsChanged)
        await turns()
        assert server.sent("notifications/cancelled")[0]["requestId"] == request
    (params,) = server.sent(LISTEN)
    assert params["notifications"] == {"toolsListChanged": True, "resourceSubscriptions": ["a"]}


async def test_a_bare_loop_opens_and_ends_the_subscription() -> None:
    """F-API-14: leaving the loop ends it, as nobody holds it any more."""
    server = ListeningServer()
    async with server.client() as client:
        asyncio.get_running_loop().call_later(5, server.notify, TOOLS)
        async for event in client.listen(tools=True):
            assert isinstance(event, ToolsChanged)
            break
        del event
        gc.collect()
        await turns()
        assert len(server.sent("notifications/cancelled")) == 1


async def test_a_server_without_subscriptions_says_so() -> None:
    """F-API-14: a refusal is raised at once, from open and from the loop."""
    server = ScriptedServer()
    async with server.client() as client:
        subscription = client.listen(tools=True)
        for _ in range(2):
            with pytest.raises(PeerError):
                await subscription.open()
        with pytest.raises(PeerError):
            await subscription.__anext__()
    assert len(server.sent(LISTEN)) == 1


async def test_what_the_server_does_not_grant_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """F-API-14: the acknowledged filter is compared with what was asked for."""
    server = ListeningServer()
    server.granted = {"toolsListChanged": True}
    async with server.client() as client:
        subscription = await client.listen(tools=True, prompts=True, uris=["a"]).open()
        assert subscription.acknowledged == ListenFilter(tools=True)
        assert subscription.refused == ListenFilter(prompts=True, uris=("a",))
    assert "prompts, uris a" in caplog.text


async def test_listening_needs_a_connection_and_something_to_hear() -> None:
    """F-API-14"""
    server = ListeningServer()
    client = server.client()
    with pytest.raises(ClientClosed):
        await client.listen(tools=True).open()
    with pytest.raises(UsageError, match="something to listen for"):
        client.listen()
    with pytest.raises(UsageError, match="lists of strings"):
        client.listen(uris="file:///a")
    await client.listen(tools=True).close()


async def test_closing_twice_is_closing_once() -> None:
    """F-API-14"""
    server = ListeningServer()
    async with server.client() as client:
        subscription = await client.listen(tools=True).open()
        await subscription.close()
        await subscription.close()
        assert [event async for event in subscription] == []
        await turns()
    assert len(server.sent("notifications/cancelled")) == 1


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


@pytest.mark.real_time
async def test_a_listener_serves_another_event_loop() -> None:
    """F-API-18: whichever loop asks, the work is done in the client's own."""
    server = ListeningServer()
    acknowledge = server.acknowledge

    def acknowledge_and_tell(subscription: object, granted: dict[str, Any]) -> None:
        acknowledge(subscription, granted)
        server.tell(subscription, TOOLS)

    server.acknowledge = acknowledge_and_tell  # type: ignore[method-assign]
    async with server.client() as client:
        found: list[ListenEvent] = []

        async def elsewhere() -> None:
            async with client.listen(tools=True) as subscription:
                found.append(await subscription.__anext__())

        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, lambda: asyncio.run(elsewhere()))
        assert isinstance(found[0], ToolsChanged)


@pytest.mark.parametrize("granted", [{"resourceSubscriptions": ["a"]}, {}])
async def test_whoever_subscribes_second_waits_for_the_agreement_too(
    granted: dict[str, Any],
) -> None:
    """F-API-4: and learns that there is none."""
    server = ListeningServer()
    server.acknowledges = False
    async with server.client() as client:
        both = [asyncio.ensure_future(client.subscribe_resource("a")) for _ in range(2)]
        await turns()
        assert not any(each.done() for each in both)
        server.acknowledge(server.ids(LISTEN)[-1], granted)
        outcomes = await asyncio.gather(*both, return_exceptions=True)
        expected = type(None) if granted else UsageError
        assert [type(each) for each in outcomes] == [expected, expected]


async def test_whoever_gives_up_subscribing_leaves_it_to_the_first() -> None:
    """F-API-4: who waits for the same resource, and is subscribed to it."""
    server = ListeningServer()
    server.acknowledges = False
    async with server.client() as client:
        first, second = (asyncio.ensure_future(client.subscribe_resource("a")) for _ in range(2))
        await turns()
        second.cancel()
        await turns()
        server.acknowledge(server.ids(LISTEN)[-1], {"resourceSubscriptions": ["a"]})
        await first
        assert server.sent("notifications/cancelled") == []


async def test_whoever_stops_waiting_for_an_event_stops_nobody_else() -> None:
    """F-API-14: two tasks may wait for the events of one subscription."""
    server = ListeningServer()
    async with server.client() as client, client.listen(tools=True) as subscription:
        first, second = (asyncio.ensure_future(next_event(subscription)) for _ in range(2))
        await turns()
        first.cancel()
        await turns()
        server.tell(server.ids(LISTEN)[-1], TOOLS)
        assert isinstance(await second, ToolsChanged)


@pytest.mark.parametrize("make", [ListeningServer, handshake_server])
async def test_a_resource_can_be_subscribed_to_in_either_era(make: Any) -> None:
    """F-API-4: updated events reach on_notification, until it is taken back."""
    server, heard = make(), []
    async with server.client(on_notification=lambda *said: heard.append(said)) as client:
        await client.subscribe_resource("a")
        await client.subscribe_resource("a")
        server.notify(UPDATED, uri="a")
        await turns()
        await client.unsubscribe_resource("a")
        await client.unsubscribe_resource("a")
        await turns()
    assert (UPDATED, {"uri": "a"}) in heard
    ends = server.sent("notifications/cancelled") or server.sent("resources/unsubscribe")
    assert len(ends) == 1


@pytest.mark.parametrize("make", [ListeningServer, handshake_server])
async def test_a_subscription_of_an_earlier_connection_is_made_anew(make: Any) -> None:
    """F-API-4: after the client was closed and connected again, the server is asked again."""
    server = make()
    client = server.client()
    for _ in range(2):
        async with client:
            await client.subscribe_resource("a")
            await client.subscribe_resource("a")
    assert len(server.sent(LISTEN) + server.sent("resources/subscribe")) == 2


async def test_a_subscription_that_was_lost_is_made_anew() -> None:
    """F-API-4: what ended the earlier one is no answer to this request."""
    server = ListeningServer()
    async with server.client() as client:
        await client.subscribe_resource("a")
        works, server.answers[LISTEN] = server.answers[LISTEN], lambda _: server.lose()
        server.lose()
        await asyncio.sleep(100)
        asked = len(server.sent(LISTEN))
        server.answers[LISTEN] = works
        await client.connect()
        await client.subscribe_resource("a")
        assert len(server.sent(LISTEN)) == asked + 1


async def test_a_server_that_changes_its_tools_at_each_listing_is_not_asked_without_end() -> None:
    """F-API-14: in three seconds three times, where it was thousands of times."""
    server = ListeningServer()

    def list_tools(params: dict[str, Any]) -> dict[str, Any]:
        server.tell(server.ids(LISTEN)[-1], TOOLS)
        return {"tools": []}

    server.answers["tools/list"] = list_tools

    async def follow(client: Client) -> None:
        async with client.listen(tools=True) as changes:
            await client.list_tools()
            async for _ in changes:
                await client.list_tools()

    async with server.client(cache=False) as client:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(follow(client), 3)
        assert len(server.sent("tools/list")) == 4


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


@pytest.mark.parametrize("make", [ListeningServer, handshake_server])
async def test_a_client_that_is_closed_while_it_subscribes(make: Any) -> None:
    """F-API-4, F-API-14: it is not the server that has agreed to nothing."""
    server = make()
    server.acknowledges = False
    server.answers["resources/subscribe"] = lambda params: None
    async with server.client() as client:
        listening = client.listen(uris=["b"])
        opening = [
            asyncio.ensure_future(work)
            for work in (client.subscribe_resource("a"), listening.open())
        ]
        await turns()
    for task in opening:
        with pytest.raises(ClientClosed):
            await task
