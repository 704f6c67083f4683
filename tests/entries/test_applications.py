"""F-MANY-7: which file belongs to which application, and where its servers stand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mcpclient.entries.applications import find_servers, kind_of, project_of
from mcpclient.gate.load import load_config
from tests.support.tables import each_row

KINDS = {
    "/p/.mcp.json": ("claude-code", "mcpServers"),
    "/h/.claude.json": ("claude-code", "mcpServers"),
    "/etc/claude-code/managed-mcp.json": ("claude-code", "mcpServers"),
    "/h/Library/Claude/claude_desktop_config.json": ("claude-desktop", "mcpServers"),
    "/p/.vscode/mcp.json": ("vscode", "servers"),
    r"C:\Users\u\AppData\Roaming\Code\User\mcp.json": ("vscode", "servers"),
    "/p/x.code-workspace": ("vscode", "settings.mcp.servers"),
    "/p/.cursor/mcp.json": ("cursor", "mcpServers"),
    "/h/.codeium/windsurf/mcp_config.json": ("windsurf", "mcpServers"),
    "/h/.gemini/settings.json": ("gemini", "mcpServers"),
    "/h/.codex/config.toml": ("codex", "mcp_servers"),
    "/p/opencode.jsonc": ("opencode", "mcp"),
    "/p/.agents/mcp.json": ("opencode", ""),
    "/p/.zed/settings.json": ("zed", "context_servers"),
    "/p/.roo/mcp.json": ("roo", "mcpServers"),
    "/x/cline_mcp_settings.json": ("cline", "mcpServers"),
    "/p/.continue/mcpServers/a.yaml": ("continue", "mcpServers"),
    "/p/crush.json": ("crush", "mcp"),
    "/p/.crush.json": ("crush", "mcp"),
    "/h/.config/goose/config.yaml": ("goose", "extensions"),
    "/p/librechat.yaml": ("librechat", "mcpServers"),
    r"C:\Users\u\AppData\Roaming\Block\goose\config\config.yaml": ("goose", "extensions"),
    "/p/servers.json": ("mcpclient", "mcpServers"),
    "notmcp_config.json": ("mcpclient", "mcpServers"),
    "/p/my.cursor/mcp.json": ("mcpclient", "mcpServers"),
}


@each_row(("path", "expected"), KINDS.items())
def test_a_file_is_known_by_its_name(path: str, expected: tuple[str, str]) -> None:
    """F-MANY-7"""
    kind = kind_of(path)
    assert (kind.application, ".".join(kind.key)) == expected


ENTRY = {"a": {"command": "x"}}
FOUND: dict[str, tuple[str, Any, str, str]] = {
    "its own key": ("/p/.vscode/mcp.json", {"servers": ENTRY}, "servers", "vscode"),
    "another key": ("/p/.vscode/mcp.json", {"mcpServers": ENTRY}, "mcpServers", "vscode"),
    "a foreign key": ("/p/.cursor/mcp.json", {"servers": ENTRY}, "servers", "vscode"),
    "an unknown file": ("/p/x.json", {"context_servers": ENTRY}, "context_servers", "zed"),
    "nested": ("/p/x.json", {"mcp": {"servers": ENTRY}}, "mcp.servers", "vscode"),
    "OpenCode": ("/p/x.json", {"mcp": ENTRY}, "mcp", "opencode"),
    "the map itself": ("/p/.agents/mcp.json", {"$schema": "s", **ENTRY}, "", "opencode"),
    "OpenCode 2": ("/p/opencode.json", {"mcp": {"servers": ENTRY}}, "mcp.servers", "opencode"),
    "OpenCode 2, none": ("/p/opencode.json", {"mcp": {"servers": {}}}, "mcp.servers", "opencode"),
    "OpenCode, one of that name": (
        *("/p/opencode.json", {"mcp": {"servers": {"type": "local", "command": ["x"]}}}),
        *("mcp", "opencode"),
    ),
    "a bare map": ("/p/x.json", ENTRY, "", "mcpclient"),
    "empty": ("/p/.mcp.json", {"mcpServers": {}}, "mcpServers", "claude-code"),
    "no object": ("/p/.mcp.json", {"mcpServers": 3}, "mcpServers", "claude-code"),
}


@each_row(("path", "document", "key", "application"), FOUND.values())
def test_where_servers_stand(path: str, document: Any, key: str, application: str) -> None:
    """F-MANY-7: foreign shapes are read, by the rules of their own application."""
    found = find_servers(document, kind_of(path))
    assert found is not None
    assert (".".join(found.key), found.application.name) == (key, application)


@each_row(
    ("path", "document"),
    [
        ("/p/.mcp.json", {}),
        ("/p/.mcp.json", {"servers": {"a": 1}}),
        ("/h/.claude.json", {"theme": "dark"}),
        ("/p/x.json", {"author": {"url": "https://x"}, "name": "x"}),
        ("/p/.claude-plugin/plugin.json", {"mcpServers": "./.mcp.json"}),
        ("/p/x.json", []),
    ],
)
def test_no_servers(path: str, document: Any) -> None:
    assert find_servers(document, kind_of(path)) is None


def test_the_project_of_a_file() -> None:
    for path, project in {
        "/p/.mcp.json": "/p",
        "/p/.vscode/mcp.json": "/p",
        "/p/.kiro/settings/mcp.json": "/p",
        "/p/.continue/mcpServers/a.yaml": "/p",
        "/.hidden/p/.mcp.json": "/.hidden/p",
    }.items():
        assert project_of(path, kind_of(path)) == os.path.abspath(project)


SHAPES = {
    "Trae, whose folder is around its file": (
        ".trae/mcp.json",
        '{"mcpServers": {"a": {"command": "x", "args": ["${workspaceFolder}/d"]}}}',
    ),
    "Amp, whose key has a dot": (
        ".amp/settings.json",
        '{"amp.url": "u", "amp.mcpServers": {"a": {"command": "x", "includeTools": ["n_*"]}}}',
    ),
    "Augment's own file": (
        ".augment/settings.json",
        '{"mcpServers": {"a": {"command": "x", "type": "stdio", "useShellInterpolation": true}}}',
    ),
    "Augment in an editor, as a list": (
        "settings.json",
        '{"augment.advanced": {"mcpServers": [{"name": "a", "command": "x"}]}, "editor": 1}',
    ),
    "LibreChat, which counts in milliseconds": (
        "librechat.yaml",
        "interface:\n  mcpServers:\n    use: true\nmcpServers:\n  a:\n    command: x\n"
        "    timeout: 60000\n    initTimeout: 60000\n    chatMenu: false\n    startup: false\n"
        "    serverInstructions: true\n    iconPath: a.svg\n    requiresOAuth: false\n",
    ),
    "Goose, which writes null for what is not used": (
        "goose/config.yaml",
        "extensions:\n  a:\n    cmd: x\n    args: null\n    envs: ~\n    env_keys: null\n"
        "    socket: null\n    bundled: Null\n    available_tools:\n    timeout: null\n"
        "    headers: null\n    uri: null\n    type: stdio\n    enabled: true\n",
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_of_an_application(name: str, tmp_path: Path) -> None:
    """F-MANY-8: read without a warning."""
    ending, content = SHAPES[name]
    path = tmp_path / ending
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    config = load_config(path, env={})
    assert config.problems == []
    command = ["x", f"{tmp_path.resolve()}/d"] if "trae" in ending else ["x"]
    assert config.servers["a"].target == command
