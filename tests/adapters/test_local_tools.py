"""The tools this library offers to models itself; `test_toolbox` has them in their place."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mcpclient.adapters.local_tools import LocalTool, resource_tools, search_tool
from mcpclient.protocol.types import ReadResourceResult, Resource, Tool


class Source:
    def __init__(self, count: int) -> None:
        self.count = count

    async def list_resources(self) -> list[Resource]:
        long = "word " * 100
        return [Resource({"uri": f"a:{n}", "description": long}) for n in range(self.count)]

    async def read_resource(self, uri: str, /, **options: Any) -> ReadResourceResult:
        return ReadResourceResult(
            {"contents": [{"uri": uri, "text": "1"}, {"uri": uri, "blob": ""}]}
        )


def run(tool: LocalTool, arguments: Mapping[str, Any]) -> tuple[str, bool]:
    return asyncio.run(_run(tool, arguments))


async def _run(tool: LocalTool, arguments: Mapping[str, Any]) -> tuple[str, bool]:
    result = await tool.run(arguments)
    return result.text, result.is_error


def test_many_resources() -> None:
    """F-TOOL-5: long lists and long descriptions are cut."""
    listing, reading = resource_tools(Source(201))
    text, _ = run(listing, {})
    lines = text.splitlines()
    assert len(lines) == 201
    assert lines[-1] == "… and 1 more"
    assert len(lines[0]) < 230
    assert run(reading, {"uri": 5}) == (
        "Give the uri of a resource; list_resources lists them.",
        True,
    )
    assert run(resource_tools(Source(0))[0], {}) == ("There are no resources.", False)


def test_reading() -> None:
    """F-TOOL-5: all parts of a resource."""
    result = asyncio.run(_parts(resource_tools(Source(1))[1]))
    assert result == [{"uri": "a:0", "text": "1"}, {"uri": "a:0", "blob": ""}]


async def _parts(tool: LocalTool) -> list[Any]:
    result = await tool.run({"uri": "a:0"})
    return [block.raw["resource"] for block in result.content]


def test_search() -> None:
    """F-TOOL-7: what it finds is told to the model and to the toolbox."""
    found: list[Tool] = []
    tools = [Tool({"name": "send_mail", "description": "Send\n mail"}), Tool({"name": "read"})]
    tool = search_tool(lambda: tools, found.extend)
    assert run(tool, {"query": "mail"}) == (
        "These tools can be called from now on:\n- send_mail: Send mail",
        False,
    )
    assert found == tools[:1]
    assert run(tool, {"query": "zebra"}) == ("No tool fits. Try other words.", False)
    assert run(tool, {})[1]


def test_another_name() -> None:
    """F-TOOL-5: where a server has the name."""
    tool = resource_tools(Source(0))[0].called("list_2")
    assert tool.tool.name == "list_2"
    assert run(tool, {}) == ("There are no resources.", False)
