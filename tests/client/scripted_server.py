"""A server in the same process that answers by script, for tests of the client in virtual time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any

from mcpclient import Client
from mcpclient.errors import PeerError
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.inprocess import InProcessTransport, Serve, ServerEnd
from tests.support.mcp_server import STATELESS, Answer, Json, OpenedServer, Send, send_result

__all__ = ["HANDSHAKE", "STATELESS", "Answer", "Json", "ScriptedServer", "turns"]

HANDSHAKE = "2025-11-25"


class ScriptedServer(OpenedServer):
    """Answers requests as ``answers`` says, of which a function may be a coroutine function.

    It may raise `PeerError`, and when it returns None there is no answer; `reply` gives one later.
    ``version`` is the one it speaks. ``received`` holds the messages of all connections, and
    ``headers`` are the caller's additional headers of each method.
    """

    name = "scripted"

    def __init__(
        self,
        answers: Mapping[str, Answer] | None = None,
        *,
        version: str = STATELESS,
        capabilities: Json | None = None,
    ) -> None:
        era = "stateless" if version == STATELESS else "handshake"
        super().__init__(era, version, capabilities=capabilities, answers=answers)
        self.headers: dict[str, Json] = {}
        self.connections = 0
        self.client_answers: dict[object, asyncio.Future[Json]] = {}
        self._end: ServerEnd | None = None
        self.gone: asyncio.Future[None] | None = None
        self._working: set[asyncio.Future[Any]] = set()

    def client(self, **options: Any) -> Client:
        """Return a client of this server, not yet connected."""
        options.setdefault("protocol_version", self.version)
        return Client(_NotingTransport(self.serve, self.headers), **options)

    # What the test looks at and does

    def sent(self, method: str) -> list[Json]:
        """The params of every message with this method."""
        return [each.get("params", {}) for each in self.received if each.get("method") == method]

    def ids(self, method: str) -> list[Any]:
        """The ids of every request with this method."""
        return [each["id"] for each in self.received if each.get("method") == method]

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def reply(self, request_id: object, result: Json) -> None:
        """Answer a request that has had no answer yet."""
        self._send({"id": request_id, "result": result})

    async def ask(self, request_id: object, method: str, **params: Any) -> Json:
        """Send the client a request and return its whole answer."""
        answer = self.client_answers[request_id] = asyncio.get_running_loop().create_future()
        self._send({"id": request_id, "method": method, "params": params})
        return dict(await answer)

    def lose(self) -> None:
        """End the connection from this side."""
        assert self.gone is not None
        self.gone.set_result(None)

    # The server

    def _send(self, message: Json) -> None:
        assert self._end is not None
        self._end.send({"jsonrpc": "2.0", **message})

    async def serve(self, end: ServerEnd) -> None:
        """Serve one connection, as the function of an `InProcessTransport`."""
        self.connections += 1
        self._end = end
        gone = self.gone = asyncio.get_running_loop().create_future()
        working: set[asyncio.Future[Any]] = set()
        reading = asyncio.ensure_future(self._read(end, working))
        try:
            await asyncio.wait({reading, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            working.add(reading)
            for task in working:
                task.cancel()
            await asyncio.wait(working)

    async def _read(self, end: ServerEnd, working: set[asyncio.Future[Any]]) -> None:
        async for message in end:
            self._working = working  # of this connection
            self.receive(message, end.send)

    def take_answer(self, message: Json) -> None:
        if message["id"] in self.client_answers:
            self.client_answers.pop(message["id"]).set_result(message)

    def give(self, answer: Answer, message: Json, send: Send) -> None:
        self._working.add(asyncio.ensure_future(self._give(answer, message, send)))

    async def _give(self, answer: Answer, message: Json, send: Send) -> None:
        try:
            result = answer(message.get("params", {})) if callable(answer) else answer
            if inspect.isawaitable(result):
                result = await result
        except PeerError as error:
            refusal = {"code": error.code, "message": error.message, "data": error.data}
            send({"jsonrpc": "2.0", "id": message["id"], "error": refusal})
        else:
            if result is not None:
                send_result(message, send, result)


class _NotingTransport(InProcessTransport):
    """Notes the caller's headers, which go no further here."""

    def __init__(self, serve: Serve, headers: dict[str, Json]) -> None:
        super().__init__(serve)
        self._headers = headers

    def send(self, outgoing: Outgoing) -> None:
        if "method" in outgoing.message:
            self._headers[outgoing.message["method"]] = dict(outgoing.caller_headers)
        super().send(outgoing)


async def turns(count: int = 10) -> None:
    """Let everything that is ready happen, without time passing."""
    for _ in range(count):
        await asyncio.sleep(0)
