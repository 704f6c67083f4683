"""The tools of one server, kept up to date: F-MANY-12, F-MANY-14, F-MANY-16."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mcpclient import Manager, Pins, ServerConfig, Status
from mcpclient.client.feed import Feed
from mcpclient.client.requests import connection_of
from mcpclient.errors import CallRefused, ConnectionLost, PeerError, SessionExpired
from mcpclient.net.chained_log import read_log
from mcpclient.protocol.types import Tool
from tests.client.scripted_server import turns
from tests.manager.fleet import Member, statuses, tool

pytestmark = pytest.mark.virtual_time


async def test_changes_that_are_announced_after_each_list_are_gathered() -> None:
    """F-MANY-22: 17,112 lists in 3 seconds; and one announced alone is listed soon, later too."""
    loop = asyncio.get_running_loop()
    at: list[float] = []

    def list_tools(params: object) -> Any:
        at.append(loop.time())
        loop.call_soon(member.script.notify, "notifications/tools/list_changed")
        return {"tools": [tool(f"x{len(at)}")]}

    member = Member("x", capabilities={"tools": {"listChanged": True}})
    async with Manager({"a": member}) as manager:
        began = loop.time()
        member.script.answers["tools/list"] = list_tools
        member.script.notify("notifications/tools/list_changed")
        await asyncio.sleep(100)
        assert [round(each - began, 1) for each in at[:5]] == [0.3, 0.9, 2.1, 4.5, 9.3]
        assert len(at) <= 10
        member.script.answers["tools/list"] = {"tools": [tool("y")]}
        await asyncio.sleep(200)
        member.script.answers["tools/list"] = {"tools": [tool("z")]}
        member.script.notify("notifications/tools/list_changed")
        await asyncio.sleep(0.4)
        assert [each.name for each in manager.tools] == ["a__z"]


async def test_changes_are_heard_after_the_servers_own_channel_was_lost() -> None:
    """F-MANY-12, F-HTTP-4: they may still come with the answers to calls, or in another session."""
    member = Member("x", capabilities={"tools": {"listChanged": True}})
    async with Manager({"a": member}) as manager:
        for _ in range(3):
            connection_of(manager["a"]).session.channel_lost(ConnectionLost("cut again"))
            await turns()
        member.offered = [tool("y")]
        member.script.notify("notifications/tools/list_changed")
        await asyncio.sleep(1)
        assert [each.name for each in manager.tools] == ["a__y"]


async def test_changes_are_heard_of_a_server_that_did_not_agree_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-MANY-12: it is asked again, and its tools are listed again once it has agreed."""
    agree, refusals = Feed.open, [ConnectionLost("cut"), ConnectionLost("cut again")]

    async def open(feed: Feed) -> None:
        if refusals:
            member.offered = [tool("y")]
            raise refusals.pop()
        await agree(feed)

    monkeypatch.setattr(Feed, "open", open)
    member = Member("x", capabilities={"tools": {"listChanged": True}})
    async with Manager({"a": member}) as manager:
        await asyncio.sleep(10)
        assert [each.name for each in manager.tools] == ["a__y"]
        member.offered = [tool("z")]
        member.script.notify("notifications/tools/list_changed")
        await asyncio.sleep(1)
        assert [each.name for each in manager.tools] == ["a__z"]


async def test_a_refresh_that_fails_keeps_the_tools() -> None:
    """F-MANY-12: marked as stale."""
    member = Member("x", capabilities={"tools": {"listChanged": True}})
    async with Manager({"a": member}) as manager:

        def refuse(params: object) -> Any:
            raise PeerError(-32603, "not now")

        member.script.answers["tools/list"] = refuse
        member.script.notify("notifications/tools/list_changed")
        await asyncio.sleep(1)
        assert [(each.name, each.stale) for each in manager.tools] == [("a__x", True)]
        assert manager.servers["a"].status is Status.CONNECTED


async def test_a_refresh_that_fails_is_tried_again() -> None:
    """F-MANY-12: a server that was busy for a moment says only once that its tools have changed."""
    member = Member("x", capabilities={"tools": {"listChanged": True}})
    async with Manager({"a": member}, timeout=5) as manager:
        answers = iter([None, {"tools": [tool("y")]}])
        member.script.answers["tools/list"] = lambda params: next(answers)
        member.script.notify("notifications/tools/list_changed")
        await asyncio.sleep(60)
        assert [(each.name, each.stale) for each in manager.tools] == [("a__y", False)]


class Forgetful(Member):
    """Forgets its session before the next call."""

    has_forgotten = False

    def send(self, outgoing: Any) -> None:
        if outgoing.message.get("method") == "tools/call" and self.has_forgotten:
            self.has_forgotten = False
            raise SessionExpired(404, {}, b"")
        super().send(outgoing)


async def test_a_new_session_lists_the_tools_again() -> None:
    """F-MANY-12: after a restart the server may have others, over the same connection too."""
    member = Forgetful("x")
    async with Manager({"a": member}) as manager:
        member.offered = [tool("y")]
        member.script.lose()
        await asyncio.sleep(5)
        assert [each.name for each in manager.tools] == ["a__y"]
        member.offered, member.has_forgotten = [tool("y"), tool("z")], True
        assert (await manager.call_tool("a__y")).text == "y"
        await turns()
        assert [each.name for each in manager.tools] == ["a__y", "a__z"]


async def test_a_server_that_cannot_tell_changes() -> None:
    """F-MANY-12: it works all the same."""
    member = Member("x", capabilities={"tools": {"listChanged": True}}, version="2026-07-28")
    async with Manager({"a": member}) as manager:  # it refuses subscriptions/listen
        await turns()
        assert statuses(manager) == {"a": "connected"}


WAYS: list[Any] = [
    lambda manager: manager.call_tool("a__x"),
    lambda manager: manager["a"].call_tool("x"),
    lambda manager: manager["a"].call_tools([("x", None)]),
    lambda manager: manager["a"].request("tools/call", {"name": "x"}),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("filtered", [{"exclude": ("x",)}, {"include": ("y",)}])
async def test_no_way_leads_past_a_filter(way: Any, filtered: dict[str, Any]) -> None:
    """F-SAFE-5, F-MANY-13: a raw request neither."""
    member = Member("x", "y")
    async with Manager({"a": ServerConfig("a", target=member, **filtered)}) as manager:
        manager.servers["a"]._shared.catalog.names.assign("a", ["x"])  # as one model spells it
        await way(manager)
    assert member.calls == []


async def test_completions_of_a_server_that_is_not_in_the_lock(tmp_path: Path) -> None:
    """F-SAFE-5: the words that a user has typed so far are not for it either."""
    async with Manager({"a": Member("x")}, pins=Pins(tmp_path / "mcp.lock", "refuse")) as manager:
        with pytest.raises(CallRefused, match="is not in the lock file"):
            await manager["a"].complete({"type": "ref/prompt", "name": "p"}, "x", "typed")


async def test_tools_are_not_listed_again_where_the_program_does_not_want_it() -> None:
    """F-MANY-12: ``auto_refresh=False``."""
    member = Member("x", capabilities={"tools": {"listChanged": True}})
    async with Manager({"a": member}, auto_refresh=False) as manager:
        member.offered = []
        member.script.notify("notifications/tools/list_changed")
        await asyncio.sleep(10)
        assert len(manager.tools) == 1


async def test_what_has_not_been_compared_yet_is_refused(tmp_path: Path) -> None:
    """F-SAFE-5: between the opening of a connection and its list, nothing is known."""
    lists: list[Any] = [{"tools": [tool("x")]}]
    member = Member("x", answers={"tools/list": lambda params: lists.pop() if lists else None})
    config = ServerConfig("a", target=member, raw={"k": 1})
    pins = Pins(tmp_path / "mcp.lock", "refuse")
    pins.write({"a": (config.fingerprint(), [Tool(tool("x"))])})
    async with Manager({"a": config}, pins=pins) as manager:
        assert not (await manager.call_tool("a__x")).is_error
        member.script.lose()
        await asyncio.sleep(5)
        assert manager["a"].is_connected  # and its tools have not been listed
        result = await manager["a"].request("tools/call", {"name": "x"})
        assert "has not been compared with the lock file yet" in repr(result)
    assert member.calls == ["x"]


async def test_calls_that_filters_and_pins_refuse_are_lines_of_the_audit_log(
    tmp_path: Path,
) -> None:
    """F-AUDIT-1: with who refused them, for tools, resources and prompts."""
    path = tmp_path / "calls.jsonl"
    member = Member("x", "y", capabilities={"tools": {}, "resources": {}, "prompts": {}})
    config = ServerConfig("a", target=member, exclude=("y",))
    pins = Pins(tmp_path / "mcp.lock", "refuse")
    pins.write({})
    async with Manager({"a": config}, pins=pins, audit=path) as manager:
        for tool_name in ("x", "y"):
            assert (await manager["a"].call_tool(tool_name)).is_error
        with pytest.raises(CallRefused):
            await manager["a"].get_prompt("p")
    calls = [line.record for line in read_log(path) if line.record["kind"] == "call"]
    assert [(each["decision"], each["by"], each["outcome"]) for each in calls] == [
        ("refused", "pin", "refused"),
        ("refused", "filter", "refused"),
        ("refused", "pin", "CallRefused"),
    ]
    assert "not in the lock file" in calls[0]["reason"]
