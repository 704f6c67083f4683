"""The framing of stdio over a TCP or Unix-domain socket: one JSON message per line."""

from __future__ import annotations

from ..framing.ndjson import DEFAULT_MAX_MESSAGE_SIZE
from ..framing.uri import Url
from ..net.dialing import Dialer, lost_connection
from ..net.stream import Stream
from .connected import LineTransport

# Seconds that closing may take to write bytes that the server has not read yet.
_CLOSES_WITHIN = 2.0


class LineSocketTransport(LineTransport):
    """Talks to a server that listens at a ``tcp://host:port`` or ``unix:///path`` URL."""

    name = "socket"
    _stream: Stream

    def __init__(
        self,
        url: Url,
        *,
        max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE,
        dialer: Dialer | None = None,
    ) -> None:
        super().__init__(max_message_size)
        self.url: Url = url
        self._dialer = dialer or Dialer()

    @property
    def description(self) -> str:
        return self.url.shown

    @property
    def reached(self) -> str:
        return "" if self._dialer.reached == "connected" else self._dialer.reached

    async def _connect(self) -> Stream:
        self._stream = await self._dialer.dial(self.url, lambda: Stream(self))
        return self._stream

    async def _disconnect(self) -> None:
        self._stream.close()
        await self._stream.wait_closed(_CLOSES_WITHIN)

    # net.stream.StreamReceiver

    def stream_ended(self, error: Exception | None) -> None:
        if self._ended is None:
            self._end_lines()
            self.connection_lost(lost_connection(error, self.url, shown=self.description))
