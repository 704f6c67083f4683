"""Server-sent events: bytes to events, exactly by the WHATWG algorithm.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.6.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Union

from .ndjson import DEFAULT_MAX_MESSAGE_SIZE, LineFramer

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
    ends, with or without data. ``has_ids``: an event has had an id; an empty one means that no
    position is known. ``retry``: the reconnection time in milliseconds, at most `MAX_RETRY`.
    """

    def __init__(self, max_event_size: int = DEFAULT_MAX_MESSAGE_SIZE) -> None:
        self.last_event_id: str = ""
        self.has_ids: bool = False
        self.retry: int | None = None
        self._max_event_size = max_event_size
        self._max_line = max_event_size + _MAX_NAME_LENGTH
        self._framer = LineFramer(self._max_line)
        self._is_first_line = True
        self._after_cr = False  # a LF as the next byte belongs to a CR already seen
        # The buffers of the algorithm. None is its empty data buffer; b"" is what one empty
        # data line leaves there. UTF-8 is decoded when all of the data is known.
        self._data: bytes | bytearray | None = None
        self._event = ""
        self._id = ""
        self._has_id = False
        self._dropping = False  # the event was reported as oversized

    def feed(self, data: bytes) -> list[Event]:
        """Return the events that the next bytes complete."""
        events: list[Event] = []
        # CRLF, LF and CR end a line; one pair may lie in two feeds.
        if self._after_cr and data.startswith(b"\n"):
            data, self._after_cr = data[1:], False
        if not data:
            return events
        self._after_cr = data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = self._framer.feed(data)
        if lines and self._is_first_line:
            self._is_first_line = False
            if isinstance(lines[0], bytes) and lines[0].startswith(_BOM):
                lines[0] = lines[0][len(_BOM) :]
        lines.reverse()
        while lines:
            line = lines.pop()  # it may be large, and is not kept here
            if not line:
                self._dispatch(events)
            elif isinstance(line, bytes):
                self._take_line(line, events)
            else:
                self._drop(events)
        if self._framer.unfinished > self._max_line:
            self._drop(events)
        return events

    def _take_line(self, line: bytes, events: list[Event]) -> None:
        """Process one line that is not empty."""
        if line.startswith(b"data:"):
            self._add_data(line[6 if line[5:6] == b" " else 5 :], events)
            return
        name, _colon, value = line.partition(b":")
        if value.startswith(b" "):
            value = value[1:]
        if name == b"data":  # alone, without a colon
            self._add_data(b"", events)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value:
                self._id, self._has_id = value.decode("utf-8", "replace"), True
        elif name == b"retry" and _DIGITS.fullmatch(value):
            # Nine digits are more than the bound; of a megabyte, int() would be slow.
            self.retry = min(int(value.lstrip(b"0")[:9] or b"0"), MAX_RETRY)

    def _add_data(self, value: bytes, events: list[Event]) -> None:
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

    def _drop(self, events: list[Event]) -> None:
        self._data = None
        if not self._dropping:
            self._dropping = True
            events.append(OversizedEvent(self._max_event_size))

    def _dispatch(self, events: list[Event]) -> None:
        self.last_event_id, self.has_ids = self._id, self._has_id
        if self._data is not None:
            data = self._data.decode("utf-8", "replace")
            events.append(ServerSentEvent(self._event or "message", data, self._id))
            self._data = None
        self._event = ""
        self._dropping = False
