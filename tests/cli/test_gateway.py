"""``mcpclient bridge`` in front of many servers, as a process of its own and by its words."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from mcpclient import Client, ServerConfig
from mcpclient.cli.bridge import is_gateway
from mcpclient.cli.main import main
from tests.cli.test_bridge import DEMO, bridge

pytestmark = pytest.mark.needs_posix

BROKEN = [sys.executable, "-c", "import sys; sys.exit('no database')"]


def written(folder: Path, **entries: list[str]) -> str:
    """Write a configuration file; return its path."""
    servers = {name: {"command": each[0], "args": each[1:]} for name, each in entries.items()}
    file = folder / "servers.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return str(file)


@pytest.mark.slow
async def test_configured_servers_are_one_and_the_gateway_is_not_among_them(tmp_path: Path) -> None:
    """F-BRIDGE-2: a broken one is a line of the status, with the reason and the next step."""
    own = ["mcpclient", "bridge", "--all"]
    file = written(tmp_path, one=DEMO, two=DEMO, broken=BROKEN, gateway=own)
    async with Client(bridge("--config", file, "--wait", "20"), stderr="discard") as client:
        tools = {tool.name for tool in await client.list_tools()}
        assert {"one__add", "two__add"} < tools
        assert not [name for name in tools if name.startswith("gateway")]
        assert (await client.call_tool("two__add", {"a": 1, "b": 2})).text == "3"
        status = (await client.read_resource("gateway://servers")).text
        assert "one: connected" in status
        assert "broken: failed" in status
        assert "gateway" not in status
        prompt = await client.get_prompt("one__haiku", {"topic": "x"})
        assert prompt.messages
    chosen = bridge("--config", file, "--only", "one", "--search", "--wait", "20")
    async with Client(chosen, stderr="discard") as client:
        assert [tool.name for tool in await client.list_tools()] == ["find", "describe", "call"]
        arguments = {"server": "one", "tool": "add", "arguments": {"a": 1, "b": 2}}
        assert (await client.call_tool("call", arguments)).text == "3"
        left_out = await client.call_tool("call", {"server": "two", "tool": "add"})
        assert left_out.is_error


@pytest.mark.slow
async def test_pins_hold_for_one_server_by_its_own_names(tmp_path: Path) -> None:
    """F-BRIDGE-4: what is not in the lock is neither listed nor called."""
    file = written(tmp_path, demo=DEMO)
    lock = tmp_path / "mcp.lock"
    locking = ["lock", "--config", file, "--file", str(lock)]
    assert await asyncio.get_running_loop().run_in_executor(None, main, locking) == 0
    lock.write_text(lock.read_text().replace('"add"', '"added"'))
    words = ["--config", file, f"--pins={lock}", "--wait", "20", "demo"]
    async with Client(bridge(*words), stderr="discard") as client:
        tools = {tool.name for tool in await client.list_tools()}
        assert "echo" in tools
        assert "add" not in tools
        assert (await client.call_tool("echo", {"message": "hi"})).text == "hi"
        assert (await client.call_tool("add", {"a": 1, "b": 2})).is_error


def test_the_entry_for_a_host_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    """F-BRIDGE-2: with paths that hold in any folder."""
    assert main(["bridge", "--config", "a.json", "--search", "--print-config"]) == 0
    entry = json.loads(capfd.readouterr().out)["mcpServers"]["gateway"]
    assert entry["args"][-4:] == ["bridge", "--config", str(Path("a.json").absolute()), "--search"]


def test_entries_that_start_a_gateway_are_known() -> None:
    """F-BRIDGE-2: however the program is called; a bridge to one server is none of them."""
    for line, is_one in (
        ("mcpclient bridge --all", True),
        ("/usr/bin/mcpclient bridge --config x.json", True),
        ("python3 -m acme._vendor.mcpclient bridge --only a,b", True),
        ("uvx mcpclient bridge --search --all", True),
        ("sh -c mcpclient\\ bridge\\ --all", True),
        ("mcpclient bridge github", False),
        ("mcpclient bridge --config x.json github", False),
        ("npx -y server --all", False),
    ):
        words = line.replace("\\ ", "\0").split()
        target = [word.replace("\0", " ") for word in words]
        assert is_gateway(ServerConfig("x", target=target)) is is_one, line
