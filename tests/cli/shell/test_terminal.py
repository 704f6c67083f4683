"""The shell in a real pseudo-terminal, with a server process: keys go in, a screen comes out."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.subprocesses import TOP

pytestmark = pytest.mark.needs_posix

SERVER = str(Path(__file__).with_name("asking_server.py"))
# A program gets signals from the keys of its own terminal only.
OWN_TERMINAL = "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
START = "from mcpclient.cli.main import main; sys.exit(main(sys.argv[1:]))"
WITHOUT_READLINE = "sys.modules['readline'] = None; "
# Real seconds until something that was expected counts as missing.
PATIENCE = 20.0
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
CTRL_C, CTRL_D, TAB, ENTER = "\x03", "\x04", "\t", "\r"


class Typist:
    """Types on a terminal, and reads what stands there."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._unread = ""
        self.screen = ""

    def until(self, text: str) -> str:
        """Return what appeared up to a text, which has to come."""
        deadline = time.monotonic() + PATIENCE
        while text not in self._unread:
            ready, _, _ = select.select([self._terminal], [], [], deadline - time.monotonic())
            assert ready, f"{text!r} did not come; there is {self._unread!r}"
            self._take()
        seen, _, self._unread = self._unread.partition(text)
        return seen + text

    def _take(self) -> None:
        raw = ESCAPES.sub(b"", os.read(self._terminal, 65536)).decode("utf-8", "replace")
        self._unread += raw.replace("\r", "")

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def line(self, line: str, answer: str) -> str:
        """Type a line, and return what appeared up to its answer and the next prompt."""
        self.type(line + ENTER)
        seen = self.until(answer)
        return seen + self.until("> ")

    def rest(self) -> str:
        """Return what is left when the program has ended."""
        with suppress(OSError):  # Linux's word for a terminal without a program
            while select.select([self._terminal], [], [], PATIENCE)[0]:
                before = len(self._unread)
                self._take()
                if len(self._unread) == before:
                    break
        return self._unread


@contextmanager
def shell(folder: Path, *options: str, prelude: str = "") -> Iterator[Typist]:
    """A shell on the asking server; at the end it has to have ended, with exit code 0."""
    import pty

    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(TOP), "COLUMNS": "80"}
    environ.update({"XDG_STATE_HOME": str(folder), "HOME": str(folder)})
    source = OWN_TERMINAL + prelude + START
    words = [sys.executable, "-c", source, "shell", *options, "--", sys.executable, SERVER]
    process = subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, start_new_session=True
    )
    os.close(theirs)
    try:
        yield Typist(ours)
        assert process.wait(PATIENCE) == 0
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(ours)


def test_a_session_of_somebody_who_types(tmp_path: Path) -> None:
    """F-SHOW-5, F-SHOW-9: completion, a question in line, Ctrl-C, the background, the history."""
    pytest.importorskip("readline")
    with shell(tmp_path) as user:
        user.until("asking_server> ")
        # TAB completes tools, arguments and their values; a server's colours are written out.
        user.type("new" + TAB)
        user.until("news ")
        user.type("te" + TAB + "x col" + TAB + "g" + TAB + ENTER)
        assert "colour=green" in user.until(r"\x1b[31mgreen")
        user.until("> ")
        # A question is asked in line.
        user.type("name" + ENTER)
        user.until("Who are you?")
        user.until("Your name")
        user.line("Ada", "hello Ada")
        # Ctrl-C cancels a question with its call, a call alone, and a line that is typed.
        user.type("name" + ENTER)
        user.until("Your name")
        user.type(CTRL_C)
        user.until("cancelled")
        user.until("> ")
        user.line("sleep &", "asleep")
        user.type("sleep" + ENTER)
        user.until("asleep")
        user.type(CTRL_C)
        user.until("cancelled")
        user.until("> ")
        user.type("pay amount=1 what is this" + CTRL_C)
        user.until("> ")
        # The call in the background is still there, and what is asked there waits for its turn.
        assert "running" in user.line("jobs", "sleep &")
        user.line("name &", "[2]")
        user.until("Enter gets to this question")
        user.type(ENTER)
        user.until("Your name")
        user.type("Grace" + ENTER)
        assert "[2] name &: hello Grace" in user.until("hello Grace")
        user.until("> ")
        # What a server tells appears above what is being typed.
        user.line("news text=extra colour=red", "asking_server news: extra")
        # Nothing that is secret is kept.
        user.line("pay amount=5 card=4111111111111111", "paid 5")
        user.line("pay amount=five card=1", "integer")
        user.type(CTRL_D)
    kept = (tmp_path / "mcpclient" / "shell_history").read_text()
    assert "pay amount=5 card=\n" in kept
    assert "4111" not in kept
    assert "what is this" not in kept


def test_a_session_without_an_editor(tmp_path: Path) -> None:
    """F-SHOW-5: no readline, no TAB, and all else."""
    with shell(tmp_path, "--no-history", prelude=WITHOUT_READLINE) as user:
        user.until("asking_server> ")
        user.line("pay amount=5 card=1", "paid 5")
        user.type("sleep" + ENTER)
        user.until("asleep")
        user.type(CTRL_C)
        user.until("cancelled")
        user.until("> ")
        user.type("nothing of this" + CTRL_C)
        user.until("> ")
        user.line("_.text", "paid 5")
        user.line("name &", "[1]")
        user.until("Enter gets to this question")
        user.type(ENTER)
        user.until("Your name")
        user.type("/decline" + ENTER)
        user.until("hello decline")
        user.type("quit" + ENTER)
    assert not (tmp_path / "mcpclient" / "shell_history").exists()


def test_a_script_from_a_file(tmp_path: Path) -> None:
    """F-SHOW-5, F-SHOW-2: it stops at the first failure, with its exit code and its line."""
    script = tmp_path / "smoke"
    words = [sys.executable, "-m", "mcpclient", "shell", "--", sys.executable, SERVER]

    def run(lines: str) -> subprocess.CompletedProcess[str]:
        script.write_text(lines)
        with script.open() as stdin:
            return subprocess.run(
                words, stdin=stdin, capture_output=True, text=True, cwd=TOP, check=False
            )

    answer = run('pay amount=5 card=1\nexpect text == "paid 5"\nname\nexpect text contains decline')
    assert (answer.returncode, answer.stdout) == (0, "paid 5\nhello decline\n")
    assert "declined: there is no terminal" in answer.stderr
    answer = run("# comment\n\npay amount=5 card=1\npay amount=x card=secret-thing\nquit\n")
    assert (answer.returncode, answer.stdout) == (2, "paid 5\n")
    assert answer.stderr.startswith("line 4: pay amount=x card=\nerror: ")
    assert "secret-thing" not in answer.stderr
