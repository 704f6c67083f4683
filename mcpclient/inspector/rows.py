"""Records of a transcript in one line each, as the page's timeline lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..recording.transcript import Record

_MAX_LABEL_LENGTH = 120
_MAX_DETAIL_LENGTH = 200
_MAX_PENDING = 10_000

# What tells one request of a method from another, the most telling first.
_TELLING = ("name", "uri", "level", "message", "taskId", "requestId", "progressToken", "data")


class Row(NamedTuple):
    """One record in short.

    - ``number``: its place in the journal. ``time``: seconds since the header before it.
    - ``lane``: who acted: ``client``, ``server``, ``http`` or ``stderr``.
    - ``kind``: ``request``, ``answer``, ``error``, ``notification``, ``http``, ``text``, ``note``
      or ``header``.
    - ``label`` and ``detail``: what it is about, cut to a line.
    - ``size``: characters of the record.
    - ``partner``: the number of the request that an answer is for; None: there is none.
    - ``milliseconds``: from the request to this answer.
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
    """Makes the rows of one journal, in its order; it remembers what has been asked."""

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
            label, kind = "nobody waits any more", "note"
            detail = f"for the answer to {record['abandoned']!r}"
        else:
            label, kind, detail = "end", "note", record.get("end")
        return _row(number, time, lane, kind, label, detail, size, channel)

    def _message(self, number: int, time: float, message: Any, *, sent: bool) -> Row:
        lane, side, other = ("client", "c", "s") if sent else ("server", "s", "c")
        if not isinstance(message, dict):
            count = f"{len(message)} messages" if isinstance(message, list) else "no message"
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
    """Return the message that a record carries; None where it carries none."""
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
    return Row(
        number,
        time,
        lane,
        kind,
        _cut(label, _MAX_LABEL_LENGTH),
        _cut(detail, _MAX_DETAIL_LENGTH),
        size,
        None,
        None,
        channel,
    )


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
    """Return label and detail of what is no message: heads, ends, frames, texts."""
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
