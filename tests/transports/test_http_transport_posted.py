"""A posted message until the server has taken it, as both HTTP transports have it."""

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
from mcpclient.transports.http_transport import HttpTransport, PostedMessage
from tests.transports.receivers import RecordingReceiver

pytestmark = pytest.mark.virtual_time

NOTE = messages.notification("notifications/initialized", None)
CALL = messages.request(5, "tools/list", None)


class Posting:
    """The transport that the messages of these tests belong to."""

    def __init__(self) -> None:
        self.draining: dict[object, None] = {}
        self.most_draining, self.drains_for = 4, 30.0
        self.receiver = RecordingReceiver()
        self.posts = self
        self.forgotten: list[object] = []

    def pop(self, key: object, default: object) -> None:
        self.forgotten.append(key)


class Sending:
    """A request under way."""

    url = parse_url("https://h/")
    aborted = False

    def abort(self) -> None:
        self.aborted = True


class Message(PostedMessage):
    """One that ends when a test says so."""

    def receive(self) -> None:
        self._take()
        self._drain()


def posted(message: messages.Message) -> tuple[Posting, Message, Sending]:
    transport, sending = Posting(), Sending()
    post = Message(cast("HttpTransport[Any]", transport), Outgoing(message))
    post.begin(sending)  # type: ignore[arg-type]
    return transport, post, sending


async def test_a_notification_has_been_sent_when_the_server_has_taken_it() -> None:
    """F-LIFE-4: a request has not: its answer says so."""
    _, note, _ = posted(NOTE)
    assert note.taken is not None and not note.taken.done()
    note.receive()
    assert note.taken.done()
    assert posted(CALL)[1].taken is None


async def test_a_notification_that_is_not_taken_fails_in_time() -> None:
    """F-HTTP-13: nobody waits for it, so it has a limit of its own."""
    transport, note, sending = posted(NOTE)
    await asyncio.sleep(31)
    assert sending.aborted and note.taken is not None and note.taken.done()
    [(request_id, error)] = transport.receiver.failed
    assert request_id is None and isinstance(error, ConnectionLost)
    assert str(error) == "https://h/ did not accept a message within 30 s"


async def test_a_response_is_read_on_until_it_ends() -> None:
    """F-HTTP-3: and forgotten then, whatever its end."""
    transport, call, sending = posted(CALL)
    call.receive()
    assert call in transport.draining
    call.abort()
    assert sending.aborted and not transport.draining
    assert transport.forgotten == [call.key]


async def test_a_failure_is_reported_once_it_has_ended() -> None:
    """F-HTTP-7"""
    transport, call, _ = posted(CALL)
    error: McpError = ConnectionLost("gone")
    call.fail(error)
    assert transport.receiver.failed == [(5, error)]
    assert transport.forgotten == [call.key]


async def test_a_refusal_without_an_end_fails_at_its_limit() -> None:
    """F-HTTP-7: what is kept of its body is enough, and nobody waits for the rest."""
    transport, call, sending = posted(CALL)
    call.head_received(ResponseHead(500, "", Headers(), "1.1"))
    for _ in range(2):
        call.body_received(b"x" * 40_000)
    [(request_id, error)] = transport.receiver.failed
    assert request_id == 5 and isinstance(error, HttpError) and len(error.body) == 65_536
    assert sending.aborted
