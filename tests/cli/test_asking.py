"""Questions of servers, in a real terminal."""

from __future__ import annotations

import asyncio
import io
import re
import shlex
import signal
import sys
from pathlib import Path

import pytest

from mcpclient.cli.asking import Asking
from mcpclient.cli.main import main
from mcpclient.cli.screen import Screen
from mcpclient.net.login import terminal as terminals
from mcpclient.protocol.elicitation import ElicitationRequest
from mcpclient.protocol.sampling import SamplingRequest
from tests.cli.in_process import Terminal
from tests.cli.terminal import terminal
from tests.support.subprocesses import TOP

pytestmark = pytest.mark.needs_posix
Capture = pytest.CaptureFixture[str]
SERVER = str(Path(__file__).with_name("eliciting_server.py"))


@pytest.mark.slow
def test_who_adds_a_server_has_agreed_to_it(tmp_path: Path) -> None:
    """F-SHOW-19, F-MANY-7: in a terminal, to this entry and no other."""
    folders = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    demo = [sys.executable, str(TOP / "mcpclient" / "testing" / "demo_server.py")]
    for words, code in (
        (["add", "demo", "--", *demo], 0),
        (["call", "demo", "echo", "message=hi"], 0),
    ):
        with terminal(*words, cwd=tmp_path, environ=folders) as session:
            assert session.end() == code
            assert "y/N" not in session.shown
    (tmp_path / ".mcp.json").write_text((tmp_path / ".mcp.json").read_text().replace("demo_", "d_"))
    with terminal("call", "demo", "echo", "message=hi", cwd=tmp_path, environ=folders) as session:
        session.reply("now and from now on? [y/N]", "n\n")
        assert session.end() == 2


def test_a_form_is_filled_in() -> None:
    """F-SHOW-9: defaults with Enter, choices by number, and what does not fit asked again."""
    with terminal("call", SERVER, "form") as session:
        shown = session.wait_for("asks: Which table?")
        assert shown.splitlines()[-1] == "eliciting_server asks: Which table?"
        session.reply("Your name (text)", "\n")
        session.reply("it is needed", "Ada\n")
        session.reply("seats (whole number, optional, from 1)  [2]", "0\n")
        session.reply("0 is less than 1", "\n")
        session.wait_for("1. Inside")
        session.reply("2. Outside", "2\n")
        session.reply("smoking (yes or no, optional)  [no]", "y\n")
        session.reply("Send this?", "\n")
        shown = session.wait_for("}}")
        assert session.end() == 0
    assert '"name": "Ada", "place": "out", "seats": 2, "smoking": true' in _sorted(shown)


@pytest.mark.slow
def test_a_form_goes_back_and_is_reviewed() -> None:
    """F-SHOW-9: nothing that was typed is lost on the way to a wrong field."""
    with terminal("call", SERVER, "form") as session:
        session.reply("Your name (text)", "/back\n")
        session.reply("Your name (text)", "Adda\n")
        session.reply("seats", "/back\n")
        session.reply("Your name (text)  [Adda]", "\n")
        for answer in ("3", "in", "n"):
            session.reply("(", f"{answer}\n")
            session.wait_for(f"{answer}\r\n")
        session.wait_for("1. Your name: Adda\r\n  2. seats: 3\r\n  3. place: Inside\r\n")
        session.reply("4. smoking: no\r\nSend this?", "9\n")
        session.reply("Send this?", "1\n")
        session.reply("Your name (text)  [Adda]", "Ada\n")
        session.wait_for("1. Your name: Ada\r\n")
        session.reply("Send this?", "y\n")
        shown = session.wait_for("}}")
        assert session.end() == 0
    assert '"name": "Ada", "place": "in", "seats": 3, "smoking": false' in _sorted(shown)


def _sorted(text: str) -> str:
    found = re.search(r'"content": \{(.*?)\}', text, re.S)
    assert found is not None, text
    return ", ".join(sorted(" ".join(found[1].split()).split(", ")))


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "action"), [("/decline", "decline"), ("/cancel", "cancel")])
def test_a_form_is_left(typed: str, action: str) -> None:
    """F-SHOW-9"""
    with terminal("call", SERVER, "form") as session:
        session.reply("Your name", f"{typed}\n")
        session.wait_for(f'heard {{"action": "{action}"}}')
        assert session.end() == 0


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize(
    ("typed", "action"), [("y", "accept"), ("", "decline"), ("cancel", "cancel")]
)
def test_a_url_is_shown_whole_and_opened_on_yes_only(typed: str, action: str) -> None:
    """F-SHOW-9: the host is marked; without a browser the user has to open it."""
    with terminal("call", SERVER, "visit") as session:
        session.wait_for("https://\x1b[1mpay.example\x1b[0m/cart?id=1")
        session.wait_for("host: \x1b[1mpay.example")
        session.reply("[y/N/cancel]", f"{typed}\n")
        before = session.wait_for(f'heard {{"action": "{action}"}}')
        assert session.end() == 0
    assert ("No browser is available" in before) == (action == "accept")


@pytest.mark.slow
def test_a_model_is_played() -> None:
    """F-SHOW-9"""
    with terminal("call", SERVER, "sample") as session:
        session.wait_for("system: Be short")
        session.wait_for("user: Capital of France?")
        session.reply(">", "Paris\n")
        session.reply(">", "\n")
        session.wait_for('"text": "Paris"')
        assert session.end() == 0


ANSWERING = "import sys; print('Paris, for', len(sys.stdin.read().splitlines()), 'lines')"


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize("choice", ["ask", "decline"])
def test_a_program_answers_in_place_of_a_model(choice: str, capsys: Capture) -> None:
    """F-SHOW-9: its question and its answer are shown; no terminal is needed."""
    model = shlex.join([sys.executable, "-c", ANSWERING])
    assert main(["call", "--elicit", choice, "--model", model, SERVER, "sample"]) == 0
    out, errors = capsys.readouterr()
    assert '"text": "Paris, for 3 lines"' in out
    assert f'"model": "{Path(sys.executable).name}"' in out
    assert "user: Capital of France?" in errors and "assistant: Paris, for 3 lines" in errors


def test_a_program_that_fails_answers_nothing(capsys: Capture) -> None:
    """F-SHOW-9: the server gets a refusal, and the user the reason."""
    model = shlex.join([sys.executable, "-c", "raise SystemExit(7)"])
    assert main(["call", "--model", model, SERVER, "sample"]) == 0
    out, errors = capsys.readouterr()
    assert "ended with exit code 7" in errors and "rejected" in out


def test_ctrl_c_ends_a_question() -> None:
    """F-SHOW-3, F-SHOW-9"""
    with terminal("call", SERVER, "form") as session:
        session.wait_for("Your name")
        session.process.send_signal(signal.SIGINT)
        session.wait_for("cancelled")
        assert session.end() == 130


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize(
    ("choice", "said", "answer"),
    [
        ("ask", "declined: there is no terminal to ask in", '"decline"'),
        ("decline", "declined: --elicit decline", '"decline"'),
    ],
)
def test_without_a_terminal_it_is_declined(
    choice: str, said: str, answer: str, capsys: Capture
) -> None:
    """F-SHOW-9: and said."""
    assert main(["call", "--elicit", choice, SERVER, "form"]) == 0
    out, errors = capsys.readouterr()
    assert said in errors
    assert answer in out
    assert main(["call", "--elicit", choice, SERVER, "visit"]) == 0
    assert "https://pay.example/cart?id=1" in capsys.readouterr().err


def test_defaults_are_accepted_where_they_are_enough(capsys: Capture) -> None:
    """F-SHOW-9: not here: two fields have none; the server gets a refusal; the call continues."""
    assert main(["call", "--elicit", "accept", SERVER, "form"]) == 0
    out, errors = capsys.readouterr()
    assert "declined: its defaults do not fit (--elicit accept): not filled in: name" in errors
    assert '"action": "decline"' in out


class TypingTerminal(terminals.Terminal):
    """A terminal at which these lines are typed."""

    is_interactive = True

    def __init__(self, *lines: str) -> None:
        super().__init__()
        self.left = list(lines)

    async def read_line(self) -> str:
        return self.left.pop(0)


def test_an_answer_that_does_not_fit_is_asked_for_again() -> None:
    """F-SHOW-9, F-API-10: at its field, and it never costs the call or another answer."""
    schema = {
        "type": "object",
        "properties": {
            "mail": {"type": "string", "format": "email"},
            "code": {"type": "string", "pattern": "^[A-Z]+$", "minLength": 2, "maxLength": 3},
        },
        "dependentRequired": {"mail": ["code"]},
    }
    lines = ["ada", "ada@example.com", "", "", "2", "A", "ab", "ABCD", "ABC", ""]
    typing = TypingTerminal(*lines)
    errors = io.StringIO()
    asking = Asking(Screen(io.StringIO(), errors, {"NO_COLOR": "1"}), "ask", typing)
    request = ElicitationRequest({"message": "Who?", "requestedSchema": schema}, "server")
    answer = asyncio.run(asking.form(request))
    assert answer == {"mail": "ada@example.com", "code": "ABC"} and not typing.left
    said = errors.getvalue()
    assert "'ada' does not have the format email" in said
    assert "That does not fit together: the form (dependentRequired)." in said
    assert "1 characters are less than 2" in said
    assert "'ab' does not match the pattern" in said
    assert "4 characters are more than 3" in said


@pytest.mark.slow
def test_colours_and_the_width_are_the_terminals() -> None:
    """F-SHOW-3"""
    demo = str(TOP / "mcpclient" / "testing" / "demo_server.py")
    with terminal("tools", demo, columns=40) as session:
        assert session.end() == 0
    lines = session.shown.splitlines()
    assert lines[0].startswith("\x1b[1mecho message")
    assert max(len(line.replace("\x1b[1m", "").replace("\x1b[0m", "")) for line in lines) <= 40


@pytest.mark.slow
def test_the_progress_line_follows_the_width() -> None:
    """F-SHOW-3: a terminal that is made narrow while a call runs."""
    demo = str(TOP / "mcpclient" / "testing" / "demo_server.py")
    with terminal("call", demo, "count", "to=100", "seconds=0.5", columns=120) as session:
        session.wait_for("counted to")
        session.resize(30)
        session.wait_for("\r")
        session.wait_for("\r")
        session.wait_for("\r")
        narrow = session.wait_for("\r")
        session.process.send_signal(signal.SIGINT)
        session.end()
    assert len(narrow.strip("\r")) < 30


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\x85", "\u2028", "\r", "\x0b", " " * 75])
@pytest.mark.parametrize("mode", ["form", "url", "sampling"])
def test_each_line_of_a_question_is_visibly_the_servers(
    mode: str, line_end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SAFE-6, F-SHOW-9: none passes for a line of this program, or for the user's shell."""
    monkeypatch.setenv("COLUMNS", "60")
    errors = Terminal()
    asking = Asking(Screen(io.StringIO(), errors, {"NO_COLOR": "1"}), "decline")
    forged = "declined: your login has expired"
    text = line_end.join(["hi", forged, "", "$ mcpclient auth login", "漢" * 60])
    if mode == "sampling":
        raw = {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}
        asyncio.run(asking.sample(SamplingRequest({**raw, "systemPrompt": text}, "evil")))
    else:
        request = ElicitationRequest({"mode": mode, "message": text, "url": "https://x/"}, "evil")
        asyncio.run(asking.form(request) if mode == "form" else asking.visit(request))
    shown = errors.getvalue()
    assert "漢" in shown
    ours = ("  https://x/", "  host: x", "declined: --elicit decline")
    for line in shown.splitlines():
        assert line.startswith(("evil asks", "evil |")) or line in ours, line
        assert len(line) <= 60
