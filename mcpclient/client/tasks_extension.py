"""Tasks as the extension has them: the server decides, and the task's state says everything."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ..errors import PeerError, ProtocolViolation, TaskFailed, UsageError
from ..jsonrpc.messages import peer_error
from ..protocol.tasks import EXTENSION, Task, created_task
from ..protocol.types import Tool
from .task_design import TaskDesign
from .task_wait import TaskWait


class ExtensionTaskWait(TaskWait):
    """Answers the requests for input in a task's state with ``tasks/update``."""

    @property
    def _is_answering(self) -> bool:
        return self._job is not None and not self._job.done()

    def _uncounted(self, began: float, held: float, *, was_answering: bool) -> float:
        return self._clock() - began if was_answering or self._is_answering else 0.0

    def _job_for_input(self) -> asyncio.Task[Mapping[str, Any] | None] | None:
        requests = self._inputs.take(self._task.input_requests)
        if not requests:
            return None
        job = asyncio.ensure_future(self._give_input(requests))
        job.add_done_callback(lambda job: self._give_back(job, requests))
        return job

    async def _give_input(self, requests: Mapping[str, Any]) -> Mapping[str, Any] | None:
        answers = self._inputs.answers
        new = {key: each for key, each in requests.items() if key not in answers}
        answers.update(await self._caller.answers(new))
        params = {"taskId": self._id, "inputResponses": {key: answers[key] for key in requests}}
        await self._caller.call("tasks/update", params, self._limits)
        return None

    def _give_back(
        self, job: asyncio.Task[Mapping[str, Any] | None], requests: Mapping[str, Any]
    ) -> None:
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


class ExtensionTasks(TaskDesign):
    """Both sides have to declare the extension; then any tool call may become a task."""

    wait: type[TaskWait] = ExtensionTaskWait
    asks = False

    def check_call(self, name: str, tool: Tool | None) -> None:
        """Raise `UsageError` unless both sides declare the extension."""
        if not self._connection.options.tasks:
            raise UsageError("tasks need a client connected with tasks=True")
        self._require("extensions", EXTENSION)

    def may_ask(self) -> bool:
        """Answer no: the server makes a task of a call as it likes."""
        return False

    def made_of(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> Task | None:
        """Return the task that the type of the result says it is."""
        if result.get("resultType") != "task":
            return None
        task = created_task(result, params["name"])
        if task is None:
            raise ProtocolViolation("tools/call: the server answered with a task without id")
        return task

    def check_listing(self) -> None:
        """Raise `UsageError`: there is no such request."""
        raise UsageError("servers of the stateless era do not list tasks")

    def check_cancelling(self) -> None:
        """Raise nothing: whoever has a task may cancel it."""
