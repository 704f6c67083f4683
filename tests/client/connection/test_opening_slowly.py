"""Servers that start slowly, or leave the probe without an answer: F-LIFE-2 and F-LIFE-3."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpclient.client.client import Client
from mcpclient.errors import CallTimeout, PeerError
from mcpclient.transports.inprocess import InProcessTransport, ServerEnd
from tests.support.clients import now
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer, refusing
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time

START = 8.0


class SlowServer:
    """Begins to read after ``start`` seconds; ``ignored`` methods are never answered.

    ``delays``: how long the answer to a method takes, while others are answered.
    """

    def __init__(
        self,
        era: str,
        start: float = START,
        *,
        ignored: tuple[str, ...] = (),
        delays: dict[str, float] | None = None,
    ) -> None:
        self.server = McpServer(era)
        self._start = start
        self._ignored = ignored
        self._delays = delays or {}

    def client(self, **options: Any) -> Client:
        return Client(InProcessTransport(self._serve), **options)

    @property
    def opening(self) -> list[str]:
        """The methods that came until the first call."""
        methods = self.server.received_methods()
        return methods[: methods.index("tools/call")]

    async def _serve(self, end: ServerEnd) -> None:
        await asyncio.sleep(self._start)
        async for message in end:
            method = message.get("method", "")
            if method in self._ignored:
                self.server.received.append(message)
            elif method in self._delays:
                loop = asyncio.get_running_loop()
                loop.call_later(self._delays[method], self.server.receive, message, end.send)
            else:
                self.server.receive(message, end.send)


async def connected(server: SlowServer, version: str, seconds: float) -> None:
    async with server.client() as client:
        assert round(now(), 3) == seconds
        assert client.protocol_version == version
        assert (await client.call_tool("echo", {"text": "x"})).text == "x"


PROBED = ["server/discover", "initialize"]
HANDSHAKE = [*PROBED, "notifications/initialized"]


@pytest.mark.parametrize("start", [0.9, 1.5, 4.9, START, 25])
@pytest.mark.parametrize("era", ["stateless", "both", "handshake"])
def test_a_slow_start_ends_in_the_right_era(era: str, start: float) -> None:
    """F-LIFE-3, F-API-27: both messages wait for the server, which takes what it can."""
    server = SlowServer(era, start)
    is_late = start > 1
    has_session = era == "handshake" or (era == "both" and is_late)
    run(connected(server, "2025-11-25" if has_session else "2026-07-28", start))
    probed = HANDSHAKE if has_session else PROBED[: 1 + is_late]
    if has_session and era == "both":
        probed = [*HANDSHAKE, "ping"]
    assert server.opening == probed


def test_a_slow_server_whose_first_message_settles_its_era() -> None:
    """F-LIFE-3: one that refuses initialize as a request without metadata."""
    server = SlowServer("both")
    server.server.answers["initialize"] = refusing(-32602, "request _meta is missing")
    run(connected(server, "2026-07-28", START))


@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32000, -32603, 1])
def test_a_slow_server_that_refuses_the_probe(code: int) -> None:
    """F-LIFE-3: whatever the code; its answer to initialize is waited for."""
    server = SlowServer("handshake", delays={"initialize": 3})
    server.server.answers["server/discover"] = refusing(code, "no")
    run(connected(server, "2025-11-25", START + 3))
    assert server.opening == HANDSHAKE


def test_requests_that_are_worked_on_side_by_side() -> None:
    """F-LIFE-3, F-API-27: a session that answers a ping is one, whichever answer comes first."""
    delays = {"server/discover": 6.0, "initialize": 6.0}
    run(connected(SlowServer("both", 0, delays=delays), "2025-11-25", 7))
    delays = {"server/discover": 6.0, "initialize": 4.0}
    run(connected(SlowServer("both", 0, delays=delays), "2025-11-25", 5))
    delays = {"server/discover": 6.0, "initialize": 4.0}
    run(connected(SlowServer("stateless", 0, delays=delays), "2026-07-28", 6))


@pytest.mark.parametrize("seconds", [1.5, 14])
async def test_a_slow_answer_over_http_is_waited_for(seconds: float) -> None:
    """F-LIFE-3: every request is answered there, so that silence tells nothing of the era."""
    service = StreamableEndpoint(McpServer("both"))

    async def slow(request: Request, answer: Answer) -> None:
        if request.message["method"] == "server/discover":
            await asyncio.sleep(seconds)
        await service.post(request, answer)

    async with HttpServer({"POST /mcp": slow}) as web, Client(str(web.url())) as client:
        assert now() == seconds
        assert client.protocol_version == "2026-07-28"
    assert service.server.received_methods() == ["server/discover"]


async def test_an_ignored_probe_takes_half_of_the_time_at_most() -> None:
    """F-LIFE-3: the handshake after it needs its share."""
    service = StreamableEndpoint(McpServer())

    async def ignore(request: Request, answer: Answer) -> None:
        if request.message["method"] == "server/discover":
            await answer.stall()
        await service.post(request, answer)

    async with HttpServer({"POST /mcp": ignore}) as web:
        client = await Client(str(web.url()), connect_timeout=8)
        assert now() == 4
        assert client.protocol_version == "2025-11-25"
        await client.close()


def test_a_refusal_does_not_outrun_the_answer_to_the_probe() -> None:
    """F-LIFE-3: a server that takes 3 seconds to describe itself, and none to refuse."""
    run(connected(SlowServer("stateless", 0, delays={"server/discover": 3}), "2026-07-28", 3))


def test_a_server_that_agrees_on_a_stateless_revision_is_spoken_to_in_it() -> None:
    """F-LIFE-2: there is no session with that revision."""
    server = SlowServer("both", 0, delays={"server/discover": 4})
    server.server.version = "2026-07-28"
    run(connected(server, "2026-07-28", 4))
    assert server.opening.count("initialize") == 1
    assert "notifications/initialized" not in server.opening


def test_a_server_that_never_answers_takes_the_connect_timeout() -> None:
    """F-LIFE-3: which a slow start may not exceed either."""

    async def main(seconds: float) -> None:
        with pytest.raises(CallTimeout, match=f"not connected within {seconds} s"):
            await SlowServer("both", 100).client(connect_timeout=seconds)
        assert seconds <= now() <= seconds + 1  # in which the server is told that it is over

    for seconds in (30, 5, 0.5):
        run(main(seconds))


async def test_a_slow_server_that_can_not_serve_says_why() -> None:
    """F-LIFE-3: the refusal of initialize is the last word of one that refused the probe."""
    server = SlowServer("handshake")
    server.server.answers["initialize"] = refusing(-32603, "no key")
    with pytest.raises(PeerError, match="no key"):
        await server.client()
    assert round(now(), 3) == START


async def test_nobody_waits_for_a_withdrawn_initialize() -> None:
    """F-LIFE-3: its late answer disturbs nothing, and it is not cancelled."""
    server = SlowServer("both", delays={"initialize": 2})
    errors: list[Exception] = []
    async with server.client(on_error=errors.append) as client:
        await asyncio.sleep(5)
        assert (await client.call_tool("echo", {"text": "x"})).text == "x"
    assert server.server.messages("notifications/cancelled") == []
    assert not errors
