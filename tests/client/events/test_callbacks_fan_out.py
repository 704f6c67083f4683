"""Who hears what happens in a session: observers, the caller's callbacks, and the log."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.client.events.callbacks import EventCallbacks, Events, Observer
from mcpclient.errors import ConnectionLost, McpError, ProtocolViolation, SessionExpired
from mcpclient.net.futures import BackgroundTasks
from tests.client.connection.test_connection import client_of
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
