"""Responses that are read on after what they were for: few of them, and not for long."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from mcpclient.framing.headers import Headers
from mcpclient.framing.http1 import ResponseHead
from mcpclient.framing.uri import parse_url
from mcpclient.jsonrpc import messages
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.http_messages import Sending
from mcpclient.transports.http_transport import HttpTransport, PostedMessage
from mcpclient.transports.legacy_sse import LegacySseTransport
from mcpclient.transports.streamable_http import StreamableHttpTransport

from .receivers import RecordingReceiver

pytestmark = pytest.mark.virtual_time


class Exchange:
    """A request under way."""

    url = parse_url("http://h/")

    def abort(self) -> None:
        """Nothing is open."""


class Response(PostedMessage):
    """Notes when it was closed."""

    closed_at: float | None = None

    def receive(self) -> None:
        self._drain()

    def abort(self) -> None:
        super().abort()
        self.closed_at = asyncio.get_running_loop().time()


def responses_of(transport: HttpTransport[Any]) -> list[Response]:
    """Return six responses that are read on, each after the one before."""
    responses = []
    for number in range(6):
        response = Response(transport, Outgoing(messages.request(number, "tools/list", None)))
        response.receive()
        response.receive()  # more of it has come
        responses.append(response)
    return responses


async def test_the_oldest_of_too_many_is_closed() -> None:
    """F-HTTP-3: a server that ends none of them costs four sockets."""
    responses = responses_of(StreamableHttpTransport(parse_url("http://h/")))
    assert [response.closed_at for response in responses] == [0, 0, None, None, None, None]
    await asyncio.sleep(31)
    assert [response.closed_at for response in responses[2:]] == [30] * 4


async def test_one_that_ends_by_itself_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-HTTP-3: and without a limit of time, one stays for as long as the server likes."""
    monkeypatch.setattr(LegacySseTransport, "most_draining", 1)
    transport = LegacySseTransport(parse_url("http://h/"))
    first, second = (
        Response(cast("HttpTransport[Any]", transport), Outgoing(message))
        for message in (messages.request(1, "ping", None), messages.request(2, "ping", None))
    )
    first.receive()
    first._end()
    second.receive()
    await asyncio.sleep(10_000)
    assert (first.closed_at, second.closed_at) == (None, None)


async def test_a_notification_that_was_accepted_does_not_fail_later() -> None:
    """F-HTTP-13: some servers leave the receipt open for as long as they are busy with it."""
    transport = LegacySseTransport(parse_url("http://h/"))
    transport.receiver = receiver = RecordingReceiver()
    note = Response(transport, Outgoing(messages.notification("vendor/note", None)))
    note.begin(cast(Sending, Exchange()))
    note.head_received(ResponseHead(202, "", Headers(), "1.1"))
    await asyncio.sleep(100)
    assert note.closed_at is None
    assert not receiver.failed
