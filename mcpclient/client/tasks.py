"""The client's interface to tasks: calls whose results are fetched later.

Two designs stand behind it, see `protocol.tasks`; the era of the connection decides which.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Callable

from ..errors import CallTimeout, McpError, UsageError
from ..lazy import OnDemand
from ..net.futures import BackgroundTasks, consume_exception
from ..protocol.tasks import Task, answered_task, described_task
from ..protocol.types import CallToolResult, Progress, Tool
from .connection.call_recovery import CallDeadline
from .connection.connection import Connection
from .connection.limits import DEFAULT, Default, RequestOptions, Seconds
from .connection.requests import ProgressHandler, Requests, checked_arguments, with_meta
from .events.callbacks import Observer, OrderedCallback
from .validation import ListedTools, OutputSchemas

if TYPE_CHECKING:
    from . import task_designs, task_wait
    from .events.around import Around, Call
    from .task_designs import TaskDesign
else:
    task_wait = OnDemand(".task_wait", __name__)
    task_designs = OnDemand(".task_designs", __name__)

# How many tasks are remembered here, for what the server does not keep about them.
_REMEMBERED = 1000

_tokens = itertools.count(1)


class Tasks(Requests):
    """Calling tools as tasks, and coming back for the results."""

    _listed: ListedTools
    _outputs: OutputSchemas
    _task_observer: TaskObserver

    async def call_tool_task(
        self,
        tool: str | Tool,
        arguments: Mapping[str, Any] | None = None,
        *,
        ttl: float | None = None,
        timeout: Seconds = DEFAULT,
        max_timeout: Seconds = DEFAULT,
        on_progress: ProgressHandler | None = None,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        around: Sequence[Around] = (),
    ) -> Task:
        """Call a tool and return as soon as the server has made a task of the call.

        ``tool``: its name, or the `Tool` from a listing, which says whether it can be called as a
        task (of a name, the latest listing does). ``ttl``: seconds the server should keep the task
        (2025-11-25 only; it may decide otherwise). ``on_progress`` is called for as long as the
        task runs. The other options are those of `call_tool`; a hook around the call sees the task
        as a result without content.

        A server with the tasks extension may also answer at once: then the task is over and has no
        ``id``, and `await_task` accepts it all the same. Raises `UsageError` when the server does
        not support tasks or the tool cannot be called as one, and what `request` raises.
        """
        name = tool.name if isinstance(tool, Tool) else tool
        params: dict[str, Any] = {"name": name, "arguments": checked_arguments(arguments)}
        known = tool if isinstance(tool, Tool) else self._listed.find(name)
        self._task_design.check_call(name, known)
        if self._task_design.asks:
            params["task"] = {} if ttl is None else {"ttl": round(ttl * 1000)}
            if on_progress is not None:
                token = self._task_observer.relay_progress(on_progress)
                meta, on_progress = {**(meta or {}), "progressToken": token}, None

        async def make(call: Call) -> CallToolResult:
            """A task in its first state travels through the hooks as if it were a result."""
            asked = {**params, "name": call.name, "arguments": call.arguments}
            if call.meta:
                asked = with_meta(asked, call.meta)
            limits = self._limits("tools/call", timeout, max_timeout, on_progress, call.headers)
            return CallToolResult(await self._in_owner_loop(self._first_answer, asked, limits))

        hooks = (*around, *self._connection.options.around)
        result = await self._call_through(hooks, make, name, arguments, meta, headers)
        return self._task_design.made_of(params, result.raw) or answered_task(result.raw, name)

    async def get_task(
        self,
        task: Task | str,
        *,
        timeout: Seconds = DEFAULT,
        headers: Mapping[str, str] | None = None,
    ) -> Task:
        """Return the present state of a task. Takes the task or its id.

        Raises `PeerError` (-32602) for a task that the server does not know, or no longer knows.
        """
        params = {"taskId": _id_of(task)}
        found = await self.request("tasks/get", params, timeout=timeout, headers=headers)
        return described_task(found, params["taskId"])

    async def list_tasks(self, *, timeout: Seconds = DEFAULT) -> list[Task]:
        """Return the tasks the server has for this client (2025-11-25 only).

        Raises `UsageError` when the server does not list tasks; then keep the ids yourself.
        """
        self._task_design.check_listing()
        return [Task(item) for item in await self._list("tasks/list", "tasks", timeout, True)]

    async def await_task(
        self,
        task: Task | str,
        *,
        on_status: Callable[[Task], Any] | None = None,
        timeout: Seconds = DEFAULT,
        max_timeout: Seconds = DEFAULT,
        headers: Mapping[str, str] | None = None,
    ) -> CallToolResult:
        """Wait until a task is over and return the result of the call it was made of.

        Takes the task or its id, from this connection or an earlier one. It asks the server as
        often as that wants to be asked, answers its requests for input through the handlers, and
        reconnects when the connection is lost. The result of a task that `call_tool_task` returned
        is checked as that of `call_tool` is. ``on_status`` takes the `Task` whenever its status or
        message has changed. ``timeout``: seconds for each request; ``max_timeout``: seconds in all,
        by default the client's, or the task's time to live where it has one. ``headers`` are sent
        with each request.

        Raises `PeerError` with the error the call ended with, or when the server does not know the
        task, `TaskFailed` when it was cancelled or outlived its time, and `CallTimeout`. The task
        runs on when this wait is cancelled or times out; see `cancel_task`.
        """
        known = task if isinstance(task, Task) else Task({"taskId": task})
        found: Mapping[str, Any] | None = known.result
        if found is None:
            limits = self._connection.options.timeouts.for_call("tasks/get", timeout, max_timeout)
            limits = limits._replace(headers=headers or {})
            by_default = isinstance(max_timeout, Default)
            found = await self._in_owner_loop(self._wait_for, known, on_status, limits, by_default)
        return await self._outputs.checked(known.tool, found, self._caller.refresh_tools)

    async def cancel_task(
        self,
        task: Task | str,
        *,
        timeout: Seconds = DEFAULT,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Ask the server to stop a task. Takes the task or its id.

        With the extension this is only a request: the task may still end in another way. Raises
        `PeerError` (-32602) for a task that is over, or that the server does not know.
        """
        self._task_design.check_cancelling()
        params = {"taskId": _id_of(task)}
        await self.request("tasks/cancel", params, timeout=timeout, headers=headers)

    # What both designs need

    @property
    def _task_design(self) -> TaskDesign:
        era = self._connection.era
        if era is not None and era.tasks_are_an_extension:
            return task_designs.ExtensionTasks(self._connection)
        return task_designs.CoreTasks(self._connection)

    async def _wait_for(
        self,
        task: Task,
        on_status: Callable[[Task], Any] | None,
        limits: RequestOptions,
        by_default: bool,
    ) -> Mapping[str, Any]:
        wait = self._task_design.wait(
            self._connection,
            self._caller,
            task,
            self._task_observer.inputs_of(task.id),
            limits,
            by_default,
            on_status,
        )
        with self._task_observer.telling(task.id, wait):
            result = await wait.run()
        self._task_observer.forget_inputs(task.id)
        return result

    def _has_to_be_a_task(self, name: str) -> bool:
        """Whether a tool can be called as a task only, and tasks can be made."""
        return name in self._listed.only_tasks and self._task_design.may_ask()

    async def _without_task(
        self, params: Mapping[str, Any], limits: RequestOptions
    ) -> dict[str, Any]:
        """Return the result of a tool call, even when the server has made a task of it.

        It did when ``params`` ask for one, as those of 2025-11-25 do.
        """
        time = CallDeadline(self._connection, "tools/call", limits)
        result = await self._first_answer(params, limits, time)
        task = self._task_design.made_of(params, result)
        if task is None:
            return result
        try:
            rest = time.rest_of(limits._replace(on_progress=None))
            return dict(await self._wait_for(task, None, rest, False))
        except (CallTimeout, asyncio.CancelledError) as reason:
            self._give_up(task, limits)
            if isinstance(reason, CallTimeout) and reason.limit == "total":
                raise time.timeout from None
            raise

    async def _first_answer(
        self, params: Mapping[str, Any], limits: RequestOptions, time: CallDeadline | None = None
    ) -> dict[str, Any]:
        """Return the answer to a tool call, which may be a task.

        Only ``tasks/cancel`` may cancel a call that asked to become a task ("Cancellation" of
        2025-11-25), and that needs the task's id. So when the caller gives such a call up, its
        answer is awaited all the same, to cancel the task it names.
        """
        call = self._caller.call("tools/call", params, limits, time)
        if "task" not in params:
            return await call
        asking = asyncio.ensure_future(call)
        asking.add_done_callback(consume_exception)
        try:
            await asyncio.wait({asking})
        except asyncio.CancelledError:
            if self._connection.is_open:
                self._in_background(lambda: self._give_up_when_made(asking, params, limits))
            else:
                asking.cancel()
            raise
        return asking.result()

    async def _give_up_when_made(
        self,
        asking: asyncio.Task[dict[str, Any]],
        params: Mapping[str, Any],
        limits: RequestOptions,
    ) -> None:
        task = self._task_design.made_of(params, await asking)
        if task is not None:
            self._give_up(task, limits)

    def _give_up(self, task: Task, limits: RequestOptions) -> None:
        """Ask the server to stop a task that the caller does not know of."""
        if self._connection.is_open:
            self._in_background(lambda: self.cancel_task(task, headers=limits.headers))

    def _in_background(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._connection.session.tasks.start(_quietly(work))


class TaskObserver(Observer):
    """Passes on what the server reports about tasks unasked: progress, and changes of status."""

    def __init__(self, connection: Connection) -> None:
        self._callbacks = BackgroundTasks()
        self._progress: dict[str, OrderedCallback] = {}
        self._inputs: dict[str, task_wait.TaskInputs] = {}
        self._waits: dict[str, list[task_wait.TaskWait]] = {}
        connection.observers.append(self)

    def relay_progress(self, handler: ProgressHandler) -> str:
        """Pass progress to a handler from now on; return the progress token to ask for it with."""
        token = f"task-{next(_tokens)}"
        function = OrderedCallback(lambda params: handler(Progress(params)), self._callbacks)
        self._progress[token] = function
        _forget_oldest(self._progress)
        return token

    def inputs_of(self, task_id: str) -> task_wait.TaskInputs:
        """Return what has been answered for a task, one object for all who wait for it."""
        inputs = self._inputs.pop(task_id, None) or task_wait.TaskInputs()
        self._inputs[task_id] = inputs
        _forget_oldest(self._inputs)
        return inputs

    def forget_inputs(self, task_id: str) -> None:
        """Forget what was answered for a task that is over."""
        self._inputs.pop(task_id, None)

    @contextmanager
    def telling(self, task_id: str, wait: task_wait.TaskWait) -> Iterator[None]:
        """Pass news of a task to ``wait`` while the block runs."""
        waits = self._waits.setdefault(task_id, [])
        waits.append(wait)
        try:
            yield
        finally:
            waits.remove(wait)
            if not waits:
                self._waits.pop(task_id, None)

    # Observer

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Pass on progress and changes of status."""
        if method == "notifications/progress":
            token = params.get("progressToken")
            relay = self._progress.get(token) if isinstance(token, str) else None
            if relay is not None:
                relay(params)
        elif method in ("notifications/tasks/status", "notifications/tasks"):
            task = Task(params)
            for wait in list(self._waits.get(task.id, ())):
                wait.tell(task)

    def closed(self) -> None:
        """Stop all callbacks."""
        self._callbacks.cancel()
        self._progress.clear()


async def _quietly(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    # The coroutine is made here, since one that is never begun is a warning.
    with suppress(McpError):
        await work()


def _forget_oldest(memory: dict[str, Any]) -> None:
    while len(memory) > _REMEMBERED:
        del memory[next(iter(memory))]


def _id_of(task: Task | str) -> str:
    task_id = task.id if isinstance(task, Task) else task
    if not task_id:
        raise UsageError("a task that was answered at once has no id")
    return task_id
