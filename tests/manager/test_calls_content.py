"""Resources and prompts of all servers: F-MANY-10, seed 004."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mcpclient import Manager, connect_all
from mcpclient.client.events.around import Call, Proceed
from mcpclient.errors import CallTimeout, PeerError, UsageError
from mcpclient.protocol.types import CallToolResult
from tests.manager.fleet import Member

pytestmark = pytest.mark.virtual_time


def member(**answers: Any) -> Member:
    listed = {"resources": [{"uri": "mem://1", "name": "one"}]}
    found: dict[str, Any] = {
        "resources/list": listed,
        "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "mem://{n}"}]},
        "resources/read": lambda params: {"contents": [{"uri": params["uri"], "text": "r"}]},
        "prompts/list": {"prompts": [{"name": "review"}]},
        "prompts/get": lambda params: {"messages": [], "description": params["name"]},
    }
    return Member(answers={**found, **answers}, capabilities={"resources": {}, "prompts": {}})


async def test_a_timeout_names_the_request_that_was_made() -> None:
    """F-MANY-10, F-SHOW-15: not the call of a tool."""
    slow = Member("y", seconds=1_000_000.0)
    async with connect_all({"slow": slow}, wait=1, timeout=3, connect_timeout=100) as manager:
        with pytest.raises(CallTimeout) as reading:
            await manager.read_resource("mem://1", server="slow")
        with pytest.raises(CallTimeout) as prompted:
            await manager.get_prompt("slow:review")
        assert reading.value.method == "resources/read"
        assert prompted.value.method == "prompts/get"
        assert "resources/read of slow: no answer within" in str(reading.value)


async def test_of_all_servers(caplog: pytest.LogCaptureFixture) -> None:
    """F-MANY-10: each with its server; one that cannot list them harms no other."""
    caplog.set_level(logging.WARNING)
    servers = {
        "a": member(),
        "b": member(),
        "broken": member(**{"resources/list": broken}),
        "without": Member("x"),
    }
    async with Manager(servers) as manager:
        resources = await manager.list_resources()
        listed = [(each.server, each.uri) for each in resources]
        assert listed == [("a", "mem://1"), ("b", "mem://1")]
        assert "broken: listing its resources failed" in caplog.text
        assert repr(resources[0]) == "<mcpclient.ManagedResource a:mem://1>"
        templates = await manager.list_resource_templates()
        found = [(each.server, each.uri_template) for each in templates]
        assert found == [(name, "mem://{n}") for name in ("a", "b", "broken")]
        assert repr(templates[0]) == "<mcpclient.ManagedResourceTemplate a:mem://{n}>"
        assert (await manager.read_resource("b:mem://1")).contents[0].text == "r"
        assert (await manager.read_resource("mem://7", server="a")).contents[0].uri == "mem://7"
        prompts = await manager.list_prompts()
        assert [each.name for each in prompts] == ["a:review", "b:review", "broken:review"]
        assert {each.raw_name for each in prompts} == {"review"}
        assert repr(prompts[0]) == "<mcpclient.ManagedPrompt a:review>"
        assert (await manager.get_prompt("b:review", {"x": "1"})).description == "review"
        sent = servers["b"].script.sent("prompts/get")
        assert sent == [{"name": "review", "arguments": {"x": "1"}}]


async def test_a_server_without_templates_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    """F-TOOL-9: it need not have the method; another error is reported."""

    def refuse(code: int) -> Any:
        def answer(params: object) -> Any:
            raise PeerError(code, "no")

        return member(**{"resources/templates/list": answer})

    caplog.set_level(logging.WARNING)
    async with Manager({"old": refuse(-32601), "odd": refuse(-32603)}) as manager:
        assert await manager.list_resource_templates() == []
    assert "old: " not in caplog.text
    assert "odd: " in caplog.text


async def test_a_slow_owner_keeps_its_resource() -> None:
    """F-SAFE-4: also while it is being connected anew, and another server lists the same URI."""
    owner, evil = member(), member(**{"resources/list": {"resources": []}})
    async with Manager({"owner": owner, "evil": evil}) as manager:
        await manager.list_resources()
        owner.script.answers["resources/list"] = broken
        evil.script.answers["resources/list"] = {"resources": [{"uri": "mem://1", "name": ""}]}
        with pytest.raises(UsageError, match="may be of owner, evil"):
            await manager.read_resource("mem://1")
        assert not evil.script.sent("resources/read")
        await manager.disconnect("evil")
        assert (await manager.read_resource("owner:mem://1")).contents
    async with Manager({"owner": owner, "evil": evil}) as manager:
        with pytest.raises(UsageError, match="may be of owner, which has not listed any"):
            await manager.read_resource("mem://1")


async def test_hooks_know_the_server_of_a_prompt_and_a_resource() -> None:
    """F-SAFE-5: once each, with the names of the manager."""
    seen: list[tuple[str, str, str, str]] = []

    async def note(call: Call, proceed: Proceed) -> CallToolResult:
        seen.append((call.method, call.server, call.name, call.full_name))
        return await proceed(call)

    async with Manager({"a": member()}, around=[note]) as manager:
        await manager.read_resource("mem://1")
        await manager.get_prompt("a:review")
    assert seen == [
        ("resources/read", "a", "mem://1", "a:mem://1"),
        ("prompts/get", "a", "review", "a:review"),
    ]


def broken(params: object) -> Any:
    raise PeerError(-32603, "broken")
