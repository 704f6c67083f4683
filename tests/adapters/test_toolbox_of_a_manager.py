"""The toolbox of many servers."""

from __future__ import annotations

import mcpclient
from mcpclient import connect_all
from mcpclient.adapters.tool_calls import ToolCall
from mcpclient.protocol.types import Tool
from tests.adapters.models import call, names, response, texts
from tests.manager.fleet import Member
from tests.support.virtual_time import run


def test_a_turn_over_two_servers() -> None:
    """F-TOOL-7, F-MANY-10: by full names, without waiting for the list."""

    async def main() -> None:
        async with connect_all({"a": Member("one"), "b": Member("two", "three")}) as manager:
            box = manager.toolbox("openai_responses", exclude=["three"])
            assert names(box.tools) == ["a__one", "b__two"]
            said = texts(await box.run(response(call("b__two"), call("a__one"))))
            assert said == ["two", "one"]

    run(main())


def test_servers_come_and_go() -> None:
    """F-TOOL-7, F-MANY-12: the next turn has their tools; a call of one that is gone is told."""

    async def main() -> None:
        async with connect_all({"a": Member("one")}) as manager:
            box = manager.toolbox("openai_responses")
            tools = box.tools
            await manager.add("b", Member("two"))
            assert names(box.tools) == ["a__one", "b__two"]
            assert box.tools is tools
            await manager.remove("a")
            assert names(box.tools) == ["b__two"]
            (said,) = texts(await box.run(response(call("a__one"))))
            assert said.startswith("Tool error: ")

    run(main())


def test_approval_sees_the_tool_of_the_manager() -> None:
    """F-TOOL-7: and the server it belongs to."""
    asked: list[tuple[str, str]] = []

    def approve(one: ToolCall, tool: Tool) -> bool:
        assert isinstance(tool, mcpclient.ManagedTool)
        asked.append((tool.raw_name, tool.server))
        return True

    async def main() -> None:
        async with connect_all({"a": Member("one")}) as manager:
            box = manager.toolbox("openai_responses", approve=approve)
            assert texts(await box.run(response(call("a__one")))) == ["one"]
            assert asked == [("one", "a")]

    run(main())


def test_search_and_resources() -> None:
    """F-MANY-17, F-TOOL-5."""

    async def main() -> None:
        async with connect_all({"a": Member("one"), "b": Member("two")}) as manager:
            box = await manager.toolbox("openai_responses", search=1, resources=True)
            assert names(box.tools) == ["list_resources", "read_resource", "search_tools"]
            await box.run(response(call("search_tools", '{"query": "two"}')))
            assert names(box.tools)[0] == "b__two"
            assert names(box.tools)[1:] == ["list_resources", "read_resource", "search_tools"]

    run(main())
