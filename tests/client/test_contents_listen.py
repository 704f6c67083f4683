"""Listening, in both eras, over an in-process server in virtual time."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from mcpclient.errors import ClientClosed, UsageError
from mcpclient.protocol.listen import ToolsChanged
from tests.client.listening_server import LISTEN, TOOLS, UPDATED, ListeningServer, handshake_server
from tests.client.scripted_server import turns

pytestmark = pytest.mark.virtual_time


async def test_a_bare_loop_opens_and_ends_the_subscription() -> None:
    """F-API-14: leaving the loop ends it, as it has no owner any more."""
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
