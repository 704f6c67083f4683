"""The toolbox of many servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpclient import connect_all
from mcpclient.adapters.definitions import ToolCall
from mcpclient.client.events.around import Call, Proceed
from mcpclient.protocol.types import CallToolResult, Tool
from tests.adapters.models import call, names, response, texts
from tests.manager.fleet import Member

pytestmark = pytest.mark.virtual_time


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
    """F-SAFE-4, F-TOOL-5: resources of an excluded server are neither listed nor read."""

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
