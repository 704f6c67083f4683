"""Runs a script through the client of the Python SDK 2.x (``mcp``): first the stateless era.

Usage: ``python -m conformance.capture.drive_python2 < task.json``, with a Python that has the SDK.
See `python_steps`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, Callable

from mcp import Client, StdioServerParameters, types
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from conformance.capture.notes import note
from conformance.capture.python_steps import ScriptedUser, wire


class User(ScriptedUser):
    """Does the steps of a script."""

    client: Client

    async def take(self, message: Any) -> None:
        if isinstance(message, BaseModel):
            told = wire(message)
            if str(told.get("method")).startswith("notifications/"):
                self.is_told(told)

    async def page(self, method: Callable[..., Any], cursor: str | None) -> tuple[Any, str | None]:
        page = await method(cursor=cursor)
        return page, page.next_cursor

    async def read_resource(self, step: Any, progress: Any) -> Any:
        return wire(await self.client.read_resource(step["uri"]))

    async def listen(self, step: Any, progress: Any) -> Any:
        asked = {f"{kind}_list_changed": bool(step.get(kind)) for kind in ("tools", "prompts")}
        asked["resources_list_changed"] = bool(step.get("resources"))
        uris = step.get("uris", ())
        async with self.client.listen(**asked, resource_subscriptions=uris) as subscription:
            for each in step["steps"]:
                await self.do(each)
            await self.wait_for(step["until"], progress)
        return {"acknowledged": wire(subscription.honored)}

    def failure_of(self, error: Exception) -> dict[str, Any]:
        """Return an outcome that is not a result."""
        if not isinstance(error, MCPError):
            return {"failed": "refused", "detail": str(error)}
        if error.error.code == types.REQUEST_TIMEOUT:
            return {"failed": "timeout", "detail": str(error)}
        if error.error.code == types.CONNECTION_CLOSED:
            return {"failed": "closed", "detail": str(error)}
        return {"error": wire(error.error)}


async def main() -> None:
    """Connect, do the steps, close."""
    task = json.load(sys.stdin)
    user, target = User(task["script"]), task["target"]
    is_stdio = target["transport"] == "stdio"
    where: Any = StdioServerParameters(**target["process"]) if is_stdio else target["url"]
    info = types.Implementation(**task["clientInfo"])
    try:
        async with Client(where, client_info=info, **user.callbacks()) as user.client:
            known = {
                "protocol_version": user.client.protocol_version,
                "server": user.client.server_info and wire(user.client.server_info),
                "capabilities": wire(user.client.server_capabilities),
                "instructions": user.client.instructions,
            }
            note({"connected": {name: value for name, value in known.items() if value is not None}})
            await user.run()
    except MCPError as error:
        note({"connected": user.failure_of(error)})
        return
    note({"closed": True})


asyncio.run(main())
