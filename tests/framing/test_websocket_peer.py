"""The client's framing against the server side of the ``websockets`` package, in memory."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from mcpclient.framing.http1 import ResponseHead, ResponseParser, encode_request
from mcpclient.framing.websocket import (
    BinaryMessage,
    Closed,
    Event,
    TextMessage,
    WebSocketHandshake,
    WebSocketProtocol,
    Write,
)
from mcpclient.framing.websocket_frames import DeflateParameters
from tests.support.tables import each_row

pytestmark = pytest.mark.needs_websockets

TEXT = "a message of some length, with é and 😀 in it; " * 100


class Peers:
    """A client of ours and a server of theirs, connected by two lists of bytes."""

    def __init__(self, *, deflate: dict[str, Any] | None) -> None:
        extensions = []
        if deflate is not None:
            module = import_module("websockets.extensions.permessage_deflate")
            extensions = [module.ServerPerMessageDeflateFactory(**deflate)]
        server = import_module("websockets.server")
        self.server = server.ServerProtocol(subprotocols=["mcp"], extensions=extensions)
        self.received: list[Event] = []
        self.deflate = self._shake_hands()
        self.client = WebSocketProtocol(deflate=self.deflate)

    def _shake_hands(self) -> DeflateParameters | None:
        handshake = WebSocketHandshake()
        headers = [("Host", "localhost"), *handshake.headers]
        self.server.receive_data(encode_request("GET", "/", headers))
        (request,) = self.server.events_received()
        self.server.send_response(self.server.accept(request))
        parser = ResponseParser()
        parser.start("GET")
        (head, *_) = parser.feed(b"".join(self.server.data_to_send()))
        assert isinstance(head, ResponseHead)
        assert parser.trailing == b""
        return handshake.check_response(head.headers)

    def deliver(self, data: bytes = b"") -> list[Any]:
        """Hand the client's bytes over, let it read the answers, and give the server's frames."""
        self.server.receive_data(data)
        for event in self.client.feed(b"".join(self.server.data_to_send())):
            if isinstance(event, Write):
                self.server.receive_data(event.data)
            else:
                self.received.append(event)
        return list(self.server.events_received())

    def server_saw_close(self) -> tuple[int, str]:
        """The code and reason of the close handshake as the server has them, and nothing amiss."""
        assert self.server.close_expected()
        self.server.receive_eof()
        return self.server.close_code, self.server.close_reason


def received_by(server_frames: list[Any]) -> list[tuple[str, bytes]]:
    return [(frame.opcode.name, bytes(frame.data)) for frame in server_frames]


AGREEMENTS: list[tuple[dict[str, Any] | None, DeflateParameters | None]] = [
    (None, None),
    ({}, DeflateParameters()),
    ({"server_no_context_takeover": True}, DeflateParameters(server_no_context_takeover=True)),
    ({"client_no_context_takeover": True}, DeflateParameters(client_no_context_takeover=True)),
    *(
        (
            {"server_max_window_bits": bits, "client_max_window_bits": bits},
            DeflateParameters(server_max_window_bits=bits, client_max_window_bits=bits),
        )
        for bits in range(9, 16)
    ),
    ({"client_max_window_bits": 8}, DeflateParameters(client_max_window_bits=8)),
]


@each_row(("offer", "agreed"), AGREEMENTS)
def test_messages_go_both_ways_under_every_agreement(
    offer: dict[str, Any] | None, agreed: DeflateParameters | None
) -> None:
    """F-WIRE-6, F-WS-1"""
    peers = Peers(deflate=offer)
    assert peers.deflate == agreed
    for text in (TEXT, "short", "", TEXT):
        frames = peers.deliver(peers.client.send_text(text.encode()))
        assert received_by(frames) == [("TEXT", text.encode())]
        peers.server.send_text(text.encode())
        peers.server.send_binary(text.encode())
        peers.deliver()
        assert peers.received == [TextMessage(text), BinaryMessage(text.encode())]
        peers.received.clear()


def test_the_server_closes() -> None:
    """F-WS-2"""
    peers = Peers(deflate={})
    peers.server.send_close(1001, "going")
    peers.deliver()
    assert peers.received == [Closed(1001, "going")]
    assert peers.server_saw_close() == (1001, "")
