"""The serving half of a connection: requests that a peer sends, and questions back to it.

A subclass sends messages and serves requests.
"""

from __future__ import annotations

import abc
import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from ...errors import McpError, PeerError, UsageError
from ...framing.logs import logger_for
from ...framing.ndjson import Line
from ...jsonrpc import messages
from ...jsonrpc.codec import MalformedMessage, finite
from ...jsonrpc.messages import CancelReason, ErrorCode, Message, RequestId, result_of
from ...jsonrpc.response_id import find_response_id
from ...jsonrpc.verbatim import decode_verbatim
from ...net.futures import BackgroundTasks

_logger = logger_for("mcpclient.peer")

# The most requests under way, and the most messages in one array (revision 2025-03-26).
_MAX_RUNNING = 10_000
_MAX_BATCH = 1000

Params = Mapping[str, Any]


class Relay(Protocol):
    """A request that is served without a task."""

    def begin(self, request_id: RequestId, /) -> None:
        """Begin; the peer gets the response, maybe at once."""

    def cancel(self, reason: str, /) -> object:
        """Cancel it; the peer gets no response."""


class Peer(abc.ABC):
    """A connection to a peer that sends requests, which a subclass serves.

    Requests are answered in ``tasks``. Lines and messages of the peer are given to `take_line` and
    `take`.
    """

    def __init__(self, tasks: BackgroundTasks) -> None:
        self.tasks = tasks
        self.running: dict[RequestId, asyncio.Task[Any] | Relay] = {}
        """The requests under way, by their ids."""
        self.gone: McpError | None = None
        """The reason why no question is answered any more."""
        self._asked: dict[int, asyncio.Future[Message]] = {}
        self._last_id = 0

    @abc.abstractmethod
    def write(self, message: Message) -> None:
        """Send a message. Raises `UsageError` for one that JSON cannot carry."""

    @abc.abstractmethod
    async def request(self, request_id: RequestId, method: str, params: Params | None) -> Params:
        """Return the result of a request. An `McpError` becomes the response, see `fail`."""

    def relayed(self, method: str, params: Params | None) -> Relay | None:
        """Return a request that needs no task; None: `request` serves it."""
        return None

    @abc.abstractmethod
    def notification(self, method: str, params: Params | None) -> None:
        """Handle a notification, other than a cancellation."""

    def explain(self, error: McpError) -> str:
        """Return the text of an error that is not a peer's."""
        return str(error)

    # To the peer

    def send(self, message: Message) -> None:
        """Send a message, with null for numbers that JSON does not have.

        Raises `UsageError` for any other value that it cannot carry.
        """
        try:
            self.write(message)
        except UsageError:
            with suppress(RecursionError):
                message = finite(message)
            self.write(message)

    def notify(self, method: str, params: Params | None) -> None:
        """Send a notification, unless JSON cannot carry it: a lone surrogate, for example."""
        try:
            self.send(messages.notification(method, params))
        except UsageError as error:
            _logger.warning("dropped a notification: %s", error)

    async def ask(self, method: str, params: Params | None) -> dict[str, Any]:
        """Send a request and return its result.

        Raises what `result_of` does, `UsageError` for what JSON cannot carry, and the reason where
        the peer answers nothing any more. Cancelling withdraws the request.
        """
        if self.gone is not None:
            raise self.gone.again()
        self._last_id += 1
        request_id, answer = self._last_id, asyncio.get_running_loop().create_future()
        self.send(messages.request(request_id, method, params))
        self._asked[request_id] = answer
        try:
            return result_of(await answer)
        except McpError:
            raise
        except BaseException as error:
            if not answer.done() or answer.cancelled():
                withdrawn = {"requestId": request_id, "reason": CancelReason.in_error(error)}
                self.notify("notifications/cancelled", withdrawn)
            raise
        finally:
            del self._asked[request_id]

    def end_questions(self, reason: McpError) -> None:
        """Fail all questions, also later ones, since the peer answers nothing any more."""
        self.gone = reason
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(reason.again())

    def refuse(self, request_id: object, code: int, reason: str) -> None:
        """Answer a request with an error, without an id where it has none that can be sent."""
        own_id: Any = request_id if _is_id(request_id) else None
        self.send(messages.error_response(own_id, code, reason))

    def fail(self, request_id: RequestId, method: str, error: BaseException) -> None:
        """Send the response for an error."""
        if isinstance(error, PeerError):
            try:
                self.send(messages.failure(request_id, error))
            except UsageError as unsendable:  # its text or its data
                self.fail(request_id, method, unsendable)
        elif isinstance(error, McpError):
            self.refuse(request_id, ErrorCode.INTERNAL_ERROR, self.explain(error))
        else:
            _logger.error("%s failed", method, exc_info=error)
            self.refuse(request_id, ErrorCode.INTERNAL_ERROR, type(error).__name__)

    # From the peer

    def take_line(self, line: Line) -> None:
        """Handle a line: a message, or an array of messages."""
        if not isinstance(line, bytes):
            request_id = find_response_id(line.start, line.end, of_request=True)
            self.refuse(request_id, ErrorCode.INVALID_REQUEST, "the message is too large")
            return
        try:
            value = decode_verbatim(line)
        except MalformedMessage as error:
            if line.strip():
                request_id = find_response_id(line, of_request=True)
                self.refuse(request_id, ErrorCode.PARSE_ERROR, error.reason)
            return
        is_batch = isinstance(value, list) and 0 < len(value) <= _MAX_BATCH
        for message in value if is_batch else (value,):
            self.take(message)

    def take(self, message: Any) -> None:
        """Handle a message; one that is not valid is refused."""
        if not isinstance(message, dict):
            self.refuse(None, ErrorCode.INVALID_REQUEST, "it is not a JSON-RPC message")
            return
        method, request_id = message.get("method"), message.get("id")
        params = message.get("params")
        if "method" not in message and ("result" in message or "error" in message):
            answer = self._asked.get(request_id) if isinstance(request_id, int) else None
            if answer is not None and not answer.done():
                answer.set_result(message)
        elif "id" in message and not _is_id(request_id):
            self.refuse(None, ErrorCode.INVALID_REQUEST, "its id is not a string or an integer")
        elif not isinstance(method, str):
            self.refuse(request_id, ErrorCode.INVALID_REQUEST, "it has no method")
        elif not isinstance(params, (dict, type(None))):
            self.refuse(request_id, ErrorCode.INVALID_PARAMS, "its params are not an object")
        elif request_id is None:
            self._notified(method, params)
        elif request_id in self.running:
            self.refuse(request_id, ErrorCode.INVALID_REQUEST, "its id is in use")
        elif len(self.running) >= _MAX_RUNNING:
            self.refuse(request_id, ErrorCode.INTERNAL_ERROR, "too many requests are under way")
        else:
            relayed = self.relayed(method, params)
            if relayed is None:
                self.answer(request_id, method, params)
            else:
                self.running[request_id] = relayed
                relayed.begin(request_id)

    def _notified(self, method: str, params: Params | None) -> None:
        if method == "notifications/cancelled":
            self.cancel((params or {}).get("requestId"), CancelReason.of(params))
        else:
            self.notification(method, params)

    def answer(self, request_id: RequestId, method: str, params: Params | None) -> None:
        """Answer a request in a task of its own."""
        task = self.tasks.start(self._answer(request_id, method, params))
        if not task.done():  # an eager one may be
            self.running[request_id] = task

    async def _answer(self, request_id: RequestId, method: str, params: Params | None) -> None:
        try:
            result = await self.request(request_id, method, params)
            self.send(messages.response(request_id, result))
        except Exception as error:
            self.fail(request_id, method, error)
        finally:
            # A later request may have the same id.
            if self.running.get(request_id) is asyncio.current_task():
                self.finished(request_id)

    def finished(self, request_id: RequestId) -> None:
        """Forget a request that has its response, or gets none."""
        self.running.pop(request_id, None)

    def cancel(self, request_id: object, reason: CancelReason) -> None:
        """Cancel a request of the peer, which then gets no response."""
        if isinstance(request_id, (int, str)) and request_id in self.running:
            entry = self.running[request_id]
            self.finished(request_id)
            entry.cancel(reason)

    def cancel_all(self, reason: str) -> None:
        """Cancel all requests of the peer."""
        for request_id in list(self.running):
            self.cancel(request_id, CancelReason(reason))


def _is_id(value: object) -> bool:
    if type(value) is int:
        return True
    # A lone surrogate is one that no response can carry.
    return isinstance(value, str) and value.encode("utf-8", "replace").decode() == value
