"""Server objects and ASGI applications in memory, of whatever package is installed here."""

import asyncio
import contextlib
import importlib
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import mcpclient

# Of the SDK 1.x: it warns of every request of a revision it does not know.
logging.disable(logging.ERROR)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def sdk_targets() -> Iterator[tuple[str, Any]]:
    for module, name in (("mcp.server.fastmcp", "FastMCP"), ("mcp.server.mcpserver", "MCPServer")):
        with contextlib.suppress(ImportError):
            make = getattr(importlib.import_module(module), name)
            server = make("hosted")
            server.tool()(add)
            yield name, server
            yield f"{name} as an application", server.streamable_http_app()
            yield f"{name} mounted", mounted(make)


def mounted(make: Any) -> Any:
    applications = importlib.import_module("starlette.applications")
    routing = importlib.import_module("starlette.routing")
    server = make("mounted")
    server.tool()(add)
    inner = server.streamable_http_app()

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    routes = [routing.Mount("/api", app=inner)]
    return mcpclient.AsgiApp(applications.Starlette(routes=routes, lifespan=lifespan), "/api/mcp")


def fastmcp_targets() -> Iterator[tuple[str, Any]]:
    with contextlib.suppress(ImportError):
        server = importlib.import_module("fastmcp").FastMCP("hosted")
        server.tool(add)
        yield "fastmcp", server
        yield "fastmcp as an application", server.http_app()


def fastapi_targets() -> Iterator[tuple[str, Any]]:
    with contextlib.suppress(ImportError):
        bridge = importlib.import_module("fastapi_mcp").FastApiMCP
        application = importlib.import_module("fastapi").FastAPI()

        async def add_path(a: int, b: int) -> int:
            return a + b

        application.get("/add", operation_id="add")(add_path)
        bridge(application).mount_http()
        yield "FastAPI-MCP", application


async def check(name: str, target: Any) -> None:
    versions = set()
    pinned: tuple[str | None, ...] = (None,) if " " in name else (None, "2025-11-25")
    for version in pinned:
        async with mcpclient.connect(target, protocol_version=version) as client:
            assert [tool.name for tool in await client.list_tools()] == ["add"]
            assert (await client.call_tool("add", {"a": 1, "b": 2})).text == "3"
            versions.add(client.protocol_version)
    print(f"    {name}: {', '.join(sorted(map(str, versions)))}")


async def main() -> None:
    found = [*sdk_targets(), *fastmcp_targets(), *fastapi_targets()]
    assert found, "none of these packages is installed"
    for name, target in found:
        await check(name, target)


if __name__ == "__main__":
    asyncio.run(main())
