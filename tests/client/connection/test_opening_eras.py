"""The era that a server took, with servers that behave as each SDK's do and start late: F-API-27.

A server refuses what does not fit the era it is in, so a call that is answered shows that client
and server are in the same one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.client.client import Client
from mcpclient.errors import ConnectionLost
from mcpclient.transports.inprocess import InProcessTransport, ServerEnd
from tests.support.clients import now
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time

META = "io.modelcontextprotocol/protocolVersion"
SESSION, STATELESS = "2025-11-25", "2026-07-28"
NO_METHOD = {"code": -32601, "message": "Method not found"}
STARTS = [0, 0.9, 1.1, 2, 6]


class SdkServer:
    """A server in one of the eras, None at first, that reads nothing before ``start`` seconds.

    ``has_unread``: whether messages wait for it, as the transport knows of a pipe. ``pause``:
    the seconds that its first answers take. ``stderr``: its complaints.
    """

    stderr = ""
    capabilities: Mapping[str, Any] = {}

    def __init__(self, start: float, pause: float = 0.01) -> None:
        self.start, self.pause = start, pause
        self.era: str | None = None
        self.received: list[str] = []
        self.has_unread = False

    async def serve(self, end: ServerEnd) -> None:
        self.has_unread = True
        await asyncio.sleep(self.start)
        self.has_unread = False
        waiting: list[dict[str, Any]] = []
        async for message in end:
            self.received.append(message["method"])
            if "id" in message:
                waiting.append(message)
                if len(waiting) == 1:
                    asyncio.get_running_loop().call_later(self.pause, self.answer_all, waiting, end)

    def answer_all(self, waiting: list[dict[str, Any]], end: ServerEnd) -> None:
        """Answer what came together; some SDKs answer ``initialize`` first."""
        answers = [(message, self.answer(message)) for message in waiting]
        waiting.clear()
        for message, answer in self.ordered(answers):
            if answer is not None:
                end.send({"jsonrpc": "2.0", "id": message["id"], **answer})

    def ordered(self, answers: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        return answers

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Answer by the era that the server is in."""
        method = message["method"]
        is_stateless = META in message.get("params", {}).get("_meta", {})
        if method == "server/discover":
            return self.discovered()
        if method == "initialize":
            return self.initialized()
        if is_stateless != (self.era == STATELESS) or (method == "ping" and is_stateless):
            return {"error": NO_METHOD}
        content = [{"type": "text", "text": "done"}]
        return {"result": {"content": content, "resultType": "complete"}}

    def discovered(self) -> dict[str, Any] | None:
        self.era = self.era or STATELESS
        return {"result": {"supportedVersions": [STATELESS], "capabilities": self.capabilities}}

    def initialized(self) -> dict[str, Any]:
        self.era = SESSION
        capabilities = self.capabilities
        result = {"protocolVersion": SESSION, "capabilities": capabilities, "serverInfo": {}}
        return {"result": result}


class TypeScript2(SdkServer):
    """Takes ``initialize`` for the fall-back, as Google's Toolbox does."""


class Rmcp(SdkServer):
    """Is in the era of its first message, answers ``initialize`` all the same, and that first."""

    def initialized(self) -> dict[str, Any]:
        era, answer = self.era, super().initialized()
        self.era = era or SESSION
        return answer

    def ordered(self, answers: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        return sorted(answers, key=lambda answer: answer[0]["method"] != "initialize")


class CSharp(SdkServer):
    """Is in the era of its first message, and refuses ``initialize`` then."""

    def initialized(self) -> dict[str, Any]:
        return {"error": NO_METHOD} if self.era == STATELESS else super().initialized()


class Python2(SdkServer):
    """Serves both eras at any time."""

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        self.era = STATELESS if META in message.get("params", {}).get("_meta", {}) else SESSION
        return super().answer(message)


class Python1(SdkServer):
    """Refuses the probe."""

    def discovered(self) -> dict[str, Any] | None:
        return {"error": {"code": -32602, "message": "Invalid request parameters"}}


class Python10(SdkServer):
    """Swallows the probe, as the Python SDK before 1.7 does."""

    def discovered(self) -> dict[str, Any] | None:
        return None


class Pingless(TypeScript2):
    """Answers the probe in its session, too, and has no ping."""

    capabilities: Mapping[str, Any] = {"tools": {}}

    def answer(self, message: dict[str, Any]) -> dict[str, Any] | None:
        return {"error": NO_METHOD} if message["method"] == "ping" else super().answer(message)


class PinglessRmcp(Rmcp):
    """Has a list that only a request of its own era gets."""

    capabilities: Mapping[str, Any] = {"resources": {}, "prompts": {}}


class Crashing(SdkServer):
    """Ends before it has read anything."""

    starts = 0

    async def serve(self, end: ServerEnd) -> None:
        self.starts += 1
        self.has_unread = True
        await asyncio.sleep(self.start)
        raise ConnectionLost("no database")


class PipeTransport(InProcessTransport):
    """Tells whether messages wait, as stdio does on Linux."""

    @property
    def left_unread(self) -> bool:
        return self.server.has_unread

    @property
    def stderr_tail(self) -> str:
        return self.server.stderr

    server: SdkServer

    @property
    def has_unread(self) -> bool:
        return self.server.has_unread


def client_of(server: SdkServer, *, knows_pipe: bool) -> Client:
    transport = (PipeTransport if knows_pipe else InProcessTransport)(server.serve)
    if isinstance(transport, PipeTransport):
        transport.server = server
    return Client(transport)


async def used(server: SdkServer, *, knows_pipe: bool) -> tuple[str | None, float]:
    """Return the revision that was agreed on, and when; a call has to be answered."""
    async with client_of(server, knows_pipe=knows_pipe) as client:
        seconds = now()
        assert (await client.call_tool("t")).text == "done"
        if not isinstance(server, Pingless):
            await client.ping()
        return client.protocol_version, seconds


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    "kind", [TypeScript2, Rmcp, CSharp, Python2, Python1, Python10, Pingless, PinglessRmcp]
)
def test_behind_a_wrapper_that_reads_the_era_is_that_of_the_server(
    kind: type[SdkServer], start: float
) -> None:
    """F-API-27: with both openers sent, a ping finds out which of them counted."""
    version, seconds = run(used(kind(start), knows_pipe=False))
    is_late = start > 1
    if kind in (Rmcp, CSharp, PinglessRmcp):
        assert version == STATELESS
    elif kind in (TypeScript2, Python2, Pingless):
        assert version == (SESSION if is_late else STATELESS)
    else:
        assert version == SESSION
    assert seconds <= max(start, 1.0) + 0.05


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("stderr", ["", "ERROR: unknown method server/discover"])
def test_a_server_that_swallows_the_probe_waits_no_longer_than_others_may(
    stderr: str, start: float
) -> None:
    """F-API-27: a fifth of a second after a complaint, without one the wait of the SDKs."""
    server = Python10(start)
    server.stderr = stderr
    version, seconds = run(used(server, knows_pipe=True))
    assert version == SESSION
    longest = 0.25 if stderr else 1 if start < 1 else 10
    assert seconds <= max(1.0, start + longest) + 0.06


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("pause", [0.5, 4, 8])
def test_a_late_starter_may_answer_late(pause: float, start: float) -> None:
    """F-API-27: for as long as the other clients wait, if it complains about nothing."""
    if start < 1 and pause > 1:
        pytest.skip("one that starts in time has a second")
    server = TypeScript2(start, pause)
    version, seconds = run(used(server, knows_pipe=True))
    assert version == STATELESS
    assert seconds == pytest.approx(start + pause)


@pytest.mark.parametrize(("start", "starts"), [(0.5, 2), (1.5, 1)])
async def test_a_server_that_crashes_late_is_started_once(start: float, starts: int) -> None:
    """F-API-27: it never read the probe, so that a second start would only repeat the crash."""
    server = Crashing(start)
    with pytest.raises(ConnectionLost):
        await client_of(server, knows_pipe=True).connect()
    assert server.starts == starts
