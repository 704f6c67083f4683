"""Requests that are passed on without a task: most of those that a host makes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ..client.client import Client
from ..client.connection.limits import RequestOptions
from ..client.connection.session import Sent, Session
from ..client.requests import connection_of
from ..errors import ConnectionLost, McpError
from ..jsonrpc import messages
from ..jsonrpc.codec import VerbatimObject, encode_string
from ..jsonrpc.messages import Message, RequestId, result_of
from ..protocol.negotiation import REPEATABLE

if TYPE_CHECKING:
    from .host import HostService

_NO_LIMITS = RequestOptions(None, None)


def plain_session(
    client: Client, method: str, params: Mapping[str, Any], *, is_stateless: bool
) -> Session | None:
    """Return the session for a request that needs nothing but to be sent; None for another.

    ``is_stateless``: whether the request is of that era.
    """
    connection = connection_of(client)
    if connection.is_stateless != is_stateless or not connection.is_open:
        return None
    if client._is_wrapped or connection.watchers or connection.caps:
        return None
    guard = connection.options.wiring.guard
    if guard is not None and guard(method, params) is not None:
        return None
    session = connection.session
    # Calls with headers may need to be repaired.
    return None if session.transport.carries_headers else session


class Relayed:
    """One request under way, in the place of the future that would wait for its response.

    The response is written in the same turn of the event loop in which it is read, by
    `HostService.in_turn`. ``asked``: the params of the host, where the server gets others.
    """

    def __init__(
        self,
        host: HostService,
        session: Session,
        method: str,
        params: Mapping[str, Any] | None,
        asked: Mapping[str, Any] | None = None,
    ) -> None:
        self._host = host
        self._session = session
        self._method = method
        self._params = params
        self._asked = params if asked is None else asked
        self._sent: Sent | None = None
        self._is_done = False

    def begin(self, request_id: RequestId) -> None:
        """Send the request of the host, who gets the response."""
        self._id = request_id
        waiter = cast("asyncio.Future[Message]", self)
        try:
            self._sent = self._session.begin(self._method, self._params, _NO_LIMITS, waiter=waiter)
        except Exception:  # also of a transport that is not of this library
            self._is_done = True
            # It fails there, with its reason.
            self._host.answer(request_id, self._method, self._asked)
            return
        if self._is_done:  # it was answered at once
            self._session.give_up(self._sent)

    def cancel(self, reason: str) -> None:
        """Cancel the request on the server; the host gets no response."""
        self._end(reason)
        self._is_done = True

    def _end(self, reason: str = "") -> None:
        if self._sent is not None:
            self._session.give_up(self._sent, reason)

    # jsonrpc.correlator.Waiter

    def done(self) -> bool:
        """Whether there is an outcome."""
        return self._is_done

    def cancelled(self) -> bool:
        """Return True: an exception is passed on at once, and not retrieved later."""
        return True

    def set_result(self, message: Message) -> None:
        """Pass the response on."""
        self._is_done = True
        self._end()
        self._host.finished(self._id)
        self._host.in_turn(self._respond, message, is_first=True)

    def _respond(self, message: Message) -> None:
        try:
            self._host.send(messages.response(self._id, result_of(message)))
        except McpError as error:
            self._host.fail(self._id, self._method, error)

    def set_exception(self, error: BaseException) -> None:
        """Report a failure, or repeat a request that only reads."""
        self._is_done = True
        self._end()
        if isinstance(error, ConnectionLost) and self._method in REPEATABLE:
            self._host.answer(self._id, self._method, self._asked)
            return
        self._host.finished(self._id)
        self._host.fail(self._id, self._method, error)


def renamed(params: Mapping[str, Any], name: str, key: str = "name") -> Mapping[str, Any]:
    """Return params with another name; their text is kept where the name comes first in it."""
    changed = {**params, key: name}
    if isinstance(params, VerbatimObject) and key == "name":
        for beginning in (b'{"name":', b'{"name": '):
            head = beginning + encode_string(params["name"])
            if params.text[: len(head)] == head:
                rest = bytes(params.text[len(head) :])
                return VerbatimObject(changed, beginning + encode_string(name) + rest)
    return changed
