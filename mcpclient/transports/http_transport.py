"""What both HTTP transports have in common: connections, the caller's headers, turns of answers."""

from __future__ import annotations

import asyncio

from ..errors import ConnectionLost
from ..framing.uri import Url
from ..net.dialing import Dialer
from ..net.recorded_http import RecordedHttpClient, http_client
from ..protocol.outgoing import Outgoing
from .authorized import Credentials, authorizer_in
from .base import Receiver, Transport
from .http_messages import CallerHeaders, HeaderSource

# How many answers to requests of the server's are on their way at the same time. Each takes a
# connection, and the server decides how many there are to be, and how soon it takes one.
_MAX_ANSWERS = 50


class HttpTransport(Transport):
    """Sends messages by HTTP to one server.

    ``headers``: the caller's own. ``credentials``: what identifies the caller.
    """

    def __init__(
        self,
        url: Url,
        headers: HeaderSource | None,
        credentials: Credentials | None,
        max_message_size: int,
        dialer: Dialer | None,
    ) -> None:
        self.url = url
        self.max_message_size = max_message_size
        self._authorizer, fixed = authorizer_in(credentials)
        self._headers = CallerHeaders(headers or {}, url, fixed)
        self._dialer = dialer or Dialer()
        self._http = http_client(self._dialer)
        self.records_itself: bool = isinstance(self._http, RecordedHttpClient)
        self._receiver: Receiver | None = None
        self._is_open = False
        self._answer_turns: asyncio.Semaphore | None = None

    @property
    def description(self) -> str:
        """The URL, without credentials and query."""
        return self.url.shown

    @property
    def reached(self) -> str:
        """How far the server was reached, as `Dialer.reached` says it."""
        return self._dialer.reached

    @property
    def cookies(self) -> str:
        """The cookies that the server has set, as they are sent."""
        return self._dialer.cookies.header_for(self.url)

    @property
    def receiver(self) -> Receiver:
        """Where messages go."""
        assert self._receiver is not None, "the transport is not open"
        return self._receiver

    @property
    def _turns(self) -> asyncio.Semaphore:
        """What an answer waits for to be sent."""
        assert self._answer_turns is not None, "the transport is not open"
        return self._answer_turns

    async def open(self, receiver: Receiver) -> None:
        """Make ready; the first message opens the first connection."""
        self._receiver = receiver
        self._is_open = True
        self._answer_turns = asyncio.Semaphore(_MAX_ANSWERS)  # which belongs to the running loop

    async def _provided_headers(self, outgoing: Outgoing | None) -> list[tuple[str, str]]:
        """Return the caller's headers for a message.

        Raises `ConnectionLost` when the transport was closed while the caller's function was asked:
        nobody would close a connection that is opened now.
        """
        headers = await self._headers.provided_for(outgoing)
        if not self._is_open:
            raise ConnectionLost("the transport was closed")
        return headers
