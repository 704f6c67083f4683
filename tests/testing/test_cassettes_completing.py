"""F-API-25, mode ``new``: a replay that sends requests without a recording to the server."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient import CommandNotFound, PeerError, Tool, testing
from mcpclient.client.requests import connection_of
from mcpclient.sync.loop_thread import end_loop_thread
from mcpclient.testing import check_tools
from mcpclient.testing.cassettes import Completing
from tests.client.scripted_server import turns
from tests.support.subprocesses import TOP
from tests.sync.calling import ToolServer

DEMO = [sys.executable, str(TOP / "mcpclient" / "testing" / "demo_server.py")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A cassette that holds one call of the demo server."""
    path = tmp_path / "demo.jsonl"

    async def record() -> None:
        async with mcpclient.connect(DEMO, trace=path) as client:
            await client.call_tool("echo", {"message": "recorded"})

    asyncio.run(record())
    return path


@pytest.mark.parametrize("version", [None, "2025-11-25"])
def test_progress_and_errors_come_from_the_server(path: Path, version: str | None) -> None:
    """F-API-25: in either era, the one that was recorded; a second time, from the file."""
    if version is not None:
        path.unlink()
        with testing.cassette(path) as tape:
            asyncio.run(use(tape, DEMO, protocol_version=version))
    for target in (DEMO, ["no-such-command"]):
        with testing.cassette(path, mode="new") as tape:
            recorded, steps, error = asyncio.run(use(tape, target, protocol_version=version))
        assert recorded == "recorded" and steps == [1, 2] and "no-such-tool" in error


async def use(tape: testing.Cassette, target: Any, **options: Any) -> tuple[str, list[float], str]:
    steps: list[float] = []
    async with tape.connect(target, **options) as client:
        text = (await client.call_tool("echo", {"message": "recorded"})).text
        counting = {"to": 2, "seconds": 0}
        await client.call_tool(
            "count", counting, on_progress=lambda each: steps.append(each.progress)
        )
        with pytest.raises(PeerError) as raised:
            await client.call_tool("no-such-tool", meta={"mine": 1})
    return text, steps, raised.value.message


def test_a_server_that_cannot_be_reached_fails_only_what_is_new(path: Path) -> None:
    with testing.cassette(path, mode="new") as tape:
        try:
            with tape.sync_connect(["no-such-command"]) as client:
                assert client.call_tool("echo", {"message": "recorded"}).text == "recorded"
                with pytest.raises(CommandNotFound):
                    client.call_tool("echo", {"message": "new"})
        finally:
            end_loop_thread()


def test_cancelling_a_new_call_reaches_the_server(tmp_path: Path) -> None:
    """F-API-8, F-API-25: and requests still open when the client closes are cancelled."""

    async def begin(arguments: dict[str, Any]) -> None:
        server.began.set()
        await asyncio.Event().wait()

    class Server(ToolServer):
        began: asyncio.Event

    server = Server(begin=begin)
    path = tmp_path / "tape.jsonl"

    async def main(*calls: str) -> None:
        server.began = asyncio.Event()
        with testing.cassette(path, mode="new") as tape:
            options: Any = {"protocol_version": server.version}
            async with tape.connect(server.transport(), **options) as client:
                await client.call_tool("echo", {"message": "x"})
                for name in calls:
                    await client.call_tool("echo", {"message": "new"})
                    await turns()
                    completing = connection_of(client).session.transport
                    assert isinstance(completing, Completing) and not completing._asking
                    calling = asyncio.ensure_future(client.call_tool(name))
                    await server.began.wait()
                    calling.cancel()
                    await asyncio.wait([calling])
                    assert calling.cancelled()

    asyncio.run(main())
    asyncio.run(main("begin"))
    assert len(server.sent("notifications/cancelled")) == 1


ADD = Tool({"name": "add", "description": "Add", "inputSchema": {"type": "object"}})
ECHO = Tool({"name": "echo", "description": "Say «it»", "inputSchema": {"type": "object"}})


def test_a_change_is_shown_line_by_line(tmp_path: Path) -> None:
    """F-API-25: as a difference that is read in review."""
    path = tmp_path / "snapshots" / "tools.json"
    check_tools([ECHO, ADD], path)
    check_tools([ADD, ECHO], path)
    assert "Say «it»" in path.read_text("utf-8")
    changed = Tool({**ADD.raw, "description": "Add numbers"})
    with pytest.raises(AssertionError) as raised:
        check_tools([changed, ECHO], path)
    lines = str(raised.value).splitlines()
    assert '-    "description": "Add",' in lines and '+    "description": "Add numbers",' in lines
    check_tools([changed, ECHO], path, update=True)
    check_tools([changed, ECHO], path)
