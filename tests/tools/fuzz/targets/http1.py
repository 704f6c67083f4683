"""Answers in HTTP/1.1: the same heads and bodies in any chunking, and nothing after a fault."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from mcpclient.framing.headers import Headers
from mcpclient.framing.http1 import (
    BodyChunk,
    Event,
    Fault,
    ResponseEnd,
    ResponseHead,
    ResponseParser,
)

from ..inputs import same_however_cut

METHODS = ("GET", "HEAD", "CONNECT")


class Answer(NamedTuple):
    """The result of one answer. When a broken rest is noticed, and how it is called, may differ."""

    heads: list[ResponseHead]
    body: bytes
    trailers: Headers | None
    trailing: bytes
    is_faulty: bool


def target(data: bytes) -> None:
    for method in METHODS:
        same_however_cut(data, partial(read, method=method))


def read(chunks: list[bytes], method: str) -> Answer:
    parser = ResponseParser()
    parser.start(method)
    events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.feed_eof()
    assert not parser.reusable
    check_order(events)
    faults = [event for event in events if isinstance(event, Fault)]
    assert (
        len(faults) == (parser.fault is not None) and faults == events[len(events) - len(faults) :]
    )
    ends = [event for event in events if isinstance(event, ResponseEnd)]
    return Answer(
        [event for event in events if isinstance(event, ResponseHead)],
        b"".join([event.data for event in events if isinstance(event, BodyChunk)]),
        ends[0].trailers if ends else None,
        bytes(parser.trailing),
        bool(faults),
    )


def check_order(events: list[Event]) -> None:
    """One head, pieces of the body, one end."""
    steps = {ResponseHead: 1, BodyChunk: 2, ResponseEnd: 3, Fault: 4}
    order = [steps[type(event)] for event in events]
    assert order == sorted(order)
    assert all(order.count(step) <= 1 for step in (1, 3, 4))
    assert all(event.data for event in events if isinstance(event, BodyChunk))
