"""The journal of one server: the latest records of its wire, each with a row and its fault."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import takewhile
from typing import Any, NamedTuple

from ..recording.transcript import Record, Transcript, read_transcripts, write_line

_MAX_LABEL_LENGTH = 120
_MAX_DETAIL_LENGTH = 200
_MAX_PENDING = 10_000
_MAX_EXCHANGES = 500

# The levels of log messages, the least severe first.
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

# The members of params that tell requests of one method apart, the best first.
_TELLING = ("name", "uri", "level", "message", "taskId", "requestId", "progressToken", "data")


class Row(NamedTuple):
    """The summary of one record.

    ``number``: its index in the journal. ``time``: seconds since the preceding header. ``lane``:
    the acting side: ``client``, ``server``, ``http`` or ``stderr``. ``kind``: ``request``,
    ``answer``, ``error``, ``notification``, ``http``, ``text``, ``note`` or ``header``. ``label``
    and ``detail``: its subject, cut to a line. ``size``: characters of the record. ``partner``: the
    number of the request that an answer belongs to, or of the answer, or None. ``milliseconds``:
    the time from the request to this answer. ``channel``: as in the record. ``fault``: the
    violation of the protocol in it, if there is one. ``level``: that of a log message. ``at``:
    seconds since the epoch, None where the transcript does not say when it began.
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
    fault: str = ""
    level: str = ""
    at: float | None = None

    def about(self, kind: str, label: object, detail: object, **more: Any) -> Row:
        """Return this row with its kind and its subject, and more fields."""
        subject = _cut(label, _MAX_LABEL_LENGTH), _cut(detail, _MAX_DETAIL_LENGTH)
        return self._replace(kind=kind, label=subject[0], detail=subject[1], **more)


def message_of(record: Record) -> Any:
    """Return the message that a record carries, or None."""
    if "message" in record:
        return record["message"]
    event = record.get("event")
    data = event.get("data") if isinstance(event, dict) else record.get("text")
    if isinstance(data, str) and data[:1] in ("{", "[") and record.get("channel") != "stderr":
        try:  # JSON that is not written compactly stands there as it came
            data = json.loads(data)
        except (ValueError, RecursionError):
            return None
        if "http" in record and not (isinstance(data, list) or "jsonrpc" in data):
            return None  # of a login, say
    return data if isinstance(data, (dict, list)) else None


def _seconds(recorded: object) -> float | None:
    try:
        return datetime.fromisoformat(str(recorded).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


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


def _outcome(message: Mapping[str, Any], label: str) -> tuple[str, str, object]:
    """Return the kind, the label and the detail of an answer."""
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        return "error", label, f"{error.get('code')}: {error.get('message')}"
    if isinstance(result, dict):
        if result.get("isError") is True:
            return "error", label, "the tool failed"
        for name, value in result.items():
            if isinstance(value, list) and name != "_meta":
                counted = name.removesuffix("s") if len(value) == 1 else name
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


# The members of results that must be of a type, by the method of their request.
_MEMBERS: Mapping[str, Mapping[str, type]] = {
    "initialize": {"protocolVersion": str, "capabilities": dict, "serverInfo": dict},
    "server/discover": {"supportedVersions": list, "capabilities": dict},
    "tools/list": {"tools": list},
    "tools/call": {"content": list},
    "resources/list": {"resources": list},
    "resources/templates/list": {"resourceTemplates": list},
    "resources/read": {"contents": list},
    "prompts/list": {"prompts": list},
    "prompts/get": {"messages": list},
    "completion/complete": {"completion": dict},
    "tasks/list": {"tasks": list},
}
# Results that stand for another: a task, or a question to the client.
_OTHER_TYPES = ("task", "input_required")
_NAMES: Mapping[type, str] = {str: "string", list: "list", dict: "object"}


def message_fault(message: Any) -> str:
    """Return the violation in a message by itself; an empty string if there is none."""
    if not isinstance(message, dict):
        return "it is not a JSON object"
    if not {"jsonrpc", "id", "method", "result", "error"} & message.keys():
        return "it is not a JSON-RPC message"
    if message.get("jsonrpc") != "2.0":
        return 'it has no "jsonrpc": "2.0"'
    identity = message.get("id", "")
    is_id = isinstance(identity, (int, str)) and not isinstance(identity, bool)
    # An error whose request could not be read has null.
    if not is_id and (identity is not None or "error" not in message):
        return "its id is neither a string nor an integer"
    if "method" in message:
        if not isinstance(message["method"], str):
            return "its method is not a string"
        if not isinstance(message.get("params", {}), dict):
            return "its params are not an object"
        return "it has a method and a result" if {"result", "error"} & message.keys() else ""
    if "id" not in message:
        return "it has neither a method nor an id"
    if ("result" in message) == ("error" in message):
        return f"it has {'both' if 'result' in message else 'neither'} result and error"
    error = message.get("error", {"message": "", "code": 0})
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return "its error has no message"
    code = error.get("code")
    is_code = isinstance(code, int) and not isinstance(code, bool)
    return "" if is_code else "its error has no integer as its code"


def result_fault(method: str, result: Any) -> str:
    """Return the violation in the result of a method, as `message_fault` does."""
    if not isinstance(result, dict):
        return "its result is not an object"
    if result.get("resultType") in _OTHER_TYPES or "task" in result:
        return ""
    for name, kind in _MEMBERS.get(method, {}).items():
        if not isinstance(result.get(name), kind):
            return f"its result has no {_NAMES[kind]} {name!r}"
    blocks = result.get("content", ()) if method == "tools/call" else ()
    if not all(isinstance(each, dict) and isinstance(each.get("type"), str) for each in blocks):
        return "its content has a block without a type"
    return ""


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
    list_changed notifications. ``counts``: the number of records in each lane, and of those with a
    ``fault``. ``exchanges``: the latest HTTP requests and their responses, by channel.
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
        # The latest requests by their side and id; None once there is an answer.
        self._asked: dict[tuple[str, str], Row | None] = {}
        self._began: float | None = None
        self._is_whole = True  # no request was sent before the recording began

    @property
    def next(self) -> int:
        """The number of the next record."""
        return self.first + len(self._lines)

    def append(self, line: str) -> None:
        """Append one line of a transcript: the header of a connection, or a record."""
        record: Record = json.loads(line)
        number = self.next
        row = self.row(number, record, len(line))
        if number < _OPENING_RECORDS:
            self._opening.append(line)
        self._lines.append(line)
        self._rows.append(row)
        self._characters += len(line)
        self.counts[row.lane] += 1
        self.counts["fault"] += bool(row.fault)
        if row.partner is not None and row.partner >= self.first:
            index = row.partner - self.first
            self._rows[index] = self._rows[index]._replace(partner=number)
        if row.lane == "server" and row.label.endswith("/list_changed"):
            self.changed_lists += 1
        if len(self._lines) > self._most_records or self._characters > self._most_characters:
            self._drop_oldest()

    def row(self, number: int, record: Record, size: int) -> Row:
        """Return the row of the next record or header, and remember what later rows depend on."""
        time, channel = float(record.get("time", 0)), str(record.get("channel", ""))
        if "transcript" in record:
            self._asked.clear()
            self.exchanges.clear()
            self._began, self._is_whole = _seconds(record.get("recorded")), True
        sent = record.get("direction") == "sent"
        at = None if self._began is None else self._began + time
        side = "client" if sent else "server"
        row = Row(number, time, side, "", "", "", size, None, None, channel, at=at)
        if "transcript" in record:
            label = f"connection over {record.get('transport', '')}"
            return row.about("header", label, record.get("target"), lane="client")
        self._is_whole &= channel != "recalled"
        message = message_of(record)
        if "http" in record:
            self._note_exchange(row, record["http"], message)
        if channel == "stderr":
            when = "written before" if record.get("recalled") else ""
            return row.about("text", record.get("text"), when, lane="stderr")
        is_http = channel.startswith("http-")
        if record["direction"] == "note":
            return row.about(*_of_note(record), lane="http" if is_http else "client")
        if message is None:
            subject = _of_bytes(record)
            if is_http or "http" in record:
                return row.about("http", *subject, lane="http")
            row = row.about("text", *subject)
            if sent or {"event", "frame", "end"} & record.keys():
                return row
            kind = "broken JSON" if row.label.lstrip()[:1] in ("{", "[") else "not JSON-RPC"
            return row._replace(fault=f"a line on stdout is {kind}")
        row = self._message(row, message)
        exchange = self.exchanges.get(channel)
        # What other servers answer, such as that of a login, follows other rules.
        if sent or not (exchange is None or exchange["is_mcp"]):
            return row._replace(fault="")
        parts = message if isinstance(message, list) else [message]
        return row._replace(fault=next(filter(None, map(message_fault, parts)), row.fault))

    def _note_exchange(self, row: Row, head: Mapping[str, Any], message: Any) -> None:
        exchange = self.exchanges.get(row.channel)
        if "method" in head:
            if len(self.exchanges) >= _MAX_EXCHANGES:
                del self.exchanges[next(iter(self.exchanges))]
            self.exchanges[row.channel] = {
                **{"number": row.number, "time": row.time, "method": head["method"]},
                "target": head.get("target"),
                "is_mcp": head["method"] != "POST" or message_fault(message) == "",
            }
        elif exchange is not None:
            exchange["status"] = head.get("status")
            exchange["milliseconds"] = round((row.time - exchange["time"]) * 1000, 3)

    def _message(self, row: Row, message: Any) -> Row:
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
            row = row.about(kind, method, _telling(params))
            if identity is not None:
                if len(self._asked) >= _MAX_PENDING:
                    del self._asked[next(iter(self._asked))]
                self._asked[row.lane, repr(identity)] = row
            return row
        sent = row.lane == "client"
        key = ("server" if sent else "client", repr(identity))
        asked = self._asked.get(key)
        row = row.about(*_outcome(message, asked.label if asked is not None else "answer"))
        if asked is not None:
            self._asked[key] = None
            fault = result_fault(asked.label, message["result"]) if "result" in message else ""
            milliseconds = round((row.time - asked.time) * 1000, 3)
            return row._replace(partner=asked.number, milliseconds=milliseconds, fault=fault)
        if identity is None or not (key in self._asked or self._is_whole):
            return row
        times = "answered before" if key in self._asked else "not that of a request"
        return row._replace(fault=f"its id {_cut(repr(identity), 40)} was {times}")

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
        self, text: str, lanes: Collection[str], after: int, *, only: str = "", method: str = ""
    ) -> list[int]:
        """Return the numbers above ``after`` of the records in these lanes that contain ``text``.

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
                if row.lane in lanes
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

    def transcripts(self) -> list[Transcript]:
        """Return the connections that are kept; an empty list before the first one."""
        return read_transcripts(self.transcript()) if self._lines else []


def _is_of(row: Row, only: str) -> bool:
    if only == "fault":
        return bool(row.fault)
    if only == "failure":
        return row.kind == "error" or bool(row.fault)
    return row.level in LEVELS and only in LEVELS and LEVELS.index(row.level) >= LEVELS.index(only)
