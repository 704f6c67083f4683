"""The tools this library offers to models itself; `test_toolbox` has them in their place."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from mcpclient.adapters import openai_chat
from mcpclient.adapters.agent_tools import (
    LocalTool,
    described_for_call_tool,
    resource_tools,
    search_tool,
)
from mcpclient.errors import PeerError
from mcpclient.protocol.types import ReadResourceResult, Resource, ResourceTemplate, Tool


class Source:
    def __init__(self, count: int) -> None:
        self.count = count

    async def list_resources(self) -> list[Resource]:
        long = "word " * 100
        return [Resource({"uri": f"a:{n}", "description": long}) for n in range(self.count)]

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        if not self.count:
            raise PeerError(-32601, "no such method")
        return [ResourceTemplate({"uriTemplate": "a:{n}", "name": "t"})]

    async def read_resource(self, uri: str, /, **options: Any) -> ReadResourceResult:
        self.asked = options
        return ReadResourceResult(
            {"contents": [{"uri": uri, "text": "1"}, {"uri": uri, "blob": ""}]}
        )


def run(tool: LocalTool, arguments: Mapping[str, Any]) -> tuple[str, bool]:
    return asyncio.run(_run(tool, arguments))


async def _run(tool: LocalTool, arguments: Mapping[str, Any]) -> tuple[str, bool]:
    result = await tool.run(arguments, {})
    return result.text, result.is_error


def test_many_resources() -> None:
    """F-TOOL-5: long lists and long descriptions are cut."""
    listing, reading = resource_tools(Source(201))
    text, _ = run(listing, {})
    lines = text.splitlines()
    assert len(lines) == 203
    assert lines[-3:] == [
        "… and 1 more",
        "Templates, which make the URI of a resource when {…} is filled in:",
        '- a:{n} {"name": "t"}',
    ]
    assert len(lines[0]) < 230
    assert run(reading, {"uri": 5}) == (
        "Give the uri of a resource; list_resources lists them.",
        True,
    )
    assert run(resource_tools(Source(0))[0], {}) == ("The list of resources is empty.", False)


def test_one_of_several_servers_is_named() -> None:
    """F-TOOL-9: two servers may list the same URI."""

    class Servers(Source):
        servers = ("a", "b")

    source = Servers(1)
    reading = resource_tools(source)[1]
    schema = reading.tool.input_schema
    assert (list(schema["properties"]), schema["required"]) == (["uri", "server"], ["uri"])
    run(reading, {"uri": "a:0", "server": "b"})
    assert source.asked["server"] == "b"
    assert "server" not in resource_tools(Source(1))[1].tool.input_schema["properties"]


def test_search() -> None:
    """F-TOOL-7, F-TOOL-9: it reports names and schemas that can be called."""
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    mail = {"name": "send.mail", "description": "Send\n mail", "inputSchema": schema}
    made = openai_chat.tools([Tool(mail), Tool({"name": "read"})])
    tool = search_tool(lambda: made.defined, ["post", "disk"], described_for_call_tool)
    assert str(tool.tool.description).endswith("There are tools of these servers: post, disk.")
    text, is_error = run(tool, {"query": "mail"})
    first, found = text.splitlines()
    assert "call_tool" in first
    assert json.loads(found) == {
        "name": "send_mail",
        "description": "Send\n mail",
        "parameters": schema,
    }
    assert not is_error
    assert run(tool, {"query": "zebra"}) == ("No tool fits. Try other words.", False)
    assert run(tool, {})[1]
    assert "servers" not in str(
        search_tool(lambda: [], [], described_for_call_tool).tool.description
    )
