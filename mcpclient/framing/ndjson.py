"""Newline-delimited JSON: cuts a stream of bytes, in whatever chunks they come, into lines.

Source: the stdio transport pages of the MCP specification. Only LF ends a line, so U+2028, U+2029
and U+0085 inside a JSON string survive; a CR before the LF is JSON white space and stays.
"""

from __future__ import annotations

from typing import NamedTuple, Union

DEFAULT_MAX_MESSAGE_SIZE = 64 * 1024 * 1024
"""The default limit for the bytes of one message, in any framing."""

# Bytes kept of a discarded line: enough to find the id at either end of a message.
_KEPT_START = 4096
_KEPT_END = 512


class OversizedLine(NamedTuple):
    """A line over the limit, discarded: its first and last bytes, and how long it was."""

    start: bytes
    end: bytes
    size: int


Line = Union[bytes, OversizedLine]


class LineFramer:
    """A splitter of a byte stream into lines without their LF, at a cost linear in the bytes fed.

    A line of more than ``limit`` bytes is discarded as it arrives and reported at its end.
    """

    def __init__(self, limit: int = DEFAULT_MAX_MESSAGE_SIZE) -> None:
        self._limit = limit
        # The unfinished line. One buffer, because a list of the chunks would cost many
        # times the limit if a peer sent them a few bytes at a time.
        self._held = bytearray()
        # The bytes of the unfinished line that have arrived.
        self.unfinished: int = 0
        # The last bytes of a line over the limit; ``_held`` has its first ones then.
        self._end: bytes | None = None

    @property
    def start(self) -> bytes:
        """The first bytes of the unfinished line, all of them up to the limit."""
        return bytes(self._held)

    def feed(self, data: bytes) -> list[Line]:
        """Return the lines that the next bytes complete. Never raises."""
        pieces = data.split(b"\n")
        rest = pieces.pop()
        lines: list[Line] = [*pieces]
        if pieces and self.unfinished:
            self._hold(pieces[0])
            lines[0] = self._next_line()
        if len(data) > self._limit:
            lines = [
                OversizedLine(line[:_KEPT_START], line[-_KEPT_END:], len(line))
                if isinstance(line, bytes) and len(line) > self._limit
                else line
                for line in lines
            ]
        if rest:
            self._hold(rest)
        return lines

    def feed_eof(self) -> list[Line]:
        """Return the unfinished last line, if there is one."""
        return [self._next_line()] if self.unfinished else []

    def _hold(self, piece: bytes) -> None:
        self.unfinished += len(piece)
        if self.unfinished <= self._limit:
            self._held += piece
            return
        if self._end is None:
            self._end = bytes(self._held[-_KEPT_END:])
            self._held = self._held[:_KEPT_START]
        self._held += piece[: _KEPT_START - len(self._held)]
        self._end = (self._end + piece[-_KEPT_END:])[-_KEPT_END:]

    def _next_line(self) -> Line:
        held = bytes(self._held)
        line = held if self._end is None else OversizedLine(held, self._end, self.unfinished)
        self._held = bytearray()
        self.unfinished = 0
        self._end = None
        return line
