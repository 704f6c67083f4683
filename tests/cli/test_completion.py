"""``completion``: the scripts, tried in the shells that are on this machine."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mcpclient.cli.commands import COMMANDS, command_named
from mcpclient.cli.features import remember
from mcpclient.cli.main import main
from mcpclient.cli.parsing import parser_of
from mcpclient.protocol.types import Tool
from mcpclient.sessions import sockets
from tests.cli.terminal import in_terminal, own_terminal
from tests.support.subprocesses import TOP

Capture = pytest.CaptureFixture[str]

# What each shell offers after some words, one on each line.
ASK = {
    "bash": """
        eval "$(mcpclient completion bash)"; compopt() {{ :; }}
        COMP_LINE="{words} {last}"; COMP_POINT=${{#COMP_LINE}}; _mcpclient
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """,
    "zsh": """
        compdef() {{ }}; _files() {{ }}
        compadd() {{ while [[ $1 != -- ]]; do shift; done; shift; print -l -- $@ }}
        eval "$(mcpclient completion zsh)"
        words=({words} "{last}"); CURRENT={number}; _mcpclient
    """,
    "fish": """
        mcpclient completion fish | source
        complete -C "{words} {last}" | string replace -r '\\t.*' ''
    """,
}


def called(*words: str) -> argparse.Namespace:
    """The options of a call of a tool; one word names no server."""
    options = parser_of(command_named("call")).parse_args(words)
    options.named = [*words[:-1]]
    return options


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


def program_of(shell: str) -> str:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    return program


def offered(shell: str, line: str, environment: dict[str, str]) -> list[str]:
    *words, last = line.split(" ")
    script = ASK[shell].format(words=" ".join(words), last=last, number=len(words) + 1)
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    command = [program_of(shell), *flags, "-c", script]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
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
    assert offered(shell, "mcpclient auth l", environment) == ["login", "logout"]
    assert "servers" in offered(shell, "mcpclient help ser", environment)
    assert {"ask", "accept"} <= set(offered(shell, "mcpclient tools demo --elicit ", environment))


# How a shell is started in a terminal, and made ready.
INTERACTIVE = {
    "bash": (["--norc", "--noprofile", "-i"], 'eval "$(mcpclient completion bash)"'),
    "zsh": (
        ["-f", "-i"],
        'autoload -U compinit; compinit -u -D; eval "$(mcpclient completion zsh)"',
    ),
    "fish": (["--no-config", "-i"], "mcpclient completion fish | source"),
}
# The input before TAB, and the name of a server or a file that it completes to.
HOSTILE = {
    "a command": ("ka", "ka$(touch evil)"),
    "an old command": ("kb", "kb`touch evil`"),
    "an end": ("kc", "kc;touch evil"),
    "quotes": ("kd", "kd'\"$(touch evil)\"'"),
    "a redirection": ("ke", "ke>evil"),
    "words": ("kf", "kf  b"),
    "a pattern": ("kg", "kg*"),
    "braces": ("kh", "kh{a,b}${HOME}"),
    "a second line": ("ki", "ki&&touch evil"),
}
SHOWN = "ready-" + "now"


def typed(shell: str, keys: list[str], environment: dict[str, str], folder: Path) -> str:
    """Return the screen of a user who types into a shell in a terminal."""
    flags, ready = INTERACTIVE[shell]
    command, environ = [program_of(shell), *flags], {**environment, "TERM": "dumb", "PS1": "$ "}
    with in_terminal(command, environ, cwd=folder, preexec_fn=own_terminal) as session:
        for line in (f"{ready}\r", *keys):
            session.type(line)
            if line.endswith("\r"):
                session.type(f"echo {SHOWN[:6]}'{SHOWN[6:]}'\r")
                session.wait_for(SHOWN)
        return session.shown


def note_words(environment: dict[str, str], commands: str, folder: Path) -> None:
    """Have these commands only write down their words, into the file ``given`` of the folder."""
    program = Path(environment["PATH"].partition(os.pathsep)[0]) / "mcpclient"
    program.write_text(
        f"""#!/bin/sh
case $1 in {commands}) shift; printf '%s\\n' "$@" >> "{folder}/given" ;;
*) exec "{sys.executable}" -m mcpclient "$@" ;; esac
"""
    )


@pytest.mark.slow
@pytest.mark.needs_posix
@pytest.mark.parametrize("kind", ["servers", "files"])
@pytest.mark.parametrize("shell", INTERACTIVE)
def test_a_name_that_is_completed_runs_nothing(
    shell: str, kind: str, environment: dict[str, str], tmp_path: Path
) -> None:
    """F-SAFE-6: TAB in a cloned repository neither runs its names nor types a command."""
    folder = tmp_path / "cloned"
    folder.mkdir()
    note_words(environment, "tools|call", tmp_path)
    names = [name for _, name in HOSTILE.values()]
    if kind == "servers":
        servers = {name: {"command": "x"} for name in [*names, "-k", "--k=$(touch evil)"]}
        (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    else:
        for name in names:
            (folder / name).write_text("")
    before = "mcpclient tools " if kind == "servers" else "mcpclient call x "
    keys = []
    for beginning, _ in HOSTILE.values():
        keys += [f"{before}{beginning}", "\t", "\r"]
    seen = typed(shell, keys, environment, folder)
    assert not (folder / "evil").exists(), seen
    given = (tmp_path / "given").read_text().splitlines()
    assert [line for line in given if line != "x"] == names, seen


PAINT = Tool(
    {
        "name": "paint",
        "inputSchema": {
            "properties": {
                "colour": {"enum": ["red", "green"]},
                "$(touch evil)": {"type": "string"},
            }
        },
    }
)


@pytest.mark.slow
@pytest.mark.needs_posix
@pytest.mark.parametrize("shell", INTERACTIVE)
def test_a_shell_completes_tools_arguments_and_values(
    shell: str, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-13, F-SAFE-6: of the tools that were listed last, without asking the server."""
    note_words(environment, "call", tmp_path)
    monkeypatch.chdir(tmp_path)
    remember(called("x"), [PAINT])  # of a server without a name
    remember(called("demo", "paint"), [PAINT])
    keys = ["mcpclient call de", "\t", "pa", "\t", "co", "\t", "r", "\t", "\r"]
    seen = typed(shell, keys, environment, tmp_path)
    assert (tmp_path / "given").read_text().split() == ["demo", "paint", "colour=red"], seen
    assert not (tmp_path / "evil").exists(), seen


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["bash", "mcpclient call demo paint colour=g"], "green\n"),
        (["bash", "mcpclient call demo paint colour="], "red\ngreen\n"),
        (["zsh", "mcpclient call demo paint colour=g"], "colour=green\n"),
        (["fish", "mcpclient call demo paint colour=g"], "colour=green\n"),
        (["zsh", "mcpclient call demo no-tool "], ""),
        (["zsh", "mcpclient nothing "], ""),
        (["zsh", "mcpclient help bri"], "bridge\n"),
        (["zsh", "mcpclient remove bri"], ""),
        (["zsh", "mcpclient call demo -- "], ""),
        (["zsh", "mcpclient call --no-such-option x --config /no/file "], ""),
        (["zsh", "mcpclient ping demo "], ""),
        (["zsh", "mcpclient call evil "], "paint\n"),
        (["zsh", "mcpclient call evil paint "], "colour=\n$(touch evil)=\n"),
        (["zsh", "mcpclient call evil paint --t"], "--timeout\n--transport\n--trace\n"),
        (["zsh", "mcpclient call evil paint colour="], "colour=red\ncolour=green\n"),
        (["zsh"], ""),
    ],
)
@pytest.mark.usefixtures("nothing_configured")
def test_what_a_script_is_told(arguments: list[str], found: str, capsys: Capture) -> None:
    """F-SHOW-13: nothing where something is wrong, since the user is typing."""
    for _ in range(2):
        remember(called("demo", "paint"), [PAINT])
    properties = {**PAINT.input_schema["properties"], "--trace=F": {}}
    properties["colour"] = {"enum": ["@/etc/passwd", "red", "green"]}  # @FILE would be read
    evil = Tool({"name": "paint", "inputSchema": {"properties": properties}})
    remember(called("evil", "paint"), [Tool({**evil.raw, "name": "--model=sh"}), evil])
    assert main(["__complete", *arguments]) == 0
    assert capsys.readouterr().out == found


@pytest.mark.usefixtures("nothing_configured")
def test_open_sessions_are_servers(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """F-SHOW-13: and their tools are completed like those on any server."""
    monkeypatch.setattr(sockets, "session_names", lambda environ: ["browser"])
    remember(called("@browser", "paint"), [PAINT])
    assert main(["__complete", "zsh", "mcpclient tools @"]) == 0
    assert main(["__complete", "zsh", "mcpclient call @browser p"]) == 0
    assert capsys.readouterr().out == "@browser\npaint\n"


@pytest.mark.slow
@pytest.mark.needs_posix
@pytest.mark.parametrize("shell", INTERACTIVE)
def test_names_that_are_listed_run_nothing(
    shell: str, environment: dict[str, str], tmp_path: Path
) -> None:
    """F-SAFE-6: not while all of them are drawn either, and no escape sequence is."""
    servers = [*(name for _, name in HOSTILE.values()), "k\x1b]0;evil\x07", "k\u202eevil", "-k"]
    written = {"mcpServers": {name: {"command": "x"} for name in servers}}
    (tmp_path / ".mcp.json").write_text(json.dumps(written))
    seen = typed(shell, ["mcpclient tools ", "\t", "\t", "\x15\r"], environment, tmp_path)
    assert not (tmp_path / "evil").exists(), seen
    assert "\x1b]0;evil" not in seen
    assert "\u202e" not in seen
