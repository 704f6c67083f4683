"""The Python SDK 1.x as a reference client, run in its own environment: see `reference_client`."""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


def wire(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


def streams_of(request: dict[str, Any]) -> Any:
    if "url" in request:
        connect = sse_client if request["transport"] == "sse" else streamablehttp_client
        return connect(request["url"])
    command, *arguments = request["command"]
    return stdio_client(
        StdioServerParameters(
            command=command, args=arguments, env=request["environment"], cwd=request["folder"]
        )
    )


async def all_pages(method: Any, items: str) -> list[Any]:
    found: list[Any] = []
    cursor = None
    while True:
        page = await method(cursor)
        found.extend(wire(item) for item in getattr(page, items))
        cursor = page.nextCursor
        if cursor is None:
            return found


async def answer(call: Any) -> Any:
    """Return a result, or the error the server answered with."""
    try:
        return wire(await call)
    except McpError as error:
        told = error.error
        return {"error": {"code": told.code, "message": told.message, "data": told.data}}


async def call_tool(session: ClientSession, name: str, arguments: dict[str, Any]) -> Any:
    steps: list[Any] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        steps.append([done, total, message])

    call = session.call_tool(name, arguments, progress_callback=progress)
    return {"result": await answer(call), "progress": steps}


def complete(session: ClientSession, prompt: str, argument: str, value: str) -> Any:
    reference = types.PromptReference(type="ref/prompt", name=prompt)
    return session.complete(reference, {"name": argument, "value": value})


async def report(session: ClientSession, request: dict[str, Any]) -> dict[str, Any]:
    opened = await session.initialize()
    found: dict[str, Any] = {
        "protocol_version": opened.protocolVersion,
        "server": wire(opened.serverInfo),
        "capabilities": wire(opened.capabilities),
    }
    lists = {
        "tools": ("tools", session.list_tools, "tools"),
        "resources": ("resources", session.list_resources, "resources"),
        "templates": ("resources", session.list_resource_templates, "resourceTemplates"),
        "prompts": ("prompts", session.list_prompts, "prompts"),
    }
    for name, (capability, method, items) in lists.items():
        if capability in found["capabilities"]:
            found[name] = await all_pages(method, items)
    found["calls"] = [await call_tool(session, *call) for call in request["calls"]]
    found["reads"] = [await answer(session.read_resource(uri)) for uri in request["reads"]]
    found["gets"] = [await answer(session.get_prompt(*get)) for get in request["gets"]]
    found["completions"] = [
        await answer(complete(session, *asked)) for asked in request["completions"]
    ]
    return found


async def main() -> None:
    request = json.load(sys.stdin)
    async with AsyncExitStack() as stack:
        read, write, *_ = await stack.enter_async_context(streams_of(request))
        session = await stack.enter_async_context(ClientSession(read, write))
        json.dump(await report(session, request), sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
