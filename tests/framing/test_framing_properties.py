"""Whatever is written is read back, however the network cuts it: every framer.

That no bytes at all raise, and that cuts change nothing, is also said by the targets of
``tests/tools/fuzz``, which meet other bytes.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from mcpclient.framing.headers import Headers, encode_header
from mcpclient.framing.http1 import BodyChunk, Event, ResponseEnd, ResponseHead, ResponseParser
from mcpclient.framing.websocket_frames import DeflateParameters, MessageCodec
from tests.support.properties import examples
from tests.support.strategies import field_values, tokens

from .chunkings import cuts, split

bodies = st.binary(max_size=60)


fields = st.lists(st.tuples(tokens, field_values), max_size=5)


class Answer(NamedTuple):
    """One answer: as it is written, and its meaning."""

    wire: bytes
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    trailers: list[tuple[str, str]]
    keeps_alive: bool


def as_fields(pairs: list[tuple[str, str]]) -> bytes:
    return b"".join([encode_header(name, value) for name, value in pairs])


def plain_names(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(f"x-{name}", value) for name, value in pairs]


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    status = draw(st.sampled_from([200, 299, 400, 404, 500, 599]))
    headers, trailers = plain_names(draw(fields)), list[tuple[str, str]]()
    body, way = draw(bodies), draw(st.sampled_from(["sized", "chunked", "until close"]))
    if way == "sized":
        headers.append(("Content-Length", str(len(body))))
        wire = body
    elif way == "chunked":
        headers.append(("Transfer-Encoding", "chunked"))
        trailers = plain_names(draw(fields))
        extension = draw(st.sampled_from([b"", b";a", b' ; a="b;c"', b" \t"]))
        chunks = [chunk for chunk in split(body, draw(cuts)) if chunk]
        wire = b"".join([b"%x%s\r\n%s\r\n" % (len(chunk), extension, chunk) for chunk in chunks])
        wire += b"0\r\n" + as_fields(trailers) + b"\r\n"
    else:
        wire = body
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * draw(st.integers(0, 2))
    head = f"HTTP/1.1 {status} ".encode() + b"\r\n" + as_fields(headers) + b"\r\n"
    return Answer(interim + head + wire, status, headers, body, trailers, way != "until close")


@examples(50)
@given(st.lists(answers(), min_size=1, max_size=3), cuts)
def test_http_answers(expected: list[Answer], places: list[int]) -> None:
    """F-WIRE-5: answers on one connection, for as long as it can be kept."""
    parser = ResponseParser()
    for answer in expected:
        parser.start("GET")
        found: list[Event] = []
        for chunk in split(answer.wire, places):
            found += parser.feed(chunk)
        if not answer.keeps_alive:
            found += parser.feed_eof()
        head = next(event for event in found if isinstance(event, ResponseHead))
        assert (head.status, head.headers) == (answer.status, Headers(answer.headers))
        pieces = [event.data for event in found if isinstance(event, BodyChunk)]
        assert b"".join(pieces) == answer.body
        assert found[-1] == ResponseEnd(Headers(answer.trailers), answer.keeps_alive)
        assert parser.reusable is answer.keeps_alive
        if not parser.reusable:
            break


@examples(50)
@given(st.lists(st.binary(max_size=80), max_size=4), st.booleans(), st.integers(9, 15), cuts)
def test_compressed_messages(
    payloads: list[bytes], forgets: bool, bits: int, places: list[int]
) -> None:
    """F-WIRE-6: the other side of the same agreement inflates the data that our side compresses."""
    deflater = MessageCodec(
        DeflateParameters(client_no_context_takeover=forgets, client_max_window_bits=bits)
    )
    inflater = MessageCodec(DeflateParameters(server_no_context_takeover=forgets))
    for payload in payloads:
        pieces: list[bytes] = []
        for chunk in split(deflater.deflate(payload), places):
            pieces += inflater.inflate(memoryview(chunk))
        assert b"".join([*pieces, *inflater.finish()]) == payload
