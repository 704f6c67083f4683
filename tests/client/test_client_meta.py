"""The options of any request: metadata and extensions, unchanged in both eras, and a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from mcpclient import CallTimeout, Client, Prompt
from mcpclient.errors import UsageError
from tests.client.scripted_server import HANDSHAKE, STATELESS, ScriptedServer

pytestmark = pytest.mark.virtual_time

META = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "tracestate": "vendor=1,other=2",
    "baggage": "user=ada,empty=",
    "io.modelcontextprotocol/related-task": {"taskId": "t-1"},
    "com.example/anything": [1, {"deep": None}],
}
PROMPT = Prompt({"name": "p"})
UI = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}

ALL: dict[str, Any] = {
    **{"tools": {}, "resources": {}, "prompts": {}},
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
}

both_eras = pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])


@pytest.mark.parametrize(
    ("method", "make"),
    [
        ("tools/list", lambda client: client.list_tools(timeout=3)),
        ("tools/call", lambda client: client.call_tool("t", timeout=3)),
        ("resources/list", lambda client: client.list_resources(timeout=3)),
        ("resources/templates/list", lambda client: client.list_resource_templates(timeout=3)),
        ("resources/read", lambda client: client.read_resource("file:///x", timeout=3)),
        ("prompts/list", lambda client: client.list_prompts(timeout=3)),
        ("prompts/get", lambda client: client.get_prompt("p", timeout=3)),
        ("completion/complete", lambda client: client.complete(PROMPT, "a", "", timeout=3)),
        ("ping", lambda client: client.ping(timeout=3)),
        ("tasks/get", lambda client: client.get_task("t1", timeout=3)),
        ("tasks/list", lambda client: client.list_tasks(timeout=3)),
        ("tasks/cancel", lambda client: client.cancel_task("t1", timeout=3)),
        ("vendor/thing", lambda client: client.request("vendor/thing", timeout=3)),
    ],
)
async def test_a_limit_holds_for_any_request(
    method: str, make: Callable[[Client], Coroutine[Any, Any, Any]]
) -> None:
    """F-API-7: each method hands on the limit it was given."""
    server = ScriptedServer({method: lambda _: None}, version=HANDSHAKE, capabilities=ALL)
    async with server.client() as client:
        with pytest.raises(CallTimeout):
            await make(client)
        assert asyncio.get_running_loop().time() == 3
    assert len(server.sent(method)) == 1


@both_eras
async def test_metadata_goes_beside_the_progress_token(version: str) -> None:
    """F-API-22: and does not take its place."""
    server = ScriptedServer({"tools/call": {"content": []}}, version=version)
    async with server.client() as client:
        await client.call_tool("t", meta=META, on_progress=print)
    meta = server.sent("tools/call")[0]["_meta"]
    assert {key: meta[key] for key in META} == META
    assert "progressToken" in meta


@both_eras
async def test_extensions_of_both_sides(version: str) -> None:
    """F-API-16: advertised as given, and read as declared."""
    offered = {"extensions": {"com.example/x": {"level": 2}}}
    server = ScriptedServer(version=version, capabilities=offered)
    client = server.client(extensions=UI)
    assert client.extensions == {}
    async with client:
        assert client.extensions == {"com.example/x": {"level": 2}}
    if version == HANDSHAKE:
        declared = server.sent("initialize")[0]["capabilities"]
    else:
        meta = server.sent("server/discover")[0]["_meta"]
        declared = meta["io.modelcontextprotocol/clientCapabilities"]
    assert declared == {"extensions": UI}


def test_an_extension_without_a_proper_name() -> None:
    """F-API-16"""
    with pytest.raises(UsageError, match="an extension is named"):
        ScriptedServer().client(extensions={"ui": {}})
