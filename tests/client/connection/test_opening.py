"""Opening a session: which era, in which order, over which transport, and within which limit."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mcpclient.client.client import Client
from mcpclient.errors import CallTimeout, ClientClosed, ConnectionLost, McpError, ProtocolViolation
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.inprocess import InProcessTransport, ServerEnd
from tests.client.connection.test_connection import http, stall, use
from tests.net.peers import serve
from tests.support.clients import now, spawn
from tests.support.http_server import Answer, Handler, Request

pytestmark = [pytest.mark.usefixtures("fresh_eras"), pytest.mark.virtual_time]


class Breaking(InProcessTransport):
    """Ends at each request: at the probe as a WebSocket does at a frame that breaks the rules."""

    def send(self, outgoing: Outgoing) -> None:
        is_probe = outgoing.message["method"] == "server/discover"
        assert self._receiver is not None
        error = ProtocolViolation("a bad frame") if is_probe else ConnectionLost("gone")
        self._receiver.connection_lost(error)


async def test_a_connection_that_ends_again_is_not_made_a_third_time() -> None:
    """F-LIFE-3: after the probe, and then at ``initialize``."""
    starts: list[ServerEnd] = []

    async def serve(end: ServerEnd) -> None:
        starts.append(end)
        async for _ in end:
            pass

    with pytest.raises(ConnectionLost, match="gone"):
        await Client(Breaking(serve))
    assert len(starts) == 2


async def test_what_is_half_open_when_the_time_is_over_is_closed() -> None:
    """F-HTTP-13, F-LIFE-5: here, a WebSocket whose opening stays unanswered."""
    left = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65536):
            pass
        left.set()

    async with serve(silent) as port:
        with pytest.raises(CallTimeout):
            await Client(f"ws://127.0.0.1:{port}/mcp", connect_timeout=8)
        assert now() == 8
        await asyncio.wait_for(left.wait(), 5)


class SlowToClose(InProcessTransport):
    """Takes a second to be closed."""

    async def close(self) -> None:
        await asyncio.sleep(1)
        await super().close()


async def test_nothing_is_started_again_for_a_caller_who_has_closed() -> None:
    """F-LIFE-5: meanwhile, of a server that has died of the probe, the rest is cleared away."""
    starts: list[ServerEnd] = []

    async def serve_once(end: ServerEnd) -> None:
        starts.append(end)
        async for _ in end:
            return

    client = Client(SlowToClose(serve_once))
    connecting = asyncio.ensure_future(client.connect())
    await asyncio.sleep(0.5)
    await client.close()
    with pytest.raises(ClientClosed):
        await connecting
    assert len(starts) == 1


@pytest.mark.parametrize("transport", ["ws", "sse", "http"])
async def test_a_function_for_headers_that_is_cancelled_by_itself(transport: Any) -> None:
    """F-HTTP-1: the caller gets that reason, and not a cancellation."""

    async def headers() -> dict[str, str]:
        raise asyncio.CancelledError

    async with http({"GET /mcp": stall}) as server:
        with pytest.raises(McpError, match="cancelled"):
            await Client(str(server.url()), transport=transport, headers=headers)
        assert now() == 0


@pytest.mark.slow
@pytest.mark.real_time
async def test_limits_hold_after_a_respawn() -> None:
    """F-API-7: the second process gets a timer of its own."""
    async with spawn("--on-probe", "exit") as client:
        with pytest.raises(CallTimeout):
            await asyncio.wait_for(client.call_tool("never", timeout=0.05), 20)
        await use(client)


@pytest.mark.real_time
async def test_a_server_process_that_ignores_the_probe_is_given_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-LIFE-3: servers that reject, ignore or die of the probe."""
    monkeypatch.setattr("mcpclient.protocol.negotiate.PROBE_TIMEOUT", 0.4)  # it reads by then
    log = tmp_path / "log"
    for _ in range(2):  # silence is not a verdict to remember
        async with spawn("--on-probe", "ignore", "--log", str(log)) as client:
            await use(client)
    methods = ["start", "server/discover", "initialize", "notifications/initialized"]
    assert log.read_text().split("\n")[:4] == methods
    assert log.read_text().split("\n").count("server/discover") == 2


async def answers_the_probe_only(request: Request, answer: Answer) -> None:
    if request.body and request.message["method"] == "server/discover":
        error = {"code": -32601, "message": "Method not found"}
        answer.json({"jsonrpc": "2.0", "id": request.message["id"], "error": error})
    else:
        await answer.stall()


@pytest.mark.parametrize(
    ("handler", "options", "step"),
    [
        (stall, {}, "initialize"),  # after a probe that has taken its share of the time
        (answers_the_probe_only, {}, "initialize"),
        (stall, {"transport": "sse"}, "connect"),
    ],
)
async def test_the_limit_that_was_reached_is_that_of_connecting(
    handler: Handler, options: dict[str, Any], step: str
) -> None:
    """F-HTTP-13: it is named as the caller wrote it."""
    async with http({"/mcp": handler}) as server:
        with pytest.raises(CallTimeout) as caught:
            await Client(str(server.url()), timeout=60, **options)
        assert now() <= 60.01
        error = caught.value
        assert (error.method, error.seconds, error.limit) == (step, 60, "connect")
        said = f"{server.url()}: not connected within 60 s (connect_timeout), waiting for {step}"
        assert str(error) == said
