"""Mappings as targets: F-API-1, F-MANY-7, read as the entries of files are."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from mcpclient import OAuth, connect, load_config
from mcpclient.client.configured import client_arguments
from mcpclient.client.connection.options import Options, Route
from mcpclient.client.connection.targets import route_to
from mcpclient.errors import UsageError
from mcpclient.gate.gate import Gate
from mcpclient.manager.fleet import configured_servers
from mcpclient.transports.stdio import StdioTransport
from tests.support.tables import each_row


def route(config: Any, **given: Any) -> Route:
    target, options = client_arguments(config, given)
    return route_to(target, Options.of(options, {}))  # type: ignore[arg-type]


def command_of(target: Any, **fields: Any) -> list[str]:
    transport = route(target, **fields).open()
    assert isinstance(transport, StdioTransport)
    return list(transport.command)


def test_headers_of_a_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-HTTP-1, F-MANY-7: arguments of the caller take precedence over the file."""
    given: list[Any] = []
    monkeypatch.setattr(
        "mcpclient.client.connection.url_routes.StreamableHttpTransport",
        lambda *_, headers, **__: given.append(headers),
    )
    config = {"url": "http://h/", "headers": {"X": "file"}}
    route(config).open()
    route(config, headers={"X": "caller"}).open()
    assert given == [{"X": "file"}, {"X": "caller"}]


@each_row(
    ("config", "complaint"),
    [
        ({}, "needs a command or a url"),
        ({"command": ""}, "needs a command or a url"),
        ({"command": 5}, "command: .* not a number"),
        ({"command": "npx", "args": "-y server"}, "args: .* not a string"),
        ({"command": "npx", "env": ["A=1"]}, "env: must be an object"),
        ({"command": "npx", "cwd": 5}, "cwd: must be a string"),
        ({"url": "http://h/", "headers": "X: 1"}, "headers: must be an object"),
        ({"url": "http://h/", "type": "carrier-pigeon"}, "type: 'carrier-pigeon' is not a transp"),
        ({"url": "http://h/", "type": ["http"]}, "type: must be a string"),
        ({"comand": "npx"}, "unknown key 'comand' .* did you mean 'command'"),
        ({"command": "npx", "arg": ["x"]}, "unknown key 'arg' .* did you mean 'args'"),
        ({"mcpServer": {"a": {}}}, "did you mean 'mcpServers'"),
        ({"mcpServers": {}}, "names 0: none"),
        ({"mcpServers": {"a": {}, "b": {}}}, "names 2: 'a', 'b'"),
        ({"mcpServers": {"a": "npx"}}, "must be a mapping"),
        ({"command": "npx", "disabled": True}, "disables this server"),
        ({"command": "npx", "enabled": False}, "disables this server"),
        ({"command": "npx", "disabled_tools": ["a"]}, "offers all tools"),
        ({"command": "npx", "tools": {"a": False}}, "offers all tools"),
        ({"command": "npx", "readOnly": True}, "asks for readOnly"),
        ({"url": "http://h/", "sandbox": True}, "asks for sandbox"),
        ({"url": "https://${NOT_SET_ANYWHERE}/"}, "url: .* depends on"),
        ({"url": "http://h/", "oauth": 5}, "oauth: must be an object"),
    ],
)
def test_mistakes_in_a_mapping(config: Any, complaint: str) -> None:
    """F-API-1: one plain error before anything is started; nothing is dropped in silence."""
    with pytest.raises(UsageError, match=complaint):
        connect(config)


ENTRIES: dict[str, dict[str, Any]] = {
    "command": {
        "command": "npx",
        "args": ["-y", "${CONFIGURED_A}"],
        "env": {"T": "${CONFIGURED_A}"},
        "timeout": 7,
        "startup_timeout_sec": 3,
    },
    "env file": {"command": "npx", "envFile": "${CONFIGURED_DIR}/.env"},
    "http": {"httpUrl": "https://h.example/mcp", "headers": {"X": "${CONFIGURED_A}"}},
    "other words": {"serverUrl": "https://h.example/mcp", "http_headers": {"X": "1"}},
    "login": {"url": "https://h.example/mcp", "oauth": {"clientId": "c", "scopes": ["a"]}},
    "bearer": {"url": "https://h.example/mcp", "bearer_token_env_var": "CONFIGURED_A"},
    "off": {"command": "npx", "disabled": True},
    "filters": {"command": "npx", "includeTools": ["a"], "tools": {"exclude": ["b"]}},
    "restricted": {"command": "npx", "readOnly": True},
    "ways": {"command": "npx", "trusted": True, "lazy": True, "naming": "tool"},
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_a_mapping_and_a_file_mean_the_same(
    entry: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-MANY-7: one parser reads both."""
    monkeypatch.setenv("CONFIGURED_A", "value")
    monkeypatch.setenv("CONFIGURED_DIR", str(tmp_path))
    (tmp_path / ".env").write_text("TOKEN=abc\n")
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"a": entry}}))
    from_file = load_config(path).servers["a"]
    from_code = configured_servers({"a": entry}, Gate())["a"]
    for name in ("target", "options", "state", "enabled", "include", "exclude", "trusted", "lazy"):
        assert getattr(from_code, name) == getattr(from_file, name), name
    assert from_code.naming == from_file.naming


def test_what_an_entry_says_reaches_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-MANY-7: limits, login, trust and a sandbox; the caller's options take precedence."""
    monkeypatch.setenv("CONFIGURED_A", "value")
    _, options = client_arguments(ENTRIES["command"], {})
    assert options == {"timeout": 7.0, "connect_timeout": 3.0, "env": {"T": "value"}}
    _, options = client_arguments(ENTRIES["command"], {"timeout": None, "env": None})
    assert (options["timeout"], options["env"]) == (None, {"T": "value"})
    _, options = client_arguments(ENTRIES["login"], {})
    assert options["auth"] == OAuth(client_id="c", scopes=("a",))
    _, options = client_arguments({"command": "npx", "sandbox": True, "trusted": True}, {})
    assert options["sandbox"] is not None and options["trusted"] is True


def test_paths_and_tuples_of_a_program(tmp_path: Path) -> None:
    """F-API-1: values that no file could hold."""
    assert command_of({"command": tmp_path / "server", "args": ("-x", tmp_path)}) == [
        str(tmp_path / "server"),
        "-x",
        str(tmp_path),
    ]


def test_a_warning_goes_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """F-MANY-8: a header whose variable has no value is left out, with a warning."""
    with caplog.at_level(logging.WARNING, "mcpclient"):
        connect({"url": "https://h.example/", "headers": {"X": "${NOT_SET_ANYWHERE}"}})
    assert "headers.X: ${NOT_SET_ANYWHERE} has no value" in caplog.text
