"""The requests of the server's that are being answered: each once, and not too many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Callable

from ...errors import McpError, UsageError
from ...jsonrpc import messages
from ...jsonrpc.codec import weight_of
from ...jsonrpc.messages import ErrorCode, Message, RequestId
from ...net.futures import BackgroundTasks
from .handlers import TAKES_ITS_TIME, Handlers, error_answer
from .task_receiver import TaskReceiver

if TYPE_CHECKING:
    from ...transports.authorized import PausableClocks

# How many requests of the server's the handlers answer at the same time, and how much memory those
# take in bytes; more are refused.
_MAX_ANSWERING = 1000
_MAX_WEIGHT = 64 * 1024 * 1024
# How many answers may be on their way altogether; beyond that a request gets none.
_MAX_WAITING = 20_000
_MAX_ID_LENGTH = 1024


class InboundRequests:
    """Answers what the server asks in one session, in the background.

    ``handlers`` find the answers, in ``tasks``, while ``clocks`` are held where a human is asked.
    ``send`` sends one; ``on_error`` takes the reason why one could not be sent.
    """

    def __init__(
        self,
        handlers: Handlers | TaskReceiver,
        tasks: BackgroundTasks,
        clocks: PausableClocks,
        send: Callable[[Message], Awaitable[None]],
        on_error: Callable[[McpError], None],
    ) -> None:
        self._handlers = handlers
        self._tasks = tasks
        self._clocks = clocks
        self._send = send
        self._on_error = on_error
        self._running: dict[RequestId, asyncio.Task[Any]] = {}
        # What the handlers are busy with, and how much memory that takes.
        self._handled: dict[RequestId, int] = {}

    def take(self, request_id: RequestId, method: str, params: Mapping[str, Any]) -> str | None:
        """Begin to answer a request. Return the reason when it gets none, or only an error."""
        if request_id in self._running:  # a user is asked once
            return f"with the id {request_id!r:.100} again"
        if not self._has_room_for(request_id):
            return "while it waited for too many answers"
        if method == "ping":
            self._start(request_id, self._deliver(messages.response(request_id, {})))
            return None
        weight = weight_of(params, _MAX_WEIGHT)
        is_too_much = sum(self._handled.values()) + weight > _MAX_WEIGHT
        if len(self._handled) >= _MAX_ANSWERING or is_too_much:
            reason = "too many requests wait for an answer"
            self.refuse(request_id, ErrorCode.INTERNAL_ERROR, reason)
            return "while it waited for too many answers"
        self._handled[request_id] = weight
        self._start(request_id, self._answer(request_id, method, params))
        return None

    def refuse(self, request_id: RequestId, code: ErrorCode, reason: str) -> None:
        """Answer what cannot be answered otherwise with an error, if there is room for that."""
        if request_id not in self._running and self._has_room_for(request_id):
            answer = messages.error_response(request_id, code, reason)
            self._start(request_id, self._deliver(answer))

    def _has_room_for(self, request_id: RequestId) -> bool:
        is_short = isinstance(request_id, int) or len(request_id) <= _MAX_ID_LENGTH
        return len(self._running) < (_MAX_WAITING if is_short else _MAX_ANSWERING // 10)

    def cancel(self, request_id: object) -> None:
        """Stop answering a request that the server has withdrawn."""
        if isinstance(request_id, (int, str)) and request_id in self._running:
            self._handled.pop(request_id, None)
            self._running.pop(request_id).cancel()

    def withdraw(self) -> None:
        """Stop answering everything, since nobody waits for it any more.

        After the end of a session, the server's ids begin anew, and an answer would be taken for
        that to another question.
        """
        running, self._running = self._running, {}
        self._handled.clear()
        for task in running.values():
            # A handler's own call may have found it out.
            if task is not asyncio.current_task(task.get_loop()):
                task.cancel()

    def _start(self, request_id: RequestId, work: Coroutine[Any, Any, None]) -> None:
        task = self._running[request_id] = self._tasks.start(work)
        task.add_done_callback(lambda task: self._ended(request_id, task))

    def _ended(self, request_id: RequestId, task: asyncio.Task[Any]) -> None:
        if self._running.get(request_id) is task:  # and not a later request of the same id
            del self._running[request_id]
            self._handled.pop(request_id, None)

    async def _answer(self, request_id: RequestId, method: str, params: Mapping[str, Any]) -> None:
        try:
            with self._clocks.held() if method in TAKES_ITS_TIME else nullcontext():
                result = await self._handlers.answer(method, params)
            answer = messages.response(request_id, result)
        except McpError as error:
            answer = messages.error_response(request_id, *error_answer(error))
        except asyncio.CancelledError:
            if not self._is_wanted(request_id):
                raise
            # Nobody cancelled this: something the handler waited for was.
            answer = messages.error_response(request_id, ErrorCode.INTERNAL_ERROR, "cancelled")
        if self._is_wanted(request_id):
            await self._deliver(answer)

    def _is_wanted(self, request_id: RequestId) -> bool:
        """Whether the answer the running task has made is still waited for."""
        return self._running.get(request_id) is asyncio.current_task()

    async def _deliver(self, answer: Message) -> None:
        try:
            await self._send(answer)
        except UsageError as error:
            self._on_error(error)
            code, text, _ = error_answer(error)
            await self._send(messages.error_response(answer["id"], code, text))
        except McpError as error:
            self._on_error(error)
