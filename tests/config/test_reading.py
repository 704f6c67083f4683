"""F-MANY-7: one file into the entries it holds, each with its line."""

from __future__ import annotations

import json
import os
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

# Documents

has_toml = pytest.mark.skipif(sys.version_info < (3, 11), reason="needs tomllib")

JSON = b'\xef\xbb\xbf{ // comment\r\n"a": [1,\n {"b": 2}],\n"a": [\n{"c": 1, "c": 2}]}'


def test_the_lines_of_json() -> None:
    """F-MANY-7"""
    found = read_document(JSON, "x.json")
    assert found.value == {"a": [{"c": 2}]}
    assert found.line(["a"]) == 4
    assert found.line(["a", 0]) == 5
    assert found.line(["a", 0, "c", "d"]) == 5
    assert found.line(["a", 7]) == 4
    assert found.line(["b"]) is None
    assert list(repeated_keys(found.value)) == [("a",), ("a", 0, "c")]
    assert found.line(("a", 0, "c")) == 5


@has_toml
def test_the_lines_of_toml() -> None:
    found = read_document(b'a = 1\n[servers.x]\ncommand = "y"\n', ".codex/config.toml")
    assert found.value == {"a": 1, "servers": {"x": {"command": "y"}}}
    assert found.line(["servers", "x", "command"]) == 3
    assert found.line(["servers", "z"]) == 2
    assert list(repeated_keys(found.value)) == []


def test_yaml() -> None:
    text = b"---\nname: x\nmcpServers:\n  - name: a\n    args:\n      - b\n"
    found = read_document(text, "x.yaml")
    assert found.value == {"name": "x", "mcpServers": [{"name": "a", "args": ["b"]}]}
    assert found.line(["mcpServers", 0, "args"]) == 5


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


# Entries

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


def test_entries_and_what_stands_beside_them(tmp_path: Path) -> None:
    """F-MANY-7: VS Code's servers and inputs."""
    file, problems = read(
        tmp_path / ".vscode" / "mcp.json",
        {"inputs": [{"id": "a"}], "servers": {"a": ENTRY, "b": 3}},
    )
    assert file is not None
    assert [(server.name, server.raw, server.path) for server in file.servers] == [
        ("a", ENTRY, ("servers", "a")),
        ("b", 3, ("servers", "b")),
    ]
    assert file.inputs == [{"id": "a"}]
    assert problems == []
    problem = file.servers[0].problem("error", "is odd", "command", hint="mend it")
    assert (problem.line, problem.server, problem.field) == (9, "a", "command")


def test_a_list_of_entries_with_names(tmp_path: Path) -> None:
    file, problems = read(
        tmp_path / ".continue" / "mcpServers" / "x.yaml",
        "name: x\nmcpServers:\n  - name: a\n    command: x\n  - command: y\n",
    )
    assert file is not None
    assert [server.name for server in file.servers] == ["a"]
    assert [problem.message for problem in problems] == ["a server needs a name in one line"]


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


def test_the_servers_of_one_project(tmp_path: Path) -> None:
    path = tmp_path / ".claude.json"
    content = {"mcpServers": {"u": ENTRY}, "projects": {"/p": {"mcpServers": {"l": ENTRY}}}}
    file, _ = read(path, content, "/p")
    assert file is not None
    assert [server.path for server in file.servers] == [("projects", "/p", "mcpServers", "l")]
    assert read(path, None, "/q") == (None, [])


SILENT: dict[str, tuple[str, Any]] = {
    "settings without servers": (".claude.json", {"theme": "dark"}),
    "a manifest that names a file": (".claude-plugin/plugin.json", {"mcpServers": "./x.json"}),
    "VS Code's own keys": (".vscode/mcp.json", {"servers": {"a": ENTRY}, "version": 1}),
}


@pytest.mark.parametrize(("name", "content"), SILENT.values(), ids=SILENT)
def test_what_is_no_fault(name: str, content: Any, tmp_path: Path) -> None:
    """F-MANY-7: a file with other settings and no servers is no fault."""
    assert read(tmp_path / name, content)[1] == []


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


def test_files_that_are_none(tmp_path: Path) -> None:
    """F-MANY-7: a folder, a missing file, a pipe: told, and never waited for."""
    assert "no such file" in read(tmp_path / "none.json")[1][0].message
    assert "cannot be read" in read(tmp_path)[1][0].message
    if os.name == "posix":
        os.mkfifo(tmp_path / ".mcp.json")
        assert "not a regular file" in read(tmp_path / ".mcp.json")[1][0].message


def test_a_file_is_read_once(tmp_path: Path) -> None:
    problems: list[Problem] = []
    reader = ConfigReader(problems)
    (tmp_path / "x.json").write_text("{")
    for _ in range(2):
        assert reader.read(Place(str(tmp_path / "x.json"), "file")) is None
    assert reader.read(Place(str(tmp_path / "none.json"), "user")) is None
    assert len(problems) == 1
