"""Tasks as revision 2025-11-25 has them: calls ask for them, and the result is a request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ..errors import UsageError
from ..protocol.tasks import Task, created_task, task_support_of
from ..protocol.types import Tool
from .connection.session import RequestOptions
from .task_design import TaskDesign
from .task_wait import TaskWait

_MAKING = ("tasks", "requests", "tools", "call")


class CoreTaskWait(TaskWait):
    """Asks for input over the ``tasks/result`` request, which it also brings the result with."""

    @property
    def _is_answering(self) -> bool:
        return self._connection.receiver.is_answering(self._id)

    def _uncounted(self, began: float, held: float, *, was_answering: bool) -> float:
        return max(self._connection.held_seconds - held, 0.0)

    def _job_for_input(self) -> asyncio.Task[Mapping[str, Any] | None] | None:
        return asyncio.ensure_future(self._fetch_result())

    async def _fetch_result(self) -> Mapping[str, Any] | None:
        unlimited = RequestOptions(None, None, self._limits.headers)
        return await self._caller.call("tasks/result", {"taskId": self._id}, unlimited)

    async def _result_of(self, task: Task) -> Mapping[str, Any]:
        if self._job is not None:  # it has asked already
            await asyncio.wait({self._job}, timeout=self._limits.timeout)
            result = await self._outcome_of_job()
            if result is not None:
                return result
        return await self._request("tasks/result", {"taskId": self._id})


class CoreTasks(TaskDesign):
    """What the server can do with tasks, its capabilities say; what a tool can, its listing."""

    wait: type[TaskWait] = CoreTaskWait
    asks = True

    def check_call(self, name: str, tool: Tool | None) -> None:
        """Raise `UsageError` where the server or the tool says that it cannot."""
        self._require(*_MAKING)
        if tool is not None and task_support_of(tool.raw) == "forbidden":
            raise UsageError(f"tool {name!r} cannot be called as a task")

    def may_ask(self) -> bool:
        """Whether the server makes tasks of tool calls."""
        return self._declares(*_MAKING)

    def made_of(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> Task | None:
        """Return the task of a call that asked for one."""
        return created_task(result, params["name"]) if "task" in params else None

    def check_listing(self) -> None:
        """Raise `UsageError` unless the server declares it."""
        self._require("tasks", "list")

    def check_cancelling(self) -> None:
        """Raise `UsageError` unless the server declares it."""
        self._require("tasks", "cancel")
