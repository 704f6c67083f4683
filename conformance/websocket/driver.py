"""The framing on a blocking socket: the least that the Autobahn testsuite can talk to."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType

from mcpclient.framing.http1 import Fault as HttpFault
from mcpclient.framing.http1 import ResponseHead, ResponseParser, encode_request
from mcpclient.framing.websocket import BinaryMessage, Event, TextMessage, WebSocketProtocol, Write
from mcpclient.framing.websocket_handshake import Rejected, WebSocketHandshake

_READ_SIZE = 65536

# Longer than the longest time that a case waits by itself.
_SILENCE = 120.0


class Connection:
    """One WebSocket connection to ``path`` of a server on this machine."""

    def __init__(self, port: int, path: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_SILENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._first, self._protocol = self._shake_hands(path, f"127.0.0.1:{port}")

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._socket.close()

    def _shake_hands(self, path: str, host: str) -> tuple[bytes, WebSocketProtocol]:
        handshake = WebSocketHandshake()
        parser = ResponseParser()
        parser.start("GET")
        self._socket.sendall(encode_request("GET", path, [("Host", host), *handshake.headers]))
        while True:
            for event in parser.feed(self._read()):
                if isinstance(event, HttpFault):
                    raise ConnectionError(event.reason)
                if isinstance(event, ResponseHead):
                    answer = handshake.check_response(event.status, event.headers)
                    if isinstance(answer, Rejected):
                        raise ConnectionError(answer.reason)
                    return parser.trailing, WebSocketProtocol(deflate=answer.deflate)

    def events(self) -> Iterator[Event]:
        """Everything the server sends, until the connection is closed."""
        yield from self._take(self._protocol.feed(self._first))
        while self._protocol.ending is None:
            data = self._read()
            yield from self._take(self._protocol.feed(data) if data else self._protocol.feed_eof())
        # The server closes first (RFC 6455 section 7.1.1).
        while self._read():
            pass

    def echo(self, message: TextMessage | BinaryMessage) -> None:
        """Send a message back, unless the connection has ended behind it."""
        if self._protocol.ending is not None:
            return
        if isinstance(message, TextMessage):
            self._write(self._protocol.send_text(message.data))
        else:
            self._write(self._protocol.send_binary(message.data))

    def _take(self, events: list[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, Write):
                self._write(event.data)
            else:
                yield event

    def _read(self) -> bytes:
        try:
            return self._socket.recv(_READ_SIZE)
        except ConnectionResetError:
            return b""

    def _write(self, data: bytes) -> None:
        # After a failure there may still be something to read.
        with suppress(ConnectionError):
            self._socket.sendall(data)
