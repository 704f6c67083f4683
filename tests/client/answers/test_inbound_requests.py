"""Answers to the server's own requests, and what may come between."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from mcpclient import SamplingRequest
from mcpclient.errors import McpError, UsageError
from tests.client.connection.test_session import on_bench, turn
from tests.client.scripted_server import HANDSHAKE, ScriptedServer, turns

pytestmark = pytest.mark.virtual_time

ASKED: dict[str, Any] = {"messages": [], "maxTokens": 1}


async def test_an_answer_that_json_cannot_carry() -> None:
    """F-API-10: the server gets an error instead, and the caller gets it."""
    errors: list[McpError] = []
    server = ScriptedServer(version=HANDSHAKE)

    def handler(request: SamplingRequest) -> Any:
        return {"content": {"type": "text", "text": "x", "annotations": {1, 2}}}

    async with server.client(sampling=handler, on_error=errors.append) as client:
        reply = await server.ask(1, "sampling/createMessage", **ASKED)
        assert reply["error"]["code"] == -32603
        assert client.is_connected
    assert [type(error) for error in errors] == [UsageError]


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create"])
async def test_clocks_stand_still_while_the_server_waits_for_us(method: str) -> None:
    """F-API-7: and run again afterwards."""
    server = ScriptedServer({"tools/call": lambda params: None}, version=HANDSHAKE)

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


async def test_a_request_that_the_server_takes_back_is_not_answered() -> None:
    """F-API-10: also where its handler goes on; the id may be used again at once."""
    server = ScriptedServer(version=HANDSHAKE)
    held: list[asyncio.Event] = []

    async def handler(request: SamplingRequest) -> str:
        held.append(free := asyncio.Event())
        while not free.is_set():
            with suppress(asyncio.CancelledError):
                await free.wait()
        return str(len(held))

    async with server.client(sampling=handler):
        first = asyncio.ensure_future(server.ask(1, "sampling/createMessage", **ASKED))
        await turns()
        server.notify("notifications/cancelled", requestId=1)
        second = asyncio.ensure_future(server.ask(1, "sampling/createMessage", **ASKED))
        await turns()
        held[0].set()
        await turns()
        assert not second.done()
        held[1].set()
        assert (await second)["result"]["content"]["text"] == "2"
        first.cancel()


async def test_so_many_requests_of_the_server_are_answered_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-API-10: a flood of them costs no memory; those over the limit get an error at once."""
    module = "mcpclient.client.answers.inbound_requests"
    monkeypatch.setattr(f"{module}._MAX_ANSWERING", 2)
    monkeypatch.setattr(f"{module}._MAX_WAITING", 4)
    async with on_bench() as bench:
        for number in range(6):
            bench.session.message_received({"id": number, "method": "vendor/ask"})
        await turn()
        codes = {message["id"]: message["error"]["code"] for message in bench.wire.sent}
        assert codes == {0: -32601, 1: -32601, 2: -32603, 3: -32603}
        assert len(bench.errors) == 4


async def test_what_waits_for_an_answer_is_bounded_in_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-10: a thousand requests of 60 MB are as many bytes as a million of 60 KB."""
    monkeypatch.setattr("mcpclient.client.answers.inbound_requests._MAX_WEIGHT", 100_000)
    async with on_bench() as bench:
        for number in range(4):
            params = {"text": "x" * 40_000}
            bench.session.message_received({"id": number, "method": "vendor/a", "params": params})
        for number in range(200):
            bench.session.message_received({"id": f"{number}" + "x" * 2000, "method": "ping"})
        await turn()
        codes = [message["error"]["code"] for message in bench.wire.sent if "error" in message]
        assert codes == [-32601, -32601, -32603, -32603]
        assert len(bench.wire.sent) == 100  # an id may be as long as a message, too
