"""HTTP requests that are written down; see `net.recorder`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import McpError
from ..framing.http1 import ResponseHead
from .dialing import Dialer
from .http import Exchange, HttpClient, HttpRequest, ResponseSink
from .recorder import Recorder

if TYPE_CHECKING:
    from ..recording.transcript import HttpChannel


def http_client(dialer: Dialer) -> HttpClient:
    """Return an HTTP client, one that records when its dialer has a recorder."""
    if dialer.recorder is None:
        return HttpClient(dialer)
    return RecordedHttpClient(dialer, dialer.recorder)


class RecordedHttpClient(HttpClient):
    """An HTTP client that writes down every request and response while its recorder is on.

    A response that is under way when recording begins is written down from there on, with the heads
    of its request and of its own.
    """

    def __init__(self, dialer: Dialer, recorder: Recorder) -> None:
        super().__init__(dialer)
        self._recorder = recorder

    def request(self, request: HttpRequest, sink: ResponseSink) -> Exchange:
        """Start a request; its response goes to ``sink``. Raises `UsageError` for bad headers."""
        return _RecordedExchange(self, request, sink, self._recorder)


class _RecordedExchange(Exchange):
    """A request with a channel for every time it is sent: redirects and retries have their own."""

    def __init__(
        self, client: HttpClient, request: HttpRequest, sink: ResponseSink, recorder: Recorder
    ) -> None:
        self._recorder = recorder
        self._tap: _Tap | None = None
        self._head: ResponseHead | None = None
        super().__init__(client, request, sink)

    def _start(self, *, fresh: bool = False) -> None:
        self._head = None
        if self._recorder.is_on:
            self._begin(fresh=fresh)
        super()._start(fresh=fresh)

    def _begin(self, *, fresh: bool = False) -> HttpChannel:
        channel = self._recorder.http_channel()
        if self._tap is None:
            self._sink = self._tap = _Tap(self._sink, channel)
        else:
            how = f"it was sent again as {channel.name}: the server had closed the connection"
            self._tap.channel.end(how if fresh else "complete")
            self._tap.channel = channel
        channel.sent(self._bytes)
        return channel

    def head_received(self, head: ResponseHead) -> None:
        if self._tap is None and self._recorder.is_on:
            self._begin()
        self._head = head
        if self._tap is not None:
            self._tap.channel.head_received(head)
        super().head_received(head)

    def body_received(self, data: bytes) -> Iterator[None] | None:
        """Pass on a piece of the body; if recording has begun meanwhile, it is recorded from here.

        The sink is tapped behind the decoding: a transcript holds what transports see.
        """
        if self._tap is None and self._recorder.is_on:
            channel = self._begin()
            if self._head is not None:
                channel.head_received(self._head)
        return super().body_received(data)

    def abort(self) -> None:
        if not self._done and self._tap is not None:
            self._tap.channel.end("closed")
        super().abort()


class _Tap:
    """The sink in between, which writes down what passes."""

    def __init__(self, sink: ResponseSink, channel: HttpChannel) -> None:
        self.channel = channel
        self._sink = sink

    def head_received(self, head: ResponseHead) -> None:
        self._sink.head_received(head)

    def body_received(self, data: bytes) -> None:
        self.channel.body_received(data)
        self._sink.body_received(data)

    def response_ended(self) -> None:
        self.channel.end()
        self._sink.response_ended()

    def response_failed(self, error: McpError) -> None:
        self.channel.end(str(error), error)
        self._sink.response_failed(error)
