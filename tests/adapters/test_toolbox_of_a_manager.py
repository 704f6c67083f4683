"""The toolbox of many servers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import mcpclient
from mcpclient import connect_all
from mcpclient.adapters.definitions import ToolCall
from mcpclient.client.events.around import Call, Proceed
from mcpclient.protocol.types import CallToolResult, Tool
from tests.adapters.models import call, names, response, texts
from tests.manager.fleet import Member

pytestmark = pytest.mark.virtual_time


async def test_a_turn_over_two_servers() -> None:
    """F-TOOL-7, F-MANY-10: by full names, without waiting for the list."""
    async with connect_all({"a": Member("one"), "b": Member("two", "three")}) as manager:
        box = manager.toolbox("openai_responses", exclude=["three"])
        assert names(box.tools) == ["a__one", "b__two"]
        said = texts(await box.run(response(call("b__two"), call("a__one"))))
        assert said == ["two", "one"]


async def test_servers_come_and_go() -> None:
    """F-TOOL-7, F-MANY-12: the next turn has their tools; a call of one that is gone is told."""
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


async def test_approval_sees_the_tool_of_the_manager() -> None:
    """F-TOOL-7: and the server it belongs to."""
    asked: list[tuple[str, str]] = []

    def approve(one: ToolCall, tool: Tool) -> bool:
        assert isinstance(tool, mcpclient.ManagedTool)
        asked.append((tool.raw_name, tool.server))
        return True

    async with connect_all({"a": Member("one")}) as manager:
        box = manager.toolbox("openai_responses", approve=approve)
        assert texts(await box.run(response(call("a__one")))) == ["one"]
        assert asked == [("one", "a")]


async def test_search_and_resources() -> None:
    """F-MANY-17, F-TOOL-5."""
    async with connect_all({"a": Member("one"), "b": Member("two")}) as manager:
        box = await manager.toolbox("openai_responses", search=1, resources=True)
        shown = ["list_resources", "read_resource", "search_tools", "call_tool"]
        assert names(box.tools) == shown
        assert box.tools[2]["description"].endswith("of these servers: a, b.")
        (found,) = texts(await box.run(response(call("search_tools", '{"query": "two"}'))))
        assert '"b__two"' in found
        said = texts(await box.run(response(call("call_tool", '{"name": "b__two"}'))))
        assert said == ["two"]
        assert names(box.tools) == shown


async def test_patterns_are_about_the_server_and_the_tool() -> None:
    """F-SAFE-4, F-TOOL-7: what a server calls its tools lets none of them in."""
    servers = {"bank": Member("pay", "read"), "evil": Member("bank/read", "bank__read", "read")}
    async with connect_all(servers) as manager:
        box = manager.toolbox("openai_responses", include=["bank/*"], exclude=["pay"])
        assert names(box.tools) == ["bank__read"]
        said = texts(await box.run(response(call("evil__bank__read"), call("bank__pay", "2"))))
        assert all(each.startswith("Tool error: there is no tool") for each in said)
        everywhere = manager.toolbox("openai_responses", include=["read"])
        assert names(everywhere.tools) == ["bank__read", "evil__read"]
        spelled = manager.toolbox("openai_responses", exclude=["bank__*"])
        assert not any(name.startswith("bank__") for name in names(spelled.tools))


async def test_a_pattern_that_fits_nothing_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """F-SAFE-4: such as one of the names that a model sees; where there is no tool, none can."""
    async with connect_all({"empty": Member()}) as manager:
        assert not manager.toolbox("openai_responses", exclude=["x"]).tools.problems
    assert "a pattern is" not in caplog.text
    async with connect_all({"bank": Member("pay", "read"), "docs": Member()}) as manager:
        patterns = {
            "include": ["bank/*", "bank__*"],
            "exclude": ["bank__pay", "delete_*", "docs/*"],
        }
        for resources, unfit in ((False, 3), (True, 2)):
            caplog.clear()
            options: Any = {**patterns, "resources": resources}
            box = manager.toolbox("openai_responses", **options)
            assert "bank__read" in names(box.tools)
            problems = [str(each) for each in box.tools.problems]
            assert problems[0].startswith("include: no tool fits 'bank__*'; a pattern is server/")
            assert problems[1].startswith("exclude: no tool fits 'delete_*'")
            assert len(problems) == unfit
            await box.refresh()
            assert [record.getMessage() for record in caplog.records] == problems


async def test_patterns_hold_for_the_resources_of_servers() -> None:
    """F-SAFE-4, F-TOOL-5: those of a server that is left out are neither listed nor read."""

    def member(uri: str) -> Member:
        answers: Any = {
            "resources/list": {"resources": [{"uri": uri, "name": "one"}, {"uri": "mem://both"}]},
            "resources/templates/list": {"resourceTemplates": [{"uriTemplate": f"{uri}/{{x}}"}]},
            "resources/read": {"contents": [{"uri": uri, "text": f"of {uri}"}]},
        }
        return Member("one", answers=answers, capabilities={"tools": {}, "resources": {}})

    servers = {"good": member("mem://good"), "evil": member("mem://evil")}
    reads = ("mem://good", "mem://both", "mem://evil", "evil:mem://evil")
    asked = [call("read_resource", json.dumps({"uri": uri}), uri) for uri in reads]
    asked.append(call("read_resource", '{"uri": "mem://evil", "server": "evil"}', "named"))
    async with connect_all(servers) as manager:
        everything: Any = [{"include": ["good/*"]}, {"exclude": ["evil/*"]}]
        for patterns in (*everything, {"exclude": ["evil/read_resource", "evil/list_resources"]}):
            box = manager.toolbox("openai_responses", resources=True, **patterns)
            listed, *read = texts(await box.run(response(call("list_resources"), *asked)))
            assert "mem://good/{x}" in listed
            assert "evil" not in listed
            assert [each.endswith("of mem://good") for each in read] == [True] * 2 + [False] * 3
            assert all("its server is left out" in each for each in read[2:])
        assert servers["evil"].script.sent("resources/read") == []
        box = manager.toolbox("openai_responses", resources=True, exclude=["read_resource"])
        assert names(box.tools) == ["good__one", "evil__one", "list_resources"]


async def test_a_models_uri_is_asked_about() -> None:
    """F-SAFE-5: once by the toolbox, and once by each hook, with the server that gets it."""
    asked: list[Any] = []

    def approve(one: ToolCall, tool: Tool) -> bool:
        asked.append((one.name, one.arguments))
        return "evil" not in str(one.arguments)

    async def note(call: Call, proceed: Proceed) -> CallToolResult:
        asked.append((call.method, call.server, call.name))
        return await proceed(call)

    answers: Any = {
        "resources/list": {"resources": [{"uri": "mem://1", "name": "one"}]},
        "resources/read": {"contents": [{"uri": "mem://1", "text": "r"}]},
    }
    member = Member(answers=answers, capabilities={"resources": {}})
    async with connect_all({"a": member}) as manager:
        box = manager.toolbox("openai_responses", resources=True, approve=approve)
        turn = response(
            call("read_resource", '{"uri": "mem://1"}'),
            call("read_resource", '{"uri": "evil://?data=1"}', "2"),
        )
        said = texts(await box.run(turn, around=[note]))
        assert said[0].endswith("r")
        assert said[1] == "Tool error: read_resource was not called: the user did not allow it"
    assert member.script.sent("resources/read") == [{"uri": "mem://1"}]
    assert asked == [
        ("read_resource", {"uri": "mem://1"}),
        ("read_resource", {"uri": "evil://?data=1"}),
        ("resources/read", "a", "mem://1"),
    ]


async def test_one_question_at_a_time_over_all_turns() -> None:
    """F-SAFE-5: also of agent tools, and of two turns that run at once."""
    most: list[int] = []
    open_questions: list[str] = []

    async def approve(one: ToolCall, tool: Tool) -> bool:
        open_questions.append(one.name)
        most.append(len(open_questions))
        await asyncio.sleep(1)
        open_questions.remove(one.name)
        return True

    async with connect_all({"a": Member("one")}) as manager:
        box = manager.toolbox("openai_responses", approve=approve)
        (tool,) = box.agent_tools
        turn = response(call("a__one"))
        await asyncio.gather(box.run(turn), box.run(turn), tool.execute({}), tool.execute({}))
    assert most == [1, 1, 1, 1]
