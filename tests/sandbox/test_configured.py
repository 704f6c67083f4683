"""Sandboxes that files, policies, managers and the command line ask for."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.cli.main import main
from mcpclient.config.policy.policy import Policy
from mcpclient.entries.fields import restrictions_in
from mcpclient.errors import UsageError
from mcpclient.gate.load import load_config
from mcpclient.sandbox.rights import NAMED_SANDBOXES, Sandbox, sandbox_in
from tests.support.tables import each_row

# What a server of the file does: it says whether it may read a file outside, and leave.
SERVER = """
import sys, os, json
try:
    with open(sys.argv[1]) as file:
        said = file.read()
except OSError as error:
    said = type(error).__name__
tool = {"name": "say", "inputSchema": {"type": "object"}}
for line in sys.stdin:
    message = json.loads(line)
    answers = {
        "initialize": {
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"},
        },
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": [{"type": "text", "text": said}]},
    }
    if message.get("method") in answers:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": answers[message["method"]]}
        print(json.dumps(answer), flush=True)
    elif "id" in message:
        error = {"code": -32601, "message": "not found"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
"""


class Folder:
    """A project with a server in a folder of its own, and a key outside of that."""

    def __init__(self, path: Path) -> None:
        self.key = path / "outside" / "key"
        self.script = path / "server" / "server.py"
        self.file = path / "mcp.json"
        for file in (self.key, self.script):
            file.parent.mkdir()
        self.key.write_text("secret")
        self.script.write_text(SERVER)

    def entry(self, **fields: Any) -> dict[str, Any]:
        return {"command": sys.executable, "args": [str(self.script), str(self.key)], **fields}

    def write(self, **fields: Any) -> str:
        self.file.write_text(json.dumps({"mcpServers": {"s": self.entry(**fields)}}))
        return str(self.file)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def said(servers: object, **options: Any) -> str:
    """Return the server's text about the key."""

    async def ask() -> str:
        async with mcpclient.connect_all(servers, reconnect=None, **options) as manager:  # type: ignore[arg-type]
            return (await manager.call_tool("s__say")).text

    return asyncio.run(ask())


@each_row(
    ("entry", "expected"),
    [
        ({}, None),
        ({"sandbox": False, "sandboxEnabled": False}, None),
        ({"sandbox": {"enabled": False}}, None),
        ({"sandboxEnabled": False, "sandbox": {"filesystem": {"allowWrite": ["/x"]}}}, None),
        ({"sandboxEnabled": True}, Sandbox()),
        ({"sandbox": True}, Sandbox()),
        ({"sandbox": {"enabled": True, "use": ["fetch"]}}, NAMED_SANDBOXES["fetch"]),
        (
            {
                "sandboxEnabled": True,
                "sandbox": {
                    "filesystem": {"allowWrite": ["/x"], "denyRead": []},
                    "network": {"allowedDomains": []},
                },
            },
            Sandbox(write=["/x"]),
        ),
        ({"sandbox": {"read": ["/a"], "filesystem": {"allowRead": ["/b"]}}}, Sandbox(["/a", "/b"])),
    ],
)
def test_an_entry_states_its_sandbox(entry: dict[str, Any], expected: Sandbox | None) -> None:
    """F-BOX-1: in this library's shape and in VS Code's."""
    assert sandbox_in(restrictions_in(entry)) == expected


@pytest.mark.parametrize(
    ("sandbox", "told"),
    [
        ({"network": {"allowedDomains": ["a.example"]}}, "allowedDomains of a sandbox cannot be"),
        ({"filesystem": {"denyWrite": ["/x"]}}, "denyWrite of a sandbox cannot be"),
        ({"network": {"allowUnixSockets": ["/x"]}}, "allowUnixSockets of a sandbox cannot be"),
        ({"filesystem": ["/x"]}, "filesystem of a sandbox must be an object"),
        ({"filesystem": {"allowWrite": "/x"}}, "allowWrite of a sandbox must be a list of paths"),
    ],
)
def test_what_cannot_be_carried_out_is_refused(
    sandbox: dict[str, Any], told: str, folder: Folder
) -> None:
    """F-BOX-1, F-SAFE-3: with the reason, which `servers` shows."""
    server = load_config(folder.write(sandboxEnabled=True, sandbox=sandbox)).servers["s"]
    assert server.state == "denied"
    assert told in server.reason


@pytest.mark.needs_landlock
def test_a_file_puts_its_server_into_a_sandbox(folder: Folder) -> None:
    """F-BOX-1: variables in paths get their values, and the sheet shows the rights."""
    assert said(folder.write()) == "secret"
    assert said(folder.write(sandbox=True)) == "PermissionError"
    assert said({"s": folder.entry(sandboxEnabled=True)}) == "PermissionError"
    granting = folder.write(sandbox={"read": ["${KEY_FOLDER}"]})
    assert said(granting, env={"KEY_FOLDER": str(folder.key.parent)}) == "secret"
    config = load_config(granting, env={})
    assert "${KEY_FOLDER} has no value" in str(config.problems[0])
    assert "s" not in config.servers
    server = load_config(granting, env={"KEY_FOLDER": "/k"}).servers["s"]
    assert server.options["sandbox"] == Sandbox(["/k"])
    assert server.sheet is not None
    assert 'sandbox.read: ["${KEY_FOLDER}"]' in server.sheet.lines()


@pytest.mark.slow
@pytest.mark.needs_landlock
def test_a_manager_and_a_policy_require_one(folder: Folder) -> None:
    """F-BOX-1: a server that states none gets the default one."""
    plain = folder.write()
    assert said(plain, sandbox="required") == "PermissionError"
    assert said({"s": folder.entry()}, sandbox="required") == "PermissionError"
    assert said(plain, policy=Policy(require_sandbox=True)) == "PermissionError"
    granted = Sandbox([folder.key])
    assert said(plain, policy=Policy(require_sandbox=True), sandbox=granted) == "secret"
    stated = folder.write(sandbox={"read": [str(folder.key)]})
    assert said(stated, sandbox="required") == "secret"

    async def alone() -> str:
        command = [sys.executable, str(folder.script), str(folder.key)]
        async with mcpclient.connect(command, sandbox="required") as client:
            return (await client.call_tool("say")).text

    assert asyncio.run(alone()) == "PermissionError"


def test_what_is_required_and_cannot_be_confined_does_not_start(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-BOX-1, F-BOX-2: also where the server's own sandbox is content with less."""
    monkeypatch.setattr("mcpclient.sandbox.confine.shortcoming", lambda system: "nothing is here")
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    server = mcpclient.ServerConfig(
        "s",
        target=[sys.executable, str(folder.script), str(folder.key)],
        options={"sandbox": Sandbox(best_effort=True)},
    )
    policy = Policy(require_sandbox=True)
    plain = {"s": [sys.executable, str(folder.script), str(folder.key)]}
    with pytest.raises(mcpclient.McpError, match="nothing is here"):
        said(plain, required=True, policy=policy, sandbox=Sandbox(best_effort=True))
    for options in ({"sandbox": "required"}, {"policy": policy}):
        with pytest.raises(mcpclient.McpError, match="nothing is here"):
            said({"s": server}, required=True, **options)
    assert said({"s": server}) == "secret"


def test_an_enterprise_may_require_sandboxes() -> None:
    """F-BOX-1"""
    policy = Policy.from_settings({"requireSandbox": True})
    assert policy.require_sandbox
    assert repr(policy) == "Policy(allow=None, deny=[], require_sandbox=True)"
    assert not Policy.from_settings({}).require_sandbox
    with pytest.raises(UsageError, match="require_sandbox is true or false, not 'yes'"):
        Policy.from_settings({"requireSandbox": "yes"})


@pytest.mark.slow
@pytest.mark.needs_landlock
def test_the_command_line_confines_a_server(
    folder: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-BOX-1: relative paths begin where the user stands."""
    monkeypatch.chdir(folder.key.parent)
    command = ["--", sys.executable, str(folder.script), str(folder.key)]
    for options, expected in (
        ([], "secret"),
        (["--sandbox"], "PermissionError"),
        (["--sandbox", "--allow-read", "key"], "secret"),
        (["--sandbox", "--allow-write", ".", "--allow-network"], "secret"),
    ):
        assert main(["call", *options, "say", *command]) == 0
        assert capsys.readouterr().out.strip() == expected
    assert main(["call", "--allow-read", "key", "say", *command]) == 2
    assert "--allow-read needs --sandbox" in capsys.readouterr().err
    assert main(["tools", "--sandbox", "https://example.com/mcp"]) == 2
    assert "--sandbox needs a server that is started here" in capsys.readouterr().err
    config = folder.write(sandbox={"read": ["${PWD}"]})
    assert main(["call", "--config", config, "--allow-network", "s", "say"]) == 0
    os.chdir("/")


@pytest.mark.slow
@pytest.mark.needs_landlock
def test_the_sandbox_of_a_server_is_shown(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    """F-BOX-1: by `servers`, and by `doctor`, which names the rights a command probably needs."""
    config = folder.write(sandbox={"memory": "1G"})
    assert main(["servers", "--config", config]) == 0
    assert "1 tool of s 1, in a sandbox" in capsys.readouterr().out
    assert main(["doctor", "--config", config, "s"]) == 0
    assert "sandbox  ok       Sandbox(memory=1073741824)" in capsys.readouterr().out
    assert main(["doctor", "--", sys.executable, str(folder.script), "x"]) == 0
    assert "none; it is likely to run with --sandbox\n" in capsys.readouterr().out
