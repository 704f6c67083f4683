"""HTTP/1.1 (RFC 9112): requests to bytes and a connection's bytes to events, without any I/O.

The last part parses requests and encodes responses, for the small local server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple, Union

from ..errors import ConnectionLost, LossKind, ProtocolViolation, UsageError, ViolationKind
from .headers import TOKEN, Headers, encode_header, parse_fields

MAX_HEAD = 65_536
"""Bytes a status line and its fields, or a trailer section, may have."""

_MAX_KEPT_HEAD = 4_096
"""Bytes of a head that are kept, to recognize the same one in the next answer."""

MAX_CHUNK_LINE = 4_096
"""Bytes the line with the size of a chunk may have, extensions included."""

_TARGET = re.compile(r"[!-~]+")
_FRAMING_NAMES = frozenset(("content-length", "transfer-encoding"))
_STATUS_LINE = re.compile(r"HTTP/(1\.[0-9]) ([1-9][0-9][0-9])(?: ([^\r\n\0]*))?\r?\n")
# CRLF and LF in one search: a search for one could skip many of the other, again and again.
_EMPTY_LINE = re.compile(rb"\n\r?\n")
# Lengths of so many digits always fit a signed 64-bit integer; no real body is longer.
# Unlike the lines of a head, these end with CRLF only (RFC 9112, section 7.1): two hops must not
# disagree about the end of a chunk.
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_LENGTH = re.compile(r"[0-9]{1,18}")


class ResponseHead(NamedTuple):
    """The answer's status line and header fields; ``http_version`` is like ``"1.1"``.

    ``request``: the head of the request, if known: an answer may repeat its credentials.
    ``certificate``: the server's, in DER, for a 401 over TLS.
    """

    status: int
    reason: str
    headers: Headers
    http_version: str
    request: bytes = b""
    certificate: bytes = b""

    def __repr__(self) -> str:
        return f"ResponseHead({self.status}, {self.reason!r}, {self.headers!r})"


class BodyChunk(NamedTuple):
    """Some bytes of the body, never empty, without their framing."""

    data: bytes


class ResponseEnd(NamedTuple):
    """The answer is complete; ``keep_alive`` says whether another request may be sent."""

    trailers: Headers
    keep_alive: bool


class Fault(NamedTuple):
    """The connection can no longer be used; ``ResponseParser.fault`` has the exception to raise."""

    reason: str


Event = Union[ResponseHead, BodyChunk, ResponseEnd, Fault]

_NO_TRAILERS = Headers()
_PLAIN_END = ResponseEnd(_NO_TRAILERS, True)


def encode_request(method: str, target: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """Return the bytes of one request without a body.

    ``target`` is the path with its query, an absolute URL for a proxy, or ``host:port`` for
    CONNECT, already percent-encoded. ``headers`` must include ``Host``. Raises `UsageError` when a
    part holds characters that HTTP does not allow there, or the headers give a body's length.
    """
    if not TOKEN.fullmatch(method):
        raise UsageError(f"{method!r} cannot be an HTTP method")
    if not _TARGET.fullmatch(target):
        raise UsageError("the HTTP request target is empty or has characters to percent-encode")
    parts = [f"{method} {target} HTTP/1.1\r\n".encode("ascii")]
    for name, value in headers:
        if name.lower() in _FRAMING_NAMES:
            raise UsageError(f"the HTTP header {name} follows from the body; leave it out")
        parts.append(encode_header(name, value))
    return b"".join([*parts, b"\r\n"])


class ResponseParser:
    """A parser of the bytes that one connection receives into events, one request at a time.

    Call `start` before writing the first byte of a request, `feed` with whatever arrives, and
    `feed_eof` when the peer has closed. No bytes make it raise: a breach of the protocol, also
    bytes that answer no request, gives one `Fault`, after which everything is ignored.

    ``fault``: the exception for the `Fault`, ready to be raised: `ProtocolViolation` for bad bytes,
    `ConnectionLost` for an answer cut short. ``answer_begun``: whether any byte of the answer to
    the latest request has arrived.
    """

    def __init__(self) -> None:
        self.fault: ProtocolViolation | ConnectionLost | None = None
        self.answer_begun: bool = False
        # The state of the machine is the function that reads next. It takes the bytes and a
        # position in them, and returns the position up to which it has consumed them.
        self._read: _Reader = ResponseParser._read_unsolicited
        self._method = ""
        self._keep_alive = True
        self._buffer = bytearray()  # what has arrived of a head, a chunk line or the trailers
        self._remaining = 0  # bytes still missing from the body or the chunk
        # The last head of an answer to a POST: its bytes, and how they were read. The next often
        # begins with the same bytes, which need not be checked again.
        self._kept: tuple[bytes, ResponseHead, bool, _Reader, int] | None = None
        self.trailing: bytes = b""
        """The bytes after a 101, or a 2xx to CONNECT, which belong to another protocol."""

    @property
    def reusable(self) -> bool:
        """Whether `start` may be called: no response is due, and the connection is intact."""
        return self._keep_alive and self._read is ResponseParser._read_unsolicited

    def start(self, method: str) -> bool:
        """Expect the answer to a request. Return False, and do not, when it is not `reusable`."""
        if not self.reusable:
            return False
        self._method = method
        self.answer_begun = False
        self._read = ResponseParser._read_head
        return True

    def feed(self, data: bytes) -> list[Event]:
        """Parse the next received bytes; return the events they complete."""
        events: list[Event] = []
        position = 0
        try:
            while position < len(data):
                position = self._read(self, data, position, events)
        except ProtocolViolation as violation:
            self._fail(violation, events)
        return events

    def feed_eof(self) -> list[Event]:
        """Handle the end of the stream; a fault here is a `ConnectionLost`."""
        events: list[Event] = []
        if self._read is ResponseParser._read_until_close:
            self._finish(b"", 0, _NO_TRAILERS, events)
        elif self._read in _CUT_SHORT:
            closed = "the server closed the connection"
            missing = _CUT_SHORT[self._read].format(missing=self._remaining)
            if self.answer_begun:
                lost = ConnectionLost(f"{closed} during its answer: {missing}")
            else:
                lost = ConnectionLost(f"{closed} without answering", LossKind.DROPPED)
            self._fail(lost, events)
        self._keep_alive = False
        return events

    def _fail(self, cause: ProtocolViolation | ConnectionLost, events: list[Event]) -> None:
        self.fault = cause.with_traceback(None)  # it would keep this parser and its data alive
        self._buffer.clear()
        self._read = ResponseParser._ignore
        events.append(Fault(cause.reason))

    def _ignore(self, data: bytes, position: int, events: list[Event]) -> int:
        return len(data)

    def _read_unsolicited(self, data: bytes, position: int, events: list[Event]) -> int:
        if not data[position:].strip(b"\r\n"):
            return len(data)
        shown = data[position : position + 40]
        raise ProtocolViolation(f"the server sent bytes that answer no request: {shown!r}")

    # The head

    def _read_head(self, data: bytes, position: int, events: list[Event]) -> int:
        begin = position
        if self._buffer:
            begin = len(data)  # the head began in other data
        elif self._kept is not None and self._method == "POST":
            known, head, keep_alive, read, remaining = self._kept
            if data.startswith(known, begin):
                self.answer_begun = True
                self._keep_alive, self._read, self._remaining = keep_alive, read, remaining
                events.append(head)
                return begin + len(known)
        if not self._buffer:
            while data[position] in b"\r\n":  # an empty line before an answer does no harm
                position += 1
                if position == len(data):
                    return position
            self.answer_begun = True
        text, position = self._take_section(data, position)
        if text is None:
            if self._buffer[:5] != b"HTTP/"[: len(self._buffer)]:
                raise _not_http(self._buffer.decode("latin-1"))
            return position
        status_line = _STATUS_LINE.match(text)
        if status_line is None:
            raise _not_http(text)
        version, code, reason = status_line.groups("")
        status = int(code)
        headers = parse_fields(text[status_line.end() : -2 if text[-2] == "\r" else -1])
        if status < 200 and status != 101:  # an interim response; the final one follows
            return position
        head = ResponseHead(status, reason, headers, version)
        events.append(head)
        known = data[begin:position]
        position = self._begin_body(head, data, position, events)
        has_body = self._read in _BODY_READERS and self._method == "POST"
        if has_body and 0 < len(known) <= _MAX_KEPT_HEAD:
            self._kept = (known, head, self._keep_alive, self._read, self._remaining)
        return position

    def _begin_body(
        self, head: ResponseHead, data: bytes, position: int, events: list[Event]
    ) -> int:
        """Decide where the body ends (RFC 9112, section 6.3)."""
        status, _reason, headers, version = head[:4]
        self._keep_alive = _keeps_alive(version, headers.get("connection"))
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if status == 101 or (self._method == "CONNECT" and status < 300):
            self._read = ResponseParser._read_trailing
            events.append(ResponseEnd(_NO_TRAILERS, False))
        elif self._method == "HEAD" or status in (204, 304):
            if status == 204 and not _FRAMING_NAMES.isdisjoint(headers):
                self._keep_alive = False  # not allowed, and a body may follow in spite of it
            elif length is not None:
                _content_length(length)  # of a body that is not sent, but one length all the same
            return self._finish(data, position, _NO_TRAILERS, events)
        elif coding is not None:
            if coding.strip(", \t").lower() != "chunked":
                reason = f"the server used an unsupported Transfer-Encoding: {coding[:40]!r}"
                raise ProtocolViolation(reason)
            # With both lengths, or chunks from HTTP/1.0, another hop may have seen another end of
            # the body: such a connection is closed afterwards (RFC 9112, section 6.1).
            if length is not None or version == "1.0":
                self._keep_alive = False
            self._read = ResponseParser._read_chunk_line
        elif length is not None:
            self._remaining = _content_length(length)
            self._read = ResponseParser._read_sized
            if not self._remaining:
                return self._finish(data, position, _NO_TRAILERS, events)
        else:
            self._keep_alive = False
            self._read = ResponseParser._read_until_close
        return position

    # The body

    def _read_sized(self, data: bytes, position: int, events: list[Event]) -> int:
        chunk = data[position : position + self._remaining]
        events.append(BodyChunk(chunk))
        self._remaining -= len(chunk)
        position += len(chunk)
        return position if self._remaining else self._finish(data, position, _NO_TRAILERS, events)

    def _read_until_close(self, data: bytes, position: int, events: list[Event]) -> int:
        events.append(BodyChunk(data[position:]))
        return len(data)

    def _read_chunk_line(self, data: bytes, position: int, events: list[Event]) -> int:
        if not self._buffer:
            if data.startswith(b"0\r\n\r\n", position):
                return self._finish(data, position + 5, _NO_TRAILERS, events)
            found = _CHUNK_LINE.match(data, position, position + MAX_CHUNK_LINE)
            if found is not None:
                return self._begin_chunk(found)
        line, position = self._take_line(data, position, MAX_CHUNK_LINE)
        if line:
            found = _CHUNK_LINE.fullmatch(line)
            if found is None:
                raise ProtocolViolation(f"the server sent a bad chunk size: {line[:40]!r}")
            self._begin_chunk(found)
        return position

    def _begin_chunk(self, found: re.Match[bytes]) -> int:
        self._remaining = int(found[1], 16)
        self._read = (
            ResponseParser._read_chunk if self._remaining else ResponseParser._read_trailers
        )
        return found.end()

    def _read_chunk(self, data: bytes, position: int, events: list[Event]) -> int:
        chunk = data[position : position + self._remaining]
        events.append(BodyChunk(chunk))
        self._remaining -= len(chunk)
        position += len(chunk)
        if self._remaining:
            return position
        if data.startswith(b"\r\n", position):
            self._read = ResponseParser._read_chunk_line
            return position + 2
        self._read = ResponseParser._read_chunk_end
        return position

    def _read_chunk_end(self, data: bytes, position: int, events: list[Event]) -> int:
        line, position = self._take_line(data, position, len(b"\r\n"))
        if line:
            if line != b"\r\n":
                raise ProtocolViolation("the server sent a chunk longer than the size it gave")
            self._read = ResponseParser._read_chunk_line
        return position

    def _read_trailers(self, data: bytes, position: int, events: list[Event]) -> int:
        if not self._buffer:
            if data.startswith(b"\r\n", position):
                return self._finish(data, position + 2, _NO_TRAILERS, events)
            # With the line end that came before it, an empty section ends like any other.
            self._buffer += b"\n"
        text, position = self._take_section(data, position)
        if text is None:
            return position
        trailers = parse_fields(text[1 : -2 if text[-2] == "\r" else -1])
        return self._finish(data, position, trailers, events)

    def _finish(self, data: bytes, position: int, trailers: Headers, events: list[Event]) -> int:
        if data[position:].strip(b"\r\n"):  # bytes that answer no request
            self._keep_alive = False
        self._read = ResponseParser._read_unsolicited
        is_plain = self._keep_alive and trailers is _NO_TRAILERS
        events.append(_PLAIN_END if is_plain else ResponseEnd(trailers, self._keep_alive))
        return position

    def _read_trailing(self, data: bytes, position: int, events: list[Event]) -> int:
        self.trailing += data[position:]
        return len(data)

    # Pieces that may arrive in parts

    def _take_section(self, data: bytes, position: int) -> tuple[str | None, int]:
        """Consume everything up to and with an empty line; None while that is missing."""
        held = len(self._buffer)
        if held:
            self._buffer += data[position:]
        window: bytes | bytearray = self._buffer or data
        begin = 0 if held else position
        found = _EMPTY_LINE.search(window, max(begin, begin + held - 2))
        end = found.end() if found else 0
        if (end or len(window)) - begin > MAX_HEAD:
            raise ProtocolViolation(f"the server sent more than {MAX_HEAD} bytes of header fields")
        if not end:
            if not held:
                self._buffer += data[position:]
            return None, len(data)
        text = window[begin:end].decode("latin-1")
        self._buffer.clear()
        return text, position + end - held - begin

    def _take_line(self, data: bytes, position: int, limit: int) -> tuple[bytes, int]:
        """Consume everything up to and with a line end; empty while that is missing."""
        end = data.find(b"\n", position, position + limit) + 1
        line = data[position : end or position + limit]
        if self._buffer:
            line = bytes(self._buffer) + line
            self._buffer.clear()
        if len(line) > limit or (not end and len(line) == limit):
            raise ProtocolViolation(f"the server sent a bad line between chunks: {line[:40]!r}")
        if end:
            return line, end
        self._buffer += line
        return b"", len(data)


_Reader = Callable[[ResponseParser, bytes, int, "list[Event]"], int]

_BODY_READERS = (ResponseParser._read_sized, ResponseParser._read_chunk_line)

# The missing part of the response when the peer closes, by the part to be read next.
_CUT_SHORT: dict[_Reader, str] = {
    ResponseParser._read_head: "its head is incomplete",
    ResponseParser._read_sized: "{missing} bytes of its body are missing",
    ResponseParser._read_chunk: "{missing} bytes of a chunk, and the last chunk, are missing",
    ResponseParser._read_chunk_end: "the last chunk is missing",
    ResponseParser._read_chunk_line: "the last chunk is missing",
    ResponseParser._read_trailers: "the end of its trailers is missing",
}


def _not_http(text: str) -> ProtocolViolation:
    reason = f"the server does not answer in HTTP/1: it sent {text[:40]!r}"
    return ProtocolViolation(reason, ViolationKind.NOT_HTTP)


def _keeps_alive(version: str, connection: str | None) -> bool:
    """Whether the connection outlives this answer (RFC 9112, section 9.3)."""
    if connection is None:
        return version != "1.0"
    options = [option.strip() for option in connection.lower().split(",")]
    return "close" not in options and (version != "1.0" or "keep-alive" in options)


def _content_length(text: str) -> int:
    """Read the length; several are the same as one if they agree (RFC 9110, section 8.6)."""
    lengths = {length.strip(" \t") for length in text.split(",")} if "," in text else (text,)
    length, *others = lengths
    if others or not _LENGTH.fullmatch(length):
        raise ProtocolViolation(f"the server sent a bad Content-Length: {text[:40]!r}")
    return int(length)


class GatheredResponse:
    """A response as far as it has arrived. Start its ``parser`` before the request is written.

    ``head``: None until it is complete. ``body``: the bytes so far, ``longest_body`` at most.
    ``is_complete``: whether the response has ended properly.
    """

    def __init__(self, longest_body: int = 0) -> None:
        self.parser: ResponseParser = ResponseParser()
        self.head: ResponseHead | None = None
        self.body: bytearray = bytearray()
        self.is_complete: bool = False
        self._longest_body = longest_body

    def feed(self, data: bytes) -> ResponseHead | None:
        """Parse the next bytes; return the head when they complete it."""
        completed = None
        for event in self.parser.feed(data):
            if isinstance(event, BodyChunk):
                self.body += event.data[: max(self._longest_body - len(self.body), 0)]
            elif isinstance(event, ResponseHead):
                completed = self.head = event
            elif isinstance(event, ResponseEnd):
                self.is_complete = True
        return completed


_REQUEST_LINE = re.compile(r"([A-Z]{1,20}) (/[!-~]*) HTTP/1\.[01]\r?\n")


class RequestHead(NamedTuple):
    """A request line and its fields. ``length``: the bytes of the body that follows."""

    method: str
    target: str
    headers: Headers
    length: int


def parse_request_head(head: bytes) -> RequestHead:
    """Parse everything up to the empty line, that line included.

    Raises `ProtocolViolation` unless it is for a path, with one ``Host`` and its body's length.
    """
    text = head.decode("latin-1")
    line = _REQUEST_LINE.match(text)
    if line is None:
        raise ProtocolViolation("not a request for a path in HTTP/1")
    headers = parse_fields(text[line.end() :].rstrip("\r\n") + "\r\n")
    if len(headers.get_all("host")) != 1:  # RFC 9112, section 3.2
        raise ProtocolViolation("a request names one Host")
    if "transfer-encoding" in headers:
        raise ProtocolViolation("a request says how long its body is")
    length = headers.get("content-length", "0")
    if not _LENGTH.fullmatch(length):
        raise ProtocolViolation("a Content-Length is a number")
    return RequestHead(line[1], line[2], headers, int(length))


def encode_response_head(status: int, headers: Iterable[tuple[str, str]]) -> bytes:
    """Return the status line, the fields and the empty line. Raises `UsageError`."""
    from http import HTTPStatus

    first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode("ascii")
    return b"".join([first, *(encode_header(*header) for header in headers), b"\r\n"])
