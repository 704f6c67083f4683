"""The way of an answer back to the client, in good order or not, whatever carries it."""

from __future__ import annotations

import abc
import json
import struct
from asyncio import StreamWriter
from socket import SO_LINGER, SOL_SOCKET

from tests.support.mcp_server import Json


def encode(message: Json) -> bytes:
    """A message as the text that carries it."""
    return json.dumps(message).encode()


class Wire(abc.ABC):
    """The way back to the client, from one message of it.

    A connection that carries everything is the same wire for all messages; over HTTP each request
    has one of its own, which `end` completes. What is sent after the end of a wire is lost.
    """

    def send(self, message: Json) -> None:
        """Send a message, whole."""
        self.raw(encode(message))

    def deliver(self, message: Json) -> None:
        """Send a message, and end the wire if that was the answer it was there for."""
        self.send(message)
        if "method" not in message:
            self.end()

    @abc.abstractmethod
    def raw(self, text: bytes) -> None:
        """Send bytes framed as a message is."""

    @abc.abstractmethod
    def cut(self, text: bytes) -> None:
        """Send the first half of a framed message, and close."""

    @abc.abstractmethod
    def noise(self) -> None:
        """Send bytes that the framing has no place for."""

    @abc.abstractmethod
    def drop(self) -> None:
        """Close."""

    @abc.abstractmethod
    def reset(self) -> None:
        """End with an error: RST of a connection, SIGKILL of a process."""

    def end(self) -> None:  # noqa: B027 - most wires last
        """Nothing more belongs to this wire."""


class StreamWire(Wire):
    """A wire over a connection of its own."""

    def __init__(self, writer: StreamWriter) -> None:
        self._writer = writer

    @abc.abstractmethod
    def frame(self, text: bytes) -> bytes:
        """Frame a message."""

    def raw(self, text: bytes) -> None:
        self.write(self.frame(text))

    def cut(self, text: bytes) -> None:
        framed = self.frame(text)
        self.write(framed[: len(framed) // 2])
        self.drop()

    def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        if not self._writer.is_closing():
            self._writer.write(data)

    def drop(self) -> None:
        self._writer.close()

    def reset(self) -> None:
        reset(self._writer)


def reset(writer: StreamWriter) -> None:
    """Reset a connection."""
    socket = writer.get_extra_info("socket")
    socket.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
