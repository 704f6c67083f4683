"""A server in the same process that answers by script, for tests of the client in virtual time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Union

from mcpclient import Client
from mcpclient.errors import PeerError
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.inprocess import InProcessTransport, Serve, ServerEnd

Json = dict[str, Any]
Answer = Union[Json, Callable[[Any], Any]]

STATELESS = "2026-07-28"
HANDSHAKE = "2025-11-25"


class ScriptedServer:
    """Answers requests as ``answers`` says: by method, with a result or a function of the params.

    A function may be a coroutine function, may raise `PeerError`, and when it returns None there is
    no answer; `reply` gives one later. ``received`` holds the messages of all connections, and
    ``headers`` what the caller wanted sent along with each method.
    """

    def __init__(
        self,
        answers: Mapping[str, Answer] | None = None,
        *,
        version: str = STATELESS,
        capabilities: Json | None = None,
    ) -> None:
        self.answers = dict(answers or {})
        self.version = version
        self.capabilities = capabilities or {}
        self.received: list[Json] = []
        self.headers: dict[str, Json] = {}
        self.connections = 0
        self.client_answers: dict[object, asyncio.Future[Json]] = {}
        self._end: ServerEnd | None = None
        self._gone: asyncio.Future[None] | None = None

    def client(self, **options: Any) -> Client:
        """Return a client of this server, not yet connected."""
        options.setdefault("protocol_version", self.version)
        return Client(_NotingTransport(self._serve, self.headers), **options)

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
        assert self._gone is not None
        self._gone.set_result(None)

    # The server

    def _send(self, message: Json) -> None:
        assert self._end is not None
        self._end.send({"jsonrpc": "2.0", **message})

    async def _serve(self, end: ServerEnd) -> None:
        self.connections += 1
        self._end = end
        self._gone = asyncio.get_running_loop().create_future()
        working: set[asyncio.Future[None]] = set()
        reading = asyncio.ensure_future(self._read(end, working))
        try:
            await asyncio.wait({reading, self._gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            working.add(reading)
            for task in working:
                task.cancel()
            await asyncio.wait(working)

    async def _read(self, end: ServerEnd, working: set[asyncio.Future[None]]) -> None:
        async for message in end:
            self.received.append(message)
            if "method" in message and "id" in message:
                working.add(asyncio.ensure_future(self._answer(end, message)))
            elif "id" in message and message["id"] in self.client_answers:
                self.client_answers.pop(message["id"]).set_result(message)

    async def _answer(self, end: ServerEnd, message: Json) -> None:
        reply: Json = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            result = await self._result(message["method"], message.get("params", {}))
        except PeerError as error:
            reply["error"] = {"code": error.code, "message": error.message, "data": error.data}
        else:
            if result is None:
                return
            reply["result"] = result
        end.send(reply)

    async def _result(self, method: str, params: Json) -> Json | None:
        answer = self.answers.get(method)
        if callable(answer):
            result = answer(params)
            found: Json | None = await result if inspect.isawaitable(result) else result
            return found
        if answer is not None:
            return answer
        if method == "initialize":
            info = {"name": "scripted", "version": "1"}
            return {
                "protocolVersion": self.version,
                "serverInfo": info,
                "capabilities": self.capabilities,
            }
        if method == "server/discover":
            return {"supportedVersions": [STATELESS], "capabilities": self.capabilities}
        raise PeerError(-32601, f"Method not found: {method}")


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
