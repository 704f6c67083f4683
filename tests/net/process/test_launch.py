"""Finding and starting commands on POSIX, and the errors when that fails."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mcpclient.errors import CommandNotFound, ConnectFailed, UsageError
from mcpclient.net.process.launch import launch
from tests.support.tables import each_row

pytestmark = pytest.mark.needs_posix


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a program, a plain file, a folder, and two programs that cannot run."""
    (tmp_path / "bin").mkdir()
    for name, text in {
        "program": "#!/bin/sh\necho $0 $PWD $1\n",
        "bin/inner": "#!/bin/sh\n",
        "bin/orphaned": "#!/no/such/interpreter\n",
        "bin/nonsense": "\x01\x02",
    }.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "bin" / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nothing", "no such command"),
        ("bin/nothing", "no such command"),
        ("plain", "bin/plain is not executable"),
        ("./bin/plain", "bin/plain is not executable"),
        ("folder", "bin/folder is a directory"),
        ("bin/folder", "bin/folder is a directory"),
        ("orphaned", "the interpreter or loader it asks for does not exist"),
        ("nonsense", "not a program"),
    ],
)
def test_what_cannot_run_is_named_with_the_reason_and_the_path(
    folder: Path, name: str, reason: str
) -> None:
    """F-STD-7"""
    search_path = f"/nowhere:{folder}/bin"
    with pytest.raises(CommandNotFound, match=reason) as raised:
        launch([name, "argument"], {"PATH": search_path}, folder)
    assert raised.value.command == [name, "…"]  # an argument may be a key
    assert raised.value.search_path == search_path
    assert name in str(raised.value)
    was_searched_for = "/" not in name
    assert (search_path in str(raised.value)) is was_searched_for


@each_row("command", ["npx server", b"npx", [], [""], ["sh", 3], ["sh", None], ["sh", "a\0b"]])
def test_what_is_no_command_is_refused(command: Any) -> None:
    """F-STD-7"""
    with pytest.raises(UsageError):
        launch(command, {}, None)


def test_other_refusals_of_the_system_are_passed_on() -> None:
    """F-STD-7: here, arguments larger than any system takes."""
    command: Sequence[str] = ["sh", "-c", ":", *["x" * 100_000] * 100]
    with pytest.raises(ConnectFailed, match="cannot connect to sh") as raised:
        launch(command, {}, None)
    assert isinstance(raised.value.attempts[0], OSError)


def test_the_server_sees_its_name_its_directory_and_a_session_of_its_own(folder: Path) -> None:
    """F-STD-1 F-STD-2"""
    source = "import os, sys; print(os.getcwd(), os.getsid(0), sorted(os.environ))"
    env = {"KEY": "value", "LC_ALL": "C"}
    with launch([sys.executable, "-I", "-S", "-c", source], env, folder) as process:
        output, _ = process.communicate()
    assert output.decode().split()[:2] == [os.path.realpath(folder), str(process.pid)]
    assert b"['KEY', 'LC_ALL']" in output
    with launch(["./program", "one"], env, folder) as process:
        output, _ = process.communicate()
    assert output.decode().split() == [f"{folder}/./program", str(folder), "one"]


def test_on_windows_the_plan_is_carried_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-STD-6"""
    starts: list[tuple[object, dict[str, object]]] = []
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os.path, "isfile", lambda path: path == "C:\\Tools\\npx.cmd")
    monkeypatch.setattr(subprocess, "Popen", lambda line, **options: starts.append((line, options)))
    launch(["npx", "-y"], {"PATH": "C:\\Tools", "COMSPEC": "C:\\cmd.exe"}, None)
    [(line, options)] = starts
    assert str(line).startswith('"C:\\cmd.exe" /d') and options["executable"] == "C:\\cmd.exe"
    assert options["creationflags"] and options["env"]
