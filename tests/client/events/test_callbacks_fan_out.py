"""Who hears what happens in a session: observers, the caller's callbacks, and the log."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

import mcpclient
from mcpclient.client.events.callbacks import EventCallbacks, Events, Hooks, Observer
from mcpclient.errors import ConnectionLost, McpError, ProtocolViolation, SessionExpired
from mcpclient.net.futures import BackgroundTasks
from tests.client.scripted_server import HANDSHAKE, ScriptedServer
from tests.support.clients import client_of
from tests.support.mcp_server import McpServer
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time


async def test_log_messages_go_to_a_handler_and_to_logging(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """F-API-6"""
    caplog.set_level(logging.DEBUG, "mcpclient.server")
    logs: list[Any] = []
    seen: list[str] = []
    params: list[Any] = [
        {"level": "warning", "logger": "db", "data": "slow"},
        {"level": "emergency", "data": {"a": 1}},
        {"level": "vendor-level", "data": None},
        {"level": ["nonsense"], "data": 1},
        {},
    ]
    options: dict[str, Any] = {
        "on_log": logs.append,
        "on_notification": lambda method, params: seen.append(method),
    }
    async with client_of(McpServer(), **options) as client:
        messages = [{"method": "notifications/message", "params": each} for each in params]
        await client.call_tool("notify", {"messages": messages})
    assert [record.levelname for record in caplog.records if record.name == "mcpclient.server"] == [
        "WARNING",
        "CRITICAL",
        "INFO",
        "INFO",
        "INFO",
    ]
    assert "db: slow" in caplog.text
    assert len(logs) == 5
    assert seen == ["notifications/message"] * 5


async def test_log_messages_nobody_wants_cost_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """F-API-6"""
    caplog.set_level(logging.ERROR, "mcpclient.server")
    async with client_of(McpServer()) as client:
        message = {"method": "notifications/message", "params": {"level": "info"}}
        await client.call_tool("notify", {"messages": [message]})
    assert caplog.records == []


async def test_errors_that_belong_to_no_call_are_told() -> None:
    """F-API-20"""
    errors: list[McpError] = []
    async with client_of(McpServer(), on_error=errors.append) as client:
        messages = [{"method": "vendor/bad", "params": "no object"}]
        await client.call_tool("notify", {"messages": messages})
        await client.ping()
    assert [type(error) for error in errors] == [ProtocolViolation]


async def test_observers_hear_of_everything() -> None:
    """F-API-20"""
    heard: list[str] = []

    class Ear(Observer):
        def notified(self, method: str, params: Mapping[str, Any]) -> None:
            heard.append(method)

        def connected(self) -> None:
            heard.append("connected")

        def lost(self, error: McpError) -> None:
            heard.append("lost")

        def closed(self) -> None:
            heard.append("closed")

    client = client_of(McpServer())
    client._connection.observers.append(Ear())
    await client.connect()
    await client.call_tool("notify", {"messages": [{"method": "vendor/x"}]})
    client._connection.session.connection_lost(ConnectionLost("gone"))
    await client.close()
    assert heard == ["connected", "vendor/x", "lost", "closed"]


def test_what_is_logged_is_harmless_for_a_terminal(caplog: pytest.LogCaptureFixture) -> None:
    """F-SHOW-3, F-API-6: the words stay; the callback gets them as they came."""
    caplog.set_level(logging.INFO, "mcpclient.server")
    logs: list[Any] = []

    async def main() -> None:
        events = Events(log=logs.append)
        callbacks = EventCallbacks("the server", [], events, BackgroundTasks())
        said = {"level": "info", "logger": "d\x1b[1mb", "data": "10 %\r\x1b[2Jslow\nand \u202eeht"}
        callbacks.notification("notifications/message", said)

    run(main())
    said = r"the server d\x1b[1mb: 10 %\x0d\x1b[2Jslow\nand \u202eeht"  # on one line
    assert caplog.messages == [said]
    assert logs[0].data == "10 %\r\x1b[2Jslow\nand \u202eeht"


def test_the_end_of_the_channel_is_not_that_of_the_session() -> None:
    """F-HTTP-4, F-HTTP-6: unless the session has expired."""

    class Ears(Observer):
        def lost(self, error: McpError) -> None:
            heard.append(("lost", error))

        def channel_lost(self, error: McpError) -> None:
            heard.append(("channel lost", error))

    heard: list[Any] = []
    given_up, expired = ConnectionLost("given up"), SessionExpired(404, {}, b"")
    callbacks = EventCallbacks("the server", [Ears()], Events(), BackgroundTasks())
    callbacks.channel_lost(given_up)
    callbacks.channel_lost(expired)
    callbacks.lost(given_up)
    callbacks.error(given_up)
    assert heard == [("channel lost", given_up), ("lost", expired), ("lost", given_up)]


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


# Hooks, with a trace context that passes through unchanged


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


def test_connecting_and_calling_are_reported() -> None:
    """F-SHOW-7"""
    told: list[dict[str, Any]] = []
    hooks = Hooks(
        on_connect=lambda **facts: told.append(facts),
        on_tool_call=lambda **facts: told.append(facts),
    )
    session_with(hooks, "good", "failing")
    server = "in-process serve"
    assert told[0] == {
        "server": server,
        "transport": "in-process",
        "server_name": "scripted",
        "server_version": "1",
        "tool_count": 0,
    }
    latencies = [facts.pop("latency_ms") for facts in told[1:]]
    assert all(latency >= 0 for latency in latencies)
    assert told[1:] == [
        {"server": server, "tool": "good", "is_error": False, "trace": {"span": "good"}},
        {"server": server, "tool": "failing", "is_error": True, "trace": {"span": "failing"}},
    ]


def test_a_failing_call_is_reported_and_raised() -> None:
    """F-SHOW-7"""
    told: list[dict[str, Any]] = []
    with pytest.raises(mcpclient.PeerError) as raised:
        session_with(Hooks(on_error=lambda **facts: told.append(facts)), "missing")
    assert told == [
        {
            "server": "in-process serve",
            "phase": "request",
            "error": raised.value,
            "trace": {"span": "missing"},
        }
    ]


def test_failing_to_connect_is_reported_and_raised() -> None:
    """F-SHOW-7"""
    told: list[dict[str, Any]] = []

    async def connect() -> None:
        await mcpclient.connect(
            ["/no/such/command"], hooks=Hooks(on_error=lambda **facts: told.append(facts))
        )

    with pytest.raises(mcpclient.CommandNotFound) as raised:
        run(connect())
    assert [(facts["phase"], facts["error"]) for facts in told] == [("connect", raised.value)]


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
