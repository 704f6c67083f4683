"""Faulty servers in the client's own program. They pass messages, so bytes cannot be wrong."""

from __future__ import annotations

import asyncio

from mcpclient.transports.inprocess import InProcessTransport, ServerEnd
from tests.faults.faulty_peers.faults import Delivery
from tests.faults.faulty_peers.peer import Peer
from tests.faults.faulty_peers.wire import Wire
from tests.support.mcp_server import Json

_NOTICE = {"jsonrpc": "2.0", "method": "vendor/notice"}


class EndWire(Wire):
    """``drop`` lets the server return, ``reset`` lets it fail."""

    def __init__(self, end: ServerEnd) -> None:
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._end = end

    def send(self, message: Json) -> None:
        self._end.send(message)

    def raw(self, text: bytes) -> None:
        raise AssertionError("in process there are no bytes")

    def cut(self, text: bytes) -> None:
        raise AssertionError("in process there are no bytes")

    def noise(self) -> None:
        raise AssertionError("in process there are no bytes")

    def drop(self) -> None:
        self.over.set_result(None)

    def reset(self) -> None:
        self.over.set_exception(RuntimeError("the server has a bug"))


class InProcessPeer(Peer):
    async def start(self) -> None:
        self.target = InProcessTransport(self._serve)

    async def _serve(self, end: ServerEnd) -> None:
        wire = EndWire(end)
        if self.script.strikes_at("connect"):
            self.script.strike([Delivery(wire, _NOTICE)])
        taking = asyncio.ensure_future(self._take(end, wire))
        try:
            await asyncio.wait({taking, wire.over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            taking.cancel()
        if wire.over.done():
            wire.over.result()

    async def _take(self, end: ServerEnd, wire: EndWire) -> None:
        async for message in end:
            self.script.receive(message, wire)
        if self.script.strikes_at("close"):
            self.script.strike([Delivery(wire, _NOTICE)])
            await wire.over
