"""Where a server comes from, in words."""

from __future__ import annotations

import json
from pathlib import Path

from mcpclient.gate.load import load_config

SERVERS = {
    "github": {
        "command": "npx",
        "args": ["-y", "@modelcontextprotocol/server-github", "--key", "SECRET"],
        "env": {"GITHUB_TOKEN": "${TOKEN}", "B": "SECRET"},
        "timeout": 5,
        "include": ["a*"],
    },
    "slack": {
        "url": "https://u:SECRET@mcp.slack.com/v1?key=SECRET",
        "headers": {"Authorization": "SECRET"},
        "oauth": {"clientId": "SECRET"},
    },
    "broken": {"comand": "SECRET"},
}


def test_each_entry_is_told_with_its_place_and_no_secret(tmp_path: Path) -> None:
    """F-MANY-7: explain never holds a value of a variable or of a header."""
    path = tmp_path / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": SERVERS}, indent=1))
    config = load_config(path, env={"TOKEN": "SECRET"})
    texts = {name: config.explain(name) for name in SERVERS}
    assert not any("SECRET" in text for text in texts.values())
    assert texts["github"].splitlines() == [
        "github",
        f"  from: {path}:3 (scope file, read as a file of claude-code)",
        "  state: ready",
    ]
    assert texts["broken"].endswith("  state: not used, a server needs a command or a url")


def test_no_name_draws_over_what_the_user_reads(tmp_path: Path) -> None:
    """F-MANY-7: a name in one line may still hold signs that a terminal obeys."""
    name = "a\x9b2K\u202e"
    path = tmp_path / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": {name: {"command": "x"}}}))
    text = load_config(path).explain(name)
    assert "\x9b" not in text
    assert "\u202e" not in text
