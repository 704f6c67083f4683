"""Every option, documented where it is declared, and its default."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
from typing import Any

import pytest

import mcpclient
from mcpclient.cli.help import chapter
from mcpclient.client.client import Client
from mcpclient.client.client import _Documented as Documented
from mcpclient.client.connection import client_options as module
from mcpclient.client.connection import options
from mcpclient.client.connection.client_options import CallOptions, ClientOptions, QueryOptions
from mcpclient.client.connection.option_kinds import CLIENT_OPTIONS
from mcpclient.client.connection.options import EraMemory, Options
from mcpclient.errors import UsageError
from mcpclient.protocol.negotiation import Era


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


@pytest.mark.parametrize("options", [ClientOptions, CallOptions, QueryOptions])
def test_each_option_says_what_it_means_and_its_default(options: Any) -> None:
    """F-API-1: beside itself, where an editor finds it."""
    texts = documented(options.__name__)
    assert set(texts) == set(options.__annotations__)
    assert options is not ClientOptions or set(texts) == CLIENT_OPTIONS.keys()
    assert [name for name, text in texts.items() if "Default: " not in " ".join(text.split())] == []


@pytest.mark.parametrize(
    ("name", "default"), [("timeout", "idle"), ("max_timeout", "total"), ("close_timeout", "close")]
)
def test_documented_limits_are_the_limits(name: str, default: str) -> None:
    """F-API-7"""
    found = re.search(r"Default: (\d+)", documented("ClientOptions")[name])
    assert found is not None
    assert float(found[1]) == getattr(Options.of({}, {}).timeouts, default)


def test_documented_defaults_are_the_defaults() -> None:
    """F-API-26: What the text says is what is used, wherever it is a plain value."""
    options = Options.of({}, {})
    for name, text in documented("ClientOptions").items():
        value = getattr(options, name, None)
        if isinstance(value, (bool, int, float, str)) and name != "max_message_size":
            shown = f'``"{value}"``' if isinstance(value, str) else f"{value:g}"
            shown = str(value) if isinstance(value, bool) else shown
            assert f"Default: {shown}" in " ".join(text.split()), name


def test_help_lists_every_option() -> None:
    """F-API-1, F-API-26: with its type, its meaning and its default."""
    shown = pydoc.plain(pydoc.render_doc(mcpclient.connect))
    entries = re.findall(r"^ \|  - (\w+): (.+)\n((?: \|      .+\n)+)", shown, re.M)
    listed = {
        name: (kind, " ".join(text.replace(" | ", " ").split())) for name, kind, text in entries
    }
    texts = documented("ClientOptions")
    assert listed.keys() == set(ClientOptions.__annotations__)
    for name, (kind, meaning) in listed.items():
        assert meaning.replace("|", "").split() == texts[name].replace("|", "").split(), name
        assert "Default: " in meaning
        assert kind not in ("", "Seconds")


def test_the_guide_lists_every_option() -> None:
    """F-API-26: from the same lines."""
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \| (.+) \|$", chapter("options"), re.M)
    assert [name for name, _, _ in rows] == list(ClientOptions.__annotations__)
    texts = documented("ClientOptions")
    assert all(meaning == " ".join(texts[name].split()) for name, _, meaning in rows)


def test_a_section_of_the_options_has_a_heading() -> None:
    """F-API-26"""
    sections = [option.section for option in module.described_options()]
    assert list(dict.fromkeys(sections))[:2] == ["Time", "The protocol"]
    assert all(sections)


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


def test_an_option_that_does_not_exist() -> None:
    """F-API-1: says what was meant, where something similar exists."""
    with pytest.raises(UsageError, match="there is no option 'timout'; did you mean 'timeout'\\?"):
        mcpclient.connect("npx server", timout=3)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match=r"there is no option 'zzz'$"):
        mcpclient.connect("npx server", zzz=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
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


def test_defaults_that_no_line_can_say() -> None:
    """F-LIFE-4, F-WIRE-3"""
    options = Options.of({}, {})
    assert options.max_message_size == 64 * 1024 * 1024
    assert (options.listen_wait, options.keep_alive, options.transport) == (None, None, None)
    assert options.protocol_version is None


def test_options_do_not_show_their_secrets() -> None:
    """F-AUTH-12: headers, a token, and variables of the server process."""
    given: ClientOptions = {
        "headers": {"X-Key": "s3cret"},
        "auth": "s3cret",
        "env": {"KEY": "s3cret"},
    }
    options = Options.of(given, {})
    assert "s3cret" not in repr(options)


# What is remembered of servers, and when it is left out of account


def test_each_server_has_its_own_era() -> None:
    """F-LIFE-3"""
    memory = EraMemory()
    memory.remember("a", Era.HANDSHAKE)
    memory.remember("b", Era.STATELESS)
    memory.remember("a", Era.STATELESS)
    memory.remember(None, Era.HANDSHAKE)
    assert (memory.recall("a"), memory.recall("b")) == (Era.STATELESS, Era.STATELESS)
    assert memory.recall("c") is None and memory.recall(None) is None


@pytest.mark.parametrize(
    ("era", "is_certain", "ways"),
    [
        (Era.HANDSHAKE, True, [Era.HANDSHAKE, None]),
        (Era.STATELESS, True, [Era.STATELESS, Era.HANDSHAKE]),
        (Era.HANDSHAKE, False, [None, Era.HANDSHAKE]),
    ],
)
def test_what_fails_is_opened_in_the_other_way(
    era: Era, is_certain: bool, ways: list[Era | None]
) -> None:
    """F-LIFE-3, F-MANY-20: a server that was replaced is found out, and no attempt starts two."""
    memory = EraMemory()
    memory.failed("a")
    memory.failed(None)
    assert not memory.starts_once("a") and not memory.starts_once(None)
    memory.remember("a", era, is_certain=is_certain)
    assert memory.starts_once("a") is not is_certain
    seen = []
    for _ in range(4):
        seen.append(memory.recall("a"))
        memory.failed("a")
        assert memory.starts_once("a")
    assert seen == ways * 2
    memory.remember("a", Era.STATELESS)
    assert memory.recall("a") is Era.STATELESS and not memory.starts_once("a")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-LIFE-3: the server that was met last is known; the one longest ago is forgotten."""
    monkeypatch.setattr(options, "_MAX_SERVERS", 2)
    memory = EraMemory()
    for name in "abac":
        memory.remember(name, Era.HANDSHAKE)
    assert [memory.recall(name) is None for name in "abc"] == [False, True, False]


def test_clients_share_a_memory() -> None:
    """F-LIFE-3: one that met a server tells the others."""
    one, other = (Client(f"http://{host}.example/mcp") for host in "ab")
    one._connection.expect("2025-11-25")
    assert other._connection.options.eras.recall(one._connection.route.key) is Era.HANDSHAKE
    assert Options.of({}, {}).eras is not Options.of({}, {}).eras
