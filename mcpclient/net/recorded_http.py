"""HTTP requests that are written down; see `net.recorder`."""

from __future__ import annotations

from typing import Callable

from ..errors import McpError
from ..framing.http1 import ResponseHead
from .dialing import Dialer
from .http import Exchange, HttpClient, HttpRequest, ResponseSink
from .recorder import HttpChannel, Recorder

__all__ = ["RecordedHttpClient", "http_client"]


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
        self._tap = _Tap(sink, self._join)
        super().__init__(client, request, self._tap)

    def _start(self, *, fresh: bool = False) -> None:
        self._tap.head = None
        if self._recorder.is_on:
            self._begin(fresh=fresh)
        super()._start(fresh=fresh)

    def _begin(self, *, fresh: bool = False) -> HttpChannel:
        channel = self._recorder.http_channel()
        if self._tap.channel is not None:
            how = f"it was sent again as {channel.name}: the connection had gone stale"
            self._tap.channel.end(how if fresh else "complete")
        self._tap.channel = channel
        channel.sent(self._bytes)
        return channel

    def _join(self) -> HttpChannel | None:
        """Return the channel, begun in the middle where recording has begun there."""
        if self._tap.channel is None and self._recorder.is_on:
            channel = self._begin()
            if self._tap.head is not None:
                channel.head_received(self._tap.head)
        return self._tap.channel

    def head_received(self, head: ResponseHead) -> None:
        """Take the response's head, also one that is followed elsewhere."""
        channel = self._join()
        self._tap.head = head
        if channel is not None:
            channel.head_received(head)
        super().head_received(head)

    def abort(self) -> None:
        """Give the request up."""
        if not self._done and self._tap.channel is not None:
            self._tap.channel.end("closed")
        super().abort()


class _Tap:
    """The sink in between: it sees the bodies as the transport does.

    ``join`` returns the channel to write to, or None.
    """

    def __init__(self, sink: ResponseSink, join: Callable[[], HttpChannel | None]) -> None:
        self.channel: HttpChannel | None = None
        self.head: ResponseHead | None = None
        self._sink = sink
        self._join = join

    def head_received(self, head: ResponseHead) -> None:
        self._sink.head_received(head)

    def body_received(self, data: bytes) -> None:
        channel = self._join()
        if channel is not None:
            channel.body_received(data)
        self._sink.body_received(data)

    def response_ended(self) -> None:
        if self.channel is not None:
            self.channel.end()
        self._sink.response_ended()

    def response_failed(self, error: McpError) -> None:
        if self.channel is not None:
            self.channel.end(str(error), error)
        self._sink.response_failed(error)
