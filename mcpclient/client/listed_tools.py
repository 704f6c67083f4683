"""What a client knows of its server's tools: what they were when the caller last listed them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ..lazy import OnDemand
from ..protocol.tasks import task_support_of
from ..protocol.types import Tool
from .events.callbacks import Observer

if TYPE_CHECKING:
    from ..recording import secret_arguments
else:
    secret_arguments = OnDemand("..recording.secret_arguments", __name__)


class ListedTools(Observer):
    """The definitions of the tools that the caller has listed, until the server says they changed.

    ``are_stale``: whether there has been no list since. ``only_tasks``: the names of those that can
    be called as a task only, which is believed until the next list: no other call can succeed.
    ``secret_schemas``: the input schemas of those with arguments that they mark as secret.
    """

    def __init__(self) -> None:
        self._definitions: dict[str, Tool] = {}
        self.only_tasks: frozenset[str] = frozenset()
        self.secret_schemas: dict[str, Any] = {}
        self.are_stale: bool = True

    def learn(self, tools: Collection[Tool]) -> None:
        """Take note of a complete list of tools."""
        self._definitions = {tool.name: tool for tool in tools}
        self.only_tasks = frozenset(
            tool.name for tool in tools if task_support_of(tool.raw) == "required"
        )
        self.secret_schemas = secret_arguments.schemas_with_secrets(tool.raw for tool in tools)
        self.are_stale = False

    def find(self, name: str) -> Tool | None:
        """Return the definition of a tool; None where it is not known, or may have changed."""
        return self._definitions.get(name)

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Forget all definitions when the tools have changed; the next list brings them."""
        if method == "notifications/tools/list_changed":
            self._definitions = {}
            self.are_stale = True
