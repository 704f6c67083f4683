"""A message posted over HTTP, until the server has taken it: what both HTTP transports share."""

from __future__ import annotations

import abc
import asyncio
from typing import Any, Protocol

from ..errors import ConnectionLost, McpError
from ..jsonrpc.messages import RequestId
from ..protocol.outgoing import Outgoing
from .authorized import Sending
from .base import Receiver
from .draining import Draining

# A message that is not a request has no caller whose timeout would end it.
_NOTIFICATION_TIMEOUT = 30.0


class PostingTransport(Protocol):
    """What a posted message asks of the transport it belongs to."""

    draining: Draining

    @property
    def receiver(self) -> Receiver:
        """Where messages go."""
        ...

    def forget(self, post: Any) -> None:
        """Drop a post that has come to its end."""


class PostedMessage(abc.ABC):
    """One posted message, and the response to it.

    ``taken``: resolved when the server has taken a message that is not a request: a notification
    with the first word of its response, an answer to a request of the server's with the last. So
    whoever waits for that knows how many connections are in use for answers. A server that does not
    take one in time fails it.
    """

    def __init__(self, transport: PostingTransport, outgoing: Outgoing) -> None:
        self.request_id: RequestId | None = outgoing.request_id
        self.taken: asyncio.Future[None] | None = None
        if self.request_id is None:
            self.taken = asyncio.get_running_loop().create_future()
        self._transport = transport
        self._exchange: Sending | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_drained = False

    @property
    @abc.abstractmethod
    def _target(self) -> str:
        """Where it goes, for messages."""

    def begin(self, exchange: Sending) -> None:
        """Take note that the message is on its way."""
        self._exchange = exchange
        if self.taken is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_NOTIFICATION_TIMEOUT, self._give_up)

    def fail(self, error: McpError) -> None:
        """Report that this message failed."""
        self._end()
        self._transport.receiver.request_failed(self.request_id, error)

    def _drain(self) -> None:
        """Read on for a while, though what it was for has come."""
        self._is_drained = True
        self._transport.draining.add(self)

    def _give_up(self) -> None:
        self.abort()
        reason = f"{self._target} did not accept a message within {_NOTIFICATION_TIMEOUT:g} s"
        self.fail(ConnectionLost(reason))

    def abort(self) -> None:
        """Close the response."""
        self._end()
        if self._exchange is not None:
            self._exchange.abort()

    def _end(self) -> None:
        self._transport.forget(self)
        if self._is_drained:
            self._transport.draining.discard(self)
        if self.taken is not None:
            self._take()
        if self._timer is not None:
            self._timer.cancel()

    def _take(self) -> None:
        taken = self.taken
        if taken is not None and not taken.done() and not taken.get_loop().is_closed():
            taken.set_result(None)
