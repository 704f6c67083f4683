"""The tool calls of one client that are, or become, tasks.

There are two designs, see `protocol.tasks`; the era of the connection decides which applies.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable

from ..errors import CallTimeout, McpError, UsageError
from ..lazy import OnDemand
from ..net.futures import BackgroundTasks, consume_exception
from ..protocol.tasks import Task
from ..protocol.types import Progress
from .connection.call_recovery import CallDeadline, CallRecovery
from .connection.connection import Connection
from .connection.limits import DEFAULT, RequestOptions
from .events.callbacks import Observer, OrderedCallback

if TYPE_CHECKING:
    from . import task_designs
else:
    task_designs = OnDemand(".task_designs", __name__)

# The most tasks remembered, for the facts that the server does not keep about them.
_REMEMBERED = 1000

_tokens = itertools.count(1)


class TaskCalls:
    """Makes tool calls as tasks, waits for tasks, and remembers what both need."""

    def __init__(self, connection: Connection, caller: CallRecovery) -> None:
        self._connection = connection
        self._caller = caller
        self.progress: ProgressRelay = ProgressRelay()
        self._inputs: dict[str, task_designs.TaskInputs] = {}
        connection.observers.append(self.progress)

    @property
    def design(self) -> task_designs.CoreTasks:
        """The design of the era that was agreed on."""
        era = self._connection.era
        if era is not None and era.is_stateless:
            return task_designs.ExtensionTasks(self._connection)
        return task_designs.CoreTasks(self._connection)

    def inputs_of(self, task_id: str) -> task_designs.TaskInputs:
        """Return the answers given for a task, one object for all who wait for it."""
        inputs = self._inputs.pop(task_id, None) or task_designs.TaskInputs()
        self._inputs[task_id] = inputs
        _forget_oldest(self._inputs)
        return inputs

    async def wait_for(
        self,
        task: Task,
        on_status: Callable[[Task], Any] | None,
        limits: RequestOptions,
        by_default: bool = False,
    ) -> Mapping[str, Any]:
        """Return the result of a task once it is over; see `CoreTaskWait` for the arguments."""
        made, inputs = self.design.wait, self.inputs_of(task.id)
        wait = made(self._connection, self._caller, task, inputs, limits, by_default, on_status)
        self._connection.observers.append(wait)
        try:
            result = await wait.run()
        finally:
            self._connection.observers.remove(wait)
        self._inputs.pop(task.id, None)
        return result

    async def result_of(self, params: Mapping[str, Any], limits: RequestOptions) -> dict[str, Any]:
        """Return the result of a tool call, even when the server has made a task of it."""
        time = CallDeadline(self._connection, "tools/call", limits)
        result = await self.first_answer(params, limits, time)
        task = self.design.made_of(params, result)
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
                self._connection.session.tasks.start(
                    self._give_up_when_made(asking, params, limits)
                )
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
        with suppress(McpError):
            task = self.design.made_of(params, await asking)
            if task is not None:
                await self._give_up(task, limits)

    async def _give_up(self, task: Task, limits: RequestOptions) -> None:
        """Ask the server to stop a task that the caller does not know of."""
        own = self._connection.options.timeouts.for_call("tasks/cancel", DEFAULT, DEFAULT)
        with suppress(McpError):
            self.design.check("cancel")
            await self._caller.call(
                "tasks/cancel", {"taskId": task.id}, own._replace(headers=limits.headers)
            )


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


def id_of(task: Task | str) -> str:
    """Return the id of a task, given either."""
    task_id = task.id if isinstance(task, Task) else task
    if not task_id:
        raise UsageError("a task that was answered at once has no id")
    return task_id
