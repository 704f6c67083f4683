"""The shell in a real pseudo-terminal, with a server process: keys go in, a screen comes out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.terminal import Session, in_terminal, own_terminal
from tests.support.subprocesses import TOP

pytestmark = pytest.mark.needs_posix

SERVER = str(Path(__file__).with_name("asking_server.py"))
START = "import sys; from mcpclient.cli.main import main; sys.exit(main(sys.argv[1:]))"
WITHOUT_READLINE = "import sys; sys.modules['readline'] = None; "
CTRL_C, CTRL_D, TAB, ENTER = "\x03", "\x04", "\t", "\r"


@contextmanager
def shell(folder: Path, *options: str, prelude: str = "") -> Iterator[Session]:
    """A shell on the asking server; at the end it has to have ended, with exit code 0."""
    environ = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(TOP), "COLUMNS": "80"}
    environ.update({"XDG_STATE_HOME": str(folder), "HOME": str(folder)})
    words = ["shell", *options, "--", sys.executable, SERVER]
    command = [sys.executable, "-c", prelude + START, *words]
    with in_terminal(command, environ, is_plain=True, preexec_fn=own_terminal) as session:
        yield session
        assert session.end() == 0


def answered(user: Session, line: str, answer: str) -> str:
    """Type a line, and return what appeared up to its answer and the next prompt."""
    user.type(line + ENTER)
    return user.wait_for(answer) + user.wait_for("> ")


def test_a_session_of_somebody_who_types(tmp_path: Path) -> None:
    """F-SHOW-5, F-SHOW-9: completion, a question in line, Ctrl-C, the background, the history."""
    pytest.importorskip("readline")
    with shell(tmp_path) as user:
        user.wait_for("asking_server> ")
        # TAB completes tools, arguments and their values; a server's colours are written out.
        user.type("new" + TAB)
        user.reply("news ", "te" + TAB + "x col" + TAB + "g" + TAB + ENTER)
        assert "colour=green" in user.wait_for(r"\x1b[31mgreen")
        user.wait_for("> ")
        # A question is asked in line.
        user.type("name" + ENTER)
        user.wait_for("Who are you?")
        user.wait_for("Your name")
        answered(user, "Ada", "hello Ada")
        # Ctrl-C cancels a question with its call, a call alone, and a line that is typed.
        user.type("name" + ENTER)
        user.reply("Your name", CTRL_C)
        user.wait_for("cancelled")
        user.wait_for("> ")
        answered(user, "sleep &", "asleep")
        user.type("sleep" + ENTER)
        user.reply("asleep", CTRL_C)
        user.wait_for("cancelled")
        user.reply("> ", "pay amount=1 what is this" + CTRL_C)
        user.wait_for("> ")
        # The call in the background is still there, and its question waits for its turn.
        assert "running" in answered(user, "jobs", "sleep &")
        answered(user, "name &", "[2]")
        user.reply("Enter gets to this question", ENTER)
        user.reply("Your name", "Grace" + ENTER)
        assert "[2] name &: hello Grace" in user.wait_for("hello Grace")
        user.wait_for("> ")
        # A server's message appears above the line being typed.
        answered(user, "news text=extra colour=red", "asking_server news: extra")
        # Nothing that is secret is kept.
        answered(user, "pay amount=5 card=4111111111111111", "paid 5")
        answered(user, "pay amount=five card=1", "integer")
        user.type(CTRL_D)
    kept = (tmp_path / "mcpclient" / "shell_history").read_text()
    assert "pay amount=5 card=\n" in kept
    assert "4111" not in kept
    assert "what is this" not in kept


@pytest.mark.slow
def test_a_session_without_an_editor(tmp_path: Path) -> None:
    """F-SHOW-5: no readline, no TAB, and all else."""
    with shell(tmp_path, "--no-history", prelude=WITHOUT_READLINE) as user:
        user.wait_for("asking_server> ")
        answered(user, "pay amount=5 card=1", "paid 5")
        user.type("sleep" + ENTER)
        user.reply("asleep", CTRL_C)
        user.wait_for("cancelled")
        user.reply("> ", "nothing of this" + CTRL_C)
        user.wait_for("> ")
        answered(user, "_.text", "paid 5")
        answered(user, "name &", "[1]")
        user.reply("Enter gets to this question", ENTER)
        user.reply("Your name", "/decline" + ENTER)
        user.reply("hello decline", "quit" + ENTER)
    assert not (tmp_path / "mcpclient" / "shell_history").exists()


@pytest.mark.slow
def test_a_script_from_a_file(tmp_path: Path) -> None:
    """F-SHOW-5, F-SHOW-2: its first failure is shown with its line, but for secrets."""
    script = tmp_path / "smoke"
    script.write_text("# comment\n\npay amount=5 card=1\npay amount=x card=secret-thing\nquit\n")
    words = [sys.executable, "-m", "mcpclient", "shell", "--", sys.executable, SERVER]
    with script.open() as stdin:
        answer = subprocess.run(words, stdin=stdin, capture_output=True, text=True, cwd=TOP)
    assert (answer.returncode, answer.stdout) == (2, "paid 5\n")
    assert answer.stderr.startswith("line 4: pay amount=x card=\nerror: ")
    assert "secret-thing" not in answer.stderr
