"""The journal of one server: the latest records of its wire, each with a row and its fault."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from math import inf
from typing import Any, NamedTuple

from ..jsonrpc.messages import ErrorCode
from ..protocol.faults import Fault
from ..protocol.faults.judge import LEVELS, Asked
from ..recording.judging import Judged, JudgedTranscript
from ..recording.transcript import Record, write_line
from .spans import Span, Spans, concerns_span

_MAX_LABEL_LENGTH = 120
_MAX_DETAIL_LENGTH = 200
_MAX_EXCHANGES = 500

# The members of params that tell requests of one method apart, the best first.
_TELLING = ("name", "uri", "level", "message", "taskId", "requestId", "progressToken", "data")


class Row(NamedTuple):
    """The summary of one record.

    ``number``: its index in the journal. ``time``: seconds since the preceding header. ``lane``:
    the acting side: ``client``, ``server``, ``http`` or ``stderr``. ``kind``: ``request``,
    ``answer``, ``error``, ``notification``, ``http``, ``text``, ``note`` or ``header``. ``label``
    and ``detail``: its subject, cut to a line. ``size``: characters of the record. ``partner``: the
    number of the request that an answer belongs to, or of the answer, or None. ``milliseconds``:
    the time from the request to this answer. ``channel``: as in the record. ``faults``: the
    violations of the protocol in it. ``level``: a log message's. ``at``: seconds since the
    epoch, None where the transcript does not say when it began.
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
    faults: Sequence[Fault] = ()
    level: str = ""
    at: float | None = None

    def about(
        self, kind: str, label: object, detail: object, *, lane: str = "", level: str = ""
    ) -> Row:
        """Return this row with its kind and its subject, and perhaps another lane or a level."""
        label, detail = _cut(label, _MAX_LABEL_LENGTH), _cut(detail, _MAX_DETAIL_LENGTH)
        number, time, side, _, _, _, size, partner, milliseconds, channel, faults, _, at = self
        subject, answer = (kind, label, detail, size), (partner, milliseconds)
        # `_replace` would take twice the time, for each record.
        return Row(number, time, lane or side, *subject, *answer, channel, faults, level, at)


_read = json.JSONDecoder().raw_decode  # a line ends at its newline, which need not be looked for


def _seconds(recorded: object) -> float | None:
    try:
        return datetime.fromisoformat(str(recorded).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def _cut(value: object, limit: int) -> str:
    text = value if isinstance(value, str) else "" if value is None else repr(value)
    cut = text[:limit].replace("\n", " ")
    return cut if len(text) <= limit else cut + "…"


def _telling(params: Any) -> str:
    if not isinstance(params, dict):
        return ""
    for name in _TELLING:
        if isinstance(params.get(name), (str, int, float)):
            return str(params[name])[: _MAX_DETAIL_LENGTH + 1]
    return ""


def _outcome(message: Mapping[str, Any], label: str) -> tuple[str, str, object]:
    """Return the kind, the label and the detail of an answer."""
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        if label == "server/discover" and error.get("code") == ErrorCode.METHOD_NOT_FOUND:
            return "answer", label, "the server speaks the handshake"
        return "error", label, f"{error.get('code')}: {error.get('message')}"
    if isinstance(result, dict):
        if result.get("isError") is True:
            return "error", label, "the tool failed"
        for name, value in result.items():
            if isinstance(value, list) and name != "_meta":
                counted = "content blocks" if name == "content" else name
                counted = counted.removesuffix("s") if len(value) == 1 else counted
                return "answer", label, f"{len(value)} {counted}"
    return "answer", label, ""


def _of_note(record: Record) -> tuple[str, object, object]:
    error = record.get("error")
    if isinstance(error, Mapping):
        return "error", error.get("type"), error.get("text")
    if "abandoned" in record:
        about = f"for the response to {record['abandoned']!r}"
        return "note", "the caller stopped waiting", about
    return "note", "end", record.get("end")


def _of_bytes(record: Record) -> tuple[object, object]:
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
    return record.get("text", "bytes that are not UTF-8"), ""


_MAX_RECORDS = 200_000
_MAX_CHARACTERS = 64 * 1024 * 1024

# The first records hold the handshake, without which the rest could not be replayed.
_OPENING_RECORDS = 20

# Rows that are searched before other tasks run: a few milliseconds of work.
_ROWS_PER_TURN = 2_000
# Lines of stderr on each side of one that is looked at.
_MAX_BLOCK = 200


class Journal:
    """The transcript of one server's connections, in memory: the latest records, and the first.

    A transcript is appended line by line, as `Client.trace_to` writes it. Records are numbered from
    0 and keep their numbers when the oldest are dropped.

    ``first``: the number of the oldest record that is kept. ``changed_lists``: the number of
    list_changed notifications. ``counts``: the number of records in each lane, and of faults.
    ``exchanges``: the latest HTTP requests and their responses, by channel. ``spans``: the requests
    of the client. ``revised``: the numbers of records that faults were added to afterwards.
    """

    def __init__(
        self, *, most_records: int = _MAX_RECORDS, most_characters: int = _MAX_CHARACTERS
    ) -> None:
        self.first: int = 0
        self.changed_lists: int = 0
        self.counts: dict[str, int] = {"client": 0, "server": 0, "http": 0, "stderr": 0, "fault": 0}
        self._most_records = most_records
        self._most_characters = most_characters
        self._characters = 0
        self._lines: list[str] = []
        self._rows: list[Row] = []
        self._opening: list[str] = []
        # By channel, each `number`, `time`, `method`, `target`, `is_mcp`, and once there is a
        # response its `status` and the `milliseconds` until then.
        self.exchanges: dict[str, dict[str, Any]] = {}
        self.spans: Spans = Spans()
        self.revised: list[int] = []
        self._judged = JudgedTranscript()
        self._began: float | None = None

    @property
    def next(self) -> int:
        """The number of the next record."""
        return self.first + len(self._lines)

    @property
    def revision(self) -> str:
        """The revision that the latest connection has agreed on; empty before."""
        return self._judged.judge.revision

    def append(self, line: str, call: str = "") -> None:
        """Append one line of a transcript: the header of a connection, or a record.

        ``call``: the page's call that a request is sent for.
        """
        record: Record = _read(line)[0]
        number = self.next
        row = self.row(number, record, len(line), call)
        if number < _OPENING_RECORDS:
            self._opening.append(line)
        self._lines.append(line)
        self._rows.append(row)
        self._characters += len(line)
        self.counts[row.lane] += 1
        if row.faults:
            self.counts["fault"] += len(row.faults)
        if row.partner is not None and row.partner >= self.first:
            index = row.partner - self.first
            self._rows[index] = self._rows[index]._replace(partner=number)
        if row.lane == "server" and row.label.endswith("/list_changed"):
            self.changed_lists += 1
        if len(self._lines) > self._most_records or self._characters > self._most_characters:
            self._drop_oldest()

    def row(self, number: int, record: Record, size: int, call: str = "") -> Row:
        """Return the row of the next record or header, and remember what later rows depend on."""
        time, channel = float(record.get("time", 0)), str(record.get("channel", ""))
        sent = record.get("direction") == "sent"
        if "transcript" in record:
            self.spans.connection_began(time)
            self.exchanges.clear()
            self._began = _seconds(record.get("recorded"))
        at = None if self._began is None else self._began + time
        side = "client" if sent else "server"
        row = Row(number, time, side, "", "", "", size, None, None, channel, at=at)
        judged = self._judged.take(record, row)
        if "transcript" in record:
            label = f"connection over {record.get('transport', '')}"
            return row.about("header", label, record.get("target"), lane="client")
        if "http" in record:
            self._note_exchange(row, record["http"])
        if channel == "stderr":
            when = "written before" if record.get("recalled") else ""
            return row.about("text", record.get("text"), when, lane="stderr")
        if not judged.messages:
            return self._without_message(row, record, judged.faults)
        if self._judged.is_mcp.get(channel, True):
            (self._sent if sent else self._received)(row, judged, call)
        asked = judged.asked[-1] if len(judged.messages) == 1 else None
        message = judged.messages[0] if len(judged.messages) == 1 else judged.messages
        row = self._about(row, message, asked)
        return row._replace(faults=judged.faults) if judged.faults else row

    def _without_message(self, row: Row, record: Record, faults: Sequence[Fault]) -> Row:
        is_http, sent = row.channel.startswith("http-"), row.lane == "client"
        if record["direction"] == "note":
            self._note_end(row, record)
            return row.about(*_of_note(record), lane="http" if is_http else "client")
        subject = _of_bytes(record)
        if is_http or "http" in record:
            if record.get("http", {}).get("status", 200) >= 300:
                self.spans.end_channel(row.channel, "failed", row.time, row.number)
            return row.about("http", *subject, lane="http")
        row = row.about("text", *subject)
        if sent or {"event", "frame", "end"} & record.keys():
            if "end" in record:
                self.spans.lose(row.time, row.number)
            return row
        self.spans.blame(self.spans.owner(row.channel, None), faults)
        return row._replace(faults=faults)

    def _note_end(self, row: Row, record: Record) -> None:
        if "abandoned" in record:
            self.spans.end_named(record["abandoned"], "cancelled", row.time, row.number)
        elif "answers" in record:
            self.spans.end_named(record["answers"], "failed", row.time, row.number)
        elif "end" in record and row.channel.startswith("http-"):
            self.spans.end_channel(row.channel, "lost", row.time, row.number)
        elif "end" in record:
            self.spans.lose(row.time, row.number)

    def _note_exchange(self, row: Row, head: Mapping[str, Any]) -> None:
        exchange = self.exchanges.get(row.channel)
        if "method" in head:
            if len(self.exchanges) >= _MAX_EXCHANGES:
                del self.exchanges[next(iter(self.exchanges))]
            self.exchanges[row.channel] = {
                **{"number": row.number, "time": row.time, "method": head["method"]},
                "target": head.get("target"),
            }
        elif exchange is not None:
            exchange["status"] = head.get("status")
            exchange["milliseconds"] = round((row.time - exchange["time"]) * 1000, 3)

    def _sent(self, row: Row, judged: Judged, call: str) -> None:
        for each in judged.messages:
            if not isinstance(each, dict):
                continue
            method, params = each.get("method"), each.get("params")
            if method == "notifications/cancelled" and isinstance(params, dict):
                self.spans.end_named(params.get("requestId"), "cancelled", row.time, row.number)
            elif isinstance(method, str) and "id" in each:
                subject = _cut(_telling(params), _MAX_LABEL_LENGTH)
                begun = Span(row.number, method, subject, row.time, row.channel, call, row.at)
                self.spans.begin(begun, each)
            elif method is None:
                self.spans.answered(each.get("id"), row.time)

    def _received(self, row: Row, judged: Judged, call: str) -> None:
        for each, asked in zip(judged.messages, judged.asked):
            if asked is None and not judged.faults and not concerns_span(each):
                continue
            span = self.spans.owner(row.channel, each)
            self.spans.blame(span, judged.faults)
            if asked is not None:
                is_error = _outcome(each, asked.method)[0] == "error"
                self.spans.end(span, "failed" if is_error else "done", row.time, row.number)
            elif span is not None and isinstance(each, dict) and "method" in each:
                self.spans.received(span, each, row.time, row.number)

    def _about(self, row: Row, message: Any, asked: Asked | None) -> Row:
        """Return the row of a message; ``asked``: the request that it answers."""
        if not isinstance(message, dict):
            count = f"{len(message)} messages" if isinstance(message, list) else "not a message"
            return row.about("notification", "batch", count)
        method, identity, params = (message.get(name) for name in ("method", "id", "params"))
        if method == "notifications/message" and isinstance(params, dict):
            data = params.get("data")
            text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
            level = str(params.get("level"))[:20]
            return row.about("notification", params.get("logger") or "log", text, level=level)
        if isinstance(method, str):
            kind = "notification" if identity is None else "request"
            return row.about(kind, method, _telling(params))
        row = row.about(*_outcome(message, asked.method if asked is not None else "answer"))
        if asked is None:
            return row
        milliseconds = round((row.time - asked.tag.time) * 1000, 3)
        return row._replace(partner=asked.tag.number, milliseconds=milliseconds)

    def add_faults(self, method: str, faults: Sequence[Fault]) -> None:
        """Add faults to the latest answer to a method, unless it has them."""
        for index in range(len(self._rows) - 1, -1, -1):
            row = self._rows[index]
            if row.kind == "answer" and row.label == method:
                new = [each for each in faults if each not in row.faults]
                self._rows[index] = row._replace(faults=[*row.faults, *new])
                self.counts["fault"] += len(new)
                if new and row.partner is not None:
                    self.revised.append(row.number)
                    self.spans.blame(self.spans.get(row.partner), new)
                return

    def _drop_oldest(self) -> None:
        """Drop a twentieth more than necessary: each drop moves all records that are kept."""
        count, records = 0, len(self._lines) - self._most_records * 0.95
        while count < len(self._lines) - 1 and (
            count < records or self._characters > self._most_characters * 0.95
        ):
            self._characters -= len(self._lines[count])
            count += 1
        del self._lines[:count], self._rows[:count]
        self.first += count

    def line(self, number: int) -> str | None:
        """Return a record as JSON, or None if it is not kept."""
        index = number - self.first
        return self._lines[index] if 0 <= index < len(self._lines) else None

    def rows(self, first: int, count: int) -> list[Row]:
        """Return the rows from ``first`` on, at most ``count``, without those dropped already."""
        start = max(first, self.first) - self.first
        return self._rows[start : max(first + count - self.first, 0)]

    def block(self, number: int) -> list[str]:
        """Return the lines of stderr that came one after the other around a record."""
        index = number - self.first
        if not 0 <= index < len(self._rows):
            return []

        def length(rows: Iterable[Row]) -> int:
            return sum(1 for _ in takewhile(lambda row: row.lane == "stderr", rows))

        before = length(reversed(self._rows[max(index - _MAX_BLOCK, 0) : index]))
        after = length(self._rows[index + 1 : index + 1 + _MAX_BLOCK])
        lines = self._lines[index - before : index + 1 + after]
        return [str(json.loads(line).get("text", "")) for line in lines]

    async def find(
        self,
        text: str,
        lanes: Collection[str],
        after: int,
        *,
        last: float = inf,
        only: str = "",
        method: str = "",
    ) -> list[int]:
        """Return the numbers above ``after`` of the records in these lanes that contain ``text``.

        ``last``: the last number to search.
        ``only``: ``fault``, ``failure`` (which may be a fault), or a level, for log messages that
        are at least as severe. ``method``: of requests and their answers. Case does not matter.
        Other tasks run in between.
        """
        wanted = text.lower()
        found: list[int] = []
        number = max(after + 1, self.first)
        while number < self.next:
            found += [
                row.number
                for row in self.rows(number, _ROWS_PER_TURN)
                if row.number <= last
                and row.lane in lanes
                and (not only or _is_of(row, only))
                and (not method or row.label == method)
                and (not wanted or wanted in self._lines[row.number - self.first].lower())
            ]
            number = min(number + _ROWS_PER_TURN, self.next)
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


def _is_of(row: Row, only: str) -> bool:
    if only == "fault":
        return bool(row.faults)
    if only == "failure":
        return row.kind == "error" or bool(row.faults)
    return row.level in LEVELS and only in LEVELS and LEVELS.index(row.level) >= LEVELS.index(only)
