"""Entries of files as servers, judged and judged again: F-SAFE-1, F-SAFE-3."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcpclient import Config, ServerConfig, load_config
from mcpclient.entries.variables import InputSpec
from mcpclient.errors import UsageError
from tests.entries.bundles.making import manifest, write_bundle


@pytest.fixture
def file(home: Path) -> Path:
    return home / ".claude.json"


def write(file: Path, inputs: Any = None, **servers: Any) -> None:
    file.write_text(json.dumps({"mcpServers": servers, "inputs": inputs}))


def loaded(file: Path, **options: Any) -> ServerConfig:
    config: Config = load_config(start=file.parent, scopes=["user"], **options)
    return config.servers["s"]


def again(server: ServerConfig, *, on: bool = False) -> ServerConfig:
    assert server.judge_again is not None
    return server.judge_again(server, on)


def test_what_became_of_the_file(file: Path) -> None:
    """F-SAFE-1: an entry that has gone is denied; what cannot be read is an error."""
    write(file, s={"command": "x", "env": {"A": "SECRET"}})
    server = loaded(file)
    write(file, other={"command": "x"})
    gone = again(server)
    assert (gone.state, gone.options) == ("denied", {})
    write(file, s={"comand": "x"})
    with pytest.raises(UsageError, match="command or a url"):
        again(server)
    file.write_text("{")
    with pytest.raises(UsageError, match="not JSON"):
        again(server)
    file.unlink()
    with pytest.raises(UsageError, match="no such file"):
        again(server)
    write(file, s={"command": "x"})
    assert again(gone).state == "ready"


def test_inputs_are_asked_for_once_as_long_as_the_file_stays(file: Path) -> None:
    """F-MANY-8: not for each server, nor at each start."""
    asked: list[str] = []

    def ask(spec: InputSpec) -> str:
        asked.append(spec.id)
        return "typed"

    entry = {"command": "x", "args": ["${input:a}"]}
    write(file, inputs=[{"id": "a"}], s=entry, t=entry)
    server = loaded(file, inputs=ask)
    assert again(server).target == again(server).target == ["x", "typed"]
    assert asked == ["a"]
    write(file, inputs=[{"id": "a", "default": "b"}], s=entry)
    assert again(server).target == ["x", "typed"]
    assert asked == ["a", "a"]


def test_what_the_program_changed_stays(file: Path) -> None:
    """F-SAFE-1: its filters and options, over the entry's own as they are now."""
    write(file, s={"command": "x", "env": {"A": "old"}, "tool_timeout_sec": 1})
    issued = loaded(file)
    mine = replace(
        issued, name="t", exclude=("a",), options={**issued.options, "timeout": 7, "stderr": "x"}
    )
    write(file, s={"command": "x", "env": {"A": "new"}, "tool_timeout_sec": 1})
    fresh = again(mine)
    assert (fresh.name, fresh.exclude) == ("t", ("a",))
    assert fresh.options == {"env": {"A": "new"}, "timeout": 7, "stderr": "x"}


def test_what_was_put_over_an_entry_without_its_options_yields_to_them(file: Path) -> None:
    """F-SAFE-1: a disabled entry's options are not known before it is switched on."""
    headers = {"authorization": "Bearer x"}
    write(file, s={"url": "https://x/mcp", "headers": headers, "disabled": True})
    issued = loaded(file)
    assert issued.options == {}
    mine = replace(issued, options={"auth": "login", "stderr": "x"})
    assert again(mine, on=True).options == {"headers": headers, "stderr": "x"}
    assert again(mine).options == {"auth": "login", "stderr": "x"}


def test_a_helper_for_headers_is_part_of_the_options(file: Path) -> None:
    """F-MANY-8"""
    write(file, s={"url": "https://x/mcp", "headersHelper": "./print", "headers": {"A": "b"}})
    helper = loaded(file).options["headers"]
    assert (helper.words[-1], helper.fixed) == ("./print", {"A": "b"})


def test_an_entry_with_a_bundle(file: Path) -> None:
    """F-MANY-18: it is unpacked once it is ready; its digest is part of the entry."""
    path = write_bundle(file.parent / "x.mcpb")
    write(file, s={"bundle": "x.mcpb", "disabled": True})
    server = loaded(file)
    assert server.bundle is not None
    assert (server.state, server.bundle.path) == ("disabled", path)
    assert not Path(server.bundle.folder).exists()
    ready = again(server, on=True)
    assert Path(server.bundle.folder, "server", "main.py").exists()
    assert ready.options["cwd"] == server.bundle.folder
    assert ready.raw["sha256"] == server.bundle.sha256
    write_bundle(file.parent / "x.mcpb", manifest(version="2.0.0"))
    assert loaded(file).fingerprint() != server.fingerprint()
