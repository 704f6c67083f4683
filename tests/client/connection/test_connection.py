"""Connecting: which era, in which order, over which transport, and the clean-up after a failure."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcpclient.client.client import Client
from mcpclient.client.requests import connection_of
from mcpclient.errors import (
    CallTimeout,
    ClientClosed,
    ConnectionLost,
    McpError,
    PeerError,
    ProcessExited,
)
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.inprocess import InProcessTransport
from tests.client.scripted_server import ScriptedServer
from tests.support.clients import QUICK, STDIO, client_of, spawn
from tests.support.http_server import Answer, Handler, HttpServer, Request
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer, refusing

pytestmark = [pytest.mark.usefixtures("fresh_eras"), pytest.mark.virtual_time]


async def stall(request: Request, answer: Answer) -> None:
    await answer.stall()


@asynccontextmanager
async def http(routes: Mapping[str, Handler]) -> AsyncIterator[HttpServer]:
    async with HttpServer(routes) as server:
        yield server
        await asyncio.sleep(50)
        assert server.open_connections == 0


def methods(server: HttpServer) -> list[str]:
    """The requests that arrived: the JSON-RPC methods, and the HTTP method where there is none."""
    return [
        request.message.get("method", "answer") if request.body else request.method
        for request in server.requests
    ]


def expiring() -> tuple[StreamableEndpoint, McpServer]:
    server = McpServer()
    return StreamableEndpoint(server, session="one"), server


async def test_a_session_of_an_unknown_version_can_be_renewed_too() -> None:
    """F-HTTP-6, F-LIFE-1"""
    service = StreamableEndpoint(McpServer(version="2025-12-24"), session="one")
    async with http(service.routes) as web, Client(str(web.url())) as client:
        service.session = "two"
        assert (await client.call_tool("echo", {"text": "x"})).text == "x"


async def use(client: Client) -> None:
    assert (await client.call_tool("echo", {"text": "x"})).text == "x"


@pytest.mark.quick_rows(2)
@pytest.mark.parametrize(
    ("behaviour", "starts"),
    [((), 1), (("--on-probe", "exit"), 2), (("--era", "both"), 1), (("--era", "stateless"), 1)],
    ids=["rejects the probe", "exits on the probe", "both eras", "stateless"],
)
@pytest.mark.real_time
async def test_a_server_process_is_connected_to_in_its_era(
    behaviour: tuple[str, ...], starts: int, tmp_path: Path
) -> None:
    """F-LIFE-3: a second process is started only if the first has exited."""
    log = tmp_path / "log"
    async with spawn(*behaviour, "--log", str(log)) as client:
        await use(client)
    lines = log.read_text().split("\n")
    assert lines.count("start") == starts
    assert lines.count("server/discover") == 1


@pytest.mark.real_time
async def test_the_verdict_on_a_server_process_is_remembered(tmp_path: Path) -> None:
    """F-LIFE-3: a reconnect does not probe again, so nothing exits either."""
    log = tmp_path / "log"
    for _ in range(2):
        async with spawn("--on-probe", "exit", "--log", str(log)) as client:
            await use(client)
    lines = log.read_text().split("\n")
    assert lines.count("start") == 3
    assert lines.count("server/discover") == 1


@pytest.mark.quick_rows(1)
@pytest.mark.real_time
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_a_server_process_that_crashes_is_started_as_often_as_it_helps(
    tmp_path: Path, era: str
) -> None:
    """F-LIFE-3, F-STD-7, F-MANY-20: twice, as the probe may be to blame; later once each time.
    What it writes meanwhile is shown once, and the error says why.
    """
    log, crash = tmp_path / "log", tmp_path / "crash"
    lines: list[str] = []
    command = [*STDIO, "--log", str(log), "--crash", str(crash), "--era", era]

    def client() -> Client:
        return Client(command, stderr=lines.append, stop_ladder=QUICK)

    async def fail() -> None:
        lines.clear()
        log.write_text("")
        with pytest.raises(ProcessExited, match="no database"):
            await client()

    crash.touch()
    await fail()
    assert log.read_text().split() == ["start", "start"]
    assert len(lines) == 2 and lines[1] == "no database"
    crash.unlink()
    async with client() as connected:
        await use(connected)
    crash.touch()
    for _ in range(4):
        await fail()
        assert log.read_text().split() == ["start"]
        assert len(lines) == 2
    crash.unlink()
    async with client() as connected:
        await use(connected)


@pytest.mark.real_time
async def test_a_client_reconnects_to_a_server_process_that_died() -> None:
    """F-LIFE-5, F-LIFE-7: when told to."""
    closed: list[McpError | None] = []
    async with spawn(on_close=closed.append) as client:
        with pytest.raises(ProcessExited):
            await client.call_tool("die", {"code": 3, "stderr": "bye"})
        assert not client.is_connected
        with pytest.raises(ProcessExited, match="bye"):
            await client.ping()
        await client.connect()
        await use(client)
        (lost,) = closed
        assert isinstance(lost, ProcessExited) and lost.exit_code == 3
    assert closed[1:] == [None]


@pytest.mark.quick_rows(2)
@pytest.mark.real_time
@pytest.mark.parametrize("turns", range(10))
async def test_closing_while_it_reconnects_leaves_nothing(turns: int) -> None:
    """F-LIFE-5: at whichever turn of the loop, also while the earlier one is being closed."""
    async with spawn() as client:
        with pytest.raises(ProcessExited):
            await client.call_tool("die", {"code": 3})
        connecting = asyncio.ensure_future(client.connect())
        for _ in range(turns):
            await asyncio.sleep(0)
        await client.close()
        await asyncio.wait({connecting})
        if turns == 0:  # it had not begun when the client was closed
            assert connecting.exception() is None
        else:
            assert isinstance(connecting.exception(), ClientClosed)
            assert not client.is_connected


async def test_pings_keep_a_session_alive_and_notice_its_end() -> None:
    """F-LIFE-8"""
    server = McpServer()
    closed: list[McpError | None] = []
    async with client_of(server, keep_alive=10, on_close=closed.append) as client:
        await asyncio.sleep(35)
        assert len(server.messages("ping")) == 3
        server.answers["ping"] = refusing(-32601, "what?")
        await asyncio.sleep(20)
        assert client.is_connected
        server.receive = lambda message, send: None  # type: ignore[method-assign]
        await asyncio.sleep(20)
        assert not client.is_connected
        assert isinstance(closed[0], CallTimeout)
    assert len(closed) == 1


async def test_closing_is_told_once_and_an_async_callback_is_waited_for() -> None:
    """F-API-20"""
    closed: list[McpError | None] = []

    async def on_close(error: McpError | None) -> None:
        await asyncio.sleep(1)
        closed.append(error)

    client = await client_of(McpServer(), on_close=on_close)
    await client.close()
    assert closed == [None]
    await client.close()
    assert closed == [None]


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_what_a_server_does_not_declare_only_the_caller_asks_for(version: str) -> None:
    """F-API-20: the server may do more than it declares; if not, its answer is the error."""
    answers: Any = {"tools/list": {"tools": [{"name": "x", "inputSchema": {}}]}}
    server = ScriptedServer(answers, version=version, capabilities={})
    async with server.client(protocol_version=None) as client:
        assert not [each for each in server.received if "/list" in each["method"]]
        assert [tool.name for tool in await client.list_tools()] == ["x"]
        with pytest.raises(PeerError, match="-32601"):
            await client.list_prompts()


async def test_the_log_level_is_asked_for_again_in_another_session() -> None:
    """F-API-6, F-LIFE-7: as subscriptions are; a server that refuses it harms no call."""
    service, server = expiring()

    def levels() -> list[Any]:
        return [message["params"]["level"] for message in server.messages("logging/setLevel")]

    async with http(service.routes) as web, Client(str(web.url())) as client:
        await client.set_log_level("warning")
        service.session = "two"
        await client.call_tool("echo", {"text": "x"})
        assert levels() == ["warning"] * 2
        connection_of(client).session.connection_lost(ConnectionLost("gone"))
        await client.connect()
        assert levels() == ["warning"] * 3
        server.answers["logging/setLevel"] = refusing(-32601, "Method not found")
        await client.close()
        await client.connect()
        await client.call_tool("echo", {"text": "x"})
        with pytest.raises(PeerError):
            await client.set_log_level("debug")
        assert levels() == ["warning"] * 4 + ["debug"]
        assert connection_of(client).session.log_level == "warning"


class Vanishing(InProcessTransport):
    """Is lost in the very moment in which the handshake is over."""

    def send(self, outgoing: Outgoing) -> None:
        super().send(outgoing)
        if outgoing.message.get("method") == "notifications/initialized":
            assert self._receiver is not None
            self._receiver.connection_lost(ConnectionLost("gone at once"))


async def test_a_connection_that_is_lost_as_soon_as_it_is_made_is_none() -> None:
    """F-LIFE-7: the caller that connects learns of it, and no other."""
    server = McpServer()
    client = Client(Vanishing(server.serve))
    with pytest.raises(ConnectionLost, match="gone at once"):
        await client.connect()
    assert not client.is_connected


async def test_tasks_that_connect_together_share_a_failed_attempt() -> None:
    """F-LIFE-5: otherwise, the last of them would wait for the limits of all."""
    async with http({"POST /mcp": stall}) as server:
        client = Client(str(server.url()), connect_timeout=4)
        together = [client.connect() for _ in range(5)]
        outcomes = await asyncio.gather(*together, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {CallTimeout}
        assert asyncio.get_running_loop().time() < 5
        with pytest.raises(CallTimeout):  # later ones try anew
            await client.connect()
        assert methods(server).count("server/discover") == 2


def test_a_connection_that_is_still_being_made_can_be_dropped() -> None:
    """F-LIFE-5: the guard of the test suite looks for leftovers."""
    loop = asyncio.new_event_loop()
    client = spawn("--on-probe", "ignore")
    connecting = loop.create_task(client.connect())
    loop.run_until_complete(asyncio.sleep(0.05))
    asyncio.run(client.close())
    connecting.cancel()
    loop.run_until_complete(asyncio.wait({connecting}))
    loop.close()


COMPLAINING = """
import json, sys
print("ready", file=sys.stderr)
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "server/discover":
        sys.stderr.write("invalid\\nmethod\\n  server/discover\\n  see the manual\\n")
        sys.stderr.flush()
        if "dies" in sys.argv:
            sys.exit(3)
        answer = {"error": {"code": -32602, "message": "invalid request"}}
    elif request["method"] == "initialize":
        version, information = request["params"]["protocolVersion"], {"name": "s", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {}, "serverInfo": information}
        answer = {"result": result}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"""


@pytest.mark.real_time
async def test_what_a_server_writes_about_the_probe_is_not_shown() -> None:
    """F-STD-4, F-LIFE-3: it is about a request that only this client has ever made."""
    lines: list[str] = []
    command = [sys.executable, "-c", COMPLAINING]
    async with Client(command, stderr=lines.append, stop_ladder=QUICK) as client:
        assert client.protocol_version == "2025-11-25"
        assert lines == ["ready"]
        assert "see the manual" in connection_of(client).session.transport.stderr_tail


@pytest.mark.real_time
async def test_what_a_server_writes_that_ends_at_the_probe_is_shown() -> None:
    """F-STD-7: it may say why."""
    lines: list[str] = []
    command = [sys.executable, "-c", COMPLAINING + "\n", "dies"]
    with pytest.raises(ProcessExited):
        await Client(
            command, stderr=lines.append, stop_ladder=QUICK, protocol_version="2026-07-28"
        ).connect()
    assert lines == ["ready", "invalid", "method", "  server/discover", "  see the manual"]


async def test_the_next_session_has_the_only_timer() -> None:
    """F-LIFE-8: as many pings as before the session was renewed."""
    server = McpServer()
    async with client_of(server, keep_alive=10) as client:
        await asyncio.sleep(5)
        await connection_of(client).renew(connection_of(client).generation)
        await asyncio.sleep(31)
        assert len(server.messages("ping")) == 3
