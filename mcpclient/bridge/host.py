"""The host's side of a bridge: lines on stdin and stdout, and the requests under way in them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from ..errors import McpError, PeerError, UsageError
from ..framing.logs import logger_for
from ..framing.ndjson import DEFAULT_MAX_MESSAGE_SIZE, Line, LineFramer
from ..jsonrpc import messages
from ..jsonrpc.codec import MalformedMessage, encode, encode_large, finite
from ..jsonrpc.messages import CancelReason, ErrorCode, Message, RequestId, result_of
from ..jsonrpc.verbatim import decode_verbatim
from ..lazy import response_id
from ..net.futures import BackgroundTasks, resolve
from ..net.process.pipes import PipeReader, PipeWriter, ThreadedReader, ThreadedWriter

if TYPE_CHECKING:
    from .bridge import Bridge
    from .relayed import Relayed

_logger = logger_for("mcpclient.bridge")

# The most requests under way, and the most messages in one array (revision 2025-03-26).
_MAX_RUNNING = 10_000
_MAX_BATCH = 1000

# Seconds that a host that has closed stdin still waits for an answer; each answer renews them. The
# SDKs send SIGTERM after two. And seconds between two looks whether it still reads.
_ANSWERS_WITHIN = 8.0
_LOOK_EVERY = 0.05

_GONE = "the host has closed its end"

Params = Mapping[str, Any]


class HostChannel:
    """A host that writes to ``stdin`` and reads from ``stdout``, both of which this closes.

    ``threads``: move bytes with threads, for pipes that no event loop can watch. ``over`` is done
    when the host has closed either.
    """

    def __init__(
        self, bridge: Bridge, stdin: IO[bytes], stdout: IO[bytes], *, threads: bool = False
    ) -> None:
        loop = asyncio.get_running_loop()
        self._bridge = bridge
        self._framer = LineFramer(DEFAULT_MAX_MESSAGE_SIZE)
        self._running: dict[RequestId, asyncio.Task[None] | Relayed] = {}
        self._lasting: set[RequestId] = set()  # the running requests that the host has to cancel
        self._asked: dict[int, asyncio.Future[Message]] = {}
        self._last_id = 0
        self._waiting = 0
        self._is_closed = False  # the host says no more
        self.over: asyncio.Future[None] = loop.create_future()
        self.tasks: BackgroundTasks = BackgroundTasks()
        writer = ThreadedWriter if threads else PipeWriter
        self._writer = writer(loop, stdout, self._stalled, self._end)
        reader = ThreadedReader if threads else PipeReader
        try:
            self._reader = reader(loop, stdin, self._received, self._input_ended)
        except PermissionError:  # a regular file, or /dev/null
            self._reader = ThreadedReader(loop, stdin, self._received, self._input_ended)

    async def close(self) -> None:
        """Cancel all requests, and close both streams."""
        self._reader.close()
        for request_id in list(self._running):
            self.cancel(request_id, CancelReason("the host has left"))
        self.tasks.cancel()
        await self.tasks.wait()
        self._writer.finish()

    def hold(self, *, is_held: bool) -> None:
        """Stop reading, or go on."""
        self._reader.hold(is_held=is_held)

    @property
    def is_gone(self) -> bool:
        """Whether the host has closed its end, where that can be seen without reading."""
        if self._reader.is_cut_off or self._writer.is_cut_off:
            self._end()
        return self.over.done()

    def _end(self) -> None:
        resolve(self.over, None)

    def _input_ended(self) -> None:
        self._is_closed = True
        for answer in self._asked.values():
            resolve(answer, None, PeerError(ErrorCode.INTERNAL_ERROR, _GONE))
        self.tasks.start(self._answer_the_rest())

    async def _answer_the_rest(self) -> None:
        """Wait until the host has the answers to its requests, unless it does not read them."""
        loop = asyncio.get_running_loop()
        before, ends = (0, 0), 0.0
        while (left := (len(self._running.keys() - self._lasting), self._writer.unsent)) != (0, 0):
            if left != before:
                before, ends = left, loop.time() + _ANSWERS_WITHIN
            if self._writer.is_cut_off or loop.time() >= ends:
                break
            await asyncio.sleep(_LOOK_EVERY)
        self._end()

    def _stalled(self, is_stalled: bool) -> None:
        self._bridge.host_stalled(is_stalled=is_stalled)

    # To the host

    def send(self, message: Message) -> None:
        """Send a message, with null for numbers that JSON does not have.

        Raises `UsageError` for any other value that it cannot carry.
        """
        try:
            pieces = encode_large(message) or (encode(message) + b"\n",)
        except UsageError:
            with suppress(RecursionError):
                message = finite(message)
            pieces = (encode(message) + b"\n",)
        for piece in pieces:
            self._writer.write(piece)

    def in_turn(self, send: Callable[..., None], *arguments: Any, is_first: bool = False) -> None:
        """Send something after all that the server has sent before it.

        A response may have to wait for its task, and whatever comes after it waits, too.
        ``is_first``: it need not wait, unless something else does.
        """
        if is_first and not self._waiting:
            send(*arguments)
            return
        self._waiting += 1
        asyncio.get_running_loop().call_soon(self._take_turn, send, *arguments)

    def _take_turn(self, send: Callable[..., None], *arguments: Any) -> None:
        self._waiting -= 1
        send(*arguments)

    def notify(self, method: str, params: Params | None) -> None:
        """Send a notification, unless JSON cannot carry it: a lone surrogate, for example."""
        try:
            self.send(messages.notification(method, params))
        except UsageError as error:
            _logger.warning("dropped a notification: %s", error)

    async def ask(self, method: str, params: Params) -> Mapping[str, Any]:
        """Send a request and return its result. Raises `PeerError`."""
        if self._is_closed:
            raise PeerError(ErrorCode.INTERNAL_ERROR, _GONE)
        self._last_id += 1
        request_id, answer = self._last_id, asyncio.get_running_loop().create_future()
        self._asked[request_id] = answer
        try:
            self.send(messages.request(request_id, method, params))
            return result_of(await answer)
        except asyncio.CancelledError as error:
            if not answer.done() or answer.cancelled():
                withdrawn = {"requestId": request_id, "reason": CancelReason.in_error(error)}
                self.notify("notifications/cancelled", withdrawn)
            raise
        finally:
            del self._asked[request_id]

    def finished(self, request_id: RequestId) -> None:
        """Forget a request that was relayed."""
        self._running.pop(request_id, None)

    def cancel(self, request_id: object, reason: CancelReason) -> None:
        """Cancel a request of the host, which then gets no response."""
        if isinstance(request_id, (int, str)) and request_id in self._running:
            self._running.pop(request_id).cancel(reason)

    # From the host

    def _received(self, data: bytes) -> None:
        for line in self._framer.feed(data):
            self._take_line(line)
        self._bridge.host_wrote()

    def _take_line(self, line: Line) -> None:
        if not isinstance(line, bytes):
            request_id = response_id.find_response_id(line.start, line.end, of_request=True)
            self._refuse(request_id, ErrorCode.INVALID_REQUEST, "the message is too large")
        elif line.strip():
            try:
                value = decode_verbatim(line)
            except MalformedMessage as error:
                request_id = response_id.find_response_id(line, of_request=True)
                self._refuse(request_id, ErrorCode.PARSE_ERROR, error.reason)
                return
            is_batch = isinstance(value, list) and 0 < len(value) <= _MAX_BATCH
            for message in value if is_batch else [value]:
                self._take(message)

    def _take(self, message: Any) -> None:
        if not isinstance(message, dict):
            self._refuse(None, ErrorCode.INVALID_REQUEST, "it is not a JSON-RPC message")
            return
        method, request_id = message.get("method"), message.get("id")
        params = message.get("params")
        if "method" not in message and ("result" in message or "error" in message):
            answer = self._asked.get(request_id) if isinstance(request_id, int) else None
            if answer is not None:
                resolve(answer, message)
        elif "id" in message and not _is_id(request_id):
            self._refuse(None, ErrorCode.INVALID_REQUEST, "its id is not a string or an integer")
        elif not isinstance(method, str):
            self._refuse(request_id, ErrorCode.INVALID_REQUEST, "it has no method")
        elif not isinstance(params, (dict, type(None))):
            self._refuse(request_id, ErrorCode.INVALID_PARAMS, "its params are not an object")
        elif request_id is None:
            self._bridge.notification(method, params)
        elif request_id in self._running:
            self._refuse(request_id, ErrorCode.INVALID_REQUEST, "its id is in use")
        elif len(self._running) >= _MAX_RUNNING:
            self._refuse(request_id, ErrorCode.INTERNAL_ERROR, "too many requests are under way")
        else:
            relayed = self._bridge.relayed(method, params)
            if relayed is None:
                self.answer(request_id, method, params)
            else:
                self._running[request_id] = relayed
                relayed.begin(self, request_id)

    def answer(self, request_id: RequestId, method: str, params: Params | None) -> None:
        """Answer a request of the host in a task of its own."""
        self._running[request_id] = self.tasks.start(self._answer(request_id, method, params))
        if method == "subscriptions/listen":
            self._lasting.add(request_id)

    def _refuse(self, request_id: Any, code: int, reason: str, data: Any = None) -> None:
        own_id: Any = request_id if _is_id(request_id) else None
        self.send(messages.error_response(own_id, code, reason, data))

    async def _answer(self, request_id: RequestId, method: str, params: Params | None) -> None:
        try:
            result = await self._bridge.request(request_id, method, params)
            self.send(messages.response(request_id, result))
        except Exception as error:
            self.fail(request_id, method, error)
        finally:
            self._lasting.discard(request_id)
            if self._running.get(request_id) is asyncio.current_task():
                del self._running[request_id]

    def fail(self, request_id: RequestId, method: str, error: BaseException) -> None:
        """Send an error response."""
        if isinstance(error, PeerError):
            try:
                self.send(messages.failure(request_id, error))
            except UsageError as unsendable:  # its text or its data
                self.fail(request_id, method, unsendable)
        elif isinstance(error, McpError):
            self._refuse(request_id, ErrorCode.INTERNAL_ERROR, self._bridge.explain(error))
        else:
            _logger.error("%s failed", method, exc_info=error)
            self._refuse(request_id, ErrorCode.INTERNAL_ERROR, type(error).__name__)


def _is_id(value: object) -> bool:
    if isinstance(value, str):  # a lone surrogate is one that no response can carry
        return value.encode("utf-8", "replace").decode() == value
    return type(value) is int
