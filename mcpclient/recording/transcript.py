"""The transcript of a session: what was sent and received, as JSON lines, readable by eye.

One format serves the wire trace, ``mcpclient record`` and ``replay``, and the conformance suite. It
is version 1; a reader refuses a version it does not know and ignores members it does not know.

A connection begins with a header, ``{"transcript": 1, "transport": "stdio", "target": …}``, which
may say more: when it was recorded, by what, how. Every other line is a record::

    {"time": 0.0142, "direction": "sent", "channel": "stdio", "message": {"jsonrpc": "2.0", …}}

- ``time``: seconds since the header.
- ``connection``: in its header and its records, the number of a client that shares the file with
  others of the same process; the first of them has none.
- ``direction``: ``sent`` and ``received`` as the client sees it; ``note`` is what never crossed the
  wire, such as the reason why a message was rejected.
- ``channel``: what carried it, one ordered stream of bytes: ``stdio``, ``websocket``, ``socket``,
  ``in-process``, and for HTTP one per request, numbered: ``http-1``, ``http-2`` … ``stderr`` has
  the lines of a server process as ``text``. ``recalled`` has the request and the answer that had
  opened the connection before anything was written down.

What crossed the wire stands in one of these members; the first that says it exactly is used:

- ``message``: a JSON text, compact and in UTF-8, given as the value: one line of a line transport,
  a body of HTTP, a text message of WebSocket.
- ``event``: one server-sent event as the fields it was sent with, in their order; ``data`` is the
  value where it is such a JSON object. A comment is the field with the empty name.
- ``text``: any other bytes that are UTF-8, whole. ``base64``: any bytes.

JSON that is nested too deeply has a note in its place.

With them, or alone, stand:

- ``line_end``: how a line or the lines of an event ended, where that was not ``"\\n"``.
- ``http``: the head of a request (``method``, ``target``, ``headers``) or of a response
  (``status``, ``reason``, ``headers``); headers are pairs, in order. A body that is not an event
  stream stands in the record of its head. Where a recorder sees bodies only after their transfer or
  content coding was undone, the head says still which it was. On ``websocket`` they are the opening
  request and its answer.
- ``frame``: of a WebSocket, anything but a text message: ``binary``, ``ping``, ``pong`` or
  ``close``, the last with ``code`` and ``reason``.
- ``end``: the channel has ended: ``complete``, ``closed``, or what went wrong.
- ``error``: the failure that a note is about, as the client understood it: ``type``, the name of an
  exception of this library, ``text``, and facts of its own. ``answers``: the id of the request that
  failed; a failure with ``end`` is a failure of all.
- ``abandoned``: the id of a request that the client does not wait for any more.
- ``recalled``: true for a line of ``stderr`` that was written before anything was written down.

Secrets are replaced by names, the same secret always by the same: see `Redactor`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..errors import (
    AuthError,
    CommandNotFound,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    MessageTooLarge,
    ProcessExited,
    ProtocolViolation,
    UsageError,
    kind_named,
    safe_str,
)
from ..framing.headers import Headers
from ..framing.http1 import ResponseHead
from ..jsonrpc.codec import parse_json
from ..jsonrpc.messages import Message, RequestId
from ..version import __version__
from .redaction import Redactor

TRANSCRIPT_VERSION = 1

Record = dict[str, Any]
"""One line of a transcript after the header."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # NaN, too
_dump = json.JSONEncoder(ensure_ascii=False).encode
_DIRECTIONS = ("sent", "received", "note")
_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_NUMBER = re.compile(r"[0-9]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass
class Transcript:
    """One connection: its header and its records, in the order of time."""

    header: dict[str, Any]
    records: list[Record] = field(default_factory=list)

    @property
    def transport(self) -> str:
        """The name of the transport, as `Client.transport_name` has it."""
        return safe_str(self.header.get("transport", ""))


def write_line(value: Mapping[str, Any]) -> str:
    """Return a header or a record as one line, with its line end; UTF-8 can carry it."""
    line = _dump(value)
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", line) + "\n"


def read_transcripts(lines: Iterable[str]) -> list[Transcript]:
    """Read all connections of a file.

    Raises `UsageError` that names the line for anything but a transcript of this version. A
    last line that was cut off, as by a crash while recording, is left out.
    """
    transcripts: list[Transcript] = []
    by_connection: dict[str, Transcript] = {}
    rest = iter(lines)
    for number, line in enumerate(rest, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            if transcripts and not line.endswith("\n") and next(rest, None) is None:
                break
            raise UsageError(f"the transcript is broken: line {number} is not JSON") from None
        if isinstance(value, dict) and "transcript" in value:
            if value["transcript"] != TRANSCRIPT_VERSION:
                raise UsageError(
                    f"the transcript has version {value['transcript']!r}; "
                    f"this reader knows version {TRANSCRIPT_VERSION}"
                )
            transcripts.append(Transcript(value))
            by_connection[str(value.get("connection"))] = transcripts[-1]
        elif not transcripts:
            raise UsageError(f"line {number} should be the header of a transcript, and is not")
        elif not _is_record(value):
            raise UsageError(f"the transcript is broken: line {number} is not a record")
        else:
            own = by_connection.get(str(value.get("connection")), transcripts[-1])
            own.records.append(value)
    if not transcripts:
        raise UsageError("the transcript is empty")
    return transcripts


def _is_record(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("direction") not in _DIRECTIONS:
        return False
    if not all(isinstance(value[name], kind) for name, kind in _MEMBERS.items() if name in value):
        return False
    try:
        base64.b64decode(value.get("base64", ""))
    except ValueError:
        return False
    head = value.get("http", {})
    needed = ("method", str) if value["direction"] == "sent" else ("status", int)
    headers = head.get("headers", [])
    return (
        isinstance(value.get("time"), (int, float))
        and isinstance(value.get("channel"), str)
        and ("http" not in value or isinstance(head.get(needed[0]), needed[1]))
        and isinstance(headers, list)
        and all(isinstance(pair, list) and len(pair) == 2 for pair in headers)
    )


_MEMBERS: dict[str, type] = {
    **dict.fromkeys(("text", "base64", "line_end", "end", "frame"), str),
    **dict.fromkeys(("http", "error"), dict),
}


# Bytes to facts: the members of a record that say what crossed the wire


def payload_facts(data: bytes) -> Record:
    """Return the member that says ``data`` exactly: ``message``, ``text`` or ``base64``."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}
    found, value = _exact_value(text)
    return {"message": value} if found else {"text": text}


def event_blocks(buffer: bytearray, searched: int = 0) -> Iterator[bytes]:
    """Remove every complete event, with its blank line, from the front of ``buffer``.

    ``searched``: how much of it is known to hold none; that is not searched again.
    """
    start = max(searched - 3, 0)  # a blank line may begin there
    while (match := _BLANK_LINE.search(buffer, start)) is not None:
        block = bytes(buffer[: match.end()])
        del buffer[: match.end()]
        start = 0
        yield block


def event_facts(block: bytes) -> Record:
    """Return the members for one block of an event stream, blank line included, or a part of it."""
    line_end = "\r\n" if b"\r\n" in block else "\n"
    fields: dict[str, Any] = {}
    try:
        lines = block.decode().split(line_end)
    except UnicodeDecodeError:
        return payload_facts(block)
    for line in filter(None, lines):
        name, _, value = line.partition(": ")
        found, parsed = _exact_value(value) if name == "data" else (False, None)
        number = name == "retry" and _NUMBER.fullmatch(value)
        fields[name] = parsed if found else int(value) if number else value
    facts: Record = {"event": fields}
    if line_end != "\n":
        facts["line_end"] = line_end
    return facts if fields and bytes_of_event(facts) == block else {"text": block.decode()}


def _exact_value(text: str) -> tuple[bool, Any]:
    """Return a JSON object or array, if writing it again gives the same text."""
    if text[:1] not in ("{", "["):
        return False, None
    try:
        value = json.loads(text)
        return _encode(value) == text, value
    except (ValueError, RecursionError):
        return False, None


# Facts to bytes


def bytes_of_payload(record: Mapping[str, Any]) -> bytes:
    """Return the bytes of a body, a line without its end, or a text message."""
    if "message" in record:
        return _compact(record["message"]).encode("utf-8", "surrogatepass")
    if "text" in record:
        return str(record["text"]).encode("utf-8", "surrogatepass")
    return base64.b64decode(record.get("base64", ""))


def message_of(record: Record) -> Any:
    """Return the message, or the batch of messages, that a record carries, or None."""
    if "message" in record:
        return record["message"]
    event = record.get("event")
    data = event.get("data") if isinstance(event, dict) else record.get("text")
    if isinstance(data, str) and data[:1] in ("{", "[") and record.get("channel") != "stderr":
        data = parse_json(data)  # JSON that is not written compactly stands there as it came
        if "http" in record and isinstance(data, dict) and "jsonrpc" not in data:
            return None  # of a login, say
    return data if isinstance(data, (dict, list)) else None


def bytes_of_event(record: Mapping[str, Any]) -> bytes:
    """Return the bytes of a piece of an event stream."""
    fields = record.get("event")
    if not isinstance(fields, dict):
        return bytes_of_payload(record)
    end: str = record.get("line_end", "\n")
    lines = [
        f"{name}: {value if isinstance(value, str) else _compact(value)}"
        for name, value in fields.items()
    ]
    return (end.join(lines) + end + end).encode("utf-8", "surrogatepass")


class Records(Protocol):
    """A writer of records: a `net.trace_writer.TraceWriter`."""

    def record(self, direction: str, channel: str, facts: Mapping[str, Any]) -> None:
        """Write one record."""

    def note_failure(self, channel: str, error: BaseException, **facts: Any) -> None:
        """Write a note of a failure."""


class MessageLog:
    """The record of the messages over a transport that does not write its own transcript."""

    def __init__(self, recorder: Records, channel: str) -> None:
        self._recorder = recorder
        self._channel = channel
        self._ended = False

    def sent(self, message: Message) -> None:
        """Record a message to the server."""
        self._recorder.record("sent", self._channel, {"message": message})

    def received(self, message: Message) -> None:
        """Record a message from the server."""
        self._recorder.record("received", self._channel, {"message": message})

    def skipped(self, data: bytes) -> None:
        """Record a line from the server that is not a message."""
        self._recorder.record("received", self._channel, payload_facts(data))

    def abandoned(self, request_id: RequestId | None) -> None:
        """Record that the caller has given up waiting."""
        self._recorder.record("note", self._channel, {"abandoned": request_id})

    def failed(self, error: McpError, request_id: RequestId | None) -> None:
        """Record a failure, of a request or in general."""
        answers = {} if request_id is None else {"answers": request_id}
        self._recorder.note_failure(self._channel, error, **answers)

    def closed(self) -> None:
        """Record that the client ends the connection. Only the first end counts."""
        if not self._ended:
            self._ended = True
            self._recorder.record("sent", self._channel, {"end": "closed"})

    def lost(self, error: McpError, how: str = "lost") -> None:
        """Record that the connection was lost, or never opened."""
        if not self._ended:
            self._ended = True
            self._recorder.note_failure(self._channel, error, end=how)


class HttpChannel:
    """The record of one request and its response."""

    def __init__(self, recorder: Records, name: str) -> None:
        self.name = name
        self.ended: bool = False
        self._recorder = recorder
        self._head: dict[str, Any] | None = None
        self._is_stream = False
        self._body = bytearray()

    def sent(self, message: bytes) -> None:
        """Write down a request, given as it goes out."""
        head, _, body = message.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = [line.split(": ", 1) for line in lines]
        facts: dict[str, Any] = {"http": {"method": method, "target": target, "headers": headers}}
        self._recorder.record("sent", self.name, {**facts, **(payload_facts(body) if body else {})})

    def head_received(self, head: ResponseHead) -> None:
        """Record the head of the response, together with its body.

        Without a body to wait for, as in a stream or after a 101, it is written at once.
        """
        headers = [[name, value] for name, value in head.headers.pairs()]
        self._head = {"http": {"status": head.status, "reason": head.reason, "headers": headers}}
        content_type = head.headers.get("content-type", "").lower()
        self._is_stream = content_type.startswith("text/event-stream")
        if self._is_stream or head.status == 101:
            self._flush({})

    def body_received(self, data: bytes) -> None:
        """Add a piece of the body; the events it completes are written."""
        searched = len(self._body)
        self._body += data
        if self._is_stream:
            for block in event_blocks(self._body, searched):
                self._recorder.record("received", self.name, event_facts(block))

    def end(self, how: str = "complete", error: BaseException | None = None) -> None:
        """Write what has not been written yet, and how the response ended. Idempotent."""
        if self.ended:
            return
        self.ended = True
        self._flush({"end": how} if error is None and how == "complete" else {})
        if error is not None:
            self._recorder.note_failure(self.name, error, end=how)
        elif how != "complete":
            self._recorder.record("sent" if how == "closed" else "note", self.name, {"end": how})

    def _flush(self, facts: Mapping[str, Any]) -> None:
        body, self._body = bytes(self._body), bytearray()
        head, self._head = self._head or {}, None
        full = {**head, **(payload_facts(body) if body else {}), **facts}
        if full:
            self._recorder.record("received", self.name, full)


# The header, and exceptions to their facts and back


def error_facts(error: BaseException, redactor: Redactor) -> dict[str, Any]:
    """Return the record of an exception, with secrets replaced."""
    kind, base = type(error).__name__, _recorded_base(type(error))
    facts = {name: getattr(error, name) for name in _FIELDS[base]}
    if getattr(error, "kind", "other") != "other":
        facts["kind"] = error.kind.value  # type: ignore[attr-defined]
    if "headers" in facts:
        headers = facts["headers"]
        pairs = headers.pairs() if isinstance(headers, Headers) else headers.items()
        facts["headers"] = redactor.headers(pairs)
        facts["body"] = facts["body"].decode("utf-8", "replace")
    if "command" in facts:
        facts["command"] = facts["command"][:1]  # its arguments may hold a key
        error = _made(base, {**facts, "stderr": ""})
    redacted: dict[str, Any] = redactor.message({"text": str(error), **facts})
    return {"type": kind, **redacted}


def error_of(facts: Mapping[str, Any]) -> McpError:
    """Return an exception of a transcript by its branch of the tree; else a `ConnectionLost`."""
    kind = kind_named(str(facts.get("type")))
    try:
        error = _made(_recorded_base(kind or object), facts)
        if "kind" in facts:
            error.kind = type(error.kind)(facts["kind"])  # type: ignore[attr-defined]
        return error
    except (KeyError, TypeError, ValueError, AttributeError):
        return ConnectionLost("the recording does not say how it failed")


def _recorded_base(kind: type) -> type[McpError]:
    return next((base for base in kind.__mro__ if base in _FIELDS), ConnectionLost)


def _made(base: type[McpError], facts: Mapping[str, Any]) -> McpError:
    if base is HttpError:
        headers = Headers([(name, value) for name, value in facts["headers"]])
        facts = {**facts, "headers": headers, "body": facts["body"].encode()}
    values = [facts[name] for name in _FIELDS[base] or ("text",)]
    if base is CommandNotFound:
        values.append("the one in the recording")
    return base(*values)


# The fields of exceptions that are recorded; of others the text is.
_FIELDS: dict[type[McpError], tuple[str, ...]] = {
    AuthError: (),
    CommandNotFound: ("command", "reason"),
    ConnectFailed: ("target", "reason"),
    ConnectionLost: (),
    HttpError: ("status", "headers", "body", "url"),
    MessageTooLarge: ("limit",),
    ProcessExited: ("command", "exit_code", "stderr"),
    ProtocolViolation: (),
    UsageError: (),
}


def header(transport: str, target: str, recorded: str) -> dict[str, Any]:
    """Return the header of a connection. ``recorded``: when it began (RFC 3339)."""
    return {
        "transcript": TRANSCRIPT_VERSION,
        "transport": transport,
        "target": target,
        "recorded": recorded,
        "by": f"mcpclient {__version__}",
    }
