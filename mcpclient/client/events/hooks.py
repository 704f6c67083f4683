"""Telemetry: telling whoever measures it what has happened."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ...framing.logs import logger_for
from ...protocol.types import CallToolResult

if TYPE_CHECKING:
    from .around import Call, Proceed

_logger = logger_for("mcpclient.client")


class Hooks(NamedTuple):
    """Functions that are called at once, with keyword arguments. One that raises is logged.

    - ``on_connect(server, transport, server_name, server_version, tool_count)``: connected;
      the tools are listed to count them, and ``tool_count`` is None where that failed.
    - ``on_tool_call(server, tool, latency_ms, is_error, trace)``: a tool has answered.
    - ``on_error(server, phase, error, trace)``: connecting (``phase="connect"``) or a tool call
      (``phase="request"``) failed.

    ``server`` says what was connected to, without secrets; ``latency_ms`` is in milliseconds.
    ``trace`` is whatever the caller gave with the call, unchanged.
    """

    on_connect: Callable[..., Any] | None = None
    on_tool_call: Callable[..., Any] | None = None
    on_error: Callable[..., Any] | None = None

    @property
    def watches_calls(self) -> bool:
        """Whether anyone wants to hear of tool calls."""
        return self.on_tool_call is not None or self.on_error is not None

    def connected(self, **facts: Any) -> None:
        """Report a connection."""
        _tell(self.on_connect, facts)

    async def around(self, call: Call, proceed: Proceed) -> CallToolResult:
        """Report a tool call: an `mcpclient.Around`."""
        if call.method != "tools/call":
            return await proceed(call)
        clock = asyncio.get_running_loop().time
        started = clock()
        with self.reporting(call.server, "request", call.trace):
            result = await proceed(call)
        facts = {
            "server": call.server,
            "tool": call.name,
            "latency_ms": (clock() - started) * 1000,
            "is_error": result.is_error,
            "trace": call.trace,
        }
        _tell(self.on_tool_call, facts)
        return result

    @contextmanager
    def reporting(self, server: str, phase: str, trace: Any = None) -> Iterator[None]:
        """Report an exception that leaves the block, and let it pass."""
        try:
            yield
        except Exception as error:
            _tell(self.on_error, {"server": server, "phase": phase, "error": error, "trace": trace})
            raise


def _tell(hook: Callable[..., Any] | None, facts: dict[str, Any]) -> None:
    if hook is None:
        return
    try:
        hook(**facts)
    except Exception:
        _logger.exception("hook %r failed", hook)
