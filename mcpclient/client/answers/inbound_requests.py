"""Requests of the server, and the handlers that answer them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Iterable, Mapping
from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, Callable

from ...errors import HandlerFailed, McpError, NotOffered, ProtocolViolation, UsageError
from ...framing.logs import logger_for
from ...jsonrpc import messages
from ...jsonrpc.codec import weight_of
from ...jsonrpc.messages import CancelReason, ErrorCode, Message, RequestId
from ...net.clocks import PausableClocks
from ...net.futures import BackgroundTasks
from ...protocol.negotiation import RELATED_TASK
from ...protocol.wire_object import object_in
from ..events.callbacks import Observer

if TYPE_CHECKING:
    from .answerers import (
        ElicitationAnswerer,
        ElicitationOption,
        RootsAnswerer,
        RootsOption,
        SamplingAnswerer,
        SamplingOption,
    )
    from .task_answers import TaskAnswers

_logger = logger_for("mcpclient.client")

PAUSES_TIMEOUTS = frozenset({"elicitation/create", "sampling/createMessage"})
"""The requests that a human answers or approves. The server waits for that, so the timeouts of
this client's calls are paused meanwhile."""

# The most visits a user is asked for before one call; with more, the call fails.
_MAX_VISITS = 20

_NO_PARAMS: Mapping[str, Any] = {}


class Handlers(Observer):
    """The caller's handlers, and the capabilities that they imply. ``ping`` is always answered.

    ``tasks``: whether the server may ask for answers as tasks, see `task_answers`.
    """

    def __init__(
        self,
        sampling: SamplingOption | None = None,
        elicitation: ElicitationOption | None = None,
        roots: RootsOption | None = None,
        *,
        tasks: bool = False,
    ) -> None:
        self._server = ""
        self._sampling: SamplingAnswerer | None = None
        self._elicitation: ElicitationAnswerer | None = None
        self._roots: RootsAnswerer | None = None
        if sampling is not None or elicitation is not None or roots is not None:
            from .answerers import ElicitationAnswerer, RootsAnswerer, SamplingAnswerer

            if sampling is not None:
                self._sampling = SamplingAnswerer(sampling)
            if elicitation is not None:
                self._elicitation = ElicitationAnswerer(elicitation)
            if roots is not None:
                self._roots = RootsAnswerer(roots)
        given = (self._sampling, self._elicitation, self._roots)
        self._answerers: dict[str, Any] = {each.method: each for each in given if each is not None}
        self._other: Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]] | None = None
        self._declared: Mapping[str, Any] = {}
        self.opening: Mapping[str, Any] = {}
        """Params of ``initialize`` besides this client's own."""
        self.takes_tasks: bool = tasks
        self.clocks: PausableClocks | None = None
        """The clocks to pause while a human may be busy with a task."""

    @property
    def capabilities(self) -> dict[str, Any]:
        """The capabilities to declare: one for each handler given."""
        if self._other is not None:
            return dict(self._declared)
        return {each.capability: each.settings for each in self._answerers.values()}

    @property
    def handshake_capabilities(self) -> dict[str, Any]:
        """Other settings for the handshake era, where roots may change in a session."""
        return {"roots": {"listChanged": True}} if self._roots is not None else {}

    def forward_to(
        self,
        other: Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]],
        capabilities: Mapping[str, Any],
        opening: Mapping[str, Any] = _NO_PARAMS,
    ) -> None:
        """Let another client answer all requests, and declare its capabilities.

        ``opening``: what else it says in ``initialize``.
        """
        self._other, self._declared, self.opening = other, capabilities, opening

    def attach(self, server: str, observers: list[Observer]) -> None:
        """Serve one connection. ``server``: the name of the server in questions to the user."""
        self._server = server
        observers.append(self)
        if self._elicitation is not None:
            observers.append(self._elicitation)

    async def answer(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the result for a request of the server.

        Raises `NotOffered`, `ProtocolViolation` for a request that breaks the rules, and
        `HandlerFailed`.
        """
        if method == "ping":
            return {}
        if self._other is not None:
            return await self._other(method, params)
        answerer = self._answerers.get(method)
        if answerer is None:
            asked = f"the server asked for {method!r:.100}"
            raise NotOffered(f"{asked}, which this client does not offer")
        try:
            answer: Mapping[str, Any] = await answerer.answer(params, self._server)
        except HandlerFailed as failure:
            _logger.error("%s", failure, exc_info=failure.__cause__)
            raise
        return answer

    async def ask_for_visits(self, elicitations: Iterable[Mapping[str, Any]]) -> bool:
        """Ask for the visits that a call needs, one by one. Return False if one was declined."""
        visits = list(elicitations)
        if self._elicitation is None or not 0 < len(visits) <= _MAX_VISITS:
            return False
        for visit in visits:
            try:
                answer = await self.answer(self._elicitation.method, {**visit, "mode": "url"})
            except ProtocolViolation:
                return False
            if answer["action"] != "accept":
                return False
        return True

    def set_roots(self, roots: RootsOption) -> None:
        """Replace the roots. Raises `UsageError` when none were declared."""
        if self._roots is None:
            raise UsageError("roots can be changed where they were given before: roots=[]")
        self._roots.replace(roots)

    @cached_property
    def tasks(self) -> TaskAnswers:
        """The answers that belong to tasks, and those that are tasks themselves."""
        from .task_answers import TaskAnswers

        return TaskAnswers(self, self._answerers if self.takes_tasks else ())

    def answer_request(
        self, method: str, params: Mapping[str, Any]
    ) -> Awaitable[Mapping[str, Any]]:
        """Return what to await for the result, at once or as a task. Raises what `answer` does."""
        asks_for_task = "task" in params or method.startswith("tasks/")
        if (asks_for_task and self.takes_tasks) or RELATED_TASK in object_in(params.get("_meta")):
            answering: Awaitable[Mapping[str, Any]] = self.tasks.answer(method, params)
            return answering
        return self.answer(method, params)

    # Observer

    def closed(self) -> None:
        if "tasks" in self.__dict__:
            self.tasks.forget_all()


# The most requests that the handlers answer at the same time, and the most memory those may take,
# in bytes; more are refused.
_MAX_ANSWERING = 1000
_MAX_WEIGHT = 64 * 1024 * 1024
# The most answers being sent at the same time; beyond that a request gets none.
_MAX_WAITING = 20_000
_MAX_ID_LENGTH = 1024


class InboundRequests:
    """The requests and notifications of the server in one session, as far as they are valid.

    Requests are answered in the background. ``clocks`` are paused while a human is asked.
    ``notified`` takes method and params of a notification, ``rejected`` the fault of a message, and
    ``on_error`` the error of a lost answer. ``are_allowed``: whether the server may send requests.
    """

    def __init__(
        self,
        handlers: Handlers,
        tasks: BackgroundTasks,
        clocks: PausableClocks,
        *,
        send: Callable[[Message], Awaitable[None]],
        notified: Callable[[str, Mapping[str, Any]], None],
        rejected: Callable[[ProtocolViolation], None],
        on_error: Callable[[McpError], None],
    ) -> None:
        self.are_allowed: bool = True
        self._handlers = handlers
        self._tasks = tasks
        self._clocks = clocks
        self._send = send
        self._notified = notified
        self._rejected = rejected
        self._on_error = on_error
        self._running: dict[RequestId, asyncio.Task[Any]] = {}
        # The requests that handlers are answering, and the memory that each takes, in bytes.
        self._handled: dict[RequestId, int] = {}

    def take(self, message: Message) -> None:
        """Handle a message with a method: a request, or a notification."""
        method, params = message["method"], message.get("params")
        if params is None:  # servers that write out every field send null for no params
            params = _NO_PARAMS
        if not isinstance(method, str):
            self._refuse_invalid(message, ErrorCode.INVALID_REQUEST, "its method is not a string")
        elif not isinstance(params, Mapping):
            reason = f"the params of {method!r:.100} are not an object"
            self._refuse_invalid(message, ErrorCode.INVALID_PARAMS, reason)
        elif "id" in message:
            self._take_request(message["id"], method, params)
        else:
            if method == "notifications/cancelled":
                self._cancel(params)
            self._notified(method, params)

    def _take_request(self, request_id: Any, method: str, params: Mapping[str, Any]) -> None:
        asked, too_many = f"request {method!r:.100}", "while it waited for too many answers"
        if not isinstance(request_id, (int, str)):
            self._reject("a request without id")
        elif not self.are_allowed:
            self._reject(f"{asked}, which this revision does not allow")
        elif request_id in self._running:  # a user is asked once
            self._reject(f"{asked} with the id {request_id!r:.100} again")
        elif not self._has_room_for(request_id):
            self._reject(f"{asked} {too_many}")
        elif method == "ping":
            self._start(request_id, self._deliver(messages.response(request_id, {})))
        else:
            weight = weight_of(params, _MAX_WEIGHT)
            is_too_much = sum(self._handled.values()) + weight > _MAX_WEIGHT
            if len(self._handled) >= _MAX_ANSWERING or is_too_much:
                reason = "too many requests wait for an answer"
                self._refuse(request_id, ErrorCode.INTERNAL_ERROR, reason)
                self._reject(f"{asked} {too_many}")
            else:
                self._handled[request_id] = weight
                self._start(request_id, self._answer(request_id, method, params))

    def _reject(self, what: str) -> None:
        self._rejected(ProtocolViolation(f"the server sent {what}"))

    def _refuse_invalid(self, message: Message, code: ErrorCode, reason: str) -> None:
        """Report an invalid message, and answer it where it is a request."""
        self._reject(f"an invalid message: {reason}")
        request_id = message.get("id")
        if isinstance(request_id, (int, str)) and self.are_allowed:
            self._refuse(request_id, code, reason)

    def _refuse(self, request_id: RequestId, code: ErrorCode, reason: str) -> None:
        """Answer a request with an error, unless too many answers are waiting."""
        if request_id not in self._running and self._has_room_for(request_id):
            answer = messages.error_response(request_id, code, reason)
            self._start(request_id, self._deliver(answer))

    def _has_room_for(self, request_id: RequestId) -> bool:
        is_short = isinstance(request_id, int) or len(request_id) <= _MAX_ID_LENGTH
        return len(self._running) < (_MAX_WAITING if is_short else _MAX_ANSWERING // 10)

    def _cancel(self, params: Mapping[str, Any]) -> None:
        """Stop answering a request that the server has withdrawn."""
        request_id = params.get("requestId")
        if isinstance(request_id, (int, str)) and request_id in self._running:
            self._handled.pop(request_id, None)
            self._running.pop(request_id).cancel(CancelReason.of(params))

    def withdraw(self) -> None:
        """Cancel all answers, since the server no longer waits for them."""
        running, self._running = self._running, {}
        self._handled.clear()
        for task in running.values():
            # A handler's own call may have noticed, and it must not cancel itself.
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
            with self._clocks.held() if method in PAUSES_TIMEOUTS else nullcontext():
                result = await self._handlers.answer_request(method, params)
            answer = messages.response(request_id, result)
        except McpError as error:
            answer = messages.failure(request_id, error)
        except asyncio.CancelledError:
            if not self._is_wanted(request_id):
                raise
            # Not this task was cancelled, but something that the handler awaited.
            answer = messages.error_response(request_id, ErrorCode.INTERNAL_ERROR, "cancelled")
        if self._is_wanted(request_id):
            await self._deliver(answer)

    def _is_wanted(self, request_id: RequestId) -> bool:
        """Whether the server still waits for the answer of the running task."""
        return self._running.get(request_id) is asyncio.current_task()

    async def _deliver(self, answer: Message) -> None:
        try:
            await self._send(answer)
        except UsageError as error:
            self._on_error(error)
            await self._send(messages.failure(answer["id"], error))
        except McpError as error:
            self._on_error(error)
