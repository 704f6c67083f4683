"""Caps and breakers of one server, in virtual time: F-MANY-19."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpclient import Client, Manager, ServerLimits, ToolError
from mcpclient.client.requests import connection_of
from mcpclient.errors import CallTimeout, HttpError, PeerError, ServerUnavailable
from tests.client.scripted_server import ScriptedServer
from tests.manager.fleet import Member
from tests.support.clients import client_of, now
from tests.support.mcp_server import McpServer, Refusal

pytestmark = pytest.mark.virtual_time


class Slow:
    """Answers each call after some seconds, and counts those at once. ``fails``: so many calls."""

    def __init__(self, seconds: float = 1.0, fails: int = 0) -> None:
        self.seconds, self.fails = seconds, fails
        self.now = self.most = self.made = 0
        self.server = ScriptedServer(
            {"tools/call": self.answer, "prompts/get": self.prompt, "resources/read": self.answer}
        )

    async def answer(self, params: Any) -> Any:
        self.made += 1
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self.seconds)
        self.now -= 1
        if self.fails:
            self.fails -= 1
            raise PeerError(-32603, "broken")
        return {"content": [], "contents": []}

    async def prompt(self, params: Any) -> Any:
        return {**await self.answer(params), "messages": []}


def limited(slow: Slow, **limits: Any) -> Client:
    return slow.server.client(limits=ServerLimits(**limits), name="demo", timeout=30)


def call(client: Client, name: str = "x", **options: Any) -> asyncio.Task[Any]:
    return asyncio.ensure_future(client.call_tool(name, **options))


@pytest.mark.parametrize(
    "several",
    [
        lambda client: asyncio.gather(*(client.call_tool("x") for _ in range(10))),
        lambda client: client.call_tools([("x", None)] * 10),
        lambda client: asyncio.gather(
            *(client.read_resource("mem://1") for _ in range(5)),
            *(client.get_prompt("p") for _ in range(5)),
        ),
    ],
)
async def test_calls_over_the_cap_wait_for_others_to_end(several: Any) -> None:
    """F-MANY-19: never more at once, however they are made."""
    slow = Slow()
    async with limited(slow, at_once=4) as client:
        await several(client)
        assert (now(), slow.most, slow.made) == (3, 4, 10)


async def test_calls_are_made_in_the_order_they_came() -> None:
    """F-MANY-19"""
    slow = Slow()
    async with limited(slow, at_once=2) as client:
        await asyncio.gather(*(client.call_tool(f"t{number}") for number in range(6)))
    assert [each["name"] for each in slow.server.sent("tools/call")] == [f"t{n}" for n in range(6)]


@pytest.mark.parametrize(
    ("limits", "options", "said", "at"),
    [
        (
            {"at_once": 1},
            {"timeout": 5},
            "5 s (timeout), waiting for its turn: at most 1 at once",
            5,
        ),
        ({"per_minute": 1}, {"timeout": 5}, "waiting for its turn: at most 1 per minute", 5),
        ({"at_once": 1}, {"max_timeout": 7}, "7 s (max_timeout), waiting for its turn", 7),
    ],
)
async def test_a_call_waits_within_its_own_timeout_and_says_so(
    limits: Any, options: Any, said: str, at: float
) -> None:
    """F-MANY-19: and it was never sent; the place is free for the next."""
    slow = Slow(seconds=20)
    async with limited(slow, **limits) as client:
        first = call(client)
        await asyncio.sleep(0)
        with pytest.raises(CallTimeout) as raised:
            await client.call_tool("y", **options)
        assert said in str(raised.value)
        assert "tools/call 'y' of demo" in str(raised.value)
        assert now() == at
        assert slow.made == 1
        await first
        await client.call_tool("z", timeout=0)


async def test_one_call_is_tried_after_a_while() -> None:
    """F-MANY-19: and its cancellation makes way for the next."""
    slow = Slow(fails=2)
    async with limited(slow, breaker=1) as client:
        with pytest.raises(PeerError):
            await client.call_tool("x")
        await asyncio.sleep(30)
        outcomes = await asyncio.gather(call(client), call(client), return_exceptions=True)
        assert [type(each) for each in outcomes] == [PeerError, ServerUnavailable]
        await asyncio.sleep(30)
        trial = call(client)
        await asyncio.sleep(0.5)
        trial.cancel()
        await asyncio.sleep(0)
        await client.call_tool("x")
    assert slow.made == 4


async def test_calls_that_wait_while_the_breaker_opens_are_refused() -> None:
    """F-MANY-19"""
    slow = Slow(fails=9)
    async with limited(slow, breaker=2, at_once=1, breaker_seconds=5) as client:
        calls = (client.call_tool("x") for _ in range(5))
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(each) for each in outcomes[2:]] == [ServerUnavailable] * 3
        await asyncio.sleep(5)
        slow.fails = 0
        await client.call_tool("x")


@pytest.mark.parametrize(
    ("answer", "is_failure"),
    [
        (PeerError(-32602, "no such tool"), False),
        (HttpError(404, {}, b""), False),
        (HttpError(429, {}, b""), True),
        (HttpError(502, {}, b""), True),
        (PeerError(-32603, "broken"), True),
        ({"content": [], "isError": True}, False),
        (None, True),
    ],
    ids=str,
)
async def test_failures_are_those_of_the_server(
    answer: Any, is_failure: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-MANY-19: a tool that fails, and a call that is wrong, say that the server answers."""

    def made(params: Any) -> Any:
        if isinstance(answer, PeerError):
            raise answer
        return answer

    def type_of(answer: Any) -> type:
        return ToolError if isinstance(answer, dict) else type(answer)

    server = ScriptedServer({"tools/call": made})
    async with server.client(limits=ServerLimits(breaker=1), timeout=3) as client:
        if isinstance(answer, HttpError):

            async def fail(*_: Any) -> Any:
                raise answer

            monkeypatch.setattr(connection_of(client).session, "answer_to", fail)
        for _ in range(2):
            with pytest.raises(Exception) as raised:  # noqa: PT011
                await client.call_tool("x", raise_on_error=True)
        assert raised.type is (ServerUnavailable if is_failure else type_of(answer))


async def test_timeouts_of_tools_by_pattern() -> None:
    """F-MANY-19: in place of the client's; a call's own takes precedence, and 0 disables it."""
    slow = Slow(seconds=700)
    timeouts = {"slow_fast": 2, "slow_*": 800, "endless": 0}
    async with limited(slow, timeouts=timeouts) as client:
        loop = asyncio.get_running_loop()
        await client.call_tool("slow_report")
        assert loop.time() == 700
        others: list[tuple[str, Any, float]] = [
            ("slow_fast", {}, 2),
            ("other", {}, 30),
            ("slow_report", {"timeout": 5}, 5),
            ("slow_report", {"max_timeout": 600}, 600),
        ]
        for name, options, seconds in others:
            began = loop.time()
            with pytest.raises(CallTimeout):
                await client.call_tool(name, **options)
            assert loop.time() - began == seconds
        began = loop.time()
        with pytest.raises(CallTimeout, match="2 s"):
            await client.request("tools/call", {"name": "slow_fast"})
        await client.call_tool("endless")


async def test_reconnecting_resets_no_count() -> None:
    """F-MANY-19: of a client; and of a manager, which has a count for each server."""
    slow = Slow(seconds=0)
    limits = ServerLimits(per_minute=2)
    client = slow.server.client(limits=limits, name="demo")
    async with client:
        await client.call_tools([("x", None)] * 2)
    async with client:
        with pytest.raises(CallTimeout, match="per_minute"):
            await client.call_tool("x", timeout=10)
    members = {"a": Member("x"), "b": Member("x")}
    manager = Manager(dict(members), limits=limits)
    for _ in range(2):
        async with manager:
            await manager.call_tool("a__x")
            await manager.disconnect("a")
            await manager.connect("a")
    async with manager:
        for _ in range(2):
            await manager.call_tool("b__x")
        with pytest.raises(CallTimeout, match="per_minute"):
            await manager.call_tool("a__x", timeout=10)
    assert len(members["a"].calls) == len(members["b"].calls) == 2


async def test_a_refusal_between_two_failures_resets_the_breaker() -> None:
    """F-MANY-19: a server that declines a call is there, and calls fail in a row or not at all."""
    codes = iter([-32603, -32602, -32603, -32603])

    def answer(params: Any) -> Any:
        raise Refusal(next(codes), "no")

    server = McpServer()
    server.answers["tools/call"] = answer
    async with client_of(server, limits=ServerLimits(breaker=2)) as client:
        for _ in range(4):  # the last one would not be sent if the refusal did not count
            with pytest.raises(PeerError, match="no"):
                await client.call_tool("x")
        with pytest.raises(ServerUnavailable):
            await client.call_tool("x")
