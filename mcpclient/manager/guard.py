"""What stands before every call of a server with pins or filters, as an around-hook."""

from __future__ import annotations

from typing import Protocol

from ..client.events.around import Call, Proceed, not_called
from ..protocol.types import CallToolResult

__all__ = ["Guard"]


class Waiting(Protocol):
    """A server that is connected when it is needed."""

    async def ready(self) -> object:
        """Wait for its connection, after which its definitions are those of now."""


class Judge(Protocol):
    """Who knows which tools are refused."""

    def refusal_of(self, tool: str) -> str | None:
        """Return why a tool is not to be called, None when it may be."""


class Guard:
    """Refuses tools that are pinned to another definition, and those that a filter leaves out.

    The innermost of the hooks, and after the server is connected: what was approved is what runs.
    """

    def __init__(self, server: Waiting, judge: Judge) -> None:
        self._server = server
        self._judge = judge

    async def __call__(self, call: Call, proceed: Proceed, /) -> CallToolResult:
        """Refuse the call, or let it pass."""
        await self._server.ready()
        reason = self._judge.refusal_of(call.name)
        return await proceed(call) if reason is None else not_called(call.full_name, reason)
