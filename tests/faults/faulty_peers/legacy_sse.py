"""Faulty servers of legacy HTTP+SSE: on the event stream, or in their response to a POST."""

from __future__ import annotations

from types import MappingProxyType

from tests.faults.faulty_peers.faults import Delivery
from tests.faults.faulty_peers.http import EventWire, HttpJsonPeer, Receipt, until_over
from tests.support.http_server import Answer, Request
from tests.support.mcp_server import Json

_ENDPOINT = {"jsonrpc": "2.0", "method": "vendor/endpoint"}


class StreamWire(EventWire):
    """The event stream, which no answer ends. The first message on it is the endpoint."""

    def __init__(self, answer: Answer, endpoint: str) -> None:
        super().__init__(answer)
        self._endpoint = endpoint

    def send(self, message: Json) -> None:
        if message is not _ENDPOINT:
            super().send(message)
        elif not self.over.done():
            self.begin()
            self._answer.chunk(b"event: endpoint\ndata: %s\n\n" % self._endpoint.encode())

    def end(self) -> None:
        """An answer is complete; the stream goes on."""

    def drop(self) -> None:
        super().drop()
        self.over.set_result(None)

    def reset(self) -> None:
        super().reset()
        self.over.set_result(None)


class LegacySsePeer(HttpJsonPeer):
    """Does wrong on the event stream."""

    options = MappingProxyType({"transport": "sse"})
    endpoint = "/messages?session=1"
    stream: StreamWire

    async def start(self) -> None:
        await super().start()
        self._server.routes = {"GET /mcp": self.get, "POST /messages": self.post}

    async def get(self, request: Request, answer: Answer) -> None:
        self.stream = wire = StreamWire(answer, self.endpoint)
        if self.script.strikes_at("connect"):
            self.script.strike([Delivery(wire, _ENDPOINT)])
        else:
            wire.send(_ENDPOINT)
        await until_over(wire, answer)

    async def post(self, request: Request, answer: Answer) -> None:
        answer.full(202)
        self.script.receive(request.message, self.stream)


class LegacyPostPeer(LegacySsePeer):
    """Sends a faulty response to a POST; the stream stays silent."""

    async def post(self, request: Request, answer: Answer) -> None:
        self.script.channel = self.stream
        receipt = _FaultyReceipt(answer, self.stream)
        self.script.receive(request.message, receipt)
        if not (self.script.due and self.script.due[0].wire is receipt):
            receipt.raw(b"")
            receipt.end()
        await until_over(receipt, answer)


class _FaultyReceipt(Receipt):
    """A receipt that passes on messages to the stream, unless the fault has them."""

    def __init__(self, answer: Answer, stream: StreamWire) -> None:
        super().__init__(answer)
        self._stream = stream

    def deliver(self, message: Json) -> None:
        self._stream.send(message)
