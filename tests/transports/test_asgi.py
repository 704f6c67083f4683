"""F-API-24: an MCP endpoint that is an ASGI application, in both eras."""

from __future__ import annotations

import json
from typing import Any

import pytest

import mcpclient
from mcpclient.client.requests import connection_of
from tests.support.mcp_server import McpServer

pytestmark = pytest.mark.virtual_time


def endpoint(server: McpServer, seen: list[Any], path: str = "/mcp") -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for _ in range(2):
                seen.append((await receive())["type"])
                await send({"type": f"{seen[-1]}.complete"})
            return
        answers: list[Any] = []
        status = 405
        if scope["method"] == "POST":
            assert scope["path"] == path
            seen.append(dict(scope["headers"]).get(b"authorization"))
            server.receive(json.loads((await receive())["body"]), answers.append)
            status = 200 if answers else 202
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        body = json.dumps(answers[0]).encode() if answers else b""
        await send({"type": "http.response.body", "body": body})

    return app


async def test_another_path_is_named() -> None:
    app = endpoint(McpServer(), [], "/api/mcp")
    target = mcpclient.AsgiApp(app, "/api/mcp")
    async with mcpclient.connect(target) as client:
        assert "in-process app /api/mcp" in repr(client)
    client = await mcpclient.connect(target)
    connection_of(client).abort()
