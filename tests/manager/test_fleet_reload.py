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

from mcpclient import (
    Approvals,
    Config,
    Manager,
    Reconnect,
    ServerConfig,
    Status,
    StatusChanged,
    load_config,
)
from mcpclient.client.requests import connection_of
from mcpclient.errors import ClientClosed, ConnectionLost, ServerUnavailable, UsageError
from tests.client.scripted_server import turns
from tests.manager.fleet import Member, statuses
from tests.support.subprocesses import TOP


def config(**members: Any) -> Config:
    return Config({name: _server(name, each) for name, each in members.items()})


def _server(name: str, member: Any) -> ServerConfig:
    return member if isinstance(member, ServerConfig) else ServerConfig(name, target=member)


@pytest.mark.virtual_time
async def test_servers_that_came_from_no_file() -> None:
    """F-MANY-4"""
    async with Manager({"a": Member()}) as manager:
        with pytest.raises(UsageError, match="came from no file"):
            await manager.reload()


def test_what_was_switched_on_is_brought_back(tmp_path: Path) -> None:
    """F-MANY-2, F-MANY-5: its file still disables it when its connection is lost."""
    file = tmp_path / ".mcp.json"
    demo = str(TOP / "mcpclient" / "testing" / "demo_server.py")
    entry = {"command": sys.executable, "args": [demo], "disabled": True}
    file.write_text(json.dumps({"mcpServers": {"off": entry}}), "utf-8")

    async def main() -> None:
        async with Manager(file, reconnect=Reconnect(delays=(0.01,))) as manager:
            assert (await manager.connect("off")).status is Status.CONNECTED
            seen = []
            events = manager.events()
            transport: Any = connection_of(manager["off"]).session.transport
            os.kill(transport.process_id, signal.SIGTERM)
            async for event in events:
                if isinstance(event, StatusChanged):
                    seen.append(event.new.value)
                    if event.new is not Status.RECONNECTING:
                        break
            assert seen == ["reconnecting", "connected"]
            assert (await manager.call_tool("off__echo", {"message": "hi"})).text == "hi"

    asyncio.run(asyncio.wait_for(main(), 60))


async def test_a_file_of_servers(tmp_path: Path) -> None:
    """F-MANY-1, F-MANY-4: one that is switched off is connected when asked for; others stay."""
    file = tmp_path / ".mcp.json"
    server = {"command": sys.executable, "args": ["-c", "import sys; sys.exit(3)"]}

    def write(**servers: Any) -> None:
        file.write_text(json.dumps({"mcpServers": servers}), "utf-8")

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


class Leisurely(Member):
    """It takes a second to be closed."""

    async def close(self) -> None:
        await asyncio.sleep(1.0)
        await super().close()


@pytest.mark.virtual_time
async def test_what_changes_while_a_server_is_being_closed() -> None:
    """F-MANY-4: removed twice, or added meanwhile: nothing is lost, and nothing fails."""
    same, late = Member("x"), Member("y")
    async with Manager(config(same=same, gone=Leisurely("z"))) as manager:
        reloading = asyncio.ensure_future(manager.reload(config(same=same)))
        removing = asyncio.ensure_future(manager.remove("gone"))
        await turns()
        await manager.add("late", late)
        await asyncio.gather(reloading, removing)
        assert statuses(manager) == {"late": "connected", "same": "connected"}
    assert statuses(manager) == {"late": "closed", "same": "closed"}


async def test_a_server_may_be_called_as_the_heading_of_a_file() -> None:
    """F-MANY-4: what is added is one server, whatever its name."""
    async with Manager({}) as manager:
        added = await manager.add("mcpServers", {"command": "./no-such-program"})
        assert (added.name, str(added.status)) == ("mcpServers", "failed")


@pytest.mark.virtual_time
async def test_two_that_are_added_under_one_name() -> None:
    """F-MANY-4: the last one stays, and the other is closed, not forgotten while it runs."""
    first, second = Member("x"), Member("y")
    async with Manager({"a": Leisurely("z")}) as manager:
        added = await asyncio.gather(manager.add("a", first), manager.add("a", second))
        assert [each.status for each in added] == [Status.CLOSED, Status.CONNECTED]
        assert [each.name for each in manager.tools] == ["a__y"]


@pytest.mark.virtual_time
async def test_closed_while_servers_are_exchanged() -> None:
    """F-MANY-4, F-MANY-11: nothing is connected that would never be closed."""
    for name, target in (("a", Member("x")), ("b", Member("y"))):
        manager = await Manager({"a": Leisurely("z")})
        changes = manager.add("a", target) if name == "a" else manager.reload(config(b=target))
        changing = asyncio.ensure_future(changes)
        await turns()
        await manager.close()
        with pytest.raises(ClientClosed):
            await changing
        assert target.attempts == 0


def demo(tmp_path: Path, **servers: Any) -> Path:
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}), "utf-8")
    return file


STDIO = {"command": sys.executable, "args": [str(TOP / "tests" / "servers" / "mcp_stdio.py")]}


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize("kind", ["path", "Config", "mapping"])
async def test_whatever_came_from_a_file_is_read_again(tmp_path: Path, kind: str) -> None:
    """F-MANY-23: by reload(), and before a server is connected again; in whatever way it came."""
    file = demo(tmp_path, a=STDIO, b=STDIO)
    loaded = load_config(file)
    servers: Any = {"path": file, "Config": loaded, "mapping": loaded.servers}[kind]
    async with Manager(servers) as manager:
        assert statuses(manager) == {"a": "connected", "b": "connected"}
        assert not await manager.reload()
        demo(tmp_path, a={**STDIO, "env": {"X": "1"}}, b=STDIO)
        assert (await manager.reload()).changed == ("a",)
        assert manager.servers["a"].config.options["env"] == {"X": "1"}
        assert manager.servers["a"].status is Status.CONNECTED
        demo(tmp_path, a=STDIO)
        await manager.disconnect("b")
        assert (await manager.connect("b")).status is Status.DENIED
        assert "has no server 'b' any more" in str(manager.servers["b"].error)


async def test_an_entry_that_is_gone_is_not_started_again(tmp_path: Path) -> None:
    """F-MANY-23: after a crash, and by no call either."""
    file = demo(tmp_path, a=STDIO)
    async with Manager(file, reconnect=Reconnect(delays=(0.01,))) as manager:
        demo(tmp_path)
        events = manager.events()
        connection_of(manager["a"]).session.connection_lost(ConnectionLost("cut"))
        while manager.servers["a"].status is not Status.DENIED:
            await asyncio.wait_for(events.__anext__(), 10)
        assert list(manager.tools) == []
        with pytest.raises(ServerUnavailable, match="any more"):
            await manager["a"].call_tool("echo", {"text": "x"})


async def test_an_edited_entry_waits_for_approval_and_says_so(tmp_path: Path) -> None:
    """F-MANY-23, F-MANY-2: it was said to be reconnecting; approved, it is connected again."""
    file = demo(tmp_path, a=STDIO)
    store = tmp_path / "approvals.json"
    agreeing, silent = (Approvals(lambda server: True, store), Approvals(store=store))
    agreeing.confirm(load_config(file, approvals=agreeing).servers["a"])
    async with Manager(file, approvals=silent) as manager:
        assert statuses(manager) == {"a": "connected"}
        demo(tmp_path, a={**STDIO, "env": {"X": "1"}})
        await manager.reload()
        assert statuses(manager) == {"a": "needs_approval"}
        assert isinstance(manager.servers["a"].error, ServerUnavailable)
        load_config(file, approvals=agreeing)
        assert (await manager.connect("a")).status is Status.CONNECTED


async def test_variables_and_inputs_of_a_file_are_given_to_the_manager(tmp_path: Path) -> None:
    """F-MANY-23, F-MANY-8: also when it is read again."""
    entry = {**STDIO, "env": {"A": "${TOKEN}", "B": "${input:key}"}}
    file = demo(tmp_path, a=entry)
    async with Manager(file, env={"TOKEN": "t"}, inputs={"key": "k"}) as manager:
        for number in range(2):
            found = manager.servers["a"].config.options["env"]
            assert (found["A"], found["B"]) == ("t", "k")
            demo(tmp_path, a={**entry, "cwd": str(tmp_path)})
            assert bool(await manager.reload()) is (number == 0)


@pytest.mark.parametrize("options", [{"inputs": {"a": "b"}}, {"approvals": Approvals()}])
def test_what_is_for_files_is_refused_for_others(options: Any) -> None:
    """F-MANY-23: it would be ignored."""
    with pytest.raises(UsageError, match="approvals and inputs are for files"):
        Manager({"a": Member("x")}, **options)
