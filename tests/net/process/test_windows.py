"""Peculiarities of Windows: batch files, PATHEXT, ``cmd.exe``, folders and messages of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from mcpclient.errors import CommandNotFound
from mcpclient.net.process.server_process import spawn
from tests.net.process_helpers import Recorder

pytestmark = pytest.mark.needs_windows

REPORT = """
import ctypes, json, os, sys
window = ctypes.WinDLL("kernel32").GetConsoleWindow()
shown = bool(window and ctypes.WinDLL("user32").IsWindowVisible(window))
seen = {"arguments": sys.argv[1:], "folder": os.getcwd(), "name": os.environ.get("NAME")}
print(json.dumps({**seen, "window": shown}))
"""

# Each is one argument; %NAME% and !NAME! are variables to cmd.exe, the others end or join words.
ARGUMENTS = [
    "plain",
    "two words",
    "",
    'a "quoted" word',
    "%NAME%",
    "100%",
    "!NAME!",
    "a&b|c<d>e^f(g)",
    "ends with \\",
    'ends with \\"',
    "--option=ü 世界",
    "*.py",
]


def seen_by(command: list[str], **options: object) -> dict[str, object]:
    """Start a server that reports its arguments."""

    async def main() -> dict[str, object]:
        recorder = Recorder()
        server = await spawn(command, recorder, **options)  # type: ignore[arg-type]
        await recorder.end()
        await server.stop()
        seen: dict[str, object] = json.loads(bytes(recorder.data))
        return seen

    return asyncio.run(main())


@pytest.fixture
def shims(tmp_path: Path) -> Path:
    """A folder with ``tool.cmd``, as npm makes it: it hands all its arguments to a program."""
    folder = tmp_path / "shims of npm & co"
    folder.mkdir()
    script = folder / "report.py"
    script.write_text(REPORT, "utf-8")
    line = f'@ECHO off\r\nSETLOCAL\r\n"{sys.executable}" -X utf8 "%~dp0report.py" %*\r\n'
    (folder / "tool.cmd").write_bytes(line.encode())
    # npm puts a shell script beside it, which Windows must not be given.
    (folder / "tool").write_text("#!/bin/sh\n")
    return folder


def test_arguments_reach_a_program_as_they_are() -> None:
    """F-STD-6"""
    seen = seen_by([sys.executable, "-X", "utf8", "-c", REPORT, *ARGUMENTS])
    assert seen["arguments"] == ARGUMENTS
    assert not seen["window"]


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_arguments_reach_what_a_batch_file_runs_as_they_are(shims: Path, argument: str) -> None:
    """F-STD-6: through the system's cmd.exe, found by its name without an extension."""
    path = os.pathsep.join((str(shims), os.environ["PATH"]))
    seen = seen_by(["tool", "first", argument], env={"PATH": path, "NAME": "expanded"})
    assert seen["arguments"] == ["first", argument]
    assert not seen["window"]


def test_a_server_in_a_folder_with_a_long_name_of_many_letters(tmp_path: Path) -> None:
    """F-STD-1: outside of every code page, and in the environment."""
    folder = tmp_path / "ü 世界 &% long" / ("x" * 60)
    folder.mkdir(parents=True)
    command = [sys.executable, "-X", "utf8", "-c", REPORT]
    seen = seen_by(command, cwd=folder, env={"NAME": "Ünï 世界"})
    assert os.path.samefile(str(seen["folder"]), folder)
    assert seen["name"] == "Ünï 世界"


def test_a_shell_script_beside_nothing_else_is_not_run(shims: Path) -> None:
    """F-STD-6 F-STD-7: CreateProcess would fail with a riddle."""
    (shims / "tool.cmd").unlink()
    with pytest.raises(CommandNotFound, match="cannot run this file by itself"):
        seen_by(["tool"], env={"PATH": str(shims)})
