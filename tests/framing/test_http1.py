"""HTTP/1.1 requests and answers: F-WIRE-5."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.errors import ProtocolViolation, UsageError
from mcpclient.framing.http1 import (
    MAX_CHUNK_LINE,
    MAX_HEAD,
    BodyChunk,
    Event,
    Fault,
    ResponseEnd,
    ResponseHead,
    ResponseParser,
    encode_request,
)
from tests.support.properties import examples
from tests.support.tables import each_row

from .chunkings import chunkings, cuts, split


class Outcome(NamedTuple):
    """The sum of a sequence of events, whatever chunks it came in."""

    status: int | None = None
    body: bytes = b""
    keep_alive: bool | None = None  # None: the answer did not end
    fault: str = ""
    trailing: bytes = b""
    headers: dict[str, str] | None = None
    trailers: dict[str, str] | None = None


def outcome(parser: ResponseParser, events: list[Event]) -> Outcome:
    found = Outcome(trailing=parser.trailing)
    for event in events:
        if isinstance(event, ResponseHead):
            assert found.status is None
            found = found._replace(status=event.status, headers=dict(event.headers))
        elif isinstance(event, BodyChunk):
            assert found.status is not None and found.keep_alive is None and event.data
            found = found._replace(body=found.body + event.data)
        elif isinstance(event, ResponseEnd):
            assert found.keep_alive is None and not found.fault
            found = found._replace(keep_alive=event.keep_alive, trailers=dict(event.trailers))
        else:
            assert not found.fault
            assert parser.fault is not None
            assert parser.fault.reason == event.reason
            found = found._replace(fault=event.reason)
    assert bool(found.fault) == (parser.fault is not None)
    return found


def receive(pieces: list[bytes], method: str = "GET", eof: bool = True) -> Outcome:
    parser = ResponseParser()
    parser.start(method)
    events = [event for piece in pieces for event in parser.feed(piece)]
    if eof:
        events += parser.feed_eof()
    return outcome(parser, events)


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


# Bytes of a faulty answer; the status if its head is good, the body so far, part of the reason.
FAULTY: dict[str, tuple[bytes, Outcome]] = {
    "another protocol": (b"SSH-2.0-OpenSSH_9.6\r\n", Outcome(fault="not answer in HTTP/1")),
    "a TLS alert": (b"\x15\x03\x01\x00\x02\x02\x46", Outcome(fault="not answer in HTTP/1")),
    "HTTP/2": (b"HTTP/2 200 OK\r\n\r\n", Outcome(fault="not answer in HTTP/1")),
    "HTTP/0.9": (b"<html>\r\n\r\n", Outcome(fault="not answer in HTTP/1")),
    "status of two digits": (b"HTTP/1.1 20 OK\r\n\r\n", Outcome(fault="not answer in HTTP/1")),
    "status of four digits": (b"HTTP/1.1 2000 OK\r\n\r\n", Outcome(fault="not answer in HTTP/1")),
    "status below 100": (b"HTTP/1.1 099 OK\r\n\r\n", Outcome(fault="not answer in HTTP/1")),
    "NUL in the reason": (b"HTTP/1.1 200 a\0\r\n\r\n", Outcome(fault="not answer in HTTP/1")),
    "space before colon": (OK + b"a : b\r\n\r\n", Outcome(fault="bad header name: 'a '")),
    "space before field": (OK + b" a: b\r\n\r\n", Outcome(fault="white space before")),
    "no colon": (OK + b"a\r\n\r\n", Outcome(fault="without a colon: 'a'")),
    "bare CR": (OK + b"a: b\rc: d\r\n\r\n", Outcome(fault="bare CR")),
    "too many fields": (OK + b"a: b\r\n" * 257 + b"\r\n", Outcome(fault="more than 256")),
    **{
        f"length {length!r}": (
            OK + b"Content-Length: " + length + b"\r\n\r\n",
            Outcome(200, fault="bad Content-Length"),
        )
        for length in (
            b"",
            b"-1",
            b"+1",
            b"1.0",
            b"0x1",
            b"1_0",
            b"\xb2",
            b"5, 6",
            b"5,",
            b"1\r\nContent-Length: 2",
            b"9" * 19,
            b"9" * 5000,
        )
    },
    **{
        f"chunk size {line!r}": (
            CHUNKED + b"1\r\nx\r\n" + line + b"\r\n",
            Outcome(200, b"x", fault=reason),
        )
        for line, reason in (
            (b"", "bad chunk size"),
            (b"-1", "bad chunk size"),
            (b"0x1", "bad chunk size"),
            (b"1_0", "bad chunk size"),
            (b" 1", "bad chunk size"),
            (b"g", "bad chunk size"),
            (b"1 1", "bad chunk size"),
            (b"1;a\rb", "bad chunk size"),
            (b"f" * 16, "bad chunk size"),
            (b"1;" + b"a" * MAX_CHUNK_LINE, "bad line between chunks"),
        )
    },
    "chunk too long": (CHUNKED + b"2\r\nabc\r\n", Outcome(200, b"ab", fault="bad line between")),
    "chunk one too long": (CHUNKED + b"2\r\nabc\n", Outcome(200, b"ab", fault="longer than")),
    "chunk without line end": (
        CHUNKED + b"2\r\nab0\r\n\r\n",
        Outcome(200, b"ab", fault="bad line between chunks"),
    ),
    "bad trailer": (CHUNKED + b"0\r\na : b\r\n\r\n", Outcome(200, fault="bad header name")),
    "other transfer coding": (
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
        Outcome(200, fault="unsupported Transfer-Encoding: 'gzip, chunked'"),
    ),
    "chunked twice": (
        OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n",
        Outcome(200, fault="Transfer-Encoding"),
    ),
    "unsolicited": (
        OK + b"Content-Length: 2\r\n\r\nhi" + OK + b"\r\n",
        Outcome(200, b"hi", False, fault="answer no request: b'HTTP"),
    ),
}


def agrees(found: Outcome, expected: Outcome) -> bool:
    """Compare the fields of the case; a reason is found if it contains the expected words."""
    return (
        found.status == expected.status
        and found.body == expected.body
        and found.trailing == expected.trailing
        and expected.headers in (None, found.headers)
        and expected.trailers in (None, found.trailers)
    )


_TWO = b"Content-Length: 2\r\n\r\nhi"
_X = b"1\r\nx\r\n0\r\n\r\n"
_OLD = b"HTTP/1.0 200 OK\r\n"

ANSWERS: dict[str, tuple[bytes, Outcome]] = {
    "equal lengths": (OK + b"content-length: 2\r\n" * 2 + b"\r\nhi", Outcome(200, b"hi", True)),
    "length list": (OK + b"content-length: 2, 2\r\n\r\nhi", Outcome(200, b"hi", True)),
    "no headers": (OK + b"\r\nhello", Outcome(200, b"hello", False, headers={})),
    "no reason, no space": (b"HTTP/1.1 404\r\n" + _TWO, Outcome(404, b"hi", True)),
    "bare line feeds": (
        b"HTTP/1.1 200 OK\na: b\nTransfer-Encoding: chunked\n\n3\r\nabc\r\n0\r\nt: 1\n\n",
        Outcome(200, b"abc", True, trailers={"t": "1"}),
    ),
    "empty lines before": (b"\r\n\r\n" + OK + _TWO, Outcome(200, b"hi", True)),
    "folded": (OK + b"a: one\r\n two\r\n" + _TWO, Outcome(200, b"hi", True)),
    "chunk sizes": (
        CHUNKED + b'00a \t;e="q;"\r\n0123456789\r\nA\r\n0123456789\r\n000;last\r\n\r\n',
        Outcome(200, b"0123456789" * 2, True),
    ),
    "trailers": (
        CHUNKED + b"1\r\nx\r\n0\r\nDigest: abc\r\nB: 1\r\n 2\r\n\r\n",
        Outcome(200, b"x", True, trailers={"digest": "abc", "b": "1 2"}),
    ),
    "capitals": (OK + b"TRANSFER-ENCODING: ,Chunked\r\n\r\n" + _X, Outcome(200, b"x", True)),
    "chunked and length": (
        OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + _X,
        Outcome(200, b"x", False),
    ),
    "chunked in HTTP/1.0": (
        _OLD + b"Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + _X,
        Outcome(200, b"x", False),
    ),
    "HTTP/1.0": (_OLD + _TWO, Outcome(200, b"hi", False)),
    "HTTP/1.0 keeps": (_OLD + b"Connection: Keep-Alive\r\n" + _TWO, Outcome(200, b"hi", True)),
    "close": (OK + b"Connection: x, CLOSE ,keep-alive\r\n" + _TWO, Outcome(200, b"hi", False)),
    "other options": (OK + b"Connection: x-close\r\n" + _TWO, Outcome(200, b"hi", True)),
    "204 with a length": (b"HTTP/1.1 204 x\r\nContent-Length: 0\r\n\r\n", Outcome(204, b"", False)),
    "304": (b"HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n", Outcome(304, b"", True)),
    "100 and 103": (
        b"HTTP/1.1 100 x\r\n\r\nHTTP/1.1 103 x\r\nLink: x\r\n\r\n\r\n" + OK + _TWO,
        Outcome(200, b"hi", True),
    ),
    "101": (b"HTTP/1.1 101 x\r\n\r\n\r\n\x81", Outcome(101, b"", False, trailing=b"\r\n\x81")),
}


@each_row("name", ANSWERS)
def test_good_answers_in_every_chunking(name: str) -> None:
    """F-WIRE-5: RFC 9112 framing of answers, however the network cuts them."""
    wire, expected = ANSWERS[name]
    for pieces in chunkings(wire):
        found = receive(pieces)
        assert agrees(found, expected), (pieces, found)
        assert (found.keep_alive, found.fault) == (expected.keep_alive, "")


@each_row(("method", "status"), [("HEAD", 200), ("GET", 304), ("GET", 200)])
def test_conflicting_lengths_are_a_fault_even_without_a_body(method: str, status: int) -> None:
    """F-WIRE-5: RFC 9112, section 6.3."""
    for lengths in ("5\r\nContent-Length: 6", "5, 6", "-1"):
        wire = f"HTTP/1.1 {status} x\r\nContent-Length: {lengths}\r\n\r\n".encode()
        assert "Content-Length" in receive([wire], method, eof=False).fault


@each_row("name", FAULTY)
def test_faulty_answers_in_every_chunking(name: str) -> None:
    """F-WIRE-5: bad bytes give one fault, after everything good before them."""
    wire, expected = FAULTY[name]
    for pieces in chunkings(wire) if len(wire) < 500 else ([wire], split(wire, range(len(wire)))):
        found = receive(pieces, eof=False)
        assert agrees(found, expected), (pieces, found)
        assert found.fault
        if len(pieces) == 1:  # otherwise it may show sooner, and in other words
            assert expected.fault in found.fault
            assert found.keep_alive == expected.keep_alive


def test_start_needs_a_free_connection() -> None:
    """F-WIRE-5: one request at a time, and none on a connection that ended."""
    parser = ResponseParser()
    assert parser.start("GET")
    assert not parser.start("GET")
    parser.feed(OK + b"Connection: close\r\nContent-Length: 0\r\n\r\n")
    assert not parser.start("GET")


def test_unsolicited_bytes_end_an_idle_connection() -> None:
    """F-WIRE-5: what arrives between requests is never taken for an answer."""
    parser = ResponseParser()
    assert parser.feed(b"\r\n\n") == []
    assert parser.reusable
    (event,) = parser.feed(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    assert isinstance(event, Fault)
    assert "answer no request: b'HTTP/1.1 408 Request Timeout" in event.reason
    assert isinstance(parser.fault, ProtocolViolation)
    assert not parser.reusable
    assert parser.fault.__traceback__ is None
    assert parser.feed(b"HTTP/1.1 200 OK\r\n\r\n") == []
    assert parser.feed_eof() == []


def test_the_size_of_a_head_is_limited() -> None:
    """F-WIRE-5: header limits, for the head and for the trailers, in any chunking."""
    for before in (OK, CHUNKED + b"0\r\n"):
        empty = len(OK if before == OK else b"\n") + len(b"a: \r\n\r\n")
        fits = before + b"a: " + b"x" * (MAX_HEAD - empty) + b"\r\n\r\n"
        over = before + b"a: " + b"x" * (MAX_HEAD - empty + 1) + b"\r\n\r\n"
        for step in (1, 1000, 10**6):
            assert not receive(split(fits, range(0, len(fits), step))).fault
            found = receive(split(over, range(0, len(over), step)), eof=False)
            assert f"more than {MAX_HEAD} bytes" in found.fault


def test_body_bytes_are_passed_on_without_a_copy() -> None:
    """F-WIRE-5: large bodies cost no copying: a piece within a body is handed on as it is."""
    piece = b"x" * 65536
    for head in (OK + b"Content-Length: 655360\r\n\r\n", CHUNKED + b"a0000\r\n", OK + b"\r\n"):
        parser = ResponseParser()
        parser.start("GET")
        parser.feed(head)
        for _ in range(10):
            event = parser.feed(piece)[0]
            assert isinstance(event, BodyChunk)
            assert event.data is piece


@each_row(
    ("method", "target", "headers"),
    [
        ("", "/", []),
        ("GE T", "/", []),
        ("GET\r\n", "/", []),
        ("GET", "", []),
        ("GET", "/a b", []),
        ("GET", "/\r\nHost: evil", []),
        ("GET", "/\xe9", []),
        ("GET", "/\x7f", []),
        ("GET", "/", [("a b", "c")]),
        ("GET", "/", [("a", "b\r\nc: d")]),
        ("GET", "/", [("Content-Length", "3")]),
        ("GET", "/", [("transfer-encoding", "chunked")]),
    ],
)
def test_encode_request_refuses(method: str, target: str, headers: list[tuple[str, str]]) -> None:
    """F-WIRE-5: nothing in a request can turn it into another one."""
    with pytest.raises(UsageError):
        encode_request(method, target, headers)


HEADS = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: 1\r\n\r\n",
    b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(HEADS),
            st.sampled_from(["POST", "GET", "HEAD"]),
            st.one_of(st.just([]), cuts),
        ),
        max_size=6,
    )
)
@examples(100)
def test_an_answer_is_read_alike_whatever_came_before_it(
    answers: list[tuple[bytes, str, list[int]]],
) -> None:
    """F-WIRE-5: also where its head repeats the head of an answer to another method."""
    used = ResponseParser()
    for head, method, places in answers:
        body = b"3\r\nabc\r\n0\r\n\r\n" if b"chunked" in head else b"abc"
        pieces = split(head if method == "HEAD" else head + body, places)
        found = []
        for parser in (used, ResponseParser()):
            parser.start(method)
            found.append(outcome(parser, [event for each in pieces for event in parser.feed(each)]))
        assert found[0] == found[1]
        assert found[0].keep_alive is True
