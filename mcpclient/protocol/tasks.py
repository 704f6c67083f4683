"""Tasks: work that continues after the request that began it.

There are two designs. Revision 2025-11-25 has tasks in its core ("Tasks" page): the client asks
for one with ``task`` in the params of a call and fetches the result with ``tasks/result``. In the
extension ``io.modelcontextprotocol/tasks`` of the stateless era (repository
modelcontextprotocol/ext-tasks) the server decides, and ``tasks/get`` brings the result along.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..errors import ProtocolViolation
from .negotiation import RELATED_TASK
from .wire_object import Field, WireObject, object_in, string_at

MAX_INPUTS = 100
"""The most requests for input by one task in its lifetime."""

# The states that nothing follows. Every other one, known or not, means that it goes on.
_OVER = frozenset({"completed", "failed", "cancelled"})


class Task(WireObject):
    """A task as the server last described it, in either design.

    ``status`` is ``working``, ``input_required``, ``completed``, ``failed``, ``cancelled``, or
    whatever else the server said. Only ``id`` is needed to come back to a task later. ``tool`` is
    the name of the tool, if this is the task of a call just made; otherwise it is empty.
    """

    __slots__ = ("tool",)
    id: Field[str] = Field(
        "taskId", (str,), "", "Names the task; empty when the server answered at once."
    )
    status: Field[str] = Field("status", (str,), "")
    status_message: Field[str | None] = Field("statusMessage", (str,), None)
    created_at: Field[str | None] = Field(
        "createdAt", (str,), None, "ISO 8601, by the server's clock."
    )
    last_updated_at: Field[str | None] = Field("lastUpdatedAt", (str,), None, "ISO 8601.")
    result: Field[dict[str, Any] | None] = Field(
        "result", (dict,), None, "The result, where the server has sent it along."
    )
    error: Field[dict[str, Any] | None] = Field(
        "error", (dict,), None, "The JSON-RPC error, where the server has sent it along."
    )

    def __init__(self, raw: Mapping[str, Any], tool: str = "") -> None:
        super().__init__(raw)
        self.tool: str = tool

    @property
    def ttl(self) -> float | None:
        """Seconds after its creation until the server may forget it; None: not stated."""
        return self._seconds("ttl", "ttlMs")

    @property
    def poll_interval(self) -> float | None:
        """Seconds between two requests for it, as the server wants; None: not stated."""
        return self._seconds("pollInterval", "pollIntervalMs")

    def _seconds(self, *keys: str) -> float | None:
        for key in keys:
            value = self.raw.get(key)
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
                return min(value, 1e15) / 1000
        return None

    @property
    def is_over(self) -> bool:
        """Whether the status can no longer change."""
        return self.status in _OVER

    @property
    def immediate_response(self) -> str | None:
        """The message for a model while the task runs; None: the server sends none."""
        return string_at(self.meta, "io.modelcontextprotocol/model-immediate-response")

    @property
    def input_requests(self) -> dict[str, Any]:
        """The requests that wait for an answer (extension only), by key."""
        waits = self.status == "input_required"
        return object_in(self.raw.get("inputRequests")) if waits else {}


def created_task(result: Mapping[str, Any], tool: str = "") -> Task | None:
    """Return the task a call was answered with; None when it was answered with its result."""
    task = result.get("task")
    if isinstance(task, dict) and isinstance(task.get("taskId"), str):
        meta = {"_meta": result["_meta"]} if "_meta" in result else {}
        return Task({**meta, **task}, tool)
    if result.get("resultType") == "task" and isinstance(result.get("taskId"), str):
        return Task(result, tool)
    return None


def described_task(result: Mapping[str, Any], task_id: str) -> Task:
    """Return the task in the answer to ``tasks/get``. Raises `ProtocolViolation` for another."""
    task = Task(result)
    if task.id not in ("", task_id):
        raise ProtocolViolation(f"asked for task {task_id}, the server described {task.id:.100}")
    return task


def answered_task(result: Mapping[str, Any], tool: str = "") -> Task:
    """Return the result of a call that was answered at once as a finished task, without an id."""
    return Task({"taskId": "", "status": "completed", "result": dict(result)}, tool)


AUGMENTABLE = {
    "elicitation/create": ("elicitation", "create"),
    "sampling/createMessage": ("sampling", "createMessage"),
}
"""The server's requests that a client can turn into tasks, and how the client declares that."""


def receiver_capability(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``tasks`` capability (2025-11-25) of a client with these others; empty: none."""
    requests: dict[str, Any] = {
        subject: {verb: {}} for subject, verb in AUGMENTABLE.values() if subject in capabilities
    }
    return {"list": {}, "cancel": {}, "requests": requests} if requests else {}


def related_task_of(message: Mapping[str, Any]) -> str | None:
    """Return the id of the task that params or a result belong to, by their ``_meta``."""
    return string_at(message, "_meta", RELATED_TASK, "taskId")


def with_related_task(message: Mapping[str, Any], task_id: str) -> dict[str, Any]:
    """Return params or a result, marked as belonging to a task."""
    meta = message.get("_meta")
    marked = {**(meta if isinstance(meta, Mapping) else {}), RELATED_TASK: {"taskId": task_id}}
    return {**message, "_meta": marked}


class Polling:
    """The pauses between two requests for a task, in seconds.

    The interval that the server asks for is respected, between `MIN_INTERVAL` and
    `MAX_ASKED_INTERVAL`. When it asks for none, the pauses grow from `FIRST` to `MAX_OWN_INTERVAL`
    for as long as nothing changes.
    """

    MIN_INTERVAL = 0.1
    MAX_ASKED_INTERVAL = 3600.0
    FIRST = 0.5
    MAX_OWN_INTERVAL = 10.0

    def __init__(self) -> None:
        self._next = self.FIRST
        self._previous: Task | None = None

    def delay(self, task: Task) -> float:
        """Return how many seconds to wait, now that the server has described the task like this."""
        changed = task != self._previous
        self._previous = task
        if task.poll_interval is not None:
            return min(max(task.poll_interval, self.MIN_INTERVAL), self.MAX_ASKED_INTERVAL)
        if changed:
            self._next = self.FIRST
        delay = self._next
        self._next = min(delay * 1.5, self.MAX_OWN_INTERVAL)
        return delay


def polling_seconds(task: Task) -> float:
    """Return for how many seconds after its creation a task is worth asking for.

    That is its time to live and one more pause; infinity when the server sets no limit.
    """
    if task.ttl is None:
        return math.inf
    return task.ttl + (task.poll_interval or Polling.MAX_OWN_INTERVAL)
