"""One outgoing message, and the rules by which a transport sends it.

An era fills it in; a transport follows it, and never checks method names or revisions.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Union

from ..jsonrpc.codec import encode
from ..jsonrpc.messages import Message, RequestId

Headers = Union[Mapping[str, str], Callable[[Message], Mapping[str, str]]]
_NO_HEADERS: Mapping[str, str] = {}


class Cancel(enum.Enum):
    """The way to cancel a request at the server."""

    NOTIFY = "send notifications/cancelled"
    CLOSE_STREAM = "close the response stream; where there is none, send notifications/cancelled"
    NOT_ALLOWED = "the request may not be cancelled; its answer is ignored"


class Outgoing:
    """A message and the rules for sending it.

    - ``message``: the JSON-RPC message. ``request_id``: the id of a request; None for any other.
      ``answers``: the id of the server's request that this is the answer to; None for any other.
    - ``headers``: what the protocol demands of a transport that has headers; or a function that
      makes them from the message, called when they are needed.
    - ``caller_headers``: headers that the caller wants sent with this message only.
    - ``cancel``: see `Cancel`.
    - ``resumable``: a response stream that breaks may be continued by event id.
    - ``repeatable``: sending the message twice does no harm, so when a connection turns out to be
      stale, the transport may send it again on another one.
    - ``in_session``: the message belongs to the session, where there is one.
    - ``opens_session``: the answer may name the session to come.
    - ``stays_open``: the answer may never come; what the server sends before it is what matters.
    """

    def __init__(
        self,
        message: Message,
        *,
        headers: Headers = _NO_HEADERS,
        cancel: Cancel = Cancel.NOT_ALLOWED,
        resumable: bool = False,
        repeatable: bool = True,
        in_session: bool = True,
        opens_session: bool = False,
        stays_open: bool = False,
    ) -> None:
        self.message: Message = message
        is_call = "method" in message
        self.request_id: RequestId | None = message.get("id") if is_call else None
        self.answers: RequestId | None = None if is_call else message.get("id")
        self._headers = headers
        self.caller_headers: Mapping[str, str] = _NO_HEADERS
        self.cancel: Cancel = cancel
        self.resumable: bool = resumable
        self.repeatable: bool = repeatable
        self.in_session: bool = in_session
        self.opens_session: bool = opens_session
        self.stays_open: bool = stays_open

    def encode(self) -> bytes:
        """Return the message as one line of JSON; see `codec.encode`. Raises `UsageError`."""
        return encode(self.message)

    @property
    def headers(self) -> Mapping[str, str]:
        """The protocol's headers. Most transports have none, and then they are never made."""
        if callable(self._headers):
            self._headers = self._headers(self.message)
        return self._headers

    def __repr__(self) -> str:
        kind = self.message.get("method", "answer")
        return f"<Outgoing {kind} id={self.message.get('id')}>"
