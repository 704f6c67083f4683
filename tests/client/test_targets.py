"""What a caller may name as a server: F-API-1 and F-HTTP-11 (and pain 47)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient.client.handlers import Handlers
from mcpclient.client.options import DEFAULT, Events, Options, Timeouts
from mcpclient.client.targets import Route, route_to
from mcpclient.errors import UsageError
from mcpclient.net.network_options import NetworkOptions
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.authorized import Credentials
from mcpclient.transports.base import Receiver, Transport
from mcpclient.transports.legacy_sse import LegacySseTransport
from mcpclient.transports.line_socket import LineSocketTransport
from mcpclient.transports.stdio import StdioTransport
from mcpclient.transports.streamable_http import StreamableHttpTransport
from mcpclient.transports.websocket import WebSocketTransport


def route(target: Any, **fields: Any) -> Route:
    timeouts = Timeouts.of(DEFAULT, DEFAULT, DEFAULT, 5.0, {})
    return route_to(target, Options(timeouts, {}, Handlers(), Events(), **fields))


def command_of(target: Any, **fields: Any) -> list[str]:
    transport = route(target, **fields).open()
    assert isinstance(transport, StdioTransport)
    return list(transport.command)


# Commands


@pytest.mark.parametrize(
    ("target", "command"),
    [
        ("npx -y server", ["npx", "-y", "server"]),
        ("npx 'a b' c", ["npx", "a b", "c"]),
        (["npx", "a b"], ["npx", "a b"]),
        (("npx", Path("x")), ["npx", "x"]),
        (Path("no-such-file.py"), ["no-such-file.py"]),
        ("no-such-file.py", ["no-such-file.py"]),
        ("python no-such-file.py", ["python", "no-such-file.py"]),
    ],
)
def test_commands(target: Any, command: list[str]) -> None:
    """F-API-1: a list, or a string in the manner of a shell."""
    assert command_of(target) == command


@pytest.mark.parametrize(
    ("name", "interpreter"),
    [("a server.py", sys.executable), ("s.JS", "node"), ("s.mjs", "node"), ("s.cjs", "node")],
)
def test_scripts(tmp_path: Path, name: str, interpreter: str) -> None:
    """F-API-1: a path to a script finds its interpreter, as a string and as a path."""
    script = tmp_path / name
    script.write_text("")
    assert command_of(str(script)) == [interpreter, str(script)]
    assert command_of(script) == [interpreter, str(script)]


def test_a_file_is_a_command(tmp_path: Path) -> None:
    """F-API-1: a program's path may hold spaces."""
    program = tmp_path / "my server"
    program.write_text("")
    assert command_of(str(program)) == [str(program)]


def test_what_is_shown_and_remembered() -> None:
    """F-LIFE-3: the same command elsewhere is another server; secrets of env are not in the key."""
    here = route(["npx", "a b"], env={"TOKEN": "s3cret"})
    assert here.shown == "npx 'a b'"
    assert here.open_legacy is None
    assert here.key == route(["npx", "a b"], cwd=os.getcwd()).key
    assert here.key != route(["npx", "a b"], cwd="/").key
    assert "s3cret" not in repr(here.key)


# URLs


def test_http() -> None:
    """F-HTTP-11: Streamable HTTP first, legacy HTTP+SSE in reserve, unless one is pinned."""
    found = route(" HTTPS://user:pass@Example.com/mcp?token=s3cret ")
    assert isinstance(found.open(), StreamableHttpTransport)
    assert found.open_legacy is not None
    assert isinstance(found.open_legacy(), LegacySseTransport)
    assert found.shown == "https://example.com/mcp"
    assert "s3cret" not in str(found.key)
    pinned = route("http://h/mcp", transport="http")
    assert isinstance(pinned.open(), StreamableHttpTransport)
    assert pinned.open_legacy is None
    legacy = route("http://h/mcp", transport="sse")
    assert isinstance(legacy.open(), LegacySseTransport)
    assert legacy.open_legacy is None
    assert legacy.key != pinned.key


def test_other_urls() -> None:
    """F-WS-1: WebSocket by its own schemes or pinned, and sockets that carry lines."""
    for found in (route("wss://h/x"), route("https://h/x", transport="ws")):
        transport = found.open()
        assert isinstance(transport, WebSocketTransport)
        assert str(transport.url) == "wss://h/x"
        assert found.open_legacy is None
    assert isinstance(route("ws://h", transport="ws").open(), WebSocketTransport)
    assert isinstance(route("tcp://h:1").open(), LineSocketTransport)
    assert isinstance(route("unix:///run/x").open(), LineSocketTransport)


# Authorization


class Identity:
    """A value for ``auth=`` that remembers for which server it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def credentials(self, server_url: str, network: NetworkOptions) -> Credentials:
        self.asked.append(server_url)
        return {"X-Key": "1"}


@pytest.mark.parametrize("url", ["http://h/mcp", "wss://h/mcp", "https://h/mcp"])
def test_authorization_over_http(url: str) -> None:
    """F-AUTH-13: a token, or who knows how to get one, for HTTP and WebSocket alike."""
    identity = Identity()
    for found in (route(url, auth=" token "), route(url, auth=identity), route(url)):
        assert found.authorizer is None
        assert found.open().description == url
    [asked] = identity.asked
    assert asked.startswith(("http://h", "https://h"))


@pytest.mark.parametrize("target", ["npx server", "tcp://h:1", "unix:///run/x"])
def test_authorization_elsewhere(target: str) -> None:
    """F-AUTH-13: there is no header to carry it, and nobody is to believe there was."""
    with pytest.raises(UsageError, match="auth needs an HTTP"):
        route(target, auth="token")
    with pytest.raises(UsageError, match="auth needs an HTTP"):
        route(Custom(), auth="token")
    with pytest.raises(UsageError, match="empty token"):
        route("http://h/", auth=" ")


# Transports


class Custom(Transport):
    async def open(self, receiver: Receiver) -> None: ...

    def send(self, outgoing: Outgoing) -> None: ...

    async def close(self) -> None: ...


def test_a_transport_of_the_callers_own() -> None:
    """F-EXT-1: used as it is; nothing is remembered of what only the caller can tell apart."""
    transport = Custom()
    found = route(transport)
    assert found.open() is transport
    assert found.shown == "custom"
    assert found.key is None


# Configurations


@pytest.mark.parametrize(
    ("config", "command"),
    [
        ({"command": "npx", "args": ["-y", 5]}, ["npx", "-y", "5"]),
        ({"command": "npx", "args": None}, ["npx"]),
        ({"command": ["npx", "-y"], "type": "local"}, ["npx", "-y"]),
        ({"mcpServers": {"one": {"command": "npx"}}}, ["npx"]),
        ({"command": "npx", "type": "stdio"}, ["npx"]),
    ],
)
def test_configured_commands(config: dict[str, Any], command: list[str]) -> None:
    """F-API-1, F-MANY-7: entries as configuration files have them."""
    assert command_of(config) == command


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({"url": "http://h/"}, StreamableHttpTransport),
        ({"url": "http://h/", "type": "http", "headers": {"X": "1"}}, StreamableHttpTransport),
        ({"url": "http://h/", "type": "streamable-http"}, StreamableHttpTransport),
        ({"url": "http://h/", "transport": "sse"}, LegacySseTransport),
        ({"url": "http://h/", "type": "remote", "headers": None}, StreamableHttpTransport),
        ({"url": "ws://h/", "type": "ws"}, WebSocketTransport),
    ],
)
def test_configured_urls(config: dict[str, Any], kind: type[Transport]) -> None:
    """F-API-1, F-MANY-7: the names of transports that are in use."""
    assert isinstance(route(config).open(), kind)


def test_environment_and_folder_of_a_configuration() -> None:
    """F-STD-1: what the caller gives goes before what the file says."""
    config = {"command": "npx", "env": {"A": "file"}, "cwd": "/from-file"}
    assert "/from-file" in str(route(config).key)
    assert "/from-caller" in str(route(config, cwd="/from-caller").key)
    assert command_of({"command": "npx", "environment": {"A": "1"}}, env={"A": "2"}) == ["npx"]


# Mistakes


@pytest.mark.parametrize(
    ("target", "fields", "complaint"),
    [
        ("", {}, "empty"),
        ([], {}, "empty"),
        ("   ", {}, "empty"),
        ("npx 'open", {}, "not a command line"),
        (5, {}, "not a URL"),
        (None, {}, "not a URL"),
        (b"npx", {}, "not a URL"),
        (["npx", 5], {}, "not a URL"),
        ("ftp://h/", {}, "not an http"),
        ("http://", {}, "without a host"),
        ("npx", {"transport": "http"}, "needs a URL"),
        ("http://h/", {"transport": "stdio"}, "does not fit"),
        ("ws://h/", {"transport": "sse"}, "does not fit"),
        ({}, {}, "needs a command or a url"),
        ({"command": ""}, {}, "needs a command or a url"),
        ({"command": {"a": 1}}, {}, "a string and a list"),
        ({"command": "npx", "args": "-y server"}, {}, "a string and a list"),
        ({"command": "npx", "env": ["A=1"]}, {}, "env .* is a mapping"),
        ({"url": "http://h/", "headers": "X: 1"}, {}, "headers .* is a mapping"),
        ({"url": "http://h/", "type": "carrier-pigeon"}, {}, "unknown transport type"),
        ({"url": "http://h/", "type": ["http"]}, {}, "unknown transport type"),
        ({"mcpServers": {}}, {}, "configured are 0"),
        ({"mcpServers": {"a": {}, "b": {}}}, {}, "configured are 2"),
        ({"mcpServers": {"a": "npx"}}, {}, "is a mapping"),
    ],
)
def test_mistakes(target: Any, fields: dict[str, Any], complaint: str) -> None:
    """F-API-1: one plain error, before anything is started."""
    with pytest.raises(UsageError, match=complaint):
        route(target, **fields)
