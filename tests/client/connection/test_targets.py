"""The targets that name a server: F-API-1 and F-HTTP-11."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from mcpclient.client.answers.inbound_requests import Handlers
from mcpclient.client.connection.limits import DEFAULT, Timeouts
from mcpclient.client.connection.options import Options, Route
from mcpclient.client.connection.target_names import derive_name, name_targets
from mcpclient.client.connection.targets import route_to, words_of
from mcpclient.client.events.callbacks import Events
from mcpclient.errors import UsageError
from mcpclient.net.network_options import NetworkOptions
from mcpclient.net.process.stderr import StderrTee
from mcpclient.net.recorder import Recorder
from mcpclient.transports import stdio
from mcpclient.transports.stdio import StdioTransport
from tests.manager.fleet import Member
from tests.support.tables import each_row


def route(target: Any, **fields: Any) -> Route:
    timeouts = Timeouts.of(DEFAULT, DEFAULT, DEFAULT, 5.0, {})
    return route_to(target, Options(timeouts, {}, Handlers(), Events(), **fields))


def command_of(target: Any, **fields: Any) -> list[str]:
    transport = route(target, **fields).open()
    assert isinstance(transport, StdioTransport)
    return list(transport.command)


def transports_of(made_by: Route) -> list[dict[str, Any]]:
    """Return the options of the transports that a route opens."""
    given: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stdio, "StdioTransport", lambda command, **options: given.append(options))
        made_by.open()
    return given


@pytest.mark.parametrize("text", [True, False])
def test_the_stderr_of_a_server_is_recorded_with_the_rest(text: bool) -> None:
    """F-SHOW-8: and goes where it goes otherwise."""
    lines: list[str] = []
    shown = io.StringIO()
    network = NetworkOptions(recorder=Recorder(lines.append))
    stderr = shown if text else "discard"
    route(["server"], network=network).open()  # without variables there is nothing to learn
    made_by = route(["server"], network=network, stderr=stderr, env={"API_KEY": "s3cret-1"})
    (given,) = transports_of(made_by)
    assert made_by.opened is not None
    tee = StderrTee(given["stderr"])
    made_by.opened(None)
    tee.write(b"a line about s3cret-1\n")
    assert json.loads(lines[0])["text"] == "a line about redacted-1"
    assert shown.getvalue() == ("a line about s3cret-1\n" if text else "")


def test_a_file_is_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-1: a program's path may hold spaces."""
    program = tmp_path / "my server"
    program.write_text("")
    assert command_of(str(program)) == [str(program)]
    monkeypatch.chdir(tmp_path)
    assert command_of("my server") == ["my server"]
    assert command_of(Path("other server")) == ["other server"]


@each_row(
    ("text", "words"),
    [
        (r'"C:\Program Files\x.exe" C:\s.js', [r"C:\Program Files\x.exe", r"C:\s.js"]),
        ("server \"it's\" isn't #1", ["server", "it's", "isn't", "#1"]),
        (r'server --root="C:\my data"', ["server", r"--root=C:\my data"]),
    ],
)
def test_a_command_line_of_windows(text: str, words: list[str]) -> None:
    """F-STD-6: only double quotes group words, and a backslash is part of a path."""
    assert words_of(text, windows=True) == words


@each_row(
    ("target", "fields", "complaint"),
    [
        ("", {}, "empty"),
        ([], {}, "empty"),
        ("   ", {}, "empty"),
        ('npx "open', {}, "not a command line"),
        (5, {}, "not a URL"),
        (None, {}, "not a URL"),
        (b"npx", {}, "not a URL"),
        (["npx", 5], {}, "not a URL"),
        ("ftp://h/", {}, "not an http"),
        ("http://", {}, "without a host"),
        ("npx", {"transport": "http"}, "needs a URL"),
        ("http://h/", {"transport": "stdio"}, "does not fit"),
        ("ws://h/", {"transport": "sse"}, "does not fit"),
    ],
)
def test_mistakes(target: Any, fields: dict[str, Any], complaint: str) -> None:
    """F-API-1: one plain error, before anything is started."""
    with pytest.raises(UsageError, match=complaint):
        route(target, **fields)


@each_row(
    ("target", "name"),
    [
        ("https://github.example.com/mcp", "github"),
        ("wss://Files.example.com:8443/ws", "files"),
        ("http://localhost:3000/mcp", "localhost"),
        ("http://127.0.0.1:3000/mcp", "127.0.0.1"),
        ("http://[::1]/mcp", "::1"),
        ("unix:///run/notes.sock", "notes"),
        ("npx -y server", "npx"),
        (["/usr/local/bin/my-server.exe", "--stdio"], "my-server"),
        (["C:\\tools\\files.cmd"], "files"),
        (Path("/srv/tool.py"), "tool"),
        ({"command": "uvx", "args": ["x"]}, "uvx"),
        ({"url": "https://jira.example/mcp", "name": "tickets"}, "tickets"),
        ({"url": "https://jira.example/mcp", "name": 7}, "jira"),
        ({"httpUrl": "https://jira.example/mcp"}, "jira"),
        ({"bundle": "/srv/weather-1.0.mcpb"}, "weather-1.0"),
    ],
)
def test_derived_names(target: Any, name: str) -> None:
    """F-MANY-11: the configured name, else the host's first label, else the command's base name."""
    assert derive_name(target) == name


@each_row("target", [Member(), [], "http:///x", {"args": []}, ""])
def test_what_says_nothing_of_a_name(target: Any) -> None:
    """F-MANY-11"""
    with pytest.raises(UsageError):
        derive_name(target)


def test_a_list_of_targets() -> None:
    """F-MANY-11: names that repeat get numbers."""
    targets = ["https://a.example/1", "https://a.example/2", "npx x"]
    assert list(name_targets(targets)) == ["a", "a_2", "npx"]
