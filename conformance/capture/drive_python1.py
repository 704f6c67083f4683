"""Runs a script through the client of the Python SDK 1.x (``mcp``): the handshake era.

Usage: ``python -m conformance.capture.drive_python1 < task.json``, with a Python that has the SDK.
See `python_steps`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any, Callable

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.websocket import websocket_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import AnyUrl

from conformance.capture.notes import note
from conformance.capture.python_steps import ScriptedUser, wire

TIMED_OUT, CLOSED = 408, -32000


class User(ScriptedUser):
    """Does the steps of a script in a session."""

    client: ClientSession

    async def take(self, message: Any) -> None:
        if isinstance(message, types.ServerNotification):
            self.is_told(wire(message.root))

    # Steps

    async def ping(self, step: Any, progress: Any) -> Any:
        return wire(await self.client.send_ping())

    async def page(self, method: Callable[..., Any], cursor: str | None) -> tuple[Any, str | None]:
        params = None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
        page = await method(params=params)
        return page, page.nextCursor

    def timeout(self, seconds: float) -> timedelta:
        return timedelta(seconds=seconds)

    async def read_resource(self, step: Any, progress: Any) -> Any:
        return wire(await self.client.read_resource(AnyUrl(step["uri"])))

    async def set_log_level(self, step: Any, progress: Any) -> Any:
        return wire(await self.client.set_logging_level(step["level"]))

    async def subscribe(self, step: Any, progress: Any) -> Any:
        return wire(await self.client.subscribe_resource(AnyUrl(step["uri"])))

    async def unsubscribe(self, step: Any, progress: Any) -> Any:
        return wire(await self.client.unsubscribe_resource(AnyUrl(step["uri"])))

    async def set_roots(self, step: Any, progress: Any) -> Any:
        self.roots = step["roots"]
        await self.client.send_roots_list_changed()
        return {}

    def failure_of(self, error: Exception) -> dict[str, Any]:
        """Return an outcome that is not a result."""
        if not isinstance(error, McpError):
            return {"failed": "refused", "detail": str(error)}
        if error.error.code == TIMED_OUT:
            return {"failed": "timeout", "detail": str(error)}
        if error.error.code == CLOSED and error.error.message == "Connection closed":
            return {"failed": "closed", "detail": str(error)}
        return {"error": wire(error.error)}


class Streams:
    """The transport of a session, which closes with the stack."""

    def __init__(
        self, stack: AsyncExitStack, target: dict[str, Any], headers: dict[str, str] | None
    ) -> None:
        self._stack = stack
        self._headers = headers
        self._target = target
        self._is_open = asyncio.Event()

    async def open(self) -> tuple[Any, Any]:
        """Return where to read from, and where to write to."""
        kind, target = self._target["transport"], self._target
        if kind == "stdio":
            opened: Any = stdio_client(StdioServerParameters(**target["process"]))
        elif kind == "http":
            client = create_mcp_http_client(self._headers)
            client.event_hooks["response"] = [self._answered]
            await self._stack.enter_async_context(client)
            opened = streamable_http_client(target["url"], http_client=client)
        else:
            opened = {"sse": sse_client, "ws": websocket_client}[kind](target["url"])
        reading, writing, *more = await self._stack.enter_async_context(opened)
        self._session_id = more[0] if more else lambda: None
        return reading, writing

    async def _answered(self, response: Any) -> None:
        if response.request.method == "GET":
            self._is_open.set()

    async def settled(self) -> None:
        """Wait until the server's own stream is open: the order is the same in every run."""
        if self._session_id() is not None:
            await self._is_open.wait()


async def main() -> None:
    """Connect, do the steps, close."""
    task = json.load(sys.stdin)
    user = User(task["script"])
    async with AsyncExitStack() as stack:
        streams = Streams(stack, task["target"], task["script"]["client"].get("headers"))
        info = types.Implementation(**task["clientInfo"])
        session = ClientSession(*await streams.open(), client_info=info, **user.callbacks())
        user.client = await stack.enter_async_context(session)
        try:
            result = wire(await user.client.initialize())
        except Exception as error:
            note({"connected": user.failure_of(error)})
            return
        await streams.settled()
        known = {"protocol_version": "protocolVersion", "server": "serverInfo"}
        known.update({name: name for name in ("capabilities", "instructions")})
        note(
            {
                "connected": {
                    name: result[on_wire] for name, on_wire in known.items() if on_wire in result
                }
            }
        )
        await user.run()
    note({"closed": True})


asyncio.run(main())
