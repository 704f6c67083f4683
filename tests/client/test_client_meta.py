"""What travels beside a request: metadata and extensions, unchanged in both eras."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient import Prompt
from mcpclient.errors import UsageError
from tests.client.scripted_server import HANDSHAKE, STATELESS, ScriptedServer
from tests.support.virtual_time import run

META = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "tracestate": "vendor=1,other=2",
    "baggage": "user=ada,empty=",
    "io.modelcontextprotocol/related-task": {"taskId": "t-1"},
    "com.example/anything": [1, {"deep": None}],
}
UI = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
UI_META = {"ui": {"resourceUri": "ui://weather/view.html", "visibility": ["model", "app"]}}

both_eras = pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])


@both_eras
def test_metadata_travels_with_every_request(version: str) -> None:
    """F-API-22: trace context, related task, and whatever else the caller adds."""
    answers: dict[str, Any] = {
        "tools/list": {"tools": []},
        "tools/call": {"content": []},
        "resources/list": {"resources": []},
        "resources/templates/list": {"resourceTemplates": []},
        "resources/read": {"contents": []},
        "prompts/list": {"prompts": []},
        "prompts/get": {"messages": []},
        "completion/complete": {"completion": {"values": []}},
        "vendor/thing": {},
    }
    server = ScriptedServer(answers, version=version)

    async def session() -> None:
        async with server.client() as client:
            await client.list_tools(meta=META)
            await client.call_tool("t", meta=META)
            await client.list_resources(meta=META)
            await client.list_resource_templates(meta=META)
            await client.read_resource("file:///x", meta=META)
            await client.list_prompts(meta=META)
            await client.get_prompt("p", meta=META)
            await client.complete(Prompt({"name": "p"}), "a", "", meta=META)
            await client.request("vendor/thing", meta=META)

    run(session())
    for method in answers:
        (params,) = server.sent(method)
        assert {key: params["_meta"][key] for key in META} == META, method


@both_eras
def test_metadata_goes_beside_the_progress_token(version: str) -> None:
    """F-API-22: and does not take its place."""
    server = ScriptedServer({"tools/call": {"content": []}}, version=version)

    async def session() -> None:
        async with server.client() as client:
            await client.call_tool("t", meta=META, on_progress=print)

    run(session())
    meta = server.sent("tools/call")[0]["_meta"]
    assert {key: meta[key] for key in META} == META
    assert "progressToken" in meta


@both_eras
def test_extensions_of_both_sides(version: str) -> None:
    """F-API-16: advertised as given, and read as declared."""
    offered = {"extensions": {"com.example/x": {"level": 2}}}
    server = ScriptedServer(version=version, capabilities=offered)

    async def session() -> None:
        client = server.client(extensions=UI)
        assert client.extensions == {}
        async with client:
            assert client.extensions == {"com.example/x": {"level": 2}}

    run(session())
    if version == HANDSHAKE:
        declared = server.sent("initialize")[0]["capabilities"]
    else:
        meta = server.sent("server/discover")[0]["_meta"]
        declared = meta["io.modelcontextprotocol/clientCapabilities"]
    assert declared == {"extensions": UI}


def test_an_extension_without_a_proper_name() -> None:
    with pytest.raises(UsageError, match="an extension is named"):
        ScriptedServer().client(extensions={"ui": {}})


@both_eras
def test_metadata_of_the_server_s_passes_through(version: str) -> None:
    """F-API-16: what apps need of tools, resources and results is there, untouched."""
    answers: dict[str, Any] = {
        "tools/list": {"tools": [{"name": "t", "inputSchema": {}, "_meta": UI_META}]},
        "tools/call": {"content": [], "_meta": UI_META},
        "resources/read": {
            "contents": [{"uri": "ui://weather/view.html", "text": "<p>", "_meta": UI_META}]
        },
    }
    server = ScriptedServer(answers, version=version)

    async def session() -> None:
        async with server.client(extensions=UI) as client:
            (tool,) = await client.list_tools()
            assert tool.meta == UI_META
            assert (await client.call_tool("t")).meta == UI_META
            (part,) = (await client.read_resource("ui://weather/view.html")).contents
            assert part.meta == UI_META and part.text == "<p>"

    run(session())
