"""Bundles as targets, in code: F-MANY-18."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.cli.main import main
from mcpclient.gate.gate import Gate
from mcpclient.net.user_folders import state_folder
from tests.entries.bundles.making import Entry, manifest, option, python_server, write_bundle

OPTIONS = {
    "key": option("string", sensitive=True, required=True),
    "folders": option("directory", multiple=True, default=["/a", "/b"]),
}
SERVER = python_server(
    *("${user_config.folders}", "${__dirname}"),
    command=sys.executable,
    env={"KEY": "${user_config.key}"},
)


@pytest.fixture(autouse=True)
def folder(nothing_configured: Path) -> Path:
    return nothing_configured


def shown(result: mcpclient.CallToolResult) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.text)
    return found


async def test_a_client_starts_the_server_of_a_bundle(folder: Path) -> None:
    """F-MANY-18: in the folder that it was unpacked into; by a path, or by an entry."""
    described = manifest(server=python_server(command=sys.executable))
    path = write_bundle(folder / "x.mcpb", described, Entry("data.txt", b"x"))
    for target in ("x.mcpb", folder / "x.mcpb", {"bundle": path, "timeout": 5}):
        async with mcpclient.connect(target) as client:
            found = shown(await client.call_tool("show"))
        assert "data.txt" in os.listdir(found["cwd"])
        assert found["file"] == str(Path(found["cwd"], "server", "main.py"))


async def test_a_value_that_is_needed_is_given_in_code(folder: Path) -> None:
    """F-MANY-18: its server is not started without it."""
    path = write_bundle(folder / "x.dxt", manifest(server=SERVER, user_config=OPTIONS))
    with pytest.raises(mcpclient.UsageError, match=r"config\.key: it needs a value"):
        mcpclient.connect(path)
    async with mcpclient.connect({"bundle": path, "config": {"key": "s3cret"}}) as client:
        found = shown(await client.call_tool("show"))
    assert found["env"]["KEY"] == "s3cret"
    assert found["argv"] == ["/a", "/b", found["cwd"]]
    entry = {"bundle": path, "config": {"key": "s3cret"}}
    async with mcpclient.connect(entry, env={"MORE": "m"}) as client:
        found = shown(await client.call_tool("show"))
    assert (found["env"]["KEY"], found["env"]["MORE"]) == ("s3cret", "m")


async def test_a_manager_connects_bundles(folder: Path) -> None:
    """F-MANY-18: by their paths, by entries, from a file; each under the gate."""
    path = write_bundle(folder / "x.mcpb", manifest(server=python_server(command=sys.executable)))
    options = {"server": SERVER, "user_config": OPTIONS}
    write_bundle(folder / "y.mcpb", manifest(**options))
    entry = {"bundle": str(folder / "y.mcpb"), "config": {"key": "k"}}
    async with mcpclient.connect_all(["x.mcpb", entry]) as manager:
        assert [tool.name for tool in manager.tools] == ["x__show", "y__show"]
    async with mcpclient.connect_all(path) as manager:
        assert list(manager.servers) == ["x"]
    async with mcpclient.connect_all("y.mcpb", inputs={"key": "given", "folders": "/c"}) as manager:
        result = await manager.call_tool("y__show", {})
        assert shown(result)["env"]["KEY"] == "given"
        assert shown(result)["argv"][:1] == ["/c"]


async def test_a_bundle_that_is_denied_is_not_even_unpacked(folder: Path) -> None:
    """F-MANY-18: the gate judges the command that it would start."""
    write_bundle(folder / "x.mcpb", manifest(server=python_server(command=sys.executable)))
    policy = mcpclient.Policy(deny=[f"command:{sys.executable}*"])
    for servers in ({"x": "x.mcpb"}, "x.mcpb"):
        async with mcpclient.connect_all(servers, policy=policy) as manager:
            assert manager.servers["x"].status.value == "denied"
    assert not list(folder.parent.rglob("bundles"))


def test_a_bundle_that_changed_since_it_was_named(folder: Path) -> None:
    """F-MANY-18: the caller has named the earlier one, until it is loaded again."""
    described = manifest(server=python_server(command=sys.executable))
    write_bundle(folder / "x.mcpb", described)
    config = mcpclient.load_config("x.mcpb")
    server, gate = config.servers["x"], Gate()
    write_bundle(folder / "x.mcpb", {**described, "version": "2.0.0"})
    refused = gate.admit(server)
    assert (refused.state, refused.reason[:21]) == ("needs_approval", "its entry has changed")
    accepted = gate.admit(server, as_it_is=True)
    assert accepted.state == "ready"
    assert accepted.bundle is not None
    assert server.bundle is not None
    assert accepted.bundle.sha256 != server.bundle.sha256


@pytest.mark.needs_landlock
async def test_a_bundle_in_a_sandbox(folder: Path) -> None:
    """F-MANY-18: it can read its own files."""
    path = write_bundle(folder / "x.mcpb", manifest(server=python_server(command=sys.executable)))
    async with mcpclient.connect({"bundle": path, "sandbox": True}) as client:
        assert shown(await client.call_tool("show"))["argv"] == []


def test_variables_in_the_path_of_a_bundle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-MANY-18: as in other fields of an entry; one without a value is named."""
    (folder / "kept").mkdir()
    described = manifest(server=python_server(command=sys.executable))
    path = Path(write_bundle(folder / "kept" / "x.mcpb", described))
    monkeypatch.setenv("BUNDLES", str(path.parent))
    ways = ("${BUNDLES}/x.mcpb", "${NOWHERE:-kept}/x.mcpb", "${workspaceFolder}/kept/x.mcpb")
    for number, way in enumerate((*ways, "${NOWHERE}/x.mcpb")):
        entry = {"mcpServers": {f"x{number}": {"bundle": way}}}
        Path("servers.json").write_text(json.dumps(entry))
        config = mcpclient.load_config("servers.json")
        if way in ways:
            bundle = config.servers[f"x{number}"].bundle
            assert bundle is not None
            assert bundle.path == str(path)
        else:
            (problem,) = config.problems
            assert "${NOWHERE} has no value" in problem.message


def test_the_last_entry_takes_what_was_unpacked_with_it(folder: Path) -> None:
    """F-MANY-18: `remove` leaves a bundle that another entry refers to."""
    described = manifest(server=python_server(command=sys.executable))
    path = write_bundle(folder / "x.mcpb", described, Entry("data.txt", b"x"))
    for name in ("one", "two"):
        assert main(["add", "--scope", "user", name, str(path)]) == 0
    assert main(["call", "one", "show"]) == 0
    (unpacked,) = (state_folder(os.environ) / "bundles").iterdir()
    assert (unpacked / "data.txt").exists()
    assert main(["remove", "--scope", "user", "one"]) == 0
    assert (unpacked / "data.txt").exists()
    assert main(["call", "two", "show"]) == 0
    assert main(["remove", "--scope", "user", "two"]) == 0
    assert not unpacked.exists()


@pytest.mark.parametrize("given", ["${UNSET_VARIABLE}", "", " ", "${UNSET_VARIABLE:-}"])
async def test_a_value_that_is_required_and_empty_does_not_start_the_server(
    given: str, folder: Path
) -> None:
    """F-MANY-18: in code, and in a file."""
    described = manifest(server=SERVER, user_config=OPTIONS)
    entry = {"bundle": write_bundle(folder / "x.mcpb", described), "config": {"key": given}}
    with pytest.raises(mcpclient.UsageError, match="needs a value, and has none"):
        await mcpclient.connect(entry).connect()
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"x": entry}}))
    (problem,) = mcpclient.load_config(folder / "mcp.json").problems
    assert "config.key: it needs a value, and has none" in str(problem)
    assert ("set ${UNSET_VARIABLE}" in str(problem)) == (given == "${UNSET_VARIABLE}")
