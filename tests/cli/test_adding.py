"""Servers that are added on the command line and removed: F-SHOW-1, F-MANY-18."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient.cli.main import main
from tests.cli.terminal import terminal
from tests.entries.bundles.making import manifest, option, python_server, write_bundle
from tests.entries.bundles.test_registry import KEY, package, server
from tests.support.subprocesses import TOP

Capture = pytest.CaptureFixture[str]
DEMO = str(TOP / "mcpclient" / "testing" / "demo_server.py")
OPTIONS = {"key": option("string", sensitive=True, required=True), "most": option("number")}
SERVER = python_server(
    "${user_config.most}", command=sys.executable, env={"KEY": "${user_config.key}"}
)


@pytest.fixture(autouse=True)
def project(nothing_configured: Path) -> Path:
    return nothing_configured


def run(capsys: Capture, *words: str, code: int = 0) -> tuple[str, str]:
    assert main(list(words)) == code, capsys.readouterr()
    return capsys.readouterr()


def written(path: str = ".mcp.json") -> dict[str, Any]:
    servers: dict[str, Any] = json.loads(Path(path).read_text())["mcpServers"]
    return servers


@pytest.mark.parametrize(
    ("words", "entry"),
    [
        (["a", "https://h/mcp"], {"type": "http", "url": "https://h/mcp"}),
        (
            ["a", "https://h/sse", "--transport", "sse", "--header", "K: ${V}"],
            {"type": "sse", "url": "https://h/sse", "headers": {"K": "${V}"}},
        ),
        (
            ["a", "--env", "K=v", "--", "npx", "-y", "x", "--env"],
            {"command": "npx", "args": ["-y", "x", "--env"], "env": {"K": "v"}},
        ),
        (["a", "npx", "x"], {"command": "npx", "args": ["x"]}),
    ],
)
def test_the_entry_that_is_written(
    words: list[str], entry: dict[str, Any], capsys: Capture
) -> None:
    """F-SHOW-1"""
    run(capsys, "add", *words)
    assert json.loads(Path(".mcp.json").read_text())["mcpServers"]["a"] == entry


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(capsys: Capture, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    path = str(closed / "a.json")
    assert "cannot write" in run(capsys, "add", "a", "https://h/mcp", "--config", path, code=2)[1]


def write_registry_file(of: dict[str, Any]) -> None:
    Path("server.json").write_text(json.dumps(server(of)))


def shown_by(capsys: Capture, *words: str) -> dict[str, Any]:
    """Return the report of a bundled server about its start."""
    found = json.loads(run(capsys, "call", *words, "show", "--json")[0])
    shown: dict[str, Any] = json.loads(found["content"][0]["text"])
    return shown


def test_a_bundle_is_added_and_used(capsys: Capture, project: Path) -> None:
    """F-MANY-18: by its own name, with its digest, and all that it would start with is shown."""
    path = write_bundle(project / "x.mcpb", manifest(server=SERVER, user_config=OPTIONS))
    told = run(capsys, "add", "x.mcpb", "--set", "key=${KEY_OF_MINE:-s3cret}", "--set", "most=7")[0]
    assert f"command: {sys.executable} " in told
    assert "env KEY: ${KEY_OF_MINE:-s3cret}" in told
    assert f"bundle: {path}" in told
    entry = written()["bundled"]
    assert entry.pop("sha256") in told
    assert entry == {"bundle": "x.mcpb", "config": {"key": "${KEY_OF_MINE:-s3cret}", "most": "7"}}
    shown = shown_by(capsys, "bundled", "--config", ".mcp.json")
    assert (shown["argv"], shown["env"]["KEY"]) == (["7"], "s3cret")
    assert "needs approval" in run(capsys, "tools", "bundled", code=2)[1]


def test_a_bundle_for_the_user(capsys: Capture, project: Path) -> None:
    """F-MANY-18: the user's own file needs no agreement; a bundle that is replaced is refused."""
    server = python_server(command=sys.executable)
    path = write_bundle(project / "x.mcpb", manifest(server=server))
    run(capsys, "add", "mine", "x.mcpb", "--scope", "user", "--env", "A=b")
    assert shown_by(capsys, "mine")["env"]["A"] == "b"
    write_bundle(project / "x.mcpb", manifest(server=server, version="2.0.0"))
    told = run(capsys, "tools", "mine", code=2)[1]
    assert "mine.sha256: the bundle has changed" in told
    run(capsys, "add", "mine", "x.mcpb", "--scope", "user", "--replace")
    assert (
        written(str(project.parent / "home/xdg_config_home/mcpclient/mcp.json"))["mine"]["bundle"]
        == path
    )
    assert shown_by(capsys, "mine")["argv"] == []


@pytest.mark.slow
def test_a_locked_bundle_has_its_digest_in_the_lock(capsys: Capture, project: Path) -> None:
    """F-MANY-18"""
    write_bundle(project / "x.mcpb", manifest(server=python_server(command=sys.executable)))
    run(capsys, "add", "x.mcpb")
    digest = written()["bundled"]["sha256"]
    run(capsys, "lock", "--config", ".mcp.json")
    assert json.loads(Path("mcp.lock").read_text())["servers"]["bundled"]["sha256"] == digest
    run(capsys, "lock", "--check", "--config", ".mcp.json")
    write_bundle(
        project / "x.mcpb", manifest(server=python_server(command=sys.executable), version="2.0.0")
    )
    run(capsys, "add", "x.mcpb", "--replace")
    told = run(capsys, "lock", "--check", "--config", ".mcp.json", code=1)[0]
    assert "bundled: " in told


def test_a_file_of_a_registry_is_added(capsys: Capture) -> None:
    """F-MANY-18: as an ordinary entry; other values that may be given are listed."""
    variables = [KEY, {"name": "LOG"}]
    write_registry_file(package("npm", "@maker/a", version="1.0.0", environmentVariables=variables))
    told = run(capsys, "add", "server.json", "--kind", "npm")[0]
    assert "command: npx -y @maker/a@1.0.0" in told
    assert "input API_KEY: no default, The key" in told
    assert "--set LOG=VALUE may be given, too" in told
    assert written()["a-server"]["env"] == {"API_KEY": "${input:API_KEY}"}
    run(capsys, "add", "b", "./server.json", "--set", "API_KEY=${MINE}", "--env", "X=y")
    assert written()["b"] == {
        "command": "npx",
        "args": ["-y", "@maker/a@1.0.0"],
        "env": {"API_KEY": "${MINE}", "X": "y"},
    }
    assert "there are: npm" in run(capsys, "add", "server.json", "--kind", "oci", code=2)[1]
    Path("server.json").write_text("{")
    assert "server.json: file: it is not JSON" in run(capsys, "add", "server.json", code=2)[1]


def test_the_file_of_another_application(capsys: Capture, project: Path) -> None:
    """F-MANY-18: an entry that only this library reads is not written there; others are."""
    write_bundle(project / "x.mcpb")
    write_registry_file(package("npm", "a", environmentVariables=[KEY]))
    where = ("--config", ".cursor/mcp.json")
    for file in ("x.mcpb", "server.json"):
        told = run(capsys, "add", file, *where, code=2)[1]
        assert "cursor, whose file .cursor/mcp.json is, could not read this entry" in told
    run(capsys, "add", "server.json", *where, "--set", "API_KEY=k")
    assert written(".cursor/mcp.json")["a-server"]["env"] == {"API_KEY": "k"}


@pytest.mark.slow
@pytest.mark.needs_posix
def test_a_bundle_is_agreed_to_and_asks_once(capsys: Capture, project: Path) -> None:
    """F-MANY-18: its answers are kept, a secret is never shown, and another bundle asks again."""
    described = manifest(server=SERVER, user_config=OPTIONS)
    path = write_bundle(project / "x.mcpb", described)
    assert "needs approval: this file may start it" in run(capsys, "tools", path, code=2)[1]
    assert not list(Path(project.parent, "home").rglob("bundles"))
    for _ in range(2):
        with terminal("tools", path) as session:
            session.wait_for("command: ")
            session.reply("[y/N]", "y\n")
            session.wait_for("A title: a description:")
            session.reply("is not shown)", "s3cret\n")
            session.reply("A title: a description:", "12\n")
            assert session.end() == 0
        assert "s3cret" not in session.shown
        with terminal("tools", path) as session:
            assert session.end() == 0
        assert "not agreed" not in session.shown
        shown = shown_by(capsys, path)
        assert (shown["argv"], shown["env"]["KEY"]) == (["12"], "s3cret")
        described = {**described, "version": "2.0.0"}
        write_bundle(project / "x.mcpb", described)
    (file,) = Path(project.parent, "home").rglob("credentials.json")
    assert file.stat().st_mode & 0o077 == 0


# Entries in the files of applications, and the entries written here for them.
OTHERS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "cursor": (
        "~/.cursor/mcp.json",
        {"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "env": {"B": "${env:C}"}}}},
        {"command": "npx", "args": ["-y", "x"], "env": {"B": "${env:C}"}},
    ),
    "vscode": (
        ".vscode/mcp.json",
        {
            "inputs": [{"id": "k", "type": "promptString"}, {"id": "other", "type": "command"}],
            "servers": {"a": {"command": "./a.sh", "args": ["${input:k}"]}},
        },
        {
            "command": "{base}/a.sh",
            "args": ["${input:k}"],
            "inputs": [{"id": "k", "type": "promptString"}],
        },
    ),
    "gemini": (
        ".gemini/settings.json",
        {"mcpServers": {"a": {"httpUrl": "https://h/$PART/mcp", "timeout": 5000}}},
        {"type": "http", "url": "https://h/${PART}/mcp", "tool_timeout_sec": 5.0},
    ),
    "opencode": (
        "opencode.json",
        {"mcp": {"a": {"type": "local", "command": ["x", "y"], "environment": {"B": "c"}}}},
        {"command": "x", "args": ["y"], "env": {"B": "c"}},
    ),
}


def write_other(application: str) -> Path:
    file, content, _ = OTHERS[application]
    path = Path(os.path.expanduser(file)).absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("application", OTHERS)
def test_a_server_of_another_application_is_taken_over(application: str, capsys: Capture) -> None:
    """F-SHOW-23: by its name there, by the file, or all of them; it means the same here."""
    path, expected = write_other(application), OTHERS[application][2]
    base = str(path.parent.parent)
    whole = json.loads(json.dumps(expected).replace("{base}", base))
    run(capsys, "add", f"a@{application}")
    run(capsys, "add", "b", f"a@{application}")
    run(capsys, "add", "--all", f"@{application}", "--replace")
    run(capsys, "add", "c", str(path))
    assert written() == dict.fromkeys("abc", whole)
    assert "needs approval" in run(capsys, "tools", "a", code=2)[1]


def test_what_is_taken_over_by_a_user_needs_agreement(capsys: Capture) -> None:
    """F-SHOW-23: the user's own file needs no agreement afterwards; copied secrets are reported."""
    path = write_other("cursor")
    assert (
        "you have not agreed to a@cursor"
        in run(capsys, "add", "--scope", "user", "a@cursor", code=2)[1]
    )
    entry = {"url": "https://h/mcp", "headers": {"Authorization": "Bearer s3cret"}}
    path.write_text(json.dumps({"mcpServers": {"a": entry, "b": {"command": "x"}}}))
    assert (
        "headers Authorization: written as it is; do not commit"
        in run(capsys, "add", "a@cursor")[1]
    )
    assert "has several servers: a, b" in run(capsys, "add", "@cursor", code=2)[1]
    out, errors = run(capsys, "add", "--all", "@cursor", code=1)
    assert (out.startswith("added b to"), "a is not added: there is a server" in errors) == (1, 1)
    assert "there is no server 'c'; there are a, b" in run(capsys, "add", "c@cursor", code=2)[1]
    assert "there is no file of zed" in run(capsys, "add", "c@zed", code=2)[1]
    assert "takes an application" in run(capsys, "add", "--all", "x", "y", code=2)[1]


@pytest.mark.slow
@pytest.mark.needs_posix
def test_on_a_terminal_it_is_shown_before_it_is_written(project: Path) -> None:
    """F-SHOW-23: agreed to once, and its inputs are asked for where it is used."""
    write_other("vscode")
    (project / "a.sh").write_text(f"#!/bin/sh\nexec {sys.executable} {DEMO}\n")
    (project / "a.sh").chmod(0o755)
    with terminal("add", "a@vscode") as session:
        session.wait_for("input k")
        session.reply("[y/N]", "n\n")
        assert session.end() == 1
    assert not Path(".mcp.json").exists()
    with terminal("add", "a@vscode") as session:
        session.reply("[y/N]", "y\n")
        assert session.end() == 0
    for name in ("a", "a@vscode"):
        with terminal("tools", name) as session:
            if "@" in name:
                session.reply("[y/N]", "y\n")
            session.reply("k:", "v\n")
            session.wait_for("echo")
            assert session.end() == 0
        assert ("[y/N]" in session.shown) == ("@" in name)


@pytest.mark.slow
@pytest.mark.needs_posix
def test_add_alone_asks(capsys: Capture) -> None:
    """F-SHOW-23: for the server, its name, its token and its file."""
    with terminal("add") as session:
        session.reply("or its command:", "https://h.example/mcp\n")
        session.reply("Name [h]:", "docs\n")
        session.reply("its token []:", "DOCS_TOKEN\n")
        session.reply("[y/N]", "\n")
        assert session.end() == 0
    assert written()["docs"]["headers"] == {"Authorization": "Bearer ${DOCS_TOKEN}"}
    with terminal("add") as session:
        session.reply("or its command:", "npx -y 'a b'\n")
        session.reply("Name [", "\n")
        session.reply("[y/N]", "y\n")
        assert session.end() == 0
    (entry,) = json.loads(run(capsys, "servers", "--no-connect", "--json")[0])["servers"][1:] or [
        {}
    ]
    assert entry


@pytest.mark.slow
@pytest.mark.needs_posix
def test_a_bundle_that_is_added_on_a_terminal_is_agreed_to(project: Path) -> None:
    """F-MANY-18: it is shown, and its first use does not ask again."""
    write_bundle(project / "x.mcpb", manifest(server=python_server(command=sys.executable)))
    with terminal("add", "x.mcpb") as session:
        session.wait_for("it would start with")
        assert session.end() == 0
    with terminal("tools", "bundled") as session:
        session.wait_for("show")
        assert session.end() == 0
    assert "[y/N]" not in session.shown


def test_a_bundle_without_a_terminal_names_the_file_to_vouch_for(
    capsys: Capture, project: Path
) -> None:
    """F-MANY-18"""
    path = write_bundle(project / "x.mcpb", manifest(server=python_server(command=sys.executable)))
    assert "x --config x.mcpb" in run(capsys, "tools", "x.mcpb", code=2)[1]
    assert main(["tools", "x", "--config", path]) == 0


def test_a_token_is_named_by_its_variable(capsys: Capture) -> None:
    """F-SHOW-23: no file holds it."""
    run(capsys, "add", "a", "https://h/mcp", "--bearer-env", "API_TOKEN")
    assert written()["a"]["headers"] == {"Authorization": "Bearer ${API_TOKEN}"}
    for words in (["https://h/mcp", "--bearer-env", "sk-1"], ["--bearer-env", "A", "--", "x"]):
        assert "--bearer-env" in run(capsys, "add", "b", *words, code=2)[1]
