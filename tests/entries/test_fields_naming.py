"""The ways to name tools: F-MANY-11, F-MANY-15."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

from mcpclient.entries.fields import NAMING_STYLES, NamingStyle
from mcpclient.gate.load import load_config
from mcpclient.manager.naming import ToolNames


def test_every_way_is_known_everywhere() -> None:
    assert get_args(NamingStyle) == NAMING_STYLES
    found = set()
    for style in NAMING_STYLES:
        names = ToolNames(style, 64)
        names.assign("server", ["tool"])
        found.add(names.names_of("server")["tool"])
    assert len(found) == len(NAMING_STYLES)


def test_a_file_says_it_for_one_server(tmp_path: Path) -> None:
    """F-MANY-15"""
    path = tmp_path / "c.json"
    servers = {"a": {"command": "x", "naming": "tool"}, "b": {"command": "x"}}
    path.write_text(json.dumps({"mcpServers": servers}))
    config = load_config(path, env={})
    assert config.problems == []
    assert [config.servers[name].naming for name in "ab"] == ["tool", None]
