"""One message on its way out, with all that a transport has to know about it.

An era writes the envelope; a transport obeys it and never looks at method names or revisions.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping

from ..jsonrpc.codec import encode, encode_request
from ..jsonrpc.messages import Message, RequestId

__all__ = ["Cancel", "Outgoing"]

_NO_HEADERS: Mapping[str, str] = {}


class Cancel(enum.Enum):
    """How the server is told that nobody waits for the answer any more."""

    NOTIFY = "send notifications/cancelled"
    CLOSE_STREAM = "close the response stream; where there is none, send notifications/cancelled"
    NOT_ALLOWED = "the request may not be cancelled; its answer is ignored"


class Outgoing:
    """A message and its rules.

    ``message``: the JSON-RPC message. ``headers``: what the protocol has a transport with headers
    send along, or a function that tells it of the message when asked; ``caller_headers``: what the
    caller wants sent with this message only.
    ``cancel``: see `Cancel`. ``resumable``: a response stream that breaks may be continued by
    event id. ``repeatable``: sending it twice does no harm, so a connection that turns out to be
    stale may be replaced without asking. ``opens_session``: it belongs to no session yet, and its
    answer may name one. ``stays_open``: its answer may take for ever, and what comes meanwhile is
    the point of it. ``meta``: the ``_meta`` of a request as JSON, where that is made only once.
    """

    __slots__ = (
        "_headers",
        "_meta",
        "caller_headers",
        "cancel",
        "message",
        "opens_session",
        "repeatable",
        "resumable",
        "stays_open",
    )

    def __init__(
        self,
        message: Message,
        *,
        headers: Mapping[str, str] | Callable[[Message], Mapping[str, str]] = _NO_HEADERS,
        cancel: Cancel = Cancel.NOT_ALLOWED,
        resumable: bool = False,
        repeatable: bool = True,
        opens_session: bool = False,
        stays_open: bool = False,
        meta: bytes | None = None,
    ) -> None:
        self.message = message
        self._headers = headers
        self.caller_headers = _NO_HEADERS
        self.cancel = cancel
        self.resumable = resumable
        self.repeatable = repeatable
        self.opens_session = opens_session
        self.stays_open = stays_open
        self._meta = meta

    def encode(self) -> bytes:
        """Return the message as one line of JSON; see `codec.encode`. Raises `UsageError`."""
        if self._meta is not None:
            return encode_request(self.message, self._meta)
        return encode(self.message)

    @property
    def headers(self) -> Mapping[str, str]:
        """The protocol's headers. Most transports have none, and then they are never made."""
        if callable(self._headers):
            self._headers = self._headers(self.message)
        return self._headers

    @property
    def request_id(self) -> RequestId | None:
        """The id of a request; None for a notification and for an answer to the server."""
        return self.message["id"] if "method" in self.message and "id" in self.message else None

    def __repr__(self) -> str:
        kind = self.message.get("method", "answer")
        return f"<Outgoing {kind} id={self.message.get('id')}>"
