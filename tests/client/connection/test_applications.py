"""F-API-24: an application, and where its endpoint is."""

from __future__ import annotations

from typing import Any

from mcpclient import AsgiApp


def test_an_endpoint_is_at_mcp_unless_it_is_named() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    assert AsgiApp(app).path == "/mcp"
    assert AsgiApp(app, "/api") == AsgiApp(app, path="/api")
