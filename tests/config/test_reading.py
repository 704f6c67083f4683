"""F-MANY-7: one file into the entries it holds, each with its line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient.config import reading
from mcpclient.config.config import Problem
from mcpclient.config.reading import (
    ConfigFile,
    ConfigReader,
    DocumentError,
    read_document,
    repeated_keys,
)
from mcpclient.config.scopes import Place

has_toml = pytest.mark.skipif(sys.version_info < (3, 11), reason="needs tomllib")

JSON = b'\xef\xbb\xbf{ // comment\r\n"a": [1,\n {"b": 2}],\n"a": [\n{"c": 1, "c": 2}]}'


@has_toml
def test_the_lines_of_toml() -> None:
    found = read_document(b'a = 1\n[servers.x]\ncommand = "y"\n', ".codex/config.toml")
    assert found.value == {"a": 1, "servers": {"x": {"command": "y"}}}
    assert found.line(["servers", "x", "command"]) == 3
    assert found.line(["servers", "z"]) == 2
    assert list(repeated_keys(found.value)) == []


BROKEN = [
    ("x.json", b'{\n"a": }', 2, "it is not JSON: '}' stands where a value should"),
    ("x.json", b'{\n"a": "\xff"}', 2, "it is not UTF-8"),
    ("x.json", b"\xff\xfe{\0}\0", 1, "it is not UTF-8"),
    ("x.yaml", b"---\na: 1\n\tb: c\n", 3, "unsupported YAML: "),
]


@pytest.mark.parametrize(("name", "content", "line", "reason"), BROKEN)
def test_what_cannot_be_read(name: str, content: bytes, line: int, reason: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_document(content, name)
    assert caught.value.line == line
    assert str(caught.value).startswith(reason)


@has_toml
@pytest.mark.parametrize(
    ("content", "line"),
    [(b"a = 1\nb = ", 2), (b"a = 1\na = [}\n", 2), (b"a = " + b"[" * 100_000, None)],
)
def test_what_is_not_toml(content: bytes, line: int | None) -> None:
    with pytest.raises(DocumentError, match="it is not TOML") as caught:
        read_document(content, "config.toml")
    assert line is None or caught.value.line == line


def test_toml_without_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-MANY-7: where Python has no tomllib, a problem says so."""
    monkeypatch.setattr(reading, "tomllib", None)
    with pytest.raises(DocumentError, match=r"Python 3\.11"):
        read_document(b"a = 1", "config.toml")


@has_toml
@pytest.mark.parametrize(
    "content",
    [
        b"a" + b".a" * 200_000 + b" = 1",
        b"\n".join(b"b%d" % n + b".a" * 1_000 + b" = 1" for n in range(50)),
        b"[a" + b".a" * 1_000 + b"]\n" + b"\n".join(b"b%d.c = 1" % n for n in range(20_000)),
        b"[[x]]\n" * 2 + b"[" + b"a." * 100_000 + b"a]",
        '"\u2028"'.encode() + '."\u2028"'.encode() * 4_000 + b" = 1",  # no line of TOML ends here
    ],
)
def test_toml_of_quadratic_cost_is_refused(content: bytes) -> None:
    """F-MANY-7: before the parser sees it."""
    with pytest.raises(DocumentError, match="dotted names have too many parts") as caught:
        read_document(content, "config.toml")
    assert caught.value.line is not None


@has_toml
def test_toml_that_is_nested_too_deep() -> None:
    with pytest.raises(DocumentError, match="nested more than 100 deep"):
        read_document(b"a" + b".a" * 200 + b" = 1", "config.toml")
    text = "word. " * 2_000
    assert read_document(f'a.b.c = "{text}"'.encode(), "config.toml").value["a"]["b"]["c"] == text


ENTRY = {"command": "x"}


def read(
    path: Path, content: Any = None, project: str | None = None
) -> tuple[ConfigFile | None, list[Problem]]:
    if content is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=0))
    problems: list[Problem] = []
    place = Place(str(path), "file", project)
    return ConfigReader(problems).read(place, expected=True), problems


def test_what_an_application_has_inside_is_no_server(tmp_path: Path) -> None:
    """F-MANY-7: Goose's file holds its own extensions beside the servers."""
    file, problems = read(
        tmp_path / "goose" / "config.yaml",
        "GOOSE_MODEL: x\nextensions:\n  developer:\n    type: builtin\n    enabled: true\n"
        "  a:\n    type: stdio\n    cmd: x\n",
    )
    assert file is not None
    assert [server.name for server in file.servers] == ["a"]
    assert problems == []


def test_the_settings_of_gemini_and_opencode(tmp_path: Path) -> None:
    """`mcp.allowed` of Gemini is policy, not servers; `tools` of OpenCode switches tools off."""
    gemini, problems = read(
        tmp_path / ".gemini" / "settings.json",
        {"mcpServers": {"a": ENTRY}, "mcp": {"allowed": ["a", 3], "excluded": ["b"]}},
    )
    assert gemini is not None
    assert (gemini.allowed, gemini.excluded, problems) == (("a",), ("b",), [])
    opencode, _ = read(
        tmp_path / "opencode.json",
        {"mcp": {"a": {"type": "local", "command": ["x"]}}, "tools": {"a_*": False, "b": True}},
    )
    assert opencode is not None
    assert opencode.tool_switches == ("a_*",)


TOLD: dict[str, tuple[str, Any, str, int | None]] = {
    "broken": (".mcp.json", '{\n"a" 1}', "error", 2),
    "a list": (".mcp.json", [], "error", 1),
    "no servers": (".mcp.json", {"a": 1}, "error", 1),
    "servers that are none": (".mcp.json", {"mcpServers": 3}, "error", 2),
    "a name that is none": (".mcp.json", {"mcpServers": {"a\nb": ENTRY}}, "error", 3),
    "an empty name": (".mcp.json", {"mcpServers": {" ": ENTRY}}, "error", 3),
    "another key": (".cursor/mcp.json", {"servers": {"a": ENTRY}}, "warning", 2),
    "two keys": (
        ".vscode/mcp.json",
        {"servers": {"a": ENTRY}, "mcpServers": {"b": ENTRY}},
        "warning",
        7,
    ),
    "a key twice": (
        ".mcp.json",
        '{"mcpServers": {\n"a": {"command": "x"},\n"a": 3}}',
        "warning",
        3,
    ),
    "a field twice": (".mcp.json", '{"mcpServers": {"a":\n{"url": "x",\n"url": 3}}}', "warning", 3),
}


@pytest.mark.parametrize(("name", "content", "severity", "line"), TOLD.values(), ids=TOLD)
def test_what_is_told(
    name: str, content: Any, severity: str, line: int | None, tmp_path: Path
) -> None:
    """F-MANY-7: one problem, with its line."""
    _, problems = read(tmp_path / name, content)
    assert [(problem.severity, problem.line) for problem in problems] == [(severity, line)]


def test_a_repeated_key_of_other_settings_is_not_told(tmp_path: Path) -> None:
    content = '{"theme": 1, "theme": 2, "mcpServers": {"a": {"command": "x"}}}'
    assert read(tmp_path / ".claude.json", content)[1] == []
