"""Faulty servers of Streamable HTTP: answers as JSON, as events, and the channel opened by GET."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

from tests.faults.faulty_peers.faults import Delivery
from tests.faults.faulty_peers.peer import Peer
from tests.faults.faulty_peers.wire import Wire
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_server import Json

NOT_HTTP = b"\x16\x03\x01\x00\xa5 not HTTP\r\n\r\n"


class HttpWire(Wire):
    """The way back of one request. ``over``: it is complete, or broken for good."""

    def __init__(self, answer: Answer) -> None:
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._answer = answer

    def drop(self) -> None:
        self._answer.cut()
        self.end()

    def reset(self) -> None:
        self._answer.reset()
        self.end()

    def noise(self) -> None:
        with suppress(ConnectionError):
            self._answer.raw(NOT_HTTP)

    def end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


class WholeWire(HttpWire):
    """An answer in one piece."""

    status = 200

    def __init__(self, answer: Answer, headers: dict[str, str] | None = None) -> None:
        super().__init__(answer)
        self._headers = {"Content-Type": "application/json", **(headers or {})}

    def raw(self, text: bytes) -> None:
        if not self.over.done():
            with suppress(ConnectionError):
                self._answer.full(self.status, self._headers, text)

    def cut(self, text: bytes) -> None:
        self._answer.head(self.status, {**self._headers, "Content-Length": str(len(text))})
        self._answer.raw(text[: len(text) // 2])
        self.drop()


class Receipt(WholeWire):
    """The answer to anything but a request. Its messages say only that it was taken."""

    status = 202

    def send(self, message: Json) -> None:
        self.raw(b"")


class EventWire(HttpWire):
    """An answer as events, with ids if there is a ``name`` for the stream."""

    def __init__(
        self, answer: Answer, headers: dict[str, str] | None = None, name: str | None = None
    ) -> None:
        super().__init__(answer)
        self._headers = headers or {}
        self._name = name
        self._events = 0
        self._begun = False

    def begin(self) -> None:
        """Send the head, and the first event if there are ids."""
        if not self._begun:
            self._begun = True
            self._answer.stream(self._headers)
            if self._name is not None:
                self._answer.chunk(b"id: %s\ndata:\n\n" % self._next_id())

    def _next_id(self) -> bytes:
        self._events += 1
        return f"{self._name}-{self._events}".encode()

    def frame(self, text: bytes) -> bytes:
        """An event."""
        event = b"data: " + text + b"\n\n"
        return event if self._name is None else b"id: " + self._next_id() + b"\n" + event

    def raw(self, text: bytes) -> None:
        if not self.over.done():
            with suppress(ConnectionError):
                self.begin()
                self._answer.chunk(self.frame(text))

    def cut(self, text: bytes) -> None:
        self.begin()
        event = self.frame(text)
        self._answer.chunk(event[: len(event) // 2])
        self.drop()

    def noise(self) -> None:
        with suppress(ConnectionError):
            self.begin()
            self._answer.chunk(b"\x00\xff\xfe\n: comment\nevent\nretry: x\nid: \x00\n\ndata\n\n")

    def end(self) -> None:
        if not self.over.done() and self._begun:
            with suppress(ConnectionError):
                self._answer.end()
        super().end()


class HttpJsonPeer(Peer):
    """Answers each request with one JSON message."""

    session = "the-session"

    async def start(self) -> None:
        routes = {"POST /mcp": self.post, "GET /mcp": self.get, "DELETE /mcp": self.delete}
        self._server = await self.stack.enter_async_context(HttpServer(routes))
        self.target = str(self._server.url())

    @property
    def held(self) -> int:
        return self._server.open_connections

    async def post(self, request: Request, answer: Answer) -> None:
        message = request.message
        if "id" in message and "method" in message:
            wire = self.wire(answer, self._headers(message))
        else:
            wire = Receipt(answer)
        self.script.receive(message, wire)
        if isinstance(wire, Receipt) and not (self.script.due and self.script.due[0].wire is wire):
            wire.send(message)
            wire.end()
        await until_over(wire, answer)

    def wire(self, answer: Answer, headers: dict[str, str]) -> HttpWire:
        """The way back of a request."""
        return WholeWire(answer, headers)

    def _headers(self, message: Json) -> dict[str, str]:
        return {"Mcp-Session-Id": self.session} if message["method"] == "initialize" else {}

    async def get(self, request: Request, answer: Answer) -> None:
        answer.full(405)

    async def delete(self, request: Request, answer: Answer) -> None:
        wire = WholeWire(answer)
        self.script.farewell(wire, partial(wire.deliver, {}))
        await until_over(wire, answer)


class HttpSsePeer(HttpJsonPeer):
    """Answers each request with a stream of events that have no ids."""

    def wire(self, answer: Answer, headers: dict[str, str]) -> HttpWire:
        return EventWire(answer, headers)


class HttpSseWithIdsPeer(HttpJsonPeer):
    """Answers each request with a stream of events that can be resumed."""

    _streams = 0

    def wire(self, answer: Answer, headers: dict[str, str]) -> HttpWire:
        self._streams += 1
        wire = EventWire(answer, headers, f"stream-{self._streams}")
        wire.begin()
        return wire

    async def get(self, request: Request, answer: Answer) -> None:
        last = request.headers.get("last-event-id")
        if last is None:
            answer.full(405)
            return
        name, _, number = last.rpartition("-")
        answer.stream()
        for message in (due.message for due in self.script.due):
            number = str(int(number) + 1)
            answer.event(message, id=f"{name}-{number}")
        answer.end()


class HttpChannelPeer(HttpJsonPeer):
    """Says on the channel that the client opens with GET everything but answers."""

    async def get(self, request: Request, answer: Answer) -> None:
        wire = EventWire(answer)
        if self.script.strikes_at("connect"):
            self.script.strike([Delivery(wire, {"jsonrpc": "2.0", "method": "vendor/notice"})])
        else:
            wire.begin()
            self.script.channel_opened(wire)
        await until_over(wire, answer)


async def until_over(wire: HttpWire, answer: Answer) -> None:
    """Wait until the answer is complete, or its client has gone."""
    if wire.over.done():
        return
    gone = asyncio.ensure_future(answer.stall())
    try:
        await asyncio.wait({gone, wire.over}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
    await asyncio.wait({gone})
