"""The command line where only Windows has it: Ctrl-C, code pages, and no stdout at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.subprocesses import TOP

pytestmark = pytest.mark.needs_windows

CREATE_NO_WINDOW = 0x08000000
SERVER = ["--", sys.executable, str(TOP / "mcpclient" / "testing" / "demo_server.py")]
# It writes each request to stderr.
REPORTING = ["--", sys.executable, str(TOP / "tests" / "cli" / "reporting_server.py")]

# Ctrl-C reaches whatever shares a console; the program that presses it must not hear it itself.
PRESS_CTRL_C = """
import ctypes, sys
kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
kernel32.FreeConsole()
assert kernel32.AttachConsole(int(sys.argv[1])), ctypes.get_last_error()
assert kernel32.SetConsoleCtrlHandler(None, True)
assert kernel32.GenerateConsoleCtrlEvent(0, 0), ctypes.get_last_error()
"""


def start(*words: str, **environment: str) -> subprocess.Popen[bytes]:
    """Start a command in a hidden console of its own."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "mcpclient", *words],
        cwd=TOP,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        creationflags=CREATE_NO_WINDOW,
    )


def test_ctrl_c_in_a_console_cancels_the_call() -> None:
    """F-SHOW-2, F-SHOW-3: exit code 130, and nothing but a word."""
    with start("call", "count", "to=1", "seconds=600", *REPORTING) as process:
        assert process.stderr is not None
        assert any(b"tools/call" in line for line in process.stderr)
        subprocess.run([sys.executable, "-c", PRESS_CTRL_C, str(process.pid)], check=True)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, (output, errors)
    assert output == b""
    assert errors.replace(b"\r", b"").startswith(b"cancelled\n")
    assert b"Traceback" not in errors


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_what_a_code_page_lacks_is_written_out(as_json: bool) -> None:
    """F-SHOW-2: a pipe gets the code page of this Windows, but for a setting of Python."""
    words = ["call", "echo", "message=é☃ 世界", *(["--json"] if as_json else []), *SERVER]
    with start(*words, PYTHONUTF8="0", PYTHONIOENCODING="") as process:
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, b"")
    if as_json:
        assert json.loads(output)["content"][0]["text"] == "é☃ 世界"
        return
    ask = "import sys; print(sys.stdout.encoding)"
    environment = {**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": ""}
    answer = subprocess.run([sys.executable, "-c", ask], env=environment, stdout=subprocess.PIPE)
    encoding = answer.stdout.decode().strip()
    expected = "é☃ 世界".encode(encoding, "backslashreplace")
    assert output.rstrip() == expected


def test_a_program_without_a_window_has_no_stdout_at_all() -> None:
    """F-SHOW-2: as under ``pythonw``; the exit code tells what happened."""
    program = "import sys; sys.stdout = sys.stderr = None; from mcpclient.cli.main import main"
    run = subprocess.run(
        [sys.executable, "-c", f"{program}; sys.exit(main({['ping', *SERVER]}))"],
        cwd=TOP,
        capture_output=True,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (2, b"", b"")
