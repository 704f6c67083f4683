"""The inputs of a configuration file, asked for in the terminal."""

from __future__ import annotations

import io
import json
import signal
import sys
from pathlib import Path
from typing import Literal

import pytest

from mcpclient.cli.configured import ask_for_input
from mcpclient.cli.main import main
from mcpclient.entries.variables import InputSpec
from mcpclient.net.login.storage import kept_answer
from mcpclient.net.login.terminal import Terminal
from tests.cli import in_process
from tests.cli.terminal import terminal

SHOWS = (
    "import os, sys; zone, key = os.environ['ZONE'], os.environ.get('KEY')\n"
    "sys.exit(f'zone {zone}, key {key == \"s3cret\"}')"
)
FILE = {
    "inputs": [
        {"id": "zone", "type": "pickString", "options": ["UTC", "CET"], "default": "UTC"},
        {"id": "key", "type": "promptString", "description": "The key", "password": True},
        {"id": "other", "type": "promptString", "description": "of another server"},
    ],
    "servers": {
        "a": {
            "command": sys.executable,
            "args": ["-c", SHOWS],
            "env": {"ZONE": "${input:zone}", "KEY": "${input:key}"},
        },
        "b": {"command": "x", "args": ["${input:other}"]},
    },
}


@pytest.fixture
def file(nothing_configured: Path) -> str:
    path = nothing_configured / "mcp.json"
    path.write_text(json.dumps(FILE))
    return str(path)


@pytest.mark.needs_posix
@pytest.mark.quick_rows(1)
@pytest.mark.parametrize(("typed", "zone"), [("2", "CET"), ("", "UTC")])
def test_what_the_named_server_needs_is_asked_for(typed: str, zone: str, file: str) -> None:
    """F-MANY-8: with its choices; a password is not shown, and an empty answer is the default."""
    with terminal("tools", "a", "--config", file) as session:
        session.reply("2. CET", f"{typed}\n")
        session.wait_for("The key:")
        session.reply("is not shown)", "s3cret\n")
        assert session.end() == 3
    assert f"zone {zone}, key True" in session.shown
    assert "s3cret" not in session.shown
    assert "of another server" not in session.shown


@pytest.mark.parametrize("command", ["tools", "doctor", "inspect", "shell", "stubs"])
def test_ctrl_c_ends_the_question(command: str, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-3: also where the command makes its own connection: no event loop holds it back."""

    def press() -> str:
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("Ctrl-C is without effect")

    monkeypatch.setattr(sys, "stdin", in_process.Terminal())
    monkeypatch.setattr(sys, "stderr", in_process.Terminal())
    monkeypatch.setattr("builtins.input", press)
    assert main([command, "a", "--config", file]) == 130


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("2", "CET"), ("3", "3"), ("²", "²"), ("other", "other"), ("", None), (None, None)],
)
def test_an_answer(typed: str | None, answer: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-MANY-8: a choice by its number, or anything else; None where there is no answer."""

    def read() -> str:
        if typed is None:
            raise EOFError
        return typed

    shown = io.StringIO()
    monkeypatch.setattr("builtins.input", read)
    spec = InputSpec("zone", kind="pickString", default="UTC", choices=("UTC", "CET"))
    assert ask_for_input(spec, Terminal(io.StringIO(), shown)) == answer
    assert shown.getvalue() == "zone [UTC]:\n  1. UTC\n  2. CET\n"


@pytest.mark.parametrize(
    ("typed", "need", "kept"),
    [("2", "required", "CET"), ("", "required", None), ("", "optional", "")],
)
def test_an_answer_is_kept(
    typed: str,
    need: Literal["required", "optional"],
    kept: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-MANY-18: an empty one only where the input may stay empty."""
    monkeypatch.setenv("MCPCLIENT_CREDENTIALS", str(tmp_path / "credentials.json"))
    monkeypatch.setattr("builtins.input", lambda: typed)
    spec = InputSpec("zone", choices=("UTC", "CET"), need=need, kept="s.zone")
    assert ask_for_input(spec, Terminal(io.StringIO(), io.StringIO())) == (kept or None)
    assert kept_answer("s.zone") == kept


def test_where_nobody_can_be_asked(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """F-MANY-8: defaults count, and inputs without one are reported."""
    assert main(["tools", "a", "--config", file]) == 3
    errors = capsys.readouterr().err
    assert "zone UTC, key False" in errors
    assert "a.env.KEY: ${input:key} has no value, so KEY is left out (it is asked for" in errors
    assert "input:other" not in errors
