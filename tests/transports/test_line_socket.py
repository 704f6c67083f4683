from __future__ import annotations

import asyncio
import json

from tests.support.mcp_server import Json, McpServer


class LineServer:
    """An MCP server on a socket. ``last_words`` are sent before it closes."""

    def __init__(self, era: str = "handshake") -> None:
        self.server = McpServer(era)
        self.last_words = b""
        self.calls_before_end = 10**9

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def send(message: Json) -> None:
            writer.write(json.dumps(message).encode() + b"\n")

        while len(self.server.messages("tools/call")) < self.calls_before_end:
            line = await reader.readline()
            if not line:
                return
            self.server.receive(json.loads(line), send)
        writer.write(self.last_words)
        await writer.drain()
