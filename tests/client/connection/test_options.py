"""Every option, documented where it is declared, and its default."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

import pytest

import mcpclient
from mcpclient.cli.help import chapter
from mcpclient.client.client import _Documented as Documented
from mcpclient.client.connection import client_options as module
from mcpclient.client.connection import options
from mcpclient.client.connection.client_options import CallOptions, ClientOptions, QueryOptions
from mcpclient.client.connection.option_kinds import CLIENT_OPTIONS
from mcpclient.client.connection.options import EraMemory, Options
from mcpclient.errors import UsageError
from mcpclient.protocol.negotiation import Era
from tests.support.tables import each_row


def documented(name: str) -> dict[str, str]:
    """The text that stands below each field of a class, as an editor shows it."""
    tree = ast.parse(inspect.getsource(module))
    classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
    bases = [each.id for each in classes[name].bases if isinstance(each, ast.Name)]
    inherited = [documented(base) for base in bases if base in classes]
    body = classes[name].body
    return {key: text for each in inherited for key, text in each.items()} | {
        field.target.id: ast.literal_eval(text.value)
        for field, text in zip(body, body[1:])
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr)
    }


@each_row("options", [ClientOptions, CallOptions, QueryOptions])
def test_each_option_says_what_it_means_and_its_default(options: Any) -> None:
    """F-API-1: beside itself, where an editor finds it."""
    texts = documented(options.__name__)
    assert set(texts) == set(options.__annotations__)
    assert options is not ClientOptions or set(texts) == CLIENT_OPTIONS.keys()
    assert [name for name, text in texts.items() if "Default: " not in " ".join(text.split())] == []


def test_the_guide_lists_every_option() -> None:
    """F-API-26: from the same lines."""
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \| (.+) \|$", chapter("options"), re.M)
    assert [name for name, _, _ in rows] == list(ClientOptions.__annotations__)
    texts = documented("ClientOptions")
    assert all(meaning == " ".join(texts[name].split()) for name, _, meaning in rows)


def test_help_without_the_sources_says_where_the_options_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-API-26"""

    def missing(_: object) -> str:
        raise OSError("no source")

    monkeypatch.setattr(inspect, "getsource", missing)
    assert "described at `ClientOptions`" in str(mcpclient.Client.__doc__)
    assert Documented(None).__get__(None) is None


def test_a_call_takes_the_options_of_a_call() -> None:
    """F-API-26"""
    parameters = set(inspect.signature(mcpclient.Client.call_tool).parameters)
    assert parameters - {"self", "name", "arguments", "returns"} == set(CallOptions.__annotations__)
    parameters = set(inspect.signature(mcpclient.Client.request).parameters)
    assert parameters - {"self", "method", "params"} == set(QueryOptions.__annotations__)


@each_row(
    ("target", "given", "reason"),
    [
        ("npx server", {"headers": {"a": "b"}}, "headers needs an HTTP or WebSocket URL, not a co"),
        ("npx server", {"auth": "t"}, "auth needs an HTTP or WebSocket URL, not a command"),
        ("tcp://localhost:1", {"headers": {}}, "headers needs an HTTP or WebSocket URL, not a tcp"),
        ("http://localhost", {"env": {}}, "env needs a command, not a URL"),
        ("ws://localhost", {"cwd": "/"}, "cwd needs a command, not a URL"),
        ("http://localhost", {"roots": "/tmp"}, r"roots are a list: write roots=\['/tmp'\]"),
        ("npx server", {"validate": "x"}, 'validate is "warn"'),
    ],
)
def test_options_that_would_be_ignored(target: str, given: Any, reason: str) -> None:
    """F-API-1: an option that means nothing there is an error, not a silence."""
    with pytest.raises(UsageError, match=reason):
        mcpclient.connect(target, **given)


def test_options_do_not_show_their_secrets() -> None:
    """F-AUTH-12: headers, a token, and variables of the server process."""
    given: ClientOptions = {
        "headers": {"X-Key": "s3cret"},
        "auth": "s3cret",
        "env": {"KEY": "s3cret"},
    }
    options = Options.of(given, {})
    assert "s3cret" not in repr(options)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-LIFE-3: the server that was met last is known; the one longest ago is forgotten."""
    monkeypatch.setattr(options, "_MAX_SERVERS", 2)
    memory = EraMemory()
    for name in "abac":
        memory.remember(name, Era.HANDSHAKE)
    assert [memory.recall(name) is None for name in "abc"] == [False, True, False]
