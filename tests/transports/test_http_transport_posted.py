"""A posted message until the server has taken it, and its response, which is read on a while."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from mcpclient.errors import ConnectionLost, HttpError, McpError
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

URL = parse_url("https://h/")
NOTE = messages.notification("notifications/initialized", None)
CALL = messages.request(5, "tools/list", None)
ACCEPTED = ResponseHead(202, "", Headers(), "1.1")


class Exchange:
    """A request under way."""

    url = URL
    aborted = False

    def abort(self) -> None:
        self.aborted = True


class Response(PostedMessage):
    """A message that notes when it was closed."""

    closed_at: float | None = None

    def receive(self) -> None:
        self._drain()

    def abort(self) -> None:
        super().abort()
        self.closed_at = asyncio.get_running_loop().time()


def posted(message: messages.Message) -> tuple[RecordingReceiver, Response, Exchange]:
    transport, exchange = StreamableHttpTransport(URL), Exchange()
    transport.receiver = receiver = RecordingReceiver()
    post = Response(transport, Outgoing(message))
    post.begin(cast(Sending, exchange))
    transport.posts[post.key] = cast(Any, post)
    return receiver, post, exchange


async def test_a_notification_has_been_sent_when_the_server_has_taken_it() -> None:
    """F-LIFE-4: a request has not: its answer says so."""
    _, note, _ = posted(NOTE)
    assert note.taken is not None and not note.taken.done()
    note.head_received(ACCEPTED)
    assert note.taken.done()
    assert posted(CALL)[1].taken is None


async def test_a_notification_that_is_not_taken_fails_in_time() -> None:
    """F-HTTP-13: nobody waits for it, so it has a limit of its own."""
    receiver, note, exchange = posted(NOTE)
    await asyncio.sleep(31)
    assert exchange.aborted and note.taken is not None and note.taken.done()
    [(request_id, error)] = receiver.failed
    assert request_id is None and isinstance(error, ConnectionLost)
    assert str(error) == "https://h/ did not accept a message within 30 s"


async def test_a_response_is_read_on_until_it_ends() -> None:
    """F-HTTP-3: and forgotten then, whatever its end."""
    _, call, exchange = posted(CALL)
    transport = call._transport
    call.receive()
    assert call in transport.draining and transport.posts
    call.abort()
    assert exchange.aborted and not transport.draining and not transport.posts


async def test_a_failure_is_reported_once_it_has_ended() -> None:
    """F-HTTP-7"""
    receiver, call, _ = posted(CALL)
    error: McpError = ConnectionLost("gone")
    call.fail(error)
    assert receiver.failed == [(5, error)]
    assert not call._transport.posts


async def test_a_refusal_without_an_end_fails_at_its_limit() -> None:
    """F-HTTP-7: what is kept of its body is enough, and nobody waits for the rest."""
    receiver, call, exchange = posted(CALL)
    call.head_received(ResponseHead(500, "", Headers(), "1.1"))
    for _ in range(2):
        call.body_received(b"x" * 40_000)
    [(request_id, error)] = receiver.failed
    assert request_id == 5 and isinstance(error, HttpError) and len(error.body) == 65_536
    assert exchange.aborted


# What is read on: little of it, and not for long


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
    responses = responses_of(StreamableHttpTransport(URL))
    assert [response.closed_at for response in responses] == [0, 0, None, None, None, None]
    await asyncio.sleep(31)
    assert [response.closed_at for response in responses[2:]] == [30] * 4


async def test_one_that_ends_by_itself_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-HTTP-3: and without a limit of time, one stays for as long as the server likes."""
    monkeypatch.setattr(LegacySseTransport, "most_draining", 1)
    transport = LegacySseTransport(URL)
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
    transport = LegacySseTransport(URL)
    transport.receiver = receiver = RecordingReceiver()
    note = Response(transport, Outgoing(messages.notification("vendor/note", None)))
    note.begin(cast(Sending, Exchange()))
    note.head_received(ACCEPTED)
    await asyncio.sleep(100)
    assert note.closed_at is None
    assert not receiver.failed
