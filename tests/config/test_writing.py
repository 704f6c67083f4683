"""F-SHOW-1: servers added to a file and removed from it."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mcpclient.config.writing import add_server, add_server_to, in_shape_of, remove_server_from
from mcpclient.entries.applications import APPLICATIONS
from mcpclient.entries.entry import read_entry
from mcpclient.errors import UsageError
from mcpclient.gate.load import load_config
from tests.support.requirements import required

STDIO = {"command": "npx", "args": ["-y", "a"], "env": {"A": "b"}}
REMOTE = {"url": "https://x/mcp", "headers": {"A": "b"}}


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_nothing_beside_a_server_changes() -> None:
    """F-SAFE-6, F-MANY-7: a file in which that cannot be done stays as it is."""
    required("tomllib")
    path = "/p/.codex/config.toml"
    text = "[mcp_servers.a]\nx = '''\n[b]\n'''\n# about b\n[mcp_servers.b]\ncommand = 'y'\n"
    assert remove_server_from(text, path, "a") == "# about b\n[mcp_servers.b]\ncommand = 'y'\n"
    replaced = add_server_to(text, path, "a", REMOTE, replace=True)
    assert replaced.startswith("# about b\n[mcp_servers.b]\ncommand = 'y'\n\n[mcp_servers.a]")
    dotted = "[mcp_servers]\na.command = 'x'\n[mcp_servers.a.env]\nA = 'b'\n"
    with pytest.raises(UsageError, match="not changed here"):
        remove_server_from(dotted, path, "a")
    with pytest.raises(UsageError, match="twice"):
        add_server_to(dotted, path, "a", REMOTE, replace=True)


def test_toml() -> None:
    """F-MANY-7, F-SHOW-1"""
    required("tomllib")
    text = "model = 'x' # mine\n"
    added = add_server_to(text, "/p/.codex/config.toml", "one", REMOTE)
    assert added == (
        f'{text}\n[mcp_servers.one]\nurl = "https://x/mcp"\nhttp_headers = {{ A = "b" }}\n'
    )
    replaced = add_server_to(added, "/p/.codex/config.toml", "one", STDIO, replace=True)
    assert 'command = "npx"' in replaced
    assert "url" not in replaced
    assert remove_server_from(added, "/p/.codex/config.toml", "one").strip() == text.strip()
    inline = "[mcp_servers]\na = { command = 'x' }\n"
    with pytest.raises(UsageError, match="not changed here"):
        remove_server_from(inline, "config.toml", "a")
    with pytest.raises(UsageError, match="not TOML"):
        add_server_to("mcp_servers = {}\n", "config.toml", "a", STDIO)


TEXT = """{
  // the servers
  "mcpServers": {
    "a": {"command": "x"}, // mine
    "b": {"command": "y"},
  },
  "theme": "dark"
}
"""


def test_comments_and_order_stay() -> None:
    """F-MANY-7"""
    changed = add_server_to(TEXT, ".mcp.json", "c", {"command": "z"})
    assert changed == TEXT.replace('"y"},\n', '"y"},\n    "c": {\n      "command": "z"\n    }\n')
    assert remove_server_from(TEXT, ".mcp.json", "b") == TEXT.replace(
        '    "b": {"command": "y"},\n', ""
    )


REFUSED: list[tuple[str, str, str, dict[str, Any], str]] = [
    (".mcp.json", TEXT, "a", STDIO, "there is a server 'a' .* already"),
    (".mcp.json", TEXT, " ", STDIO, "needs a name"),
    (".mcp.json", TEXT, "a\nb", STDIO, "needs a name"),
    (".mcp.json", TEXT, "n", {}, "^n: a server needs a command or a url"),
    (".mcp.json", TEXT, "n", {"command": "x", "args": "a"}, "args: must be a list of strings"),
    (".mcp.json", "{", "n", STDIO, r"\.mcp\.json:1: it is not JSON"),
    (".mcp.json", "[]", "n", STDIO, "cannot be changed"),
    (".mcp.json", '{"mcpServers": []}', "n", STDIO, "are not an object"),
    ("a.yaml", "a: b", "n", STDIO, "YAML is read, but not written"),
]


@pytest.mark.parametrize(("name", "text", "server", "entry", "reason"), REFUSED)
def test_what_cannot_be_added(
    name: str, text: str, server: str, entry: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(UsageError, match=reason):
        add_server(path, server, entry)
    assert path.read_text() == text


@pytest.mark.needs_posix
def test_a_users_file_with_a_secret_is_for_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-MANY-7: new or not; a project's file stays as its repository has it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own = tmp_path / "config" / "mcpclient" / "mcp.json"
    add_server(own, "a", {"url": "https://x/mcp"})
    assert own.stat().st_mode & 0o777 == 0o600
    own.chmod(0o644)
    add_server(own, "b", {"url": "https://x/mcp", "headers": {"A": "${KEY}"}})
    assert own.stat().st_mode & 0o777 == 0o644
    add_server(own, "c", REMOTE)
    assert own.stat().st_mode & 0o777 == 0o600
    project = tmp_path / ".mcp.json"
    add_server(project, "a", REMOTE)
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    assert project.stat().st_mode == ordinary.stat().st_mode
    cursor = tmp_path / "home" / ".cursor" / "mcp.json"
    add_server(cursor, "a", STDIO)
    assert cursor.stat().st_mode & 0o777 == 0o600


def test_many_writers_undo_nothing(tmp_path: Path) -> None:
    """F-MANY-7: atomic, and locked."""
    path = tmp_path / ".mcp.json"
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(add_server, path, f"s{n}", STDIO) for n in range(12)]
    assert [job.result() for job in jobs] == [None] * 12
    assert sorted(load_config(path).servers) == sorted(f"s{n}" for n in range(12))
    assert [name for name in os.listdir(tmp_path) if "mcp.json" in name] == [".mcp.json"]


def fail(message: str, *path: object, hint: str = "") -> None:
    raise AssertionError(message)


@pytest.mark.parametrize(
    "entry", [{**STDIO, "cwd": None}, {**REMOTE, "env": {}}], ids=["command", "url"]
)
@pytest.mark.parametrize("name", sorted(APPLICATIONS))
def test_what_is_written_is_read_without_a_warning(name: str, entry: dict[str, Any]) -> None:
    """F-MANY-7"""
    written = in_shape_of(name, entry)
    found = read_entry("a", written, APPLICATIONS[name], fail)
    if "command" in entry:
        assert (found.command, found.env) == (("npx", "-y", "a"), {"A": "b"})
    else:
        assert (found.url, found.headers) == ("https://x/mcp", {"A": "b"})
        assert found.transport in (None, "http", "sse")
