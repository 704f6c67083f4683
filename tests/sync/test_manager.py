"""F-API-18, F-MANY-1: the blocking manager."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient import Status, sync
from mcpclient.sync import manager as manager_module
from tests.support.subprocesses import TOP, run_python
from tests.sync.calling import ToolServer

VERSION: Any = {"protocol_version": "2025-11-25"}


def test_many_servers_are_connected_called_and_closed() -> None:
    """F-MANY-1: by full name, with the client of each at hand."""
    servers = {"one": ToolServer().transport(), "two": ToolServer().transport()}
    told: list[str] = []

    def hear(event: mcpclient.ManagerEvent) -> None:
        told.append(f"{event.server} {len(manager.tools) >= 0}")

    manager = sync.Manager(servers, on_event=hear, **VERSION)
    with manager as entered:
        assert entered is manager
        assert manager.tools[0].name == "one__echo"
        assert manager.call_tool("two__echo", {"message": "x"}).text == "x"
        assert isinstance(manager["one"], sync.Client)
        assert manager["one"].call_tool("echo", {"message": "y"}).text == "y"
        assert [tool.name for tool in manager.search_tools("echo", limit=1)] == ["one__echo"]
        server = manager.servers["two"]
        assert isinstance(server, sync.Server) and server.name == "two"
        assert server.status is Status.CONNECTED and server.error is None
        assert server.client.call_tool("echo", {"message": "z"}).text == "z"
        server.disconnect()
        assert not server.is_connected
        assert isinstance(manager.connect("two"), sync.Server)
        assert isinstance(manager.async_manager, mcpclient.Manager)
        futures = [manager.submit("call_tool", "two__echo", {"message": m}) for m in "ab"]
        assert [each.result(5).text for each in futures] == ["a", "b"]
        box = manager.toolbox("anthropic")
        assert [each["name"] for each in box.tools][:1] == ["one__echo"]
    assert "one True" in told


@pytest.mark.slow
def test_a_manager_that_is_open_at_the_end_of_the_program_saves_what_it_has_learned(
    tmp_path: Path,
) -> None:
    """F-API-18, F-MANY-14: no thread can be begun there any more."""
    memory = tmp_path / "tools.json"
    run_python(
        f"""
        import sys
        from mcpclient import sync

        server = [sys.executable, {str(TOP / "mcpclient/testing/demo_server.py")!r}]
        manager = sync.connect_all({{"one": server}}, memory={str(memory)!r})
        assert manager.tools
        """
    )
    assert '"echo"' in memory.read_text("utf-8")


def test_a_manager_that_outlives_its_modules_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-18: the interpreter empties them when it ends; free-threaded ones do it earlier."""
    manager: Any = sync.connect_all({"one": ToolServer().transport()}, **VERSION)
    with manager:
        monkeypatch.setattr(manager_module, "os", None)
        manager.__del__()
        monkeypatch.undo()


def test_a_forgotten_manager_is_closed() -> None:
    """F-API-18: its servers, too."""
    server = ToolServer()
    manager = sync.connect_all({"one": server.transport()}, **VERSION)
    assert manager.tools
    del manager
    gc.collect()
    assert server.ended.wait(5)
    del server
