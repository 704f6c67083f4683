"""A tool call before it becomes a request: what it is, and what stands around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..on_demand import OnDemand
from ..protocol.types import CallToolResult
from .link.requests import Requests
from .listed_tools import ListedTools

if TYPE_CHECKING:
    from .events import around
else:
    around = OnDemand(".events.around", __name__)

__all__ = ["ToolCalls"]


class ToolCalls(Requests):
    """What `Tools.call_tool` and `Tasks.call_tool_task` have in common."""

    _listed: ListedTools

    def _full_name(self, name: str) -> str:
        """Return the name by which the caller knows a tool of this server."""
        return name

    async def _call_through(
        self,
        hooks: Sequence[around.Around],
        make: around.Proceed,
        name: str,
        arguments: Mapping[str, Any] | None,
        meta: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
        trace: object = None,
    ) -> CallToolResult:
        """Make a call with ``hooks`` around it, the first of them outermost."""
        connection = self._connection
        agreement = connection.agreement
        call = around.Call(
            server=connection.name,
            name=name,
            full_name=self._full_name(name),
            arguments=arguments or {},
            meta=meta or {},
            headers=headers or {},
            tool=self._listed.find(name),
            trusted=connection.options.trusted,
            protocol_version=agreement.era.version if agreement is not None else None,
            transport=connection.session.transport.name if connection.is_open else None,
            trace=trace,
        )
        return await around.surrounded(hooks, make)(call)
