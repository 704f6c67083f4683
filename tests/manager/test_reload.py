"""Files read again: F-MANY-4, F-MANY-5, F-MANY-7."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient import Config, Manager, Reconnect, ServerConfig, Status, StatusChanged
from mcpclient.errors import UsageError
from tests.manager.fleet import Member, statuses
from tests.support.subprocesses import TOP
from tests.support.virtual_time import run


def config(**members: Any) -> Config:
    return Config({name: _server(name, each) for name, each in members.items()})


def _server(name: str, member: Any) -> ServerConfig:
    return member if isinstance(member, ServerConfig) else ServerConfig(name, target=member)


def test_only_what_changed_is_touched() -> None:
    """F-MANY-4: other servers keep their connections; the order is that of the new file."""

    async def main() -> None:
        same, old, new, gone = Member("x"), Member("y"), Member("z"), Member("w")
        before = config(same=same, other=old, gone=gone)
        async with Manager(before) as manager:
            client = manager["same"]
            changes = await manager.reload(config(late=Member("v"), other=new, same=same))
            assert changes.added == ("late",)
            assert (changes.removed, changes.changed) == (("gone",), ("other",))
            assert changes.unchanged == ("same",)
            assert manager["same"] is client and same.attempts == 1
            assert list(manager.servers) == ["late", "other", "same"]
            assert set(statuses(manager).values()) == {"connected"}
            assert {each.name for each in manager.tools} == {"same__x", "other__z", "late__v"}
            assert not await manager.reload(
                config(late=manager.servers["late"].config.target, other=new, same=same)
            )

    run(main())


def test_servers_that_came_from_no_file() -> None:
    """F-MANY-4"""

    async def main() -> None:
        async with Manager({"a": Member()}) as manager:
            with pytest.raises(UsageError, match="came from no file"):
                await manager.reload()

    run(main())


def test_what_was_switched_on_is_brought_back(tmp_path: Path) -> None:
    """F-MANY-2, F-MANY-5: its file still disables it when its connection is lost."""
    file = tmp_path / ".mcp.json"
    demo = str(TOP / "conformance" / "servers" / "demo_server.py")
    entry = {"command": sys.executable, "args": [demo], "disabled": True}
    file.write_text(json.dumps({"mcpServers": {"off": entry}}), "utf-8")

    async def main() -> None:
        async with Manager(file, reconnect=Reconnect(delays=(0.01,))) as manager:
            assert (await manager.connect("off")).status is Status.CONNECTED
            seen = []
            events = manager.events()
            transport: Any = manager["off"]._connection.session.transport
            os.kill(transport._process.pid, signal.SIGTERM)
            async for event in events:
                if isinstance(event, StatusChanged):
                    seen.append(event.new.value)
                    if event.new is not Status.RECONNECTING:
                        break
            assert seen == ["reconnecting", "connected"]
            assert (await manager.call_tool("off__echo", {"message": "hi"})).text == "hi"

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_file_of_servers(tmp_path: Path) -> None:
    """F-MANY-1, F-MANY-4: one that is switched off is connected when asked for; others stay."""
    file = tmp_path / ".mcp.json"
    server = {"command": sys.executable, "args": ["-c", "import sys; sys.exit(3)"]}

    def write(**servers: Any) -> None:
        file.write_text(json.dumps({"mcpServers": servers}), "utf-8")

    async def main() -> None:
        write(off={**server, "disabled": True}, broken={"comand": "x"})
        async with Manager(file) as manager:
            assert statuses(manager) == {"off": "disabled"}
            assert any(problem.server == "broken" for problem in manager.problems)
            connected = await manager.connect("off")
            assert connected.status is Status.FAILED
            assert "exited with code 3" in str(connected.error)
            write(off={**server, "disabled": True})
            assert (await manager.reload()).changed == ("off",)
            assert manager.problems == []

    asyncio.run(main())
