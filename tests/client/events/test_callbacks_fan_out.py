"""The listeners of a session: observers, the caller's callbacks, and the log."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

import mcpclient
from mcpclient.client.events.callbacks import EventCallbacks, Events, Hooks
from mcpclient.net.futures import BackgroundTasks
from tests.client.scripted_server import HANDSHAKE, ScriptedServer
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time


def test_a_log_message_may_be_too_deep_to_be_written(caplog: pytest.LogCaptureFixture) -> None:
    """F-API-6, F-WIRE-7: the connection goes on, and the callback gets it as it is."""
    caplog.set_level(logging.DEBUG, "mcpclient.server")
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    heard: list[Any] = []
    callbacks = EventCallbacks("server", [], Events(log=heard.append), BackgroundTasks())
    callbacks.notification("notifications/message", {"level": "error", "data": deep})
    assert "server: <list, nested too deeply to be shown>" in caplog.text
    assert len(heard) == 1


def call(params: Mapping[str, Any]) -> Mapping[str, Any]:
    if params["name"] == "missing":
        raise mcpclient.PeerError(-32602, "no such tool")
    return {"content": [], "isError": params["name"] == "failing"}


def session_with(hooks: Hooks, *tools: str) -> None:
    async def session() -> None:
        server = ScriptedServer({"tools/call": call}, version=HANDSHAKE)
        async with server.client(hooks=hooks) as client:
            for tool in tools:
                await client.call_tool(tool, trace={"span": tool})

    run(session())


def test_a_hook_that_fails_is_logged_and_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """F-SHOW-7"""

    def broken(**facts: Any) -> None:
        raise ValueError("telemetry is down")

    session_with(Hooks(on_connect=broken, on_tool_call=broken), "good")
    assert caplog.text.count("ValueError: telemetry is down") == 2


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("broken", [False, True])
def test_the_tools_are_counted_for_who_wants_to_know(version: str, broken: bool) -> None:
    """F-SHOW-7: of all pages; None where the server does not tell. Else nothing is listed."""
    counts: list[int | None] = []

    def listed(params: Mapping[str, Any]) -> Mapping[str, Any]:
        if broken:
            raise mcpclient.PeerError(-32603, "no")
        if "cursor" in params:
            return {"tools": [{"name": "c"}]}
        return {"tools": [{"name": "a"}, {"name": "b"}], "nextCursor": "2"}

    server = ScriptedServer({"tools/list": listed}, version=version, capabilities={"tools": {}})

    async def session(hooks: Hooks) -> None:
        async with server.client(hooks=hooks):
            pass

    run(session(Hooks(on_error=lambda **facts: None)))
    assert "tools/list" not in server.received_methods()
    run(session(Hooks(on_connect=lambda tool_count, **facts: counts.append(tool_count))))
    assert counts == [None if broken else 3]


async def test_only_tool_calls_are_told() -> None:
    """F-SHOW-7, F-SAFE-5: the hook is for tools, and a resource is none."""
    told: list[dict[str, Any]] = []
    server = ScriptedServer({"resources/read": {"contents": []}}, version=HANDSHAKE)
    hooks = Hooks(on_tool_call=lambda **facts: told.append(facts))
    async with server.client(hooks=hooks) as client:
        await client.read_resource("mem://1")
    assert told == []
