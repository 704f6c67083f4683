"""Whatever a caller names as servers: F-MANY-1."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient import Config, Manager, Policy, ServerConfig, connect_all, load_config
from mcpclient.errors import ServersFailed, UsageError
from mcpclient.gate.gate import Gate
from mcpclient.manager.fleet import configured_servers
from tests.support.tables import each_row

URL = "https://github.example.com/mcp"


@each_row(
    ("given", "targets"),
    [
        ({"a": URL, "b": ["npx", "x"]}, {"a": URL, "b": ["npx", "x"]}),
        ({"a": ServerConfig("b", target=URL)}, {"a": URL}),
        ({"mcpServers": {"a": {"url": URL}}}, {"a": URL}),
        (Config({"a": ServerConfig("a", target=URL)}), {"a": URL}),
        ([URL, ["npx", "x"]], {"github": URL, "npx": ["npx", "x"]}),
        ({}, {}),
    ],
)
def test_forms(given: Any, targets: Any) -> None:
    """F-MANY-1: a mapping, a list, a loaded configuration, or the content of a file."""
    servers = configured_servers(given, Gate())
    assert {name: server.target for name, server in servers.items()} == targets
    assert all(name == server.name for name, server in servers.items())


def test_a_policy_judges_what_was_loaded_without_it() -> None:
    """F-MANY-9"""
    loaded = Config({"evil": ServerConfig("evil", target=URL)})
    (evil,) = configured_servers(loaded, Gate(Policy(deny=["name:evil"]))).values()
    assert evil.state == "denied"


@each_row("given", [5, URL, None, {"": URL}, {3: URL}])
def test_what_is_none_of_them(given: Any) -> None:
    with pytest.raises(UsageError):
        configured_servers(given, Gate())


def test_the_entry_of_a_mapping_says_what_is_used_of_it() -> None:
    """F-MANY-2, F-MANY-13: a client knows none of that, so the manager carries it out."""
    entries = {
        "off": {"command": "x", "disabled": True},
        "some": {"command": "x", "includeTools": ["a"], "disabled_tools": ["b"]},
        "all": {"mcpServers": {"all": {"url": URL, "tools": {"c": False}}}},
    }
    off, some, every = configured_servers(entries, Gate()).values()
    assert (off.state, some.state) == ("disabled", "ready")
    assert (some.include, some.exclude, every.exclude) == (("a",), ("b",), ("c",))
    with pytest.raises(UsageError, match="bad: include: "):
        configured_servers({"bad": {"command": "x", "include": "a"}}, Gate())


COMAND = {"mcpServers": {"bad": {"comand": "npx"}}}
MIXED = {"mcpServers": {**COMAND["mcpServers"], "off": {"command": "x", "disabled": True}}}


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no such file"),
        ("", "it is not JSON"),
        ("{}", "it configures no servers"),
        ("[]", "it does not hold an object"),
        ('{"mcpServers": 5}', "servers are an object"),
        (json.dumps(COMAND), "bad: a server needs a command or a url .did you mean 'command'"),
    ],
)
def test_a_file_that_was_named_and_cannot_be_used(
    content: str | None, said: str, required: bool, tmp_path: Path
) -> None:
    """F-MANY-24: it raises, with place and reason, whatever is required."""
    path = tmp_path / "mcp.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UsageError, match=rf"mcp\.json.*{said}"):
        connect_all(path, required=required)


def test_a_file_without_servers_is_one_until_they_are_required(tmp_path: Path) -> None:
    """F-MANY-24"""
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {}}')
    assert connect_all(path).problems == []
    with pytest.raises(UsageError, match="has no servers"):
        connect_all(path, required=True)


async def test_what_is_required_sees_every_problem(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """F-MANY-24: nothing is started then; and each problem is logged once."""
    path = tmp_path / "mcp.json"
    started = ["-c", f"open({str(tmp_path / 'started')!r}, 'w')"]
    MIXED["mcpServers"]["well"] = {"command": sys.executable, "args": started}
    path.write_text(json.dumps(MIXED))
    with pytest.raises(UsageError, match="bad: a server needs a command or a url"):
        connect_all(path, required=["off", "bad"])
    for source in (path, load_config(path)):
        caplog.clear()
        manager = connect_all(source, required=True)
        for _ in range(2):
            with pytest.raises(ServersFailed, match=r"bad: .*needs a command") as failed:
                await manager.open()
            assert list(failed.value.failures) == ["bad"]
        logged = [record.getMessage() for record in caplog.records]
        assert logged == list(map(str, manager.problems))
        assert len(logged) == 2
    assert not (tmp_path / "started").exists()


async def test_a_reload_of_a_broken_file_keeps_the_servers(tmp_path: Path) -> None:
    """F-MANY-24, F-MANY-23"""
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"off": {"command": "x", "disabled": true}}}')
    async with Manager(path) as manager:
        path.write_text("{")
        with pytest.raises(UsageError, match="it is not JSON"):
            await manager.reload()
        assert list(manager.servers) == ["off"]
