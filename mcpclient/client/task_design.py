"""What the two designs of tasks are asked by the client's interface to tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from ..errors import UsageError
from ..protocol.tasks import Task, declares
from ..protocol.types import Tool
from .connection.connection import Connection
from .task_wait import TaskWait


class TaskDesign(ABC):
    """How tasks are made, listed and cancelled over one connection.

    ``wait``: what waits for a task. ``asks``: whether a call has to ask to become a task, which
    also makes its progress last as long as the task.
    """

    wait: type[TaskWait]
    asks: bool

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @abstractmethod
    def check_call(self, name: str, tool: Tool | None) -> None:
        """Raise `UsageError` when a tool, listed or not, cannot be called as a task."""

    @abstractmethod
    def may_ask(self) -> bool:
        """Whether a call can ask to become a task, as tools may require."""

    @abstractmethod
    def made_of(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> Task | None:
        """Return the task the server made of a call; None when it gave the result of the call.

        Raises `ProtocolViolation` for a task without id.
        """

    @abstractmethod
    def check_listing(self) -> None:
        """Raise `UsageError` when tasks cannot be listed."""

    @abstractmethod
    def check_cancelling(self) -> None:
        """Raise `UsageError` when tasks cannot be cancelled."""

    def _declares(self, *capability: str) -> bool:
        return declares(self._connection.capabilities, *capability)

    def _require(self, *capability: str) -> None:
        self._connection.require_session()
        if not self._declares(*capability):
            raise UsageError(f"the server does not declare the capability {'.'.join(capability)}")
