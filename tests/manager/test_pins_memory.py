"""The memory from one run to the next: F-MANY-14."""

from __future__ import annotations

import asyncio
import logging
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpclient import Manager, ServerConfig
from mcpclient.client.requests import connection_of
from mcpclient.manager import pins as memory_module
from mcpclient.manager.pins import Memory, Remembered, memory_key
from tests.client.scripted_server import HANDSHAKE
from tests.manager.fleet import Member, statuses, tool
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time


def config(member: Member) -> ServerConfig:
    """A configuration that is the same in every run."""
    return ServerConfig("a", target=member, raw={"command": "server"})


async def first_run(member: Member, path: Path) -> None:
    async with Manager({"a": config(member)}, lazy=True, memory=path) as manager:
        assert statuses(manager) == {"a": "connected"}  # nothing is remembered yet


async def test_a_lazy_server_is_connected_by_its_first_call(tmp_path: Path) -> None:
    """F-MANY-14: its tools are there at once, and marked as an earlier connection's."""
    path = tmp_path / "tools.json"
    await first_run(Member("x"), path)
    member = Member("x")
    async with Manager({"a": config(member)}, lazy=True, memory=path, required=["a"]) as manager:
        assert (statuses(manager), member.attempts) == ({"a": "deferred"}, 0)
        assert [(each.name, each.stale) for each in manager.tools] == [("a__x", True)]
        calls = [manager.call_tool("a__x") for _ in range(5)]
        assert [each.text for each in await asyncio.gather(*calls)] == ["x"] * 5
        assert (statuses(manager), member.attempts) == ({"a": "connected"}, 1)
        assert not manager.tools[0].stale


def test_remembered_by_configuration_and_user() -> None:
    """F-MANY-14: another entry, or the same one with another user's token, is another server."""
    raw = {"url": "https://a.example"}
    entries = [
        *(ServerConfig("a", raw=raw), ServerConfig("b", raw=raw), ServerConfig("a", raw={})),
        *(
            ServerConfig("a", options=options, raw=raw)
            for secret in ("one", "two")
            for options in ({"headers": {"X": secret}}, {"env": {"X": secret}}, {"auth": secret})
        ),
    ]
    assert len(set(map(memory_key, entries))) == len(entries)


async def test_what_it_spoke_in_an_earlier_run_is_tried_first(tmp_path: Path) -> None:
    """F-MANY-14"""
    path = tmp_path / "tools.json"
    await first_run(Member("x"), path)
    async with Manager({"a": config(Member("x"))}, lazy=True, memory=path) as manager:
        wiring = connection_of(manager["a"]).options.wiring
        assert wiring.version == HANDSHAKE


async def test_a_known_tool_can_be_called_while_its_server_is_connected(tmp_path: Path) -> None:
    """F-MANY-14: also without ``lazy``; its name is reserved, and the call waits."""
    path = tmp_path / "tools.json"
    await first_run(Member("x"), path)
    member = Member("x", seconds=5)
    async with Manager({"a": config(member)}, memory=path, wait="none") as manager:
        assert list(manager.tools) == []
        assert (await manager.call_tool("a__x")).text == "x"


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The event that is set when another process lets go of the file, in time."""
    free = threading.Event()
    in_time: list[bool] = []
    monkeypatch.setattr(Memory, "save", lambda memory, names: in_time.append(free.wait(10)))
    yield free
    assert in_time == [True]


async def test_closing_waits_for_the_file_as_for_a_server(
    held: threading.Event, tmp_path: Path
) -> None:
    """F-MANY-4, F-MANY-14: five seconds at most."""
    manager = await Manager({"a": Member("x")}, memory=tmp_path / "tools.json")
    began = asyncio.get_running_loop().time()
    await manager.close()
    assert asyncio.get_running_loop().time() - began == 5
    held.set()


@pytest.mark.needs_posix
def test_the_file_is_its_owners(tmp_path: Path) -> None:
    """F-MANY-14: mode 0600; one that others may change is not believed."""
    memory = Memory(tmp_path / "state" / "tools.json")
    memory.note("k", Remembered([tool("x")], "Be kind.", "2025-11-25"))
    memory.save()
    assert stat.S_IMODE(memory.file.stat().st_mode) == 0o600
    assert memory.recall()["k"] == Remembered([tool("x")], "Be kind.", "2025-11-25")
    os.chmod(memory.file, 0o666)
    assert memory.recall() == {}


def test_a_file_that_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """F-MANY-14: nothing depends on it."""
    (tmp_path / "file").write_text("")
    memory = Memory(tmp_path / "file" / "tools.json")
    memory.note("k", Remembered())
    with caplog.at_level(logging.WARNING):
        memory.save()
    assert "are not remembered" in caplog.text


def test_where_it_stands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """F-MANY-14: in the state folder of this user; without ``lazy`` nothing is written."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert Memory().file.name == "tools.json"

    async def main(**options: Any) -> None:
        async with Manager({"a": ServerConfig("a", target=Member("x"), **options)}):
            pass

    run(main())
    assert not list(tmp_path.rglob("tools.json"))
    run(main(lazy=True))
    assert list(tmp_path.rglob("tools.json"))


def test_a_file_that_is_full_remembers_the_latest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """F-MANY-14: the oldest servers make room, and one that would take all of it is left out."""
    monkeypatch.setattr(memory_module, "_MAX_FILE_SIZE", 1_000)
    monkeypatch.setattr(memory_module, "_MAX_SERVER_SIZE", 500)
    path = tmp_path / "tools.json"
    for number in range(10):
        memory = Memory(path)
        memory.note(f"server {number}", Remembered([{"name": "x" * 200}]))
        memory.note("large", Remembered([{"name": "x" * 600}]))
        memory.save()
        assert path.stat().st_size <= 1_000
    assert list(Memory(path).recall()) == ["server 7", "server 8", "server 9"]
    assert not caplog.records
