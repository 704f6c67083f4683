"""The command line as a whole, with a server process or over HTTP: output and exit codes."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mcpclient
from mcpclient.cli.main import main
from mcpclient.cli.screen import Screen
from tests.cli.in_process import Terminal
from tests.cli.odd_servers import BANNER_FIRST
from tests.support.subprocesses import TOP

SERVER = ["--", sys.executable, str(TOP / "mcpclient" / "testing" / "demo_server.py")]
REPORTING = ["--", sys.executable, str(Path(__file__).with_name("reporting_server.py"))]

Capture = pytest.CaptureFixture[str]


@pytest.mark.quick_rows(2)
@pytest.mark.parametrize("name", ["info", "ping", "prompts", "resources", "stubs", "tools"])
def test_every_plain_command_prints_one_json_document(name: str, capsys: Capture) -> None:
    """F-SHOW-1, F-SHOW-2"""
    assert main([name, "--json", *SERVER]) == 0
    out, errors = capsys.readouterr()
    assert json.loads(out)
    assert errors == ""


def test_options_may_stand_between_the_words(capsys: Capture) -> None:
    """F-SHOW-1"""
    words = ["--timeout", "20", "echo", "--json", "message=1", "--env", "A=1", "--env", "B=2"]
    assert main(["call", *words, *SERVER]) == 0
    assert json.loads(capsys.readouterr().out)["content"][0]["text"] == "1"


def test_a_tools_failure_exits_with_1(capsys: Capture) -> None:
    """F-SHOW-2: its text goes to stderr, its JSON to stdout."""
    for reason, said in (("no paper", "no paper"), ("", "the tool failed without a message")):
        assert main(["call", "fail", f"reason={reason}", *SERVER]) == 1
        assert capsys.readouterr() == ("", f"{said}\n")
    assert main(["call", "fail", "--json", *SERVER]) == 1
    out, errors = capsys.readouterr()
    assert json.loads(out)["isError"] is True
    assert errors == ""


def test_the_last_words_of_a_server_are_shown_once(capsys: Capture) -> None:
    """F-STD-7: live, or with ``--quiet`` in the error."""
    usage = ["--", sys.executable, "-c", "import sys; sys.exit('usage: nonsense')"]
    assert main(["tools", "--protocol-version", "2025-11-25", *usage]) == 3
    assert capsys.readouterr().err.count("usage: nonsense\n") == 1
    assert main(["tools", "--protocol-version", "2025-11-25", "--quiet", *usage]) == 3
    assert capsys.readouterr().err.count("usage: nonsense\n") == 1


def test_a_timeout_exits_with_124(capsys: Capture) -> None:
    """F-SHOW-2"""
    seconds = "2" if os.name == "posix" else "5"  # the server has to start within that, too
    words = ["call", "count", "to=1", "seconds=60", "--timeout", seconds]
    pinned = ["--protocol-version", "2025-11-25"]
    assert main([*words, *pinned, *SERVER]) == 124
    assert f"within {seconds} s" in capsys.readouterr().err


def test_a_resource_goes_into_a_pipe_as_it_is(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """F-SHOW-1"""
    assert main(["read", "demo://pixel", *SERVER]) == 0
    assert capfdbinary.readouterr().out.startswith(b"\x89PNG\r\n")


def test_a_terminal_gets_a_note_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-3"""
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["read", "demo://pixel", *SERVER]) == 0
    assert terminal.getvalue() == "[demo://pixel, image/png, 70 bytes]\n"


def test_what_the_server_writes_to_stderr_is_escaped_or_discarded(capsys: Capture) -> None:
    """F-SHOW-3, F-STD-4"""
    assert main(["call", "echo", "message=hi", *REPORTING]) == 0
    out, errors = capsys.readouterr()
    assert out == "hi\n"
    assert errors == ("\\x1b[2mserver/discover\n\\x1b[2mtools/list\n\\x1b[2mtools/call\n")
    assert main(["call", "echo", "message=hi", "--quiet", *REPORTING]) == 0
    assert capsys.readouterr() == ("hi\n", "")


@pytest.mark.parametrize("by", ["option", "environment"])
def test_debugging_shows_the_log(by: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-6"""
    monkeypatch.setenv("MCP_DEBUG", "true" if by == "environment" else "")
    handlers = list(logging.getLogger("mcpclient").handlers)
    assert main(["ping", *(["--debug"] if by == "option" else []), *BANNER_FIRST]) == 0
    lines = capsys.readouterr().err.splitlines()
    name = re.escape(Path(sys.executable).stem)
    assert re.match(rf"\[MCP:{name}\] connecting to ", lines[0])
    assert any(re.match(rf"\[MCP:{name}\] [\d-]+ [\d:,]+ [\w.]+: .*banner", line) for line in lines)
    assert any(
        re.match(r"\[MCP:.*connected \(transport: stdio, .* in \d+ms", line) for line in lines
    )
    assert any('capabilities: {"' in line for line in lines)
    assert logging.getLogger("mcpclient").handlers == handlers


def start(*words: str, stdout: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-m", "mcpclient", *words]
    return subprocess.Popen(command, cwd=TOP, text=True, stdout=stdout, stderr=subprocess.PIPE)


@pytest.mark.needs_posix
def test_ctrl_c_cancels_the_call_and_says_so() -> None:
    """F-SHOW-3, F-API-8: and the server is notified."""
    words = ["call", "count", "to=1", "seconds=60", "--json", *REPORTING]
    with start(*words, stdout=subprocess.PIPE) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "tools/call" in line:
                break
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "cancelled\n\\x1b[2mnotifications/cancelled\n"
    assert json.loads(out)["error"]["text"] == "cancelled"


def test_ctrl_c_while_it_is_still_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-3: the exit code, and no traceback of an import."""

    class Interrupting:
        def find_spec(self, *names: object) -> None:
            raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, f"{mcpclient.__name__}.cli.running", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting()])
    assert main(["tools", "x"]) == 130


@pytest.mark.needs_posix
def test_a_folder_that_was_deleted_meanwhile(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-2: said in a line, where the folder is needed."""
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    for words in (["servers"], ["ping", *SERVER], ["add", "x", "--", "y"]):
        assert main(words) == 2
        assert capsys.readouterr().err == "error: the current folder does not exist any more\n"
    for words in (["ping", *SERVER], ["tools", SERVER[2]], ["call", SERVER[2], "fail", "reason="]):
        assert main([*words[:1], "--cwd", "/", *words[1:]]) == (words[0] == "call")
    assert main(["__complete", "zsh", "mcpclient call demo "]) == 0


def test_ctrl_c_within_this_process(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-3: while the call waits, and while stdin is read."""
    say = Screen.say

    def say_and_interrupt(screen: Screen, text: str) -> None:
        say(screen, text)
        if "tools/call" in text:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Screen, "say", say_and_interrupt)
    assert main(["call", "count", "to=1", "seconds=60", *REPORTING]) == 130
    out, errors = capsys.readouterr()
    assert out == "" and "cancelled\n" in errors

    monkeypatch.setattr("sys.stdin", _InterruptedInput())
    assert main(["call", "echo", "-", "--json", *SERVER]) == 130
    assert json.loads(capsys.readouterr().out)["error"]["type"] == "KeyboardInterrupt"


class _InterruptedInput:
    def read(self) -> str:
        raise KeyboardInterrupt


def test_a_closed_pipe_is_no_error() -> None:
    """F-SHOW-3: as in ``| head``."""
    reading, writing = os.pipe()
    os.close(reading)
    with start("tools", *SERVER, stdout=writing) as process:
        os.close(writing)
        assert process.communicate(timeout=30)[1] == ""
    assert process.returncode == 0


@pytest.mark.needs_posix
def test_arguments_survive_a_locale_without_their_characters() -> None:
    """F-SHOW-2"""
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = [sys.executable, "-m", "mcpclient", "call", "--json", "echo", "message=é☃", *SERVER]
    run = subprocess.run(words, cwd=TOP, env={**os.environ, **plain}, capture_output=True)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["content"][0]["text"] == "é☃"


@pytest.mark.quick_rows(2)
@pytest.mark.needs_posix
@pytest.mark.parametrize(
    ("words", "where"),
    [
        *((words, where) for words in (["--version"], ["--help"]) for where in ("closed", "full")),
        (["ping", *SERVER], "closed"),
        (["ping", "--json", *SERVER], "full"),
    ],
)
def test_stdout_that_is_closed_or_full_is_one_line_of_error(words: list[str], where: str) -> None:
    """F-SHOW-2, F-SHOW-3"""
    if where == "full" and not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    to = ">&-" if where == "closed" else ">/dev/full"
    script = f'"$@" {to}'
    command = ["/bin/sh", "-c", script, "sh", sys.executable, "-m", "mcpclient", *words]
    run = subprocess.run(command, cwd=TOP, capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.startswith("error: cannot write")
    assert run.stderr.count("\n") == 1, run.stderr
