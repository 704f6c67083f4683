"""A posted message until the server has taken it, and its response, which is read on a while."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from mcpclient.errors import ConnectionLost
from mcpclient.framing.uri import parse_url
from mcpclient.jsonrpc import messages
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.http_transport import PostedMessage
from mcpclient.transports.streamable_http import StreamableHttpTransport

from .receivers import RecordingReceiver

pytestmark = pytest.mark.virtual_time

URL = parse_url("https://h/")
NOTE = messages.notification("notifications/initialized", None)


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
    post.begin(cast(Any, exchange))
    transport.posts[post.key] = cast(Any, post)
    return receiver, post, exchange


async def test_a_notification_that_is_not_taken_fails_in_time() -> None:
    """F-HTTP-13: no caller waits for it, so it has a limit of its own."""
    receiver, note, exchange = posted(NOTE)
    await asyncio.sleep(31)
    assert exchange.aborted and note.taken is not None and note.taken.done()
    [(request_id, error)] = receiver.failed
    assert request_id is None and isinstance(error, ConnectionLost)
    assert str(error) == "https://h/ did not accept a message within 30 s"
