"""F-MANY-7: one entry, as each application writes it."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.entries.applications import APPLICATIONS
from mcpclient.entries.entry import Entry, EntryError, read_entry
from tests.support.tables import each_row


def read(raw: Any, application: str = "mcpclient") -> tuple[Entry, list[str]]:
    told: list[str] = []

    def report(message: str, *path: str | int, hint: str = "") -> None:
        told.append(f"{'.'.join(map(str, path))}: {message}")

    return read_entry("a", raw, APPLICATIONS[application], report), told


URLS: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "Claude": ("claude-code", {"type": "http"}, "http"),
    "Claude, SSE": ("claude-code", {"type": "sse"}, "sse"),
    "no type": ("claude-code", {}, None),
    "VS Code, which falls back": ("vscode", {"type": "http"}, None),
    "Roo": ("roo", {"type": "streamable-http"}, "http"),
    "Cline": ("cline", {"type": "streamableHttp"}, "http"),
    "Cline, of old": ("cline", {}, "sse"),
    "Codex": ("codex", {}, "http"),
    "OpenCode": ("opencode", {"type": "remote"}, None),
    "transport": ("cursor", {"transport": "SSE"}, "sse"),
    "WebSocket": ("mcpclient", {"type": "ws"}, "ws"),
}


@each_row(("application", "raw", "transport"), URLS.values())
def test_a_url(application: str, raw: dict[str, Any], transport: str | None) -> None:
    entry, told = read({"url": "https://x/mcp", **raw}, application)
    assert (entry.url, entry.transport, told) == ("https://x/mcp", transport, [])


@each_row(
    ("raw", "include", "exclude"),
    [
        ({"includeTools": ["a"], "excludeTools": ["b*"]}, ("a",), ("b*",)),
        ({"enabled_tools": ["a"], "disabled_tools": ["b"]}, ("a",), ("b",)),
        ({"disabledTools": ["b"]}, (), ("b",)),
        ({"tools": ["a", "b"]}, ("a", "b"), ()),
        ({"tools": ["*"]}, (), ()),
        ({"tools": {"include": ["a"], "exclude": ["b"]}}, ("a",), ("b",)),
        ({"tools": {"a": {"enabled": False}, "b": False, "c": {}}}, (), ("a", "b")),
    ],
)
def test_which_tools(raw: dict[str, Any], include: tuple[str], exclude: tuple[str]) -> None:
    """F-MANY-13: by every name that an application gives its lists."""
    entry = read({"command": "x", **raw})[0]
    assert (entry.include, entry.exclude) == (include, exclude)


def test_the_other_names_of_a_url() -> None:
    """F-MANY-7: Gemini's httpUrl, Windsurf's serverUrl."""
    assert read({"httpUrl": "https://x"}, "gemini")[0].transport == "http"
    assert read({"serverUrl": "https://x"}, "windsurf")[0].url == "https://x"
    entry, told = read({"url": "https://a", "httpUrl": "https://b"}, "gemini")
    assert entry.url == "https://b"
    assert told == ["url: httpUrl counts, since both are given"]


def test_the_headers_of_continue() -> None:
    """F-MANY-7: they stand one level further down; what stands at their usual place counts."""
    raw: dict[str, Any] = {"url": "https://x", "requestOptions": {"headers": {"A": "b"}}}
    entry, told = read(raw, "continue")
    assert (entry.headers, told) == ({"A": "b"}, [])
    assert read({**raw, "headers": {"C": "d"}}, "continue")[0].headers == {"C": "d"}
    assert read({**raw, "requestOptions": {"timeout": 5}}, "continue")[0].headers == {}


def test_everything_else_of_a_url() -> None:
    entry, told = read(
        {
            "url": "https://x",
            "http_headers": {"A": "b"},
            "env_http_headers": {"C": "D"},
            "bearer_token_env_var": "T",
            "oauth": {"clientId": "c"},
        },
        "codex",
    )
    assert told == []
    assert entry.headers == {"A": "b", "C": "${env:D}", "Authorization": "Bearer ${env:T}"}
    assert entry.oauth == {"clientId": "c"}
    assert read({"url": "https://x", "oauth": {"enabled": False}})[0].oauth is None
    for nothing in (False, ""):
        assert read({"url": "https://x", "oauth": nothing})[0].oauth is None
    assert read({"url": "https://x", "auth": True})[0].oauth == {}


@each_row("raw", [{"disabled": True}, {"enabled": False}, {"disabled": "true"}])
def test_off(raw: dict[str, Any]) -> None:
    assert not read({"command": "x", **raw})[0].enabled


def test_a_timeout_of_opencode_is_about_starting() -> None:
    entry = read({"type": "local", "command": ["x"], "timeout": 5000}, "opencode")[0]
    assert (entry.timeout, entry.connect_timeout) == (None, 5.0)


def test_opencode_2_has_a_limit_for_starting_and_one_for_calls() -> None:
    limits = {"startup": 5000, "request": 60000}
    entry, problems = read({"type": "local", "command": ["x"], "timeout": limits}, "opencode")
    assert (entry.connect_timeout, entry.timeout, problems) == (5.0, 60.0, [])
    entry, _ = read({"command": ["x"], "timeout": {"request": 60000}}, "opencode")
    assert (entry.connect_timeout, entry.timeout) == (None, 60.0)


def test_a_whole_line_is_split_and_told() -> None:
    """F-MANY-7: argv is a list; a line with spaces is a guess, so there is a warning."""
    entry, told = read({"command": 'npx -y "a b"', "args": ["c"]})
    assert entry.command == ("npx", "-y", "a b", "c")
    assert told == ["command: a whole line is split into words"]
    assert read({"command": "/opt/my tools/x"})[0].command == ("/opt/my tools/x",)
    assert read({"command": r"C:\Program Files\node.exe"})[1] == []
    assert read({"command": "${A B} x"})[0].command == ("${A B} x",)


TOLD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": ({"command": "x", "arg": []}, "arg: 'arg' is not a field of a server"),
    "both": ({"command": "x", "url": "https://x"}, "url: url cannot be combined with a command"),
    "stdio beside a URL": (
        {"url": "https://x", "env": {"A": "b"}},
        "env: env cannot be combined with a url",
    ),
}


@each_row(("raw", "expected"), TOLD.values())
def test_what_is_told(raw: dict[str, Any], expected: str) -> None:
    """F-MANY-7: unknown keys are one warning."""
    assert read(raw)[1] == [expected]


REFUSED: dict[str, tuple[Any, str, str]] = {
    "no object": ("npx", "mcpclient", "an entry must be an object, not a string"),
    "nothing": ({}, "mcpclient", "a server needs a command or a url"),
    "misspelled": ({"comand": "npx"}, "mcpclient", "a server needs a command or a url"),
    "empty": ({"command": ""}, "mcpclient", "a server needs a command or a url"),
    "an extension": ({"settings": {}}, "zed", "a server needs a command or a url"),
    "a type that is none": ({"command": "x", "type": "htp"}, "mcpclient", "'htp' is not a"),
    "a type without its URL": ({"command": "x", "type": "http"}, "mcpclient", "needs a url"),
    "a type without its command": ({"url": "https://x", "type": "stdio"}, "roo", "a command"),
    "a token": (
        {"url": "https://x", "bearer_token": "t"},
        "codex",
        "tokens in configuration files are ignored",
    ),
    "a backslash that is none": ({"command": "C:\temp"}, "mcpclient", "a tab or the end"),
    "quotes": ({"command": "npx 'a"}, "mcpclient", "quotes that do not close"),
    "a way to name": ({"command": "x", "naming": "tol"}, "mcpclient", "is not a way to name"),
    "env_vars": ({"command": "x", "env_vars": [3]}, "codex", "names of environment variables"),
    "oauth": ({"url": "https://x", "oauth": 3}, "mcpclient", "must be an object"),
    "filters": ({"command": "x", "tools": "a"}, "mcpclient", "must be a list of strings"),
}


@each_row(("raw", "application", "reason"), REFUSED.values())
def test_what_is_refused(raw: Any, application: str, reason: str) -> None:
    """F-MANY-7: never a half-read server."""
    with pytest.raises(EntryError) as caught:
        read(raw, application)
    assert reason in str(caught.value)
