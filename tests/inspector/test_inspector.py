"""F-SHOW-10: opening and closing an inspector, over whatever can be inspected."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient import Client, Manager, Recording, UsageError
from mcpclient.inspector.inspector import Inspector, inspect, source_of
from mcpclient.inspector.servers import ClientSource, ManagerSource, Source
from tests.inspector.scenes import Scene, until
from tests.inspector.showcase import Showcase


def fetch(url: str, path: str) -> Any:
    """Ask as the page does, from another thread."""
    address, _, token = url.partition("#t=")
    request = urllib.request.Request(address.rstrip("/") + path)
    request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=5) as response:
        return json.load(response)


async def test_a_program_is_inspected_while_it_works() -> None:
    """F-SHOW-10: its own connection, and nothing of what it does changes."""
    showcase = Showcase()
    async with Client(showcase.transport, protocol_version="2025-11-25") as client:
        async with mcpclient.inspect(client) as inspector:
            assert inspector.url.startswith("http://127.0.0.1:")
            before = len(showcase.received)
            state = await asyncio.to_thread(fetch, inspector.url, "/api/state")
            assert len(showcase.received) == before
            assert [item[2]["status"] for item in state["items"]] == ["connected"]
        assert client.is_connected
        with pytest.raises(urllib.error.URLError):
            await asyncio.to_thread(fetch, inspector.url, "/api/state")


async def test_without_with() -> None:
    inspector = await inspect(Client("http://127.0.0.1:1/mcp"), token="a-very-long-token")
    assert inspector.url.endswith("/#t=a-very-long-token")
    await inspector.close()
    await inspector.close()


async def test_every_server_is_connected_where_that_is_asked_for() -> None:
    scene = Scene()
    async with scene.inspector as inspector:
        inspector.connect_all()
        await until(lambda: scene.client.is_connected)
    assert not scene.client.is_connected


def test_what_can_be_inspected(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"transcript": 1, "transport": "stdio", "target": "x"}\n')
    assert isinstance(source_of(Client("x")), ClientSource)
    assert isinstance(source_of(Manager({})), ManagerSource)
    assert type(source_of(Recording(path))) is Source
    assert len(source_of([Recording(path), Recording(path)]).states()) == 2
    for other in ("https://h/mcp", [], [Client("x")], None):
        with pytest.raises(UsageError, match="can be inspected"):
            source_of(other)


async def test_recordings_have_nothing_to_connect(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"transcript": 1, "transport": "stdio", "target": "x"}\n')

    async with inspect(Recording(path)) as inspector:
        inspector.connect_all()
        assert not inspector.room._connecting._tasks


@pytest.mark.parametrize(
    "options",
    [
        {"allow": "everything"},
        {"token": "short"},
        {"token": "with spaces and more of it"},
        {"token": "ümlauts-are-not-for-urls"},
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        inspect(Client("x"), **options)


def test_it_listens_for_this_machine_only() -> None:
    """F-SHOW-10"""
    inspector = inspect(Client("x"), host="0.0.0.0")
    assert isinstance(inspector, Inspector)
    with pytest.raises(UsageError, match="only this machine"):
        asyncio.run(inspector.open())
