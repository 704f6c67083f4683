"""Opening a session: which era, in which order, over which transport, and within which limit."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mcpclient.client.client import Client
from mcpclient.errors import (
    CallTimeout,
    ClientClosed,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    ProtocolViolation,
    UsageError,
)
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.inprocess import InProcessTransport, ServerEnd
from tests.client.connection.test_connection import http, methods, stall, use
from tests.net.peers import serve
from tests.support.clients import client_of, now, spawn
from tests.support.http_server import Answer, Handler, Request, answer_with, in_turn
from tests.support.mcp_http import LegacyEndpoint, StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.virtual_time import run

pytestmark = [pytest.mark.usefixtures("fresh_eras"), pytest.mark.virtual_time]


async def test_the_order_of_the_handshake() -> None:
    """F-LIFE-1, F-LIFE-4: the GET is accepted before ``initialized`` goes out, though it takes half
    a second where initialize took a quarter.
    """
    service = StreamableEndpoint(McpServer(), session="s", listens=True)

    async def slow_post(request: Request, answer: Answer) -> None:
        await asyncio.sleep(0.25 if request.message["method"] == "initialize" else 0)
        await service.post(request, answer)

    async def slow_get(request: Request, answer: Answer) -> None:
        await asyncio.sleep(0.5)
        await service.get(request, answer)

    routes = {**service.routes, "GET /mcp": slow_get, "POST /mcp": slow_post}
    async with http(routes) as server:
        async with Client(str(server.url()), protocol_version="2025-11-25") as client:
            assert now() == 0.75
            await client.call_tool("echo", {"text": "x"})
            assert client.protocol_version == "2025-11-25"
        assert methods(server) == [
            "initialize",
            "GET",
            "notifications/initialized",
            "tools/call",
            "DELETE",
        ]
        opening, *rest = server.requests
        assert "mcp-protocol-version" not in opening.headers
        for request in rest:
            assert request.headers["mcp-protocol-version"] == "2025-11-25"
            assert request.headers["mcp-session-id"] == "s"


@pytest.mark.parametrize(("wait", "seconds"), [(None, 0.05), (0, 0), (1, 1), (2.5, 2.5)])
async def test_a_get_that_is_not_answered_holds_up_the_handshake_for_a_moment(
    wait: float | None, seconds: float
) -> None:
    """F-LIFE-4: hardly at all, unless one asks for that."""
    routes = {**StreamableEndpoint(McpServer()).routes, "GET /mcp": stall}
    async with http(routes) as server:
        options: dict[str, Any] = {"protocol_version": "2025-11-25", "listen_wait": wait}
        async with Client(str(server.url()), **options) as client:
            assert now() == seconds
            await client.ping()


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_the_version_the_server_answers_is_obeyed(version: str) -> None:
    """F-LIFE-1"""
    async with http(StreamableEndpoint(McpServer(version=version)).routes) as server:
        async with Client(str(server.url())) as client:
            assert client.protocol_version == version
            await client.ping()
        probe, opening, *rest = server.requests
        assert probe.message["method"] == "server/discover"
        assert opening.message["params"]["protocolVersion"] == "2025-11-25"
        for request in rest:
            assert request.headers["mcp-protocol-version"] == version


async def test_an_unknown_version_is_accepted_with_a_warning_unless_that_is_unwanted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """F-LIFE-1"""
    async with client_of(McpServer(version="2025-12-24")) as client:
        assert client.protocol_version == "2025-12-24"
    assert "2025-12-24" in caplog.text
    with pytest.raises(ProtocolViolation):
        await client_of(McpServer(version="2025-12-24"), strict_version=True)


async def test_a_server_that_lives_is_not_started_again() -> None:
    """F-LIFE-3: though its answer to the probe is none, which ends some connections."""
    server = McpServer()
    starts: list[ServerEnd] = []

    async def serve(end: ServerEnd) -> None:
        starts.append(end)
        async for message in end:
            if message["method"] == "server/discover":
                end.send({"jsonrpc": "2.0", "id": message["id"], "result": "what?"})
            else:
                server.receive(message, end.send)

    async with Client(InProcessTransport(serve)) as client:
        await use(client)
    assert len(starts) == 1


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


async def test_one_url_is_enough_for_a_legacy_server() -> None:
    """F-HTTP-10, F-HTTP-11"""
    service = LegacyEndpoint(McpServer(version="2024-11-05"))
    async with http(service.routes) as server, Client(str(server.url())) as client:
        assert client.transport_name == "sse"
        assert (await client.call_tool("echo", {"text": "x"})).text == "x"


async def test_a_legacy_transport_is_not_probed() -> None:
    """F-HTTP-11"""
    async with http(LegacyEndpoint(McpServer()).routes) as server:
        async with Client(str(server.url()), transport="sse"):
            pass
        assert methods(server) == ["GET", "initialize", "notifications/initialized"]


@pytest.mark.parametrize("status", [400, 404, 405])
async def test_when_nothing_works_both_attempts_are_shown(status: int) -> None:
    """F-HTTP-11"""
    routes = {"POST /mcp": answer_with(status), "GET /mcp": answer_with(410)}
    async with http(routes) as server:
        with pytest.raises(ConnectFailed) as caught:
            await Client(str(server.url()))
        first, second = caught.value.attempts
        assert isinstance(first, HttpError) and first.status == status
        assert isinstance(second, HttpError) and second.status == 410
        assert str(status) in str(caught.value) and "410" in str(caught.value)
        assert "is not an MCP endpoint: Streamable HTTP gave" in str(caught.value)


@pytest.mark.parametrize(
    ("handler", "error_type"),
    [
        (answer_with(401, {"WWW-Authenticate": "Bearer"}), McpError),
        (answer_with(403), HttpError),
        (answer_with(429), HttpError),
        (answer_with(500, {}, b"<html>"), HttpError),
        (answer_with(302, {"Location": "/login"}), HttpError),
        (answer_with(200, {"Content-Type": "text/html"}, b"<html>"), ProtocolViolation),
        (answer_with(202), ConnectionLost),
    ],
)
async def test_other_answers_are_errors_without_a_detour(
    handler: Handler, error_type: type[McpError]
) -> None:
    """F-HTTP-7, F-HTTP-11: HTTP errors are told apart."""
    async with http({"POST /mcp": handler}) as server:
        with pytest.raises(error_type):
            await Client(str(server.url()))
        assert server.requests_of("GET") == []


async def test_what_is_half_open_when_the_time_is_over_is_closed() -> None:
    """F-HTTP-13, F-LIFE-5: here, a WebSocket whose opening nobody answers."""
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


async def test_closing_ends_a_transport_that_is_still_being_opened() -> None:
    """F-LIFE-5: not only what a server is asked when it is open."""
    async with http({"GET /mcp": stall}) as server:
        transports: list[Any] = ["ws", "sse"]
        for transport in transports:
            began = now()
            client = Client(str(server.url()), transport=transport)
            connecting = asyncio.ensure_future(client.connect())
            await asyncio.sleep(1)
            await client.close()
            with pytest.raises(ClientClosed):
                await connecting
            assert now() - began == 1


@pytest.mark.parametrize("transport", ["ws", "sse", "http"])
async def test_a_function_for_headers_that_is_cancelled_by_itself(transport: Any) -> None:
    """F-HTTP-1: whoever connects is told so, and not that he was cancelled."""

    async def headers() -> dict[str, str]:
        raise asyncio.CancelledError

    async with http({"GET /mcp": stall}) as server:
        with pytest.raises(McpError, match="cancelled"):
            await Client(str(server.url()), transport=transport, headers=headers)
        assert now() == 0


async def test_connecting_without_a_limit_waits() -> None:
    """F-HTTP-13"""
    service = StreamableEndpoint(McpServer())

    async def slow(request: Request, answer: Answer) -> None:
        await asyncio.sleep(3000)
        await service.post(request, answer)

    async with http({**service.routes, "POST /mcp": in_turn(slow, service.post)}) as server:
        options: dict[str, Any] = {"connect_timeout": None, "protocol_version": "2025-11-25"}
        async with Client(str(server.url()), **options):
            assert now() == 3000


async def test_what_is_declared_is_what_was_given() -> None:
    """F-API-10, F-API-13, F-API-16"""
    server = McpServer("both")
    options: dict[str, Any] = {"tasks": True, "extensions": {"vendor/x": {"a": 1}}, "roots": []}
    for version in ("2025-11-25", "2026-07-28"):
        async with client_of(server, protocol_version=version, **options) as client:
            await client.list_tools()
    (opening,) = server.messages("initialize")
    assert opening["params"]["capabilities"]["roots"]
    meta = server.messages("tools/list")[1]["params"]["_meta"]
    capabilities = meta["io.modelcontextprotocol/clientCapabilities"]
    assert capabilities["extensions"]["vendor/x"] == {"a": 1}
    assert "io.modelcontextprotocol/tasks" in capabilities["extensions"]


def test_an_unknown_pin_is_a_mistake_of_the_caller() -> None:
    """F-LIFE-3"""
    with pytest.raises(UsageError):
        run(client_of(McpServer(), protocol_version="2020-01-01").connect())


@pytest.mark.real_time
async def test_limits_hold_after_a_respawn() -> None:
    """F-API-7: the timer of the first process is not that of the second."""
    async with spawn("--on-probe", "exit") as client:
        with pytest.raises(CallTimeout):
            await asyncio.wait_for(client.call_tool("never", timeout=0.05), 20)
        await use(client)


@pytest.mark.real_time
async def test_a_server_process_that_ignores_the_probe_is_given_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-LIFE-3: servers that reject, ignore or die of the probe."""
    monkeypatch.setattr("mcpclient.protocol.negotiate.PROBE_TIMEOUT", 0.05)
    log = tmp_path / "log"
    for _ in range(2):  # for silence is no verdict to remember
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
    """F-HTTP-13: it is named as the caller knows it, and not what was left of it."""
    async with http({"/mcp": handler}) as server:
        with pytest.raises(CallTimeout) as caught:
            await Client(str(server.url()), timeout=60, **options)
        assert now() <= 60.01
        error = caught.value
        assert (error.method, error.seconds, error.limit) == (step, 60, "connect")
        said = f"{server.url()}: not connected within 60 s (connect_timeout), waiting for {step}"
        assert str(error) == said
