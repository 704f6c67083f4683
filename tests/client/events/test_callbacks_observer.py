"""Observers: who follows a connection from session to session."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.client.events.callbacks import Observer
from mcpclient.errors import McpError
from tests.client.scripted_server import ScriptedServer

pytestmark = pytest.mark.virtual_time


class Diary(Observer):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.entries: list[str] = []

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        super().notified(method, params)
        self.entries.append(method)

    def connected(self) -> None:
        super().connected()
        self.entries.append("connected")

    def lost(self, error: McpError) -> None:
        super().lost(error)
        self.entries.append("lost")

    def closed(self) -> None:
        super().closed()
        self.entries.append("closed")


async def test_an_observer_is_told_everything_in_order() -> None:
    """F-API-20: over two connections, and before the caller's own callback."""
    server, diary = ScriptedServer(), Diary()
    said = diary.entries.append
    client = server.client(on_notification=lambda method, _: said(f"callback {method}"))
    client._connection.observers.append(diary)
    async with client:
        server.notify("notifications/tools/list_changed")
        await asyncio.sleep(0.1)
        server.lose()
        await asyncio.sleep(0.1)
        await client.connect()
    assert diary.entries == [
        "connected",
        "notifications/tools/list_changed",
        "callback notifications/tools/list_changed",
        "lost",
        "connected",
        "closed",
    ]
