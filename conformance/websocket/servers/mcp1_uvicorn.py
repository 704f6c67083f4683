"""The Python SDK 1.x with its own WebSocket transport, under uvicorn."""

from __future__ import annotations

import asyncio
import os
import socket
import warnings
from typing import Any

import uvicorn
from mcp.server.fastmcp import FastMCP
from mcp.server.websocket import websocket_server

server = FastMCP("mcp1-websocket", log_level="ERROR")


def echo(message: str) -> str:
    """Say it again."""
    return message


server.add_tool(echo)


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Serve MCP on every path."""
    async with websocket_server(scope, receive, send) as streams:
        low_level = server._mcp_server
        await low_level.run(*streams, low_level.create_initialization_options())


async def main() -> None:
    """Serve on the port in the variable PORT, else on a free one."""
    warnings.simplefilter("ignore")  # the transport is deprecated there
    with socket.create_server(("127.0.0.1", int(os.environ.get("PORT", "0")))) as listener:
        print(listener.getsockname()[1], flush=True)
        options = uvicorn.Config(
            application, lifespan="off", log_level="error", ws_max_size=1 << 26
        )
        await uvicorn.Server(options).serve([listener])


if __name__ == "__main__":
    asyncio.run(main())
