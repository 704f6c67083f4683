"""Server-sent events: bytes to events, exactly by the WHATWG algorithm.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.6.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Union

from .ndjson import DEFAULT_MAX_MESSAGE_SIZE

MAX_RETRY = 86_400_000
"""The longest reconnection time that is accepted, in milliseconds: one day."""

_BOM = b"\xef\xbb\xbf"
_DIGITS = re.compile(rb"[0-9]+")
_MAX_NAME_LENGTH = len(b"data: ")


class ServerSentEvent(NamedTuple):
    """One event: its type, ``"message"`` if none was given, its data, and the last event id.

    The id may come from an earlier event, and is empty as long as none was sent.
    """

    event: str
    data: str
    id: str


class OversizedEvent(NamedTuple):
    """An event was dropped because it has more than ``limit`` bytes of data."""

    limit: int


Event = Union[ServerSentEvent, OversizedEvent]


class EventDecoder:
    """A decoder of one event stream; a new connection needs a new one.

    No bytes make it raise. An event that is incomplete at the end of the stream is dropped, as the
    algorithm demands. One with more than ``max_event_size`` bytes of data, or a longer line, is
    skipped, except that its id counts, and reported as one `OversizedEvent` as soon as its size is
    known. The decoder never holds more than twice ``max_event_size`` and the bytes fed last.

    ``last_event_id``: the last event id string, for ``Last-Event-ID``; it changes where an event
    ends, with or without data. ``retry``: the reconnection time in milliseconds, at most
    `MAX_RETRY`.
    """

    def __init__(self, max_event_size: int = DEFAULT_MAX_MESSAGE_SIZE) -> None:
        self.last_event_id: str = ""
        self.retry: int | None = None
        self._max_event_size = max_event_size
        self._max_line = max_event_size + _MAX_NAME_LENGTH
        self._bom_due = True
        self._after_cr = False  # a LF as the next byte belongs to a CR already seen
        self._line = bytearray()  # the unfinished line
        self._skipping_line = False  # that part was too long and is gone
        # The buffers of the algorithm. None is its empty data buffer; b"" is what one empty
        # data line leaves there. UTF-8 is decoded when all of the data is known.
        self._data: bytes | bytearray | None = None
        self._event = ""
        self._id = ""
        self._dropping = False  # the event was reported as oversized

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that the next bytes complete."""
        events: list[Event] = []
        if self._bom_due:
            data = self._without_bom(data)
        if not data:
            return events
        lines = self._split(data)
        rest = lines.pop()
        if lines and (self._line or self._skipping_line):
            self._complete_line(lines.pop(0), events)
        for line in lines:
            if line:
                self._take_line(line, events)
            else:
                self._dispatch(events)
        if rest:
            self._keep(rest, events)
        return events

    def _without_bom(self, data: bytes) -> bytes:
        begin = bytes(self._line) + data
        self._line.clear()
        if len(begin) < len(_BOM) and _BOM.startswith(begin):
            self._line += begin
            return b""
        self._bom_due = False
        return begin[len(_BOM) :] if begin.startswith(_BOM) else begin

    def _split(self, data: bytes) -> list[bytes]:
        """Split at CRLF, LF and CR, one pair of which may lie in two feeds."""
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr = False
            if not data:
                return [b""]
        self._after_cr = data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data.split(b"\n")

    def _keep(self, rest: bytes, events: list[Event]) -> None:
        """Keep the beginning of a line for later, unless it is too long already."""
        if self._skipping_line:
            return
        self._line += rest
        if len(self._line) > self._max_line:
            self._line = bytearray()
            self._skipping_line = True
            self._drop(events)

    def _complete_line(self, end: bytes, events: list[Event]) -> None:
        if self._skipping_line:
            self._skipping_line = False
            return
        line = self._line
        line += end
        self._line = bytearray()
        self._take_line(line, events)

    def _take_line(self, line: bytes | bytearray, events: list[Event]) -> None:
        """Process one line that is not empty."""
        if len(line) > self._max_line:
            self._drop(events)
        elif line.startswith(b"data:"):
            # A bytearray, which a long line is, drops its beginning without a copy.
            begin = 6 if line[5:6] == b" " else 5
            if isinstance(line, bytearray):
                del line[:begin]
            else:
                line = line[begin:]
            self._add_data(line, events)
        else:
            name, _colon, value = line.partition(b":")
            self._take_field(name, value[1:] if value[:1] == b" " else value, events)

    def _add_data(self, value: bytes | bytearray, events: list[Event]) -> None:
        if self._dropping:
            return
        if self._data is None:
            self._data = value
        else:
            if not isinstance(self._data, bytearray):
                self._data = bytearray(self._data)
            self._data += b"\n"
            self._data += value
        if len(self._data) > self._max_event_size:
            self._drop(events)

    def _take_field(
        self, name: bytes | bytearray, value: bytes | bytearray, events: list[Event]
    ) -> None:
        if name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
        elif name == b"retry":
            if _DIGITS.fullmatch(value):
                # Nine digits are more than the bound; of a megabyte, int() would be slow.
                self.retry = min(int(value.lstrip(b"0")[:9] or b"0"), MAX_RETRY)
        elif name == b"data":  # a line of that name alone, without a colon
            self._add_data(b"", events)

    def _drop(self, events: list[Event]) -> None:
        self._data = None
        if not self._dropping:
            self._dropping = True
            events.append(OversizedEvent(self._max_event_size))

    def _dispatch(self, events: list[Event]) -> None:
        self.last_event_id = self._id
        if self._data is not None:
            data = self._data.decode("utf-8", "replace")
            events.append(ServerSentEvent(self._event or "message", data, self._id))
            self._data = None
        self._event = ""
        self._dropping = False
