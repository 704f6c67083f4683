"""An MCP endpoint on streams, which may be encrypted, tunnelled or a Unix socket's."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import mcpclient
from tests.support.mcp_server import Json, McpServer


class McpOverHttp:
    """Answers POST with JSON and refuses all else.

    ``heads``: every request's head. ``cookies``: fields of Set-Cookie to send with each answer.
    """

    def __init__(self) -> None:
        self.mcp = McpServer()
        self.heads: list[str] = []
        self.cookies: list[str] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:-2])
            lower = {name.lower(): value for name, value in fields.items()}
            body = await reader.readexactly(int(lower.get("content-length", 0)))
            is_accepted, challenge = self.check(head)
            status, answer = self._answer(head, body) if is_accepted else ("401 No", b"")
            lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(answer)}"]
            lines += [f"WWW-Authenticate: {challenge}"] if challenge else []
            lines += [f"Set-Cookie: {cookie}" for cookie in self.cookies]
            lines += ["Content-Type: application/json", "\r\n"]
            writer.write("\r\n".join(lines).encode() + answer)
            await writer.drain()

    def check(self, head: str) -> tuple[bool, str]:
        """Return whether the caller is accepted, and what to say of that in WWW-Authenticate."""
        return True, ""

    def _answer(self, head: str, body: bytes) -> tuple[str, bytes]:
        if not head.startswith("POST "):
            return "405 No", b""
        answers: list[Json] = []
        self.mcp.receive(json.loads(body), answers.append)
        if not answers:
            return "202 Accepted", b""
        return "200 OK", json.dumps(answers[0]).encode()


async def session(url: str, **options: Any) -> None:
    async with mcpclient.connect(url, **options) as client:
        for text in ("once", "and again"):
            assert (await client.call_tool("echo", {"text": text})).text == text
