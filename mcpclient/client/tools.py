"""The client's interface to tools."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

from ..errors import ToolError
from ..framing.logs import logger_for
from ..protocol.era_stateless import StatelessEra
from ..protocol.types import CallToolResult, Tool
from .link.options import DEFAULT, Seconds
from .link.requests import ProgressHandler
from .tasks import Tasks

__all__ = ["Tools"]

logger = logger_for("mcpclient.client")


class Tools(Tasks):
    """Listing and calling tools."""

    async def list_tools(
        self,
        *,
        timeout: Seconds = DEFAULT,
        meta: Mapping[str, Any] | None = None,
        fresh: bool = False,
    ) -> list[Tool]:
        """Return the tools of all pages. The options are those of `request`, which it calls.

        Over HTTP in the stateless era, a tool whose header annotations are invalid is left out
        with a warning, as the specification demands.
        """
        tools = await self._list("tools/list", "tools", timeout, fresh, meta=meta)
        era = self._connection.era
        if isinstance(era, StatelessEra) and self._connection.session.transport.carries_headers:
            tools = [tool for tool in tools if _learn_headers(era, tool)]
        listed = [Tool(tool) for tool in tools]
        self._outputs.learn(listed)
        return listed

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: Seconds = DEFAULT,
        max_timeout: Seconds = DEFAULT,
        on_progress: ProgressHandler | None = None,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        raise_on_error: bool = False,
        trace: Any = None,
    ) -> CallToolResult:
        """Call a tool with exactly one request. The options are those of `request`.

        When the tool itself fails, the result has ``is_error``; with ``raise_on_error`` a
        `ToolError` is raised instead. Also raises what `request` does. Structured content is
        checked as the client's ``validate`` says, if the tool was listed before. ``trace`` is
        passed to the hooks unchanged.
        """
        params = {"name": name, "arguments": arguments or {}}
        request = self._request(
            "tools/call", params, timeout, max_timeout, on_progress, meta, headers
        )
        if self._connection.options.tasks:
            request = self._without_task(request, timeout, max_timeout, headers)
        if self._connection.options.hooks.watches_calls:
            request = self._reported(name, request, trace)
        result = CallToolResult(await request)
        self._outputs.check(name, result)
        if raise_on_error and result.is_error:
            raise ToolError(name, result)
        return result

    async def _reported(
        self, name: str, request: Coroutine[Any, Any, dict[str, Any]], trace: Any
    ) -> dict[str, Any]:
        hooks, server = self._connection.options.hooks, self._connection.route.shown
        clock = asyncio.get_running_loop().time
        started = clock()
        with hooks.reporting(server, "request", trace):
            result = await request
        hooks.tool_called(
            server=server,
            tool=name,
            latency_ms=(clock() - started) * 1000,
            is_error=result.get("isError") is True,
            trace=trace,
        )
        return result


def _learn_headers(era: StatelessEra, tool: Mapping[str, Any]) -> bool:
    try:
        era.header_parameters.learn(tool)
    except ValueError as error:
        logger.warning("left out tool %r: %s", tool.get("name"), error)
        return False
    return True
