"""A single client that keeps its connection: F-API-28."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mcpclient
from mcpclient import Client, Reconnect, sync
from mcpclient.client.requests import connection_of
from mcpclient.errors import (
    AuthorizationRequired,
    CallTimeout,
    ClientClosed,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    PeerError,
)
from mcpclient.transports.base import Receiver
from tests.client.scripted_server import turns
from tests.manager.fleet import Member, tool

pytestmark = [pytest.mark.usefixtures("even_chance"), pytest.mark.virtual_time]

NEVER = 1_000_000.0
REFUSED, RESET = ConnectFailed("s", "refused"), ConnectionLost("reset")
TWICE = {"idempotentHint": True}


class Failing(Member):
    """Fails the next requests before they are sent, and its next attempts by a list."""

    failures: tuple[McpError, ...] = ()
    attempt_error: McpError | None = None

    def send(self, outgoing: Any) -> None:
        if outgoing.message.get("method") in ("tools/call", "resources/read") and self.failures:
            error, *rest = self.failures
            self.failures = tuple(rest)
            raise error
        super().send(outgoing)

    async def open(self, receiver: Receiver) -> None:
        await super().open(receiver)
        if self.attempt_error is not None:
            raise self.attempt_error


def kept(member: Member, **options: Any) -> Client:
    return mcpclient.connect(member, **{"reconnect": Reconnect(), **options})


async def lose(client: Client) -> None:
    connection_of(client).session.connection_lost(RESET)
    await turns()


async def test_a_lost_connection_is_restored_and_requests_wait_for_it() -> None:
    """F-API-28: after the pauses of its policy, whatever is asked for; without it, never."""
    member = Member("x", refusals=0)
    async with kept(member) as client, Client(other := Member("x")) as plain:
        await lose(plain)
        await lose(client)
        member.refusals = 2
        started = asyncio.get_running_loop().time()
        result, listed, together = await asyncio.gather(
            client.call_tool("x"), client.list_tools(), client.call_tools([("x", {})] * 2)
        )
        assert asyncio.get_running_loop().time() - started == pytest.approx(0.5 + 1 + 2)
        assert result.text == "x" and [each.name for each in listed] == ["x"]
        assert [outcome.text for outcome in together if not isinstance(outcome, Exception)] == [
            "x",
            "x",
        ]
        assert member.attempts == 4 and client.is_connected
        assert other.attempts == 1 and not plain.is_connected


async def test_a_request_waits_within_its_own_timeout() -> None:
    """F-API-28, F-API-7"""
    member = Member("x")
    async with kept(member) as client:
        await lose(client)
        member.refusals = NEVER
        with pytest.raises(CallTimeout, match="its connection"):
            await client.call_tool("x", timeout=3)
        member.refusals = 0
        assert (await client.call_tool("x")).text == "x"


@pytest.mark.parametrize(
    ("failures", "annotations", "raised", "calls"),
    [
        ((), {}, None, 1),
        ((REFUSED,), {}, None, 1),
        ((REFUSED, REFUSED), {}, ConnectFailed, 0),
        ((RESET,), {}, ConnectionLost, 0),
        ((RESET,), TWICE, None, 1),
        ((PeerError(1, "x"),), TWICE, PeerError, 0),
    ],
)
async def test_when_a_call_is_made_twice(
    failures: tuple[McpError, ...], annotations: Any, raised: Any, calls: int
) -> None:
    """F-API-28, F-MANY-5: where it did not run, or where running twice does no harm; once."""
    member = Failing(tool("x", annotations=annotations))
    async with kept(member, trusted=True) as client:
        await client.list_tools()
        member.failures = failures
        if raised is None:
            assert (await client.call_tool("x", timeout=7)).text == "x"
        else:
            with pytest.raises(raised):
                await client.call_tool("x", timeout=7)
        assert len(member.calls) == calls


async def test_reading_is_repeated() -> None:
    """F-API-28: it does no harm."""
    contents: Any = {"resources/read": {"contents": [{"uri": "m://1", "text": "r"}]}}
    member = Failing(answers=contents, capabilities={"resources": {}})
    async with kept(member) as client:
        member.failures = (RESET,)
        assert (await client.read_resource("m://1")).contents[0].text == "r"


async def test_a_connection_that_only_looks_open_is_made_anew() -> None:
    """F-API-28, F-MANY-5: after as many failures of the network as the policy says, in a row."""
    member = Failing("x")
    async with kept(member, reconnect=Reconnect(delays=(5,), terminal_errors=2)) as client:
        for failure in (RESET, HttpError(500, {}, b""), RESET, RESET):
            assert client.is_connected
            member.failures = (failure,)
            with pytest.raises((ConnectionLost, HttpError)):
                await client.call_tool("x")
        assert not client.is_connected
        assert (await client.call_tool("x")).text == "x"
        assert member.attempts == 2


async def test_the_first_attempt_is_the_callers() -> None:
    """F-API-28: it raises, and nothing goes on in the background; later ones may be hastened."""
    member = Member("x", refusals=1)
    client = kept(member)
    with pytest.raises(ClientClosed, match="not connected yet"):
        await client.call_tool("x")
    with pytest.raises(ConnectFailed):
        await client.connect()
    await asyncio.sleep(100)
    assert member.attempts == 1
    async with client:
        await lose(client)
        await client.connect()
        assert (member.attempts, client.is_connected) == (3, True)
        assert asyncio.get_running_loop().time() == 100
        await lose(client)
        member.refusals = 1
        with pytest.raises(ConnectFailed):
            await client.connect()
        assert (await client.call_tool("x")).text == "x"  # for it is tried again


async def test_a_connect_that_is_cancelled_leaves_nothing_running() -> None:
    """F-API-28"""
    member = Member("x", seconds=5)
    client = kept(member)
    connecting = asyncio.ensure_future(client.connect())
    await asyncio.sleep(1)
    connecting.cancel()
    await asyncio.wait([connecting])
    assert len(asyncio.all_tasks()) == 1
    async with client:
        assert (await client.call_tool("x")).text == "x"


@pytest.mark.parametrize("seconds", [0.1, 0.7])
async def test_closing_ends_the_attempts(seconds: float) -> None:
    """F-API-28: in a pause, or in the middle of an attempt; and it can be connected again."""
    member = Member("x")
    client = await kept(member)
    member.seconds = 5
    await lose(client)
    waiting = asyncio.ensure_future(client.call_tool("x"))
    await asyncio.sleep(seconds)
    await client.close()
    with pytest.raises((ClientClosed, ConnectionLost)):
        await waiting
    assert len(asyncio.all_tasks()) == 1
    with pytest.raises(ClientClosed):
        await client.call_tool("x")
    async with client:
        assert (await client.call_tool("x")).text == "x"


async def test_a_login_that_is_needed_ends_the_attempts() -> None:
    """F-API-28, F-AUTH-11: calls say so at once."""
    member = Failing("x")
    async with kept(member) as client:
        member.attempt_error = AuthorizationRequired("https://auth.example/")
        await lose(client)
        for _ in range(2):
            with pytest.raises(AuthorizationRequired):
                await client.call_tool("x", timeout=NEVER)
        assert member.attempts == 2
        member.attempt_error = None
        await client.connect()
        assert (await client.call_tool("x")).text == "x"


async def test_a_subscription_waits_for_the_keeper() -> None:
    """F-API-28: and does not open the connection past it."""
    member = Member("x", capabilities={"tools": {"listChanged": True}})
    client = kept(member, reconnect=Reconnect(delays=(7,)))
    async with client, client.listen(tools=True) as changes:
        await lose(client)
        started = asyncio.get_running_loop().time()
        await changes.__anext__()
        assert asyncio.get_running_loop().time() - started == pytest.approx(7, abs=0.1)
    assert member.attempts == 2


def test_a_client_in_one_event_loop_after_another() -> None:
    """F-API-28, F-API-19: what was left in the first one is forgotten."""
    member = Member("x")
    client = kept(member)

    async def use(last: bool) -> str:
        await client.connect()
        text = (await client.call_tool("x")).text
        if last:
            await client.close()
        return text

    assert [asyncio.run(use(last)) for last in (False, True)] == ["x", "x"]


def test_blocking() -> None:
    """F-API-28"""
    wrong: Any = True
    with pytest.raises(mcpclient.UsageError, match="reconnect must be a Reconnect"):
        sync.Client(Member("x"), reconnect=wrong)
