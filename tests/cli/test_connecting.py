"""From a server and options to a client."""

from __future__ import annotations

import io
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient import Client, Negotiate, OAuth, UsageError
from mcpclient.cli.command import Server
from mcpclient.cli.commands import command_named
from mcpclient.cli.connecting import client_for
from mcpclient.cli.parsing import parser_of
from mcpclient.cli.screen import Screen
from mcpclient.client.requests import connection_of
from mcpclient.entries.resolve import HeadersHelper
from tests.support.tables import each_row

URL = "https://a.example/mcp"


def screen() -> Screen:
    return Screen(io.StringIO(), io.StringIO(), {})


def made(server: Server, *words: str) -> Client:
    return client_for(server, parser_of(command_named("info")).parse_args(words), screen())


def options_of(server: Server, *words: str) -> Any:
    return connection_of(made(server, *words)).options


def test_the_options_reach_the_client() -> None:
    """F-SHOW-1"""
    options = options_of(
        Server(["server"]),
        *("--timeout", "2.5", "--max-timeout", "0", "--env", "A=b=c", "--cwd", "/"),
        *("--protocol-version", "2025-06-18", "--transport", "stdio", "--quiet"),
    )
    assert (options.timeouts.idle, options.timeouts.total) == (2.5, None)
    assert (options.env, options.cwd, options.stderr) == ({"A": "b=c"}, "/", "discard")
    assert (options.protocol_version, options.transport) == ("2025-06-18", "stdio")


@each_row(
    ("words", "handles_tasks"),
    [
        (["call", "x"], False),
        (["call", "x", "--detach"], True),
        (["task", "t1", "--wait"], True),
        (["open", "x"], True),
    ],
)
def test_commands_for_tasks_declare_that_they_handle_them(
    words: list[str], handles_tasks: bool
) -> None:
    """F-SHOW-21: without that, a server of 2026-07-28 makes no task."""
    options = parser_of(command_named(words[0])).parse_args(words[1:])
    client = client_for(Server(["s"]), options, screen())
    assert connection_of(client).options.tasks is handles_tasks


def test_the_command_line_counts_more_than_the_configuration() -> None:
    """F-SHOW-1: variables are added to the file's own."""
    server = Server(["s"], {"env": {"A": "1", "B": "2"}, "timeout": 5, "name": "n"})
    options = options_of(server, "--env", "B=3", "--timeout", "7")
    assert (options.env, options.timeouts.idle) == ({"A": "1", "B": "3"}, 7)
    assert options.name == "n"
    server = Server("http://host/mcp", {"headers": {"authorization": "of the file", "X-One": "1"}})
    options = options_of(server, "--header", "Authorization: given")
    assert options.headers == {"X-One": "1", "Authorization": "given"}


@pytest.mark.skipif(os.name != "posix", reason="its line is for sh")
async def test_headers_of_a_program_beside_given_ones(tmp_path: Path) -> None:
    """F-SHOW-1, F-HTTP-15: a given one precedes a printed one; no login is put over it."""
    source = """print('{"authorization": "printed", "X-One": "1"}')"""
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(source)}"
    helper = HeadersHelper(line, "s", "http://host/mcp", str(tmp_path), {"X-Two": "2"})
    server = Server("http://host/mcp", {"headers": helper})
    assert options_of(server).headers is helper
    assert options_of(server).auth is None
    options = options_of(server, "--header", "Authorization: given")
    printed = {"X-One": "1", "X-Two": "2", "Authorization": "given"}
    assert await options.headers() == printed
    assert helper.fixed == {"X-Two": "2"}


def test_the_user_of_the_system() -> None:
    """F-SHOW-1, F-HTTP-15: at the server and at the proxy; then there is no other login."""
    server = Server("https://host/mcp", {"headers": {"X-One": "1"}})
    options = options_of(server, "--negotiate", "--proxy-negotiate", "--proxy", "http://p:1")
    assert options.auth == options.network.proxy_auth == Negotiate()
    assert options_of(server).network.proxy_auth is None
    with pytest.raises(UsageError, match="--account needs a server with a login"):
        made(server, "--negotiate", "--account", "work")
    with pytest.raises(UsageError, match="--negotiate needs an HTTP or WebSocket URL"):
        made(Server(["server"]), "--negotiate")


@each_row(
    ("server", "words", "auth"),
    [
        (Server(["server"]), (), None),
        (Server("unix:///socket"), (), None),
        (Server(URL, {"auth": "configured"}), (), "configured"),
        (Server(URL, {"headers": {"authorization": "Bearer of-the-file"}}), (), None),
        (Server(URL), ("--header", "Authorization: Bearer a:b"), None),
        (Server("http://bob:x@host/mcp"), (), None),
        (Server(URL, {"headers": {"X-Tenant": "a"}}), ("--header", "X-One:  1 "), OAuth),
    ],
)
def test_who_the_user_is(server: Server, words: tuple[str, ...], auth: Any) -> None:
    """F-AUTH-8, F-AUTH-13, F-SHOW-2: no login is asked for where a token is given."""
    options = options_of(server, *words)
    assert options.auth == auth or type(options.auth) is auth
    given = [word.split(": ", 1) for word in words[1:]]
    assert all(options.headers[name] == value.strip() for name, value in given)


def test_the_options_of_a_network() -> None:
    """F-SHOW-2"""
    words = ("--bearer", "t", "--proxy", "http://proxy:1", "--insecure")
    options = options_of(Server("https://host/mcp"), *words)
    assert (options.auth, options.network.verify) == ("t", False)
    assert options.network.proxies != options_of(Server("https://host/mcp")).network.proxies
