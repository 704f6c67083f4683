"""The tool calls of one client that are, or become, tasks, in either design of `protocol.tasks`.

Both designs wait for a task by polling its state. When the task wants input, a job runs
concurrently. The era of the connection decides which applies.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, Optional

from ..errors import (
    CallTimeout,
    HandlerFailed,
    McpError,
    PeerError,
    ProtocolViolation,
    TaskFailed,
    UsageError,
)
from ..jsonrpc.messages import peer_error
from ..net.futures import BackgroundTasks, NextChange, cancel_all, consume_exception
from ..protocol.negotiation import MAKING, TASKS, declares
from ..protocol.tasks import (
    MAX_INPUTS,
    Polling,
    Task,
    created_task,
    described_task,
    polling_seconds,
)
from ..protocol.types import Progress, Tool, task_support_of
from ..transports.backoff import Retries
from .connection.call_recovery import CallDeadline, CallRecovery
from .connection.connection import Connection
from .connection.limits import DEFAULT, RequestOptions
from .events.callbacks import Observer, OrderedCallback

if TYPE_CHECKING:
    _Job = asyncio.Task[Optional[Mapping[str, Any]]]

# The most tasks remembered, for the facts that the server does not keep about them.
_REMEMBERED = 1000

# Seconds a request may take when the time for the whole wait is almost over.
_LAST_LOOK = 0.1

_tokens = itertools.count(1)


class TaskCalls:
    """Makes tool calls as tasks, waits for tasks, and remembers what both need.

    The capabilities of the server say what it can do with tasks, the listing what a tool can. With
    the extension, both sides have to declare it; then any tool call may become a task.
    """

    def __init__(self, connection: Connection, caller: CallRecovery) -> None:
        self._connection = connection
        self._caller = caller
        self._progress = ProgressRelay()
        self._inputs: dict[str, TaskInputs] = {}
        connection.observers.append(self._progress)

    def check_call(self, name: str, tool: Tool | None) -> None:
        """Raise `UsageError` when a tool, listed or not, cannot be called as a task."""
        if not self._connection.is_stateless:
            self._require(*MAKING)
            if tool is not None and task_support_of(tool.raw) == "forbidden":
                raise UsageError(f"tool {name!r} cannot be called as a task")
        elif not self._connection.options.tasks:
            raise UsageError("tasks need a client connected with tasks=True")
        else:
            self._require("extensions", TASKS)

    def check(self, action: str) -> None:
        """Raise `UsageError` when the client cannot ``"list"`` or ``"cancel"`` tasks."""
        if not self._connection.is_stateless:
            self._require("tasks", action)
        elif action == "list":
            raise UsageError("servers of the stateless era do not list tasks")

    def _require(self, *capability: str) -> None:
        self._connection.require_session()
        if not declares(self._connection.capabilities, *capability):
            raise UsageError(f"the server does not declare the capability {'.'.join(capability)}")

    def ask(
        self,
        params: dict[str, Any],
        meta: Mapping[str, Any] | None,
        on_progress: Callable[[Progress], Any] | None,
        ttl: float | None = None,
    ) -> tuple[Mapping[str, Any] | None, Callable[[Progress], Any] | None]:
        """Let a call ask to become a task, where the server does not decide that by itself.

        Return its ``_meta`` and the handler of its progress, which otherwise lasts as long as the
        task.
        """
        if self._connection.is_stateless:
            return meta, on_progress
        params["task"] = {} if ttl is None else {"ttl": round(ttl * 1000)}
        if on_progress is not None:
            meta = {**(meta or {}), "progressToken": self._progress.add(on_progress)}
        return meta, None

    def made_of(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> Task | None:
        """Return the task the server made of a call; None when it gave the result of the call."""
        if not self._connection.is_stateless:
            return created_task(result, params["name"]) if "task" in params else None
        task = created_task(result, params["name"]) if result.get("resultType") == "task" else None
        if task is None and result.get("resultType") == "task":
            raise ProtocolViolation("tools/call: the server answered with a task without id")
        return task

    async def wait_for(
        self,
        task: Task,
        on_status: Callable[[Task], Any] | None,
        limits: RequestOptions,
        by_default: bool = False,
    ) -> Mapping[str, Any]:
        """Return the result of a task once it is over; see `CoreTaskWait` for the arguments."""
        # One object for all who wait for the task.
        inputs = self._inputs[task.id] = self._inputs.pop(task.id, TaskInputs())
        _forget_oldest(self._inputs)
        kind = ExtensionTaskWait if self._connection.is_stateless else CoreTaskWait
        wait = kind(self._connection, self._caller, task, inputs, limits, by_default, on_status)
        self._connection.observers.append(wait)
        try:
            result = await wait.run()
        finally:
            self._connection.observers.remove(wait)
        self._inputs.pop(task.id, None)  # a concurrent wait for the task keeps the object itself
        return result

    async def result_of(
        self, method: str, params: Mapping[str, Any], limits: RequestOptions
    ) -> dict[str, Any]:
        """Return the result of a tool call, even when the server has made a task of it."""
        time = CallDeadline(self._connection, method, limits)
        result = await self.first_answer(method, params, limits, time)
        task = self.made_of(params, result)
        if task is None:
            return result
        try:
            rest = time.rest_of(limits._replace(on_progress=None))
            return dict(await self.wait_for(task, None, rest))
        except (CallTimeout, asyncio.CancelledError) as reason:
            if self._connection.is_open:
                self._connection.session.tasks.start(self._give_up(task, limits))
            if isinstance(reason, CallTimeout) and reason.limit == "total":
                raise time.timeout from None
            raise

    async def first_answer(
        self,
        method: str,
        params: Mapping[str, Any],
        limits: RequestOptions,
        time: CallDeadline | None = None,
    ) -> dict[str, Any]:
        """Return the answer to a tool call, which may be a task.

        Only ``tasks/cancel`` may cancel a call that asked to become a task ("Cancellation" of
        2025-11-25), and that needs the task's id. So when the caller gives such a call up, its
        answer is awaited all the same, to cancel the task it names.
        """
        call = self._caller.call(method, params, limits, time)
        if "task" not in params:
            return await call
        asking = asyncio.ensure_future(call)
        asking.add_done_callback(consume_exception)

        async def give_up_when_made() -> None:
            with suppress(McpError):
                task = self.made_of(params, await asking)
                if task is not None:
                    await self._give_up(task, limits)

        try:
            await asyncio.wait({asking})
        except asyncio.CancelledError:
            if self._connection.is_open:
                self._connection.session.tasks.start(give_up_when_made())
            else:
                asking.cancel()
            raise
        return asking.result()

    async def _give_up(self, task: Task, limits: RequestOptions) -> None:
        """Ask the server to stop a task that the caller does not know of."""
        own = self._connection.options.timeouts.for_call("tasks/cancel", DEFAULT, DEFAULT)
        own, params = own._replace(headers=limits.headers), {"taskId": task.id}
        with suppress(McpError):
            self.check("cancel")
            await self._caller.call("tasks/cancel", params, own)


class ProgressRelay(Observer):
    """Passes on the progress of tasks, which outlives the call that asked for it.

    It holds no reference to the client, so that a client that the caller drops is closed although
    the connection, with its observers, still lives.
    """

    def __init__(self) -> None:
        self._callbacks = BackgroundTasks()
        self._handlers: dict[str, OrderedCallback] = {}

    def add(self, handler: Callable[[Progress], Any]) -> str:
        """Register a handler of progress; return its progress token."""
        token = f"task-{next(_tokens)}"
        self._handlers[token] = OrderedCallback(
            lambda params: handler(Progress(params)), self._callbacks
        )
        _forget_oldest(self._handlers)
        return token

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        token = params.get("progressToken") if method == "notifications/progress" else None
        if isinstance(token, str) and token in self._handlers:
            self._handlers[token](params)

    def closed(self) -> None:
        self._callbacks.cancel()
        self._handlers.clear()


def _forget_oldest(memory: dict[str, Any]) -> None:
    while len(memory) > _REMEMBERED:
        del memory[next(iter(memory))]


class TaskInputs:
    """The handlers' ``answers`` to one task's requests for input, sent or not, by key.

    ``taken``: the keys of the requests that a wait is answering, or has answered.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.taken: set[str] = set()


class CoreTaskWait(Observer):
    """One wait for a task, whose requests for input and result both come by ``tasks/result``.

    ``limits``: for each request and, as ``max_timeout``, of the whole wait. If the caller did
    not choose the latter (``by_default``), a task with a time to live has that as its limit. Time
    in which a handler answers for the task is not counted.
    """

    def __init__(
        self,
        connection: Connection,
        caller: CallRecovery,
        task: Task,
        inputs: TaskInputs,
        limits: RequestOptions,
        by_default: bool,
        on_status: Callable[[Task], Any] | None,
    ) -> None:
        self._connection = connection
        self._caller = caller
        self._id = task.id
        self._task = task
        self._inputs = inputs
        self._limits = limits
        self._by_default = by_default
        self._clock = asyncio.get_running_loop().time
        self._started = self._clock()
        self._deadline = CallDeadline(connection, f"task {task.id}", limits)
        self._callbacks = BackgroundTasks()
        self._relay = OrderedCallback(on_status or (lambda task: None), self._callbacks)
        self._shown: tuple[str, str | None] | None = None
        self._polling = Polling()
        self._job: _Job | None = None
        self._change = NextChange()

    async def run(self) -> Mapping[str, Any]:
        """Return the result of the request that became the task.

        Raises `PeerError`, `TaskFailed` and `CallTimeout`. Cancelling leaves the task alone.
        """
        try:
            result = await self._wait()
            if "content" not in result and created_task(result) is not None:
                raise ProtocolViolation(f"the result of task {self._id} is another task")
            await self._relay.finish(self._limits.timeout)
            return result
        finally:
            if self._job is not None:
                await cancel_all([self._job])
            self._callbacks.cancel()

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        if method in ("notifications/tasks/status", "notifications/tasks"):
            task = Task(params)
            if task.id == self._id and not self._task.is_over:
                self._update(task)
                self._change.notify()

    def _update(self, task: Task) -> None:
        self._task = task
        shown = (task.status, task.status_message)
        if shown != self._shown:
            self._shown = shown
            self._relay(task)

    async def _wait(self) -> Mapping[str, Any]:
        self._update(self._task if self._task.status else await self._poll())
        while not self._task.is_over:
            if self._job is None and self._task.status == "input_required":
                self._job = self._job_for_input()
                if self._job is not None:
                    self._job.add_done_callback(lambda job: self._change.notify())
            if not await self._pause():
                self._update(await self._poll())
            result = self._outcome_of_job()
            if result is not None:
                return result
        if self._task.status == "cancelled":
            raise TaskFailed(self._task.id, self._task.status, self._task.status_message)
        return await self._result()

    # Asking

    async def _poll(self) -> Task:
        found = await self._request("tasks/get", {"taskId": self._id})
        return described_task(found, self._id)

    async def _request(
        self, method: str, params: Mapping[str, Any], limits: RequestOptions | None = None
    ) -> dict[str, Any]:
        """Repeat a request until there is an answer, over a new connection if need be."""
        retries = Retries()
        while True:
            try:
                await self._connection.restore()
                return await self._caller.call(method, params, limits or self._limits_of_request())
            except McpError as error:
                self._check_time()
                await retries.wait_after(error, self._time_left)
                self._check_time()

    async def _pause(self) -> bool:
        """Wait for the next poll, a notification or the job; return True for a notification."""
        self._check_time()
        before = self._task
        await self._change.wait(min(self._polling.delay(before), self._time_left))
        return self._task is not before

    # Time

    @property
    def _remaining(self) -> float:
        """Seconds that are left of the whole wait; while a handler answers, they do not count."""
        lasts_longer = self._by_default and self._task.ttl is not None
        return math.inf if lasts_longer or self._is_answering else self._deadline.left

    @property
    def _life_left(self) -> float:
        # The server's clock may differ from ours, so its time to live is counted from here.
        return self._started + polling_seconds(self._task) - self._clock()

    @property
    def _time_left(self) -> float:
        return min(self._life_left, self._remaining)

    def _limits_of_request(self) -> RequestOptions:
        """Limit a request to the rest of the whole wait, with time for a last poll."""
        if self._remaining == math.inf:
            return self._limits
        return self._limits._replace(max_timeout=max(self._remaining, _LAST_LOOK))

    def _check_time(self) -> None:
        _check_inputs(self._connection.options.handlers.tasks.inputs_of(self._id))
        if self._life_left <= 0:
            raise TaskFailed(self._id, self._task.status, "its time to live has passed")
        if self._remaining <= 0:
            raise self._deadline.timeout

    # The job that runs beside the polling

    @property
    def _is_answering(self) -> bool:
        return self._connection.options.handlers.tasks.is_answering(self._id)

    def _job_for_input(self) -> _Job | None:
        """Start the job that a request for input needs; None when there is nothing to do."""
        unlimited = RequestOptions(None, None, self._limits.headers)
        asking = self._request("tasks/result", {"taskId": self._id}, unlimited)
        return asyncio.ensure_future(asking)

    async def _result(self) -> Mapping[str, Any]:
        """Return the result of the task, which is over and was not cancelled."""
        if self._job is not None:  # it has asked already
            await asyncio.wait({self._job}, timeout=self._limits.timeout)
            result = self._outcome_of_job()
            if result is not None:
                return result
        return await self._request("tasks/result", {"taskId": self._id})

    def _outcome_of_job(self) -> Mapping[str, Any] | None:
        """Return the result if the job has brought it. Raises what ended the job."""
        job = self._job
        if job is None or not job.done():
            return None
        self._job = None
        if job.cancelled():
            raise HandlerFailed("input", "its handler was cancelled")
        return job.result()


def _check_inputs(count: int) -> None:
    if count > MAX_INPUTS:
        raise ProtocolViolation(f"the task asked for input more than {MAX_INPUTS} times")


class ExtensionTaskWait(CoreTaskWait):
    """Answers the requests for input in a task's state with ``tasks/update``."""

    @property
    def _is_answering(self) -> bool:
        return self._job is not None and not self._job.done()

    def _job_for_input(self) -> _Job | None:
        taken, asked = self._inputs.taken, self._task.input_requests
        requests = {key: each for key, each in asked.items() if key not in taken}
        if not requests:
            return None
        _check_inputs(len(taken) + len(requests))
        taken.update(requests)
        job = asyncio.ensure_future(self._give_input(requests))

        def ended(job: _Job) -> None:  # also one that is cancelled before its first step
            if job.cancelled() or job.exception() is not None:
                taken.difference_update(requests)

        job.add_done_callback(ended)
        return job

    async def _give_input(self, requests: Mapping[str, Any]) -> Mapping[str, Any] | None:
        answers = self._inputs.answers
        new = {key: each for key, each in requests.items() if key not in answers}
        with self._deadline.paused():
            answers.update(await self._caller.answers(new))
        params = {"taskId": self._id, "inputResponses": {key: answers[key] for key in requests}}
        await self._request("tasks/update", params)
        return None

    async def _result(self) -> Mapping[str, Any]:
        task, error = self._task, peer_error(self._task.error)
        if isinstance(error, PeerError):
            raise error
        if task.status == "failed":
            raise TaskFailed(task.id, task.status, task.status_message)
        if task.result is None:
            raise ProtocolViolation(f"task {task.id} is completed, and its result is missing")
        return task.result
