"""The journal of one server: the latest records of its wire, and a row for each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ..recording.transcript import Record, Transcript, read_transcripts, write_line

_MAX_LABEL_LENGTH = 120
_MAX_DETAIL_LENGTH = 200
_MAX_PENDING = 10_000

# The members of params that tell requests of one method apart, the best first.
_TELLING = ("name", "uri", "level", "message", "taskId", "requestId", "progressToken", "data")


class Row(NamedTuple):
    """The summary of one record.

    - ``number``: its index in the journal. ``time``: seconds since the preceding header.
    - ``lane``: the acting side: ``client``, ``server``, ``http`` or ``stderr``.
    - ``kind``: ``request``, ``answer``, ``error``, ``notification``, ``http``, ``text``, ``note``
      or ``header``.
    - ``label`` and ``detail``: its subject, cut to a line.
    - ``size``: characters of the record.
    - ``partner``: the number of the request that an answer belongs to, or None.
    - ``milliseconds``: the time from the request to this answer.
    - ``channel``: as in the record.
    """

    number: int
    time: float
    lane: str
    kind: str
    label: str
    detail: str
    size: int
    partner: int | None
    milliseconds: float | None
    channel: str


class _Asked(NamedTuple):
    number: int
    time: float
    method: str


class RowMaker:
    """The maker of one journal's rows, in order; it remembers the pending requests."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], _Asked] = {}

    def row(self, number: int, record: Record, size: int) -> Row:
        """Return the row of the next record, or of the header of a connection."""
        if "transcript" in record:
            self._asked.clear()
            label = f"connection over {record.get('transport', '')}"
            return _row(number, 0.0, "client", "header", label, record.get("target"), size)
        time, channel = float(record["time"]), str(record["channel"])
        sent = record["direction"] == "sent"
        message = message_of(record)
        if channel == "stderr":
            when = "written before" if record.get("recalled") else ""
            return _row(number, time, "stderr", "text", record.get("text"), when, size, channel)
        if record["direction"] == "note":
            return self._note(number, time, record, size)
        if message is None:
            lane = "http" if "http" in record or channel.startswith("http-") else None
            kind = "http" if lane else "text"
            about, detail = _of_bytes(record)
            side = lane or ("client" if sent else "server")
            return _row(number, time, side, kind, about, detail, size, channel)
        row = self._message(number, time, message, sent=sent)
        return row._replace(size=size, channel=channel)

    def _note(self, number: int, time: float, record: Record, size: int) -> Row:
        channel = str(record["channel"])
        lane = "http" if channel.startswith("http-") else "client"
        error = record.get("error")
        if isinstance(error, Mapping):
            label, kind = error.get("type"), "error"
            detail = error.get("text")
        elif "abandoned" in record:
            label, kind = "the caller stopped waiting", "note"
            detail = f"for the response to {record['abandoned']!r}"
        else:
            label, kind, detail = "end", "note", record.get("end")
        return _row(number, time, lane, kind, label, detail, size, channel)

    def _message(self, number: int, time: float, message: Any, *, sent: bool) -> Row:
        lane, side, other = ("client", "c", "s") if sent else ("server", "s", "c")
        if not isinstance(message, dict):
            count = f"{len(message)} messages" if isinstance(message, list) else "not a message"
            return _row(number, time, lane, "notification", "batch", count)
        method, identity = message.get("method"), message.get("id")
        if isinstance(method, str):
            detail = _telling(message.get("params"))
            if identity is None:
                return _row(number, time, lane, "notification", method, detail)
            if len(self._asked) >= _MAX_PENDING:
                self._asked.clear()
            self._asked[side, repr(identity)] = _Asked(number, time, method)
            return _row(number, time, lane, "request", method, detail)
        asked = self._asked.pop((other, repr(identity)), None)
        kind, outcome = _outcome(message)
        row = _row(number, time, lane, kind, asked.method if asked else "answer", outcome)
        if asked is None:
            return row
        milliseconds = round((time - asked.time) * 1000, 3)
        return row._replace(partner=asked.number, milliseconds=milliseconds)


def message_of(record: Record) -> Any:
    """Return the message that a record carries, or None."""
    if "message" in record:
        return record["message"]
    event = record.get("event")
    data = event.get("data") if isinstance(event, dict) else None
    return data if isinstance(data, (dict, list)) else None


def _row(
    number: int,
    time: float,
    lane: str,
    kind: str,
    label: object,
    detail: object,
    size: int = 0,
    channel: str = "",
) -> Row:
    label, detail = _cut(label, _MAX_LABEL_LENGTH), _cut(detail, _MAX_DETAIL_LENGTH)
    return Row(number, time, lane, kind, label, detail, size, None, None, channel)


def _cut(value: object, limit: int) -> str:
    text = value if isinstance(value, str) else "" if value is None else repr(value)
    text = text[: limit + 1].replace("\n", " ")
    return text if len(text) <= limit else text[:limit] + "…"


def _telling(params: Any) -> str:
    if not isinstance(params, dict):
        return ""
    for name in _TELLING:
        if isinstance(params.get(name), (str, int, float)):
            return str(params[name])[: _MAX_DETAIL_LENGTH + 1]
    return ""


def _outcome(message: Mapping[str, Any]) -> tuple[str, object]:
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        return "error", f"{error.get('code')}: {error.get('message')}"
    if isinstance(result, dict):
        if result.get("isError") is True:
            return "error", "the tool failed"
        for name, value in result.items():
            if isinstance(value, list) and name != "_meta":
                counted = name.removesuffix("s") if len(value) == 1 else name
                return "answer", f"{len(value)} {counted}"
    return "answer", ""


def _of_bytes(record: Record) -> tuple[object, object]:
    """Return label and detail of a record without a message: a head, an end, a frame, a line."""
    http = record.get("http")
    if isinstance(http, dict):
        if "status" in http:
            return f"{http['status']} {http.get('reason', '')}", record.get("text", "")
        return f"{http.get('method')} {http.get('target')}", record.get("text", "")
    if "end" in record:
        return "end", record["end"]
    if "frame" in record:
        return f"{record['frame']} frame", record.get("reason", "")
    event = record.get("event")
    if isinstance(event, dict):
        return "event", ", ".join(map(str, event.values()))
    return record.get("text", "bytes"), ""


_MAX_RECORDS = 200_000
_MAX_CHARACTERS = 64 * 1024 * 1024
_MAX_RECORD_LENGTH = 8 * 1024 * 1024

# The first records hold the handshake, without which the rest could not be replayed.
_OPENING_RECORDS = 20

# Rows that are searched before other tasks run: a few milliseconds of work.
_ROWS_PER_TURN = 2_000


class Journal:
    """The transcript of one server's connections, in memory: the latest records, and the first.

    A transcript is appended line by line, as `Client.trace_to` writes it. Records are numbered from
    0 and keep their numbers when the oldest are dropped.

    ``first``: the number of the oldest record that is kept. ``changed_lists``: the number of
    list_changed notifications. ``counts``: the number of records in each lane.
    """

    def __init__(
        self, *, most_records: int = _MAX_RECORDS, most_characters: int = _MAX_CHARACTERS
    ) -> None:
        self.first: int = 0
        self.changed_lists: int = 0
        self.counts: dict[str, int] = {"client": 0, "server": 0, "http": 0, "stderr": 0}
        self._most_records = most_records
        self._most_characters = most_characters
        self._characters = 0
        self._lines: list[str] = []
        self._rows: list[Row] = []
        self._opening: list[str] = []
        self._maker = RowMaker()

    @property
    def next(self) -> int:
        """The number of the next record."""
        return self.first + len(self._lines)

    def append(self, line: str) -> None:
        """Append one line of a transcript: the header of a connection, or a record."""
        record: Record = json.loads(line)
        number = self.next
        row = self._maker.row(number, record, len(line))
        if len(line) > _MAX_RECORD_LENGTH:
            line = _too_long(record, row)
        if number < _OPENING_RECORDS:
            self._opening.append(line)
        self._lines.append(line)
        self._rows.append(row)
        self._characters += len(line)
        self.counts[row.lane] += 1
        if row.lane == "server" and row.label.endswith("/list_changed"):
            self.changed_lists += 1
        if len(self._lines) > self._most_records or self._characters > self._most_characters:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        """Drop a twentieth more than necessary: each drop moves all records that are kept."""
        count, characters = 0, self._characters
        while count < len(self._lines) - 1 and (
            len(self._lines) - count > self._most_records * 0.95
            or characters > self._most_characters * 0.95
        ):
            characters -= len(self._lines[count])
            count += 1
        del self._lines[:count], self._rows[:count]
        self.first += count
        self._characters = characters

    def line(self, number: int) -> str | None:
        """Return a record as JSON, or None if it is not kept."""
        index = number - self.first
        return self._lines[index] if 0 <= index < len(self._lines) else None

    def rows(self, first: int, count: int) -> list[Row]:
        """Return the rows from ``first`` on, at most ``count``, without those dropped already."""
        start = max(first, self.first) - self.first
        return self._rows[start : max(first + count - self.first, 0)]

    async def find(self, text: str, lanes: Collection[str], after: int) -> list[int]:
        """Return the numbers above ``after`` of the records in these lanes that contain ``text``.

        Case does not matter. Other tasks run in between.
        """
        wanted = text.lower()
        found: list[int] = []
        number = max(after + 1, self.first)
        while number < self.next:
            for _ in range(_ROWS_PER_TURN):
                index = number - self.first
                if not 0 <= index < len(self._lines):
                    break
                if self._rows[index].lane in lanes and (
                    not wanted or wanted in self._lines[index].lower()
                ):
                    found.append(number)
                number += 1
            await asyncio.sleep(0)
            number = max(number, self.first)
        return found

    def transcript(self) -> Iterator[str]:
        """Yield the lines as `read_transcripts` reads them, from the opening of the session on.

        A note stands in the place of the records dropped in between, with their number.
        """
        yield from self._opening[: self.first]
        missing = self.first - len(self._opening)
        if missing > 0:
            text = f"{missing} records are missing here: only the latest are kept"
            time = self._rows[0].time
            yield write_line({"time": time, "direction": "note", "channel": "kept", "end": text})
        yield from list(self._lines)

    def transcripts(self) -> list[Transcript]:
        """Return the connections that are kept; an empty list before the first one."""
        return read_transcripts(self.transcript()) if self._lines else []


def _too_long(record: Record, row: Row) -> str:
    about = {name: record[name] for name in ("time", "direction", "channel") if name in record}
    text = f"{row.label} {row.detail}: {row.size} characters are too many to keep"
    return write_line({**about, "text": text})
