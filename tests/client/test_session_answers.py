"""Answers to the server's own requests, when something about them goes wrong."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpclient import SamplingRequest
from mcpclient.errors import McpError, UsageError
from tests.client.scripted_server import HANDSHAKE, ScriptedServer, turns
from tests.support.virtual_time import run

ASKED: dict[str, Any] = {"messages": [], "maxTokens": 1}


def test_an_answer_that_json_cannot_carry() -> None:
    """F-API-10: the server gets an error instead, and the caller hears of it."""
    errors: list[McpError] = []
    server = ScriptedServer(version=HANDSHAKE)

    async def session() -> None:
        def handler(request: SamplingRequest) -> Any:
            return {"content": {"type": "text", "text": "x", "annotations": {1, 2}}}

        async with server.client(sampling=handler, on_error=errors.append) as client:
            reply = await server.ask(1, "sampling/createMessage", **ASKED)
            assert reply["error"]["code"] == -32603
            assert client.is_connected

    run(session())
    assert [type(error) for error in errors] == [UsageError]


def test_a_handler_that_waited_for_something_cancelled() -> None:
    """F-API-10: nobody cancelled the request itself, so it is answered."""
    server = ScriptedServer(version=HANDSHAKE)

    async def session() -> None:
        async def handler(request: SamplingRequest) -> Any:
            inner = asyncio.get_running_loop().create_future()
            inner.cancel()
            await inner

        async with server.client(sampling=handler):
            reply = await server.ask(1, "sampling/createMessage", **ASKED)
            assert reply["error"] == {"code": -32603, "message": "cancelled"}

    run(session())


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create"])
def test_clocks_stand_still_while_the_server_waits_for_us(method: str) -> None:
    """F-API-7: and run again afterwards."""
    server = ScriptedServer({"tools/call": lambda params: None}, version=HANDSHAKE)

    async def session() -> None:
        async def slow(request: Any) -> None:
            await asyncio.sleep(100)

        async with server.client(sampling=slow, elicitation=slow) as client:
            loop = asyncio.get_running_loop()
            started = loop.time()
            call = asyncio.ensure_future(client.call_tool("t", timeout=5))
            await turns()
            form = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}
            await server.ask(1, method, **ASKED, **form)
            assert not call.done()
            with pytest.raises(McpError, match="no answer within 5 s"):
                await call
            assert loop.time() - started == pytest.approx(105)

    run(session())


@pytest.mark.parametrize(
    ("method", "params", "reason"),
    [
        ("elicitation/create", {}, "without a requestedSchema"),
        ("elicitation/create", {"requestedSchema": {"properties": {}}}, "without a message"),
        ("elicitation/create", {"message": 5, "requestedSchema": {"properties": {}}}, "a message"),
        ("elicitation/create", {"message": "m", "mode": "voice"}, "was not declared"),
        ("sampling/createMessage", {"messages": "hello", "maxTokens": 1}, "without messages"),
        ("sampling/createMessage", {"messages": ["hello"], "maxTokens": 1}, "without messages"),
        ("sampling/createMessage", {"messages": [{"role": "user"}]}, "without messages"),
    ],
)
def test_params_that_a_method_does_not_take(
    method: str, params: dict[str, Any], reason: str
) -> None:
    """F-WIRE-2, F-API-10: InvalidParams, in words of this library's own; nobody is asked."""
    server = ScriptedServer(version=HANDSHAKE)
    asked: list[Any] = []

    async def session() -> None:
        async with server.client(sampling=asked.append, elicitation=asked.append):
            reply = await asyncio.wait_for(server.ask(1, method, **params), 1)
            assert reply["error"]["code"] == -32602
            assert reason in reply["error"]["message"]

    run(session())
    assert asked == []


def test_an_unknown_request_and_a_ping() -> None:
    """F-API-10."""
    server = ScriptedServer(version=HANDSHAKE)

    async def session() -> None:
        async with server.client():
            assert (await server.ask(1, "ping"))["result"] == {}
            assert (await server.ask(2, "roots/list"))["error"]["code"] == -32601

    run(session())
