"""Which server is meant, and with which options."""

from __future__ import annotations

import argparse

import pytest

from mcpclient import UsageError
from mcpclient.cli.target import (
    add_options,
    client_for,
    split_after_file,
    split_at_command,
    take_url,
)


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser.parse_args(words)


def test_the_command_line_of_the_server_comes_after_two_dashes() -> None:
    """F-SHOW-1: untouched, further dashes included."""
    words = ["call", "echo", "--", "npx", "--json", "--", "x"]
    assert split_at_command(words) == (["call", "echo"], ["npx", "--json", "--", "x"])
    assert split_at_command(["tools"]) == (["tools"], None)
    assert split_at_command(["tools", "--"]) == (["tools"], [])


@pytest.mark.parametrize(
    ("words", "outer", "inner"),
    [
        ("f call x", "f", "call x"),
        ("f -- call x -- s", "f", "call x -- s"),
        ("--a f --b call --c", "--a f --b", "call --c"),
        ("--a f --b -- call", "--a f --b", "call"),
        ("--a", "--a", ""),
        ("f", "f", ""),
        ("f --", "f", ""),
        ("", "", ""),
    ],
)
def test_a_command_may_stand_after_a_file(words: str, outer: str, inner: str) -> None:
    """F-SHOW-8"""
    assert split_after_file(words.split()) == (outer.split(), inner.split())


def test_a_url_comes_first() -> None:
    """F-SHOW-1"""
    assert take_url(["HTTP://host/mcp", "echo", "a=1"]) == ("HTTP://host/mcp", ["echo", "a=1"])
    assert take_url(["tcp://host:1", "echo"]) == ("tcp://host:1", ["echo"])
    assert take_url(["unix:///run/x", "demo://readme"]) == ("unix:///run/x", ["demo://readme"])


@pytest.mark.parametrize("words", [[], ["echo"], ["echo", "http://host/mcp"]])
def test_without_a_server_it_asks_which(words: list[str]) -> None:
    with pytest.raises(UsageError, match="which server"):
        take_url(words)


def test_where_no_server_is_needed_it_may_be_missing() -> None:
    """F-SHOW-8"""
    assert take_url(["echo", "a=1"], needed=False) == ("", ["echo", "a=1"])
    assert take_url(["http://host/mcp", "a"], needed=False) == ("http://host/mcp", ["a"])


def test_the_options_reach_the_client() -> None:
    """F-SHOW-1"""
    given = options(
        *("--timeout", "2.5", "--max-timeout", "0", "--env", "A=b=c", "--cwd", "/"),
        *("--protocol-version", "2025-06-18", "--transport", "stdio", "--quiet"),
    )
    made = client_for(["server"], given, "inherit")._connection.options
    assert (made.timeouts.idle, made.timeouts.total) == (2.5, None)
    assert (made.env, made.cwd, made.stderr) == ({"A": "b=c"}, "/", "discard")
    assert (made.protocol_version, made.transport) == ("2025-06-18", "stdio")


def test_without_options_the_client_has_its_defaults() -> None:
    made = client_for(["server"], options(), print)._connection.options
    assert (made.timeouts.idle, made.timeouts.total) == (30.0, 600.0)
    assert (made.env, made.headers, made.transport, made.stderr) == (None, None, None, print)


def test_headers_are_collected() -> None:
    """F-SHOW-1"""
    given = options("--header", "X-One:  1 ", "--header", "Authorization: Bearer a:b")
    made = client_for("http://host/mcp", given, "inherit")._connection.options
    assert made.headers == {"X-One": "1", "Authorization": "Bearer a:b"}


@pytest.mark.parametrize(
    ("target", "words", "reason"),
    [
        (["server"], ("--header", "A: b"), "--header needs an HTTP or WebSocket URL"),
        ("tcp://host:1", ("--header", "A: b"), "--header needs an HTTP or WebSocket URL"),
        ("http://host/mcp", ("--env", "A=b"), "--env needs a command after --"),
        ("http://host/mcp", ("--cwd", "/"), "--cwd needs a command after --"),
        ("http://host/mcp", ("--header", "nothing"), "--header takes NAME:VALUE"),
        (["server"], ("--env", "=x"), "--env takes NAME=VALUE"),
        (["server"], ("--timeout", "-1"), "negative"),
        ([], (), "the command is empty"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    target: str | list[str], words: tuple[str, ...], reason: str
) -> None:
    """F-SHOW-2: before anything is started."""
    with pytest.raises(UsageError, match=reason):
        client_for(target, options(*words), "inherit")
