"""The two designs of tasks: the core's of 2025-11-25, and the extension of the stateless era.

Both wait for a task by polling its state. When the task wants input, a job runs concurrently. The
classes of the extension say in what it differs from the core.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable, Optional

from ..errors import (
    HandlerFailed,
    McpError,
    PeerError,
    ProtocolViolation,
    TaskFailed,
    UsageError,
)
from ..jsonrpc.messages import peer_error
from ..net.futures import BackgroundTasks, cancel_all
from ..protocol.tasks import (
    EXTENSION,
    MAX_INPUTS,
    Polling,
    Task,
    created_task,
    declares,
    described_task,
    polling_seconds,
    task_support_of,
)
from ..protocol.types import Tool
from ..transports.backoff import Retries
from .connection.call_recovery import CallDeadline, CallRecovery
from .connection.connection import Connection
from .connection.limits import RequestOptions
from .events.callbacks import Observer, OrderedCallback

if TYPE_CHECKING:
    _Job = asyncio.Task[Optional[Mapping[str, Any]]]

# Seconds a request may take when the time for the whole wait is almost over.
_LAST_LOOK = 0.1


class TaskInputs:
    """The handlers' ``answers`` to one task's requests for input, sent or not, by key."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self._taken: set[str] = set()

    def take(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        """Claim the requests that no other wait has claimed; the caller must answer them."""
        free = {key: each for key, each in requests.items() if key not in self._taken}
        _check_inputs(len(self._taken) + len(free))
        self._taken |= free.keys()
        return free

    def give_back(self, requests: Mapping[str, Any]) -> None:
        """Release these requests for another wait."""
        self._taken -= requests.keys()


class CoreTaskWait(Observer):
    """One wait for a task, whose requests for input and result both come by ``tasks/result``.

    ``limits``: those of each request and, as ``max_timeout``, of the whole wait. If the caller did
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
        self._retries = Retries()
        self._job_retries = Retries()
        self._job: _Job | None = None
        self._news = asyncio.Event()

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
                self._take(task)
                self._news.set()

    def _take(self, task: Task) -> None:
        self._task = task
        shown = (task.status, task.status_message)
        if shown != self._shown:
            self._shown = shown
            self._relay(task)

    async def _wait(self) -> Mapping[str, Any]:
        self._take(self._task if self._task.status else await self._poll())
        while not self._task.is_over:
            if self._job is None and self._task.status == "input_required":
                self._job = self._job_for_input()
            if not await self._pause():
                self._take(await self._poll())
            result = await self._outcome_of_job()
            if result is not None:
                return result
        if self._task.status == "cancelled":
            raise TaskFailed(self._task.id, self._task.status, self._task.status_message)
        return await self._result_of(self._task)

    # Asking

    async def _poll(self) -> Task:
        found = await self._request("tasks/get", {"taskId": self._id})
        return described_task(found, self._id)

    async def _request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Repeat a request until there is an answer, over a new connection if need be."""
        while True:
            try:
                await self._connection.restore()
                result = await self._caller.call(method, params, self._limits_of_request())
            except McpError as error:
                self._check_time()
                await self._retries.wait_after(error, self._time_left)
                self._check_time()
            else:
                self._retries.succeeded()
                return result

    async def _pause(self) -> bool:
        """Wait for the next poll, a notification or the job; return True for a notification."""
        self._check_time()
        self._news.clear()
        news = asyncio.ensure_future(self._news.wait())
        waiting: set[asyncio.Future[Any]] = {news}
        if self._job is not None:
            waiting.add(self._job)
        longest = min(self._polling.delay(self._task), self._time_left)
        try:
            await asyncio.wait(waiting, timeout=longest, return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()
        return self._news.is_set()

    # Time

    @property
    def _remaining(self) -> float:
        lasts_longer = self._by_default and self._task.ttl is not None
        return math.inf if lasts_longer else self._deadline.left

    @property
    def _life_left(self) -> float:
        # The server's clock may differ from ours, so its time to live is counted from here.
        return self._started + polling_seconds(self._task) - self._clock()

    @property
    def _time_left(self) -> float:
        return self._life_left if self._is_answering else min(self._life_left, self._remaining)

    def _limits_of_request(self) -> RequestOptions:
        """Limit a request to the rest of the whole wait, with time for a last poll."""
        if self._remaining == math.inf or self._is_answering:
            return self._limits
        return self._limits._replace(max_timeout=max(self._remaining, _LAST_LOOK))

    def _check_time(self) -> None:
        _check_inputs(self._connection.receiver.inputs_of(self._id))
        if self._life_left <= 0:
            raise TaskFailed(self._id, self._task.status, "its time to live has passed")
        if self._remaining <= 0 and not self._is_answering:
            raise self._deadline.timeout

    # The job that runs beside the polling

    @property
    def _is_answering(self) -> bool:
        """Whether a handler is at work for the task."""
        return self._connection.receiver.is_answering(self._id)

    def _job_for_input(self) -> _Job | None:
        """Start the job that a request for input needs; None when there is nothing to do."""
        return asyncio.ensure_future(self._fetch_result())

    async def _fetch_result(self) -> Mapping[str, Any] | None:
        unlimited = RequestOptions(None, None, self._limits.headers)
        return await self._caller.call("tasks/result", {"taskId": self._id}, unlimited)

    async def _result_of(self, task: Task) -> Mapping[str, Any]:
        """Return the result of a task that is over and was not cancelled."""
        if self._job is not None:  # it has asked already
            await asyncio.wait({self._job}, timeout=self._limits.timeout)
            result = await self._outcome_of_job()
            if result is not None:
                return result
        return await self._request("tasks/result", {"taskId": self._id})

    async def _outcome_of_job(self) -> Mapping[str, Any] | None:
        """Return the result if the job has brought it. Raises what ended the job for good."""
        job = self._job
        if job is None or not job.done():
            return None
        self._job = None
        if job.cancelled():
            raise HandlerFailed("input", "its handler was cancelled")
        error = job.exception()
        if error is None:
            self._job_retries.succeeded()
            return job.result()
        if not isinstance(error, McpError):
            raise error
        await self._job_retries.wait_after(error, self._time_left)
        return None  # the job begins again if it is still needed


def _check_inputs(count: int) -> None:
    if count > MAX_INPUTS:
        raise ProtocolViolation(f"the task asked for input more than {MAX_INPUTS} times")


_MAKING = ("tasks", "requests", "tools", "call")


class CoreTasks:
    """The making, listing and cancelling of tasks over one connection.

    The capabilities of the server say what it can do with tasks, the listing what a tool can.
    ``wait``: the class that waits for a task. ``asks``: whether a call has to ask to become a task,
    which also makes its progress last as long as the task.
    """

    wait: type[CoreTaskWait] = CoreTaskWait
    asks: bool = True

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def check_call(self, name: str, tool: Tool | None) -> None:
        """Raise `UsageError` when a tool, listed or not, cannot be called as a task."""
        self._require(*_MAKING)
        if tool is not None and task_support_of(tool.raw) == "forbidden":
            raise UsageError(f"tool {name!r} cannot be called as a task")

    def may_ask(self) -> bool:
        """Whether a call can ask to become a task, as tools may require."""
        return declares(self._connection.capabilities, *_MAKING)

    def made_of(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> Task | None:
        """Return the task the server made of a call; None when it gave the result of the call."""
        return created_task(result, params["name"]) if "task" in params else None

    def check(self, action: str) -> None:
        """Raise `UsageError` when the client cannot ``"list"`` or ``"cancel"`` tasks."""
        self._require("tasks", action)

    def _require(self, *capability: str) -> None:
        self._connection.require_session()
        if not declares(self._connection.capabilities, *capability):
            raise UsageError(f"the server does not declare the capability {'.'.join(capability)}")


class ExtensionTaskWait(CoreTaskWait):
    """Answers the requests for input in a task's state with ``tasks/update``."""

    @property
    def _is_answering(self) -> bool:
        return self._job is not None and not self._job.done()

    def _job_for_input(self) -> _Job | None:
        requests = self._inputs.take(self._task.input_requests)
        if not requests:
            return None
        job = asyncio.ensure_future(self._give_input(requests))
        # A job that is cancelled before its first step gives them back, too.
        job.add_done_callback(lambda job: self._give_back(job, requests))
        return job

    async def _give_input(self, requests: Mapping[str, Any]) -> Mapping[str, Any] | None:
        answers = self._inputs.answers
        new = {key: each for key, each in requests.items() if key not in answers}
        with self._deadline.paused():
            answers.update(await self._caller.answers(new))
            params = {"taskId": self._id, "inputResponses": {key: answers[key] for key in requests}}
            await self._caller.call("tasks/update", params, self._limits)
        return None

    def _give_back(self, job: _Job, requests: Mapping[str, Any]) -> None:
        if job.cancelled() or job.exception() is not None:
            self._inputs.give_back(requests)

    async def _result_of(self, task: Task) -> Mapping[str, Any]:
        error = peer_error(task.error)
        if isinstance(error, PeerError):
            raise error
        if task.status == "failed":
            raise TaskFailed(task.id, task.status, task.status_message)
        if task.result is None:
            raise ProtocolViolation(f"task {task.id} is completed, and its result is missing")
        return task.result


class ExtensionTasks(CoreTasks):
    """Both sides have to declare the extension; then any tool call may become a task."""

    wait: type[CoreTaskWait] = ExtensionTaskWait
    asks = False

    def check_call(self, name: str, tool: Tool | None) -> None:
        if not self._connection.options.tasks:
            raise UsageError("tasks need a client connected with tasks=True")
        self._require("extensions", EXTENSION)

    def may_ask(self) -> bool:  # the server makes a task of a call as it likes
        return False

    def made_of(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> Task | None:
        if result.get("resultType") != "task":
            return None
        task = created_task(result, params["name"])
        if task is None:
            raise ProtocolViolation("tools/call: the server answered with a task without id")
        return task

    def check(self, action: str) -> None:
        if action == "list":
            raise UsageError("servers of the stateless era do not list tasks")
