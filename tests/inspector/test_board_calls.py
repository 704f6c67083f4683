"""F-SHOW-10: requests of the page: progress, results, failures, cancelling."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpclient import Client, UsageError
from mcpclient.client.connection.limits import DEFAULT
from mcpclient.inspector import board as module
from mcpclient.inspector.board import Board, Calls, PageRequest
from mcpclient.protocol.types import CallToolResult, Progress
from tests.client.scripted_server import HANDSHAKE
from tests.client.task_servers import DONE
from tests.inspector.scenes import TaskServer, until
from tests.inspector.showcase import Showcase

pytestmark = pytest.mark.virtual_time


class Scene:
    """A showcase, a client of it, and calls."""

    def __init__(self) -> None:
        self.board = Board()
        self.calls = Calls(self.board)
        self.showcase = Showcase()
        self.client = Client(self.showcase.transport, protocol_version="2025-11-25")

    async def outcome(self, method: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        name = self.calls.start(self.client, PageRequest("s", method, params))
        while name in self.calls._tasks:
            await asyncio.wait({self.calls._tasks[name]})
        return self.shown(name)["state"], self.calls.result(name) or {}

    def shown(self, name: str) -> dict[str, Any]:
        found = [
            item.value for item in self.board.since(0) if (item.kind, item.name) == ("call", name)
        ]
        return (found[-1] if found else None) or {}


@asynccontextmanager
async def play() -> AsyncIterator[Scene]:
    scene = Scene()
    async with scene.client:
        yield scene
        await scene.calls.close()


async def test_a_tool_is_called_as_the_program_calls_it() -> None:
    async with play() as scene:
        state, outcome = await scene.outcome(
            "tools/call", {"name": "echo", "arguments": {"message": "hi"}, "_meta": {"a": 1}}
        )
        assert state == "done"
        assert outcome["result"]["content"][0]["text"] == "{'message': 'hi'}"
        assert outcome["warnings"] == []
        params = scene.showcase.received[-1]["params"]
        assert params["_meta"]["a"] == 1
        shown = scene.shown("1")
        assert (shown["server"], shown["subject"]) == ("s", "echo")
        (asked,) = [item.value for item in scene.board.since(0) if item.kind == "asked"]
        assert asked is not None
        assert asked["params"]["arguments"] == {"message": "hi"}


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("tools/call", {"name": "fail"}, "failed"),
        ("tools/call", {"name": "refuse"}, "failed"),
        ("tools/call", {"name": "x", "arguments": [1]}, "failed"),
        ("resources/read", {"uri": "file:///notes.txt"}, "done"),
        ("resources/subscribe", {"uri": "file:///notes.txt"}, "done"),
        ("resources/unsubscribe", {"uri": "file:///notes.txt"}, "done"),
        ("ping", {}, "done"),
        ("logging/setLevel", {"level": "debug"}, "done"),
        ("no/such", {}, "failed"),
    ],
)
async def test_every_method(method: str, params: dict[str, Any], expected: str) -> None:
    async with play() as scene:
        state, outcome = await scene.outcome(method, params)
        assert state == expected
        assert ("error" in outcome) == (state == "failed" and params.get("name") != "fail")


async def test_progress_and_cancelling() -> None:
    async with play() as scene:
        name = scene.calls.start(scene.client, PageRequest("s", "tools/call", {"name": "slow"}))
        await until(lambda: scene.shown(name).get("progress", {}).get("progress") == 3)
        assert scene.shown(name)["state"] == "running"
        assert scene.shown(name)["progress"]["message"] == "counting"
        scene.calls.cancel(name)
        await until(lambda: scene.shown(name)["state"] != "running")
        assert (scene.calls.result(name) or {})["error"]["type"] == "Cancelled"
        told = scene.showcase.received
        await until(lambda: told[-1]["method"] == "notifications/cancelled")
        scene.calls.cancel(name)


class Stub:
    """A client that tells of its progress too late, and takes any request."""

    _connection = Client("x")._connection

    def __init__(self) -> None:
        self.fresh: object = None
        self.late: Any = None

    async def call_tool(self, *arguments: Any, on_progress: Any, **options: Any) -> Any:
        self.late = on_progress
        return CallToolResult({"content": []})

    async def request(self, *arguments: Any, fresh: bool = False, **options: Any) -> Any:
        self.fresh = fresh
        return {}


async def test_progress_that_comes_late_does_not_begin_it_again() -> None:
    async with play() as scene:
        stub: Any = Stub()
        scene.client = stub
        state, _ = await scene.outcome("tools/call", {"name": "x"})
        stub.late(Progress({"progress": 1}))
        assert (state, scene.shown("1")["state"]) == ("done", "done")


async def test_what_the_page_asks_for_is_what_the_server_says_now() -> None:
    """F-SHOW-10: not what it said before."""
    async with play() as scene:
        stub: Any = Stub()
        scene.client = stub
        await scene.outcome("tools/list", {})
        assert stub.fresh is True


async def test_a_mistake_within_is_shown_as_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-10: the page would otherwise show for ever that the request runs."""
    monkeypatch.setattr(module, "_perform", lambda *args: 1 // 0)
    async with play() as scene:
        state, outcome = await scene.outcome("ping", {})
        assert (state, outcome["error"]["type"]) == ("failed", "ZeroDivisionError")


async def test_results_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_RESULTS", 2)

    async with play() as scene:
        for _ in range(3):
            await scene.outcome("ping", {})
        assert [scene.calls.result(name) is None for name in "123"] == [True, False, False]


def test_what_the_page_may_ask_for() -> None:
    assert PageRequest.of({"server": "s", "method": "m"}) == PageRequest("s", "m", {}, DEFAULT)
    wanted = PageRequest.of({"server": "s", "method": "m", "params": {"uri": "u"}, "timeout": 2})
    assert (wanted.subject, wanted.timeout) == ("u", 2)
    assert PageRequest("s", "m", {"name": 7}).subject == ""


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"server": "s"},
        {"server": "s", "method": ""},
        {"server": "s", "method": "m", "params": [1]},
        {"server": "s", "method": "m", "timeout": "1"},
        {"server": "s", "method": "m", "timeout": True},
    ],
)
def test_what_is_no_request(request_: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        PageRequest.of(request_)


async def test_a_call_as_a_task_shows_its_states_and_is_cancelled_with_it() -> None:
    """F-SHOW-14: on the server, too."""
    server = TaskServer()
    board = Board()
    calls = Calls(board)
    asked = PageRequest("s", "tools/call", {"name": "research", "task": {}})
    async with server.client(protocol_version=HANDSHAKE) as client:
        name = calls.start(client, asked)
        shown: Any = {}
        while "task" not in shown:
            await asyncio.sleep(0)
            shown = {item.name: item.value for item in board.since(0)}.get(name) or {}
        assert (shown["state"], shown["task"]["status"]) == ("running", "working")
        calls.cancel(name)
        await asyncio.wait({calls._tasks[name]})
        assert server.status == "cancelled"
        server.status = "completed"
        again = calls.start(client, asked)
        await asyncio.wait({calls._tasks[again]})
        assert (calls.result(again) or {})["result"]["content"] == DONE["content"]
