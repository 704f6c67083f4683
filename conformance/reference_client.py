"""The reference client: the Python SDK 2.x, run in its own environment, reports its results.

Reads one JSON object from stdin, the target and what to ask (see `conformance.live`), and prints
one, the report. It is a program of its own, so that the suite never imports the SDK.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

from mcp.client import Client, session
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.types import PromptReference


def wire(value: Any) -> Any:
    """Return a model as it stood on the wire: only the fields that the server sent."""
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


def target_of(request: dict[str, Any]) -> Any:
    if "url" not in request:
        command, *arguments = request["command"]
        return StdioServerParameters(
            command=command, args=arguments, env=request["environment"], cwd=request["folder"]
        )
    return sse_client(request["url"]) if request["transport"] == "sse" else request["url"]


async def all_pages(method: Any, items: str) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        page = await method(cursor=cursor)
        found.extend(wire(item) for item in getattr(page, items))
        cursor = page.next_cursor
        if cursor is None:
            return found


async def call_tool(client: Client, name: str, arguments: dict[str, Any]) -> Any:
    """Return a result and the progress on the way to it."""
    steps: list[Any] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        steps.append([done, total, message])

    result = await answer(client.call_tool(name, arguments, progress_callback=progress))
    return {"result": result, "progress": steps}


def complete(client: Client, prompt: str, argument: str, value: str) -> Any:
    reference = PromptReference(type="ref/prompt", name=prompt)
    return client.complete(reference, {"name": argument, "value": value})


async def answer(call: Any) -> Any:
    """Return a result, or the error the server answered with."""
    try:
        return wire(await call)
    except MCPError as error:
        told = error.error
        return {"error": {"code": told.code, "message": told.message, "data": told.data}}


async def report(client: Client, request: dict[str, Any]) -> dict[str, Any]:
    capabilities = wire(client.server_capabilities)
    found: dict[str, Any] = {
        "protocol_version": client.protocol_version,
        "server": wire(client.server_info) if client.server_info else None,
        "capabilities": capabilities,
    }
    if "tools" in capabilities:
        found["tools"] = await all_pages(client.list_tools, "tools")
    if "resources" in capabilities:
        found["resources"] = await all_pages(client.list_resources, "resources")
        found["templates"] = await all_pages(client.list_resource_templates, "resource_templates")
    if "prompts" in capabilities:
        found["prompts"] = await all_pages(client.list_prompts, "prompts")
    found["calls"] = [await call_tool(client, *call) for call in request["calls"]]
    found["reads"] = [await answer(client.read_resource(uri)) for uri in request["reads"]]
    found["gets"] = [await answer(client.get_prompt(*get)) for get in request["gets"]]
    found["completions"] = [
        (await answer(complete(client, *asked)))["completion"] for asked in request["completions"]
    ]
    return found


async def main() -> None:
    request = json.load(sys.stdin)
    if not request["is_stateless"]:
        # The SDK itself only offers its newest revision in a handshake.
        session.LATEST_HANDSHAKE_VERSION = request["revision"]
    mode = "auto" if request["is_stateless"] else "legacy"
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(target_of(request), mode=mode))
        json.dump(await report(client, request), sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
