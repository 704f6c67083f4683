"""``completion``: the scripts, tried in the shells that are on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mcpclient.cli.commands import COMMANDS
from mcpclient.cli.completion import script_for
from mcpclient.cli.main import main
from tests.support.subprocesses import TOP

Capture = pytest.CaptureFixture[str]

# What each shell offers after some words, one on each line.
ASK = {
    "bash": """
        eval "$(mcpclient completion bash)"
        COMP_WORDS=({words} "{last}"); COMP_CWORD={count}; _mcpclient
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """,
    "zsh": """
        compdef() {{ }}; _files() {{ }}
        compadd() {{ shift; print -l -- $@ }}
        _describe() {{ print -l -- ${{${{(P)2}}%%:*}} }}
        eval "$(mcpclient completion zsh)"
        words=({words} "{last}"); CURRENT={number}; _mcpclient
    """,
    "fish": """
        mcpclient completion fish | source
        complete -C "{words} {last}" | string replace -r '\\t.*' ''
    """,
}


@pytest.fixture
def environment(nothing_configured: Path) -> dict[str, str]:
    """An environment in which there is a program of this name, and one server."""
    folder = nothing_configured / "bin"
    folder.mkdir()
    program = folder / "mcpclient"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mcpclient "$@"\n')
    program.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    assert main(["add", "demo", "--scope", "user", "https://h.example/mcp"]) == 0
    return {**os.environ, "PATH": path, "PYTHONPATH": str(TOP)}


def offered(shell: str, line: str, environment: dict[str, str]) -> list[str]:
    *words, last = line.split(" ")
    script = ASK[shell].format(
        words=" ".join(words), last=last, count=len(words), number=len(words) + 1
    )
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    run = subprocess.run(
        [program, *flags, "-c", script], env=environment, capture_output=True, text=True, timeout=60
    )
    assert run.stderr == ""
    return run.stdout.split()


@pytest.mark.slow
@pytest.mark.needs_posix
@pytest.mark.parametrize("shell", ASK)
def test_a_shell_completes_commands_options_and_servers(
    shell: str, environment: dict[str, str]
) -> None:
    """F-SHOW-1"""
    assert set(offered(shell, "mcpclient ", environment)) >= {*COMMANDS}
    assert "--unchecked" in offered(shell, "mcpclient call --", environment)
    assert "--unchecked" not in offered(shell, "mcpclient tools --", environment)
    assert "demo" in offered(shell, "mcpclient tools ", environment)


def test_the_script_is_printed(capsys: Capture) -> None:
    """F-SHOW-1"""
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out == script_for("bash")


@pytest.mark.parametrize("words", [[], ["ksh"], ["bash", "zsh"]])
def test_shells_that_are_not_known(words: list[str], capsys: Capture) -> None:
    """F-SHOW-2"""
    assert main(["completion", *words]) == 2
    assert "one of: bash, zsh, fish" in capsys.readouterr().err
