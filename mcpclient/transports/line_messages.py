"""Messages as lines, over any byte stream: stdio, TCP or a Unix-domain socket."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..errors import ConnectionLost, MessageTooLarge
from ..framing.ndjson import Line, LineFramer, OversizedLine
from ..jsonrpc.codec import MalformedMessage, decode, find_response_id
from ..jsonrpc.messages import RequestId
from ..protocol.outgoing import Outgoing
from .base import Receiver, deliver_text

__all__ = ["LineReader", "LineWriter"]

logger = logging.getLogger("mcpclient.transport")

# How many messages wait for a server that does not read, before any but requests are refused.
_MOST_WAITING = 10_000

_JSON_STARTS = (b"{", b"[", b"\xef\xbb\xbf")


class LineReader:
    """Cuts incoming bytes into lines and delivers the messages they hold.

    A line that is no message, such as a banner printed to stdout, costs one warning.
    """

    def __init__(self, receiver: Receiver, max_message_size: int, peer: str) -> None:
        self._receiver = receiver
        self._limit = max_message_size
        self._peer = peer
        self._framer = LineFramer(max_message_size)

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        for line in self._framer.feed(data):
            self._take(line)

    def feed_eof(self) -> None:
        """Take the end of the stream; a last line without its line end still counts.

        Unless it is half a message: the call that it answers fails for the end of the stream.
        """
        for line in self._framer.feed_eof():
            if isinstance(line, bytes) and _is_cut_off(line):
                logger.warning("%s: the end of the stream cut off a message", self._peer)
            else:
                self._take(line)

    def _take(self, line: Line) -> None:
        if isinstance(line, OversizedLine):
            request_id = find_response_id(line.start, line.end)
            self._receiver.message_rejected(MessageTooLarge(self._limit), request_id)
        elif line.startswith(b"{") or line.lstrip()[:3].startswith(_JSON_STARTS):
            deliver_text(line, self._receiver)
        elif line.strip():
            logger.warning(
                "%s: skipped a line that is no message: %s",
                self._peer,
                line[:200].decode("utf-8", "replace"),
            )


def _is_cut_off(line: bytes) -> bool:
    if not line.lstrip().startswith(_JSON_STARTS):
        return False
    try:
        decode(line)
    except MalformedMessage:
        return True
    return False


class LineWriter:
    """Queues outgoing lines: calls made in one turn of the loop share a write.

    While the peer does not read, lines wait here, and a request given up before it was written is
    never sent. ``write`` passes bytes on; ``can_write`` tells whether the peer keeps up;
    ``schedule`` arranges for `flush` to be called, soon or when the peer reads again. ``frame``
    makes of a line what is written, right before it is, in the order of writing.
    """

    def __init__(
        self,
        write: Callable[[bytes], None],
        can_write: Callable[[], bool],
        schedule: Callable[[], None],
        frame: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self._write = write
        self._can_write = can_write
        self._schedule = schedule
        self._frame = frame
        self._lines: list[tuple[RequestId | None, bytes]] = []
        self._gathering = False

    def send(self, outgoing: Outgoing, line: bytes) -> None:
        """Write a line at once if nothing was written in this turn and none waits, or queue it."""
        if self._gathering or self._lines or not self._can_write():
            self._check_room(outgoing)
            self._lines.append((outgoing.request_id, line))
        else:
            self._write(self._frame(line))
        if not self._gathering:
            self._gathering = True
            self._schedule()

    def _check_room(self, outgoing: Outgoing) -> None:
        """Refuse what no limit of time takes back, as answers to a server that never reads."""
        is_full = len(self._lines) >= _MOST_WAITING and not self._can_write()
        if is_full and outgoing.request_id is None:
            raise ConnectionLost("the server does not read what is sent to it")

    def flush(self) -> None:
        """Write what has gathered, if the peer keeps up."""
        self._gathering = False
        if self._lines and self._can_write():
            lines, self._lines = self._lines, []
            self._write(b"".join([self._frame(line) for _, line in lines]))

    def withdraw(self, request_id: RequestId | None) -> bool:
        """Take back a line that is still queued. False: it has been written."""
        for position, (queued_id, _) in enumerate(self._lines):
            if queued_id is not None and queued_id == request_id:
                del self._lines[position]
                return True
        return False

    @property
    def waiting(self) -> bool:
        """Whether lines are queued."""
        return bool(self._lines)
