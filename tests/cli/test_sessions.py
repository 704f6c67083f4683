"""Sessions that stay, as they are used: every command is a process of its own."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import terminal
from tests.support.subprocesses import TOP
from tests.support.tables import check_each

pytestmark = [pytest.mark.needs_posix, pytest.mark.slow]

SERVER = str(Path(__file__).with_name("session_server.py"))
_LONGEST = 60.0


class Commands:
    """Runs commands of one user, who has the folder ``runtime`` for sockets."""

    def __init__(self, runtime: Path) -> None:
        self.runtime = runtime
        self.environ = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "PYTHONPATH": str(TOP)}
        for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            self.environ[name] = str(runtime)

    def start(self, *words: str, prelude: str = "pass", **options: Any) -> subprocess.Popen[str]:
        """Start a command; ``prelude`` is run before it."""
        source = f"import sys; {prelude}; from mcpclient.__main__ import main; sys.exit(main())"
        return subprocess.Popen(
            [sys.executable, "-c", source, *words],
            **{
                "cwd": self.runtime,
                "env": self.environ,
                "text": True,
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                **options,
            },
        )

    def run(self, *words: str, **options: Any) -> tuple[int, str, str]:
        """Run a command; return its exit code, its stdout and its stderr."""
        with self.start(*words, **options) as process:
            out, errors = process.communicate(timeout=_LONGEST)
        return process.returncode, out, errors

    def said(self, *words: str, **options: Any) -> str:
        """Return the stdout of a command that succeeds."""
        code, out, errors = self.run(*words, **options)
        assert code == 0, errors
        return out.rstrip("\n")

    def open(self, *arguments: str, name: str = "it", options: tuple[str, ...] = ()) -> str:
        return self.said("open", *options, name, "--", sys.executable, SERVER, *arguments)

    def start_a_call_without_end(self) -> subprocess.Popen[str]:
        process = self.start("call", "@it", "never")
        assert self.said("call", "@it", "once_called") == "once_called"
        return process

    def pipe_of_life(self) -> tuple[str, int]:
        """Return a pipe for ``--alive`` of the server, and the end that ends with the server."""
        pipe = self.runtime / "alive"
        os.mkfifo(pipe)
        alive = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(alive, True)
        return str(pipe), alive

    def pid(self, name: str = "it") -> int:
        sessions = json.loads(self.said("sessions", "--json"))["sessions"]
        return int(next(each["process"] for each in sessions if each["session"] == f"@{name}"))


@pytest.fixture
def commands() -> Iterator[Commands]:
    folder = Path(tempfile.mkdtemp(prefix="mc", dir="/tmp"))  # pytest's are too long for sockets
    here = Commands(folder)
    try:
        yield here
    finally:
        here.run("close", "--all")
        shutil.rmtree(folder)


def test_a_server_keeps_its_state_between_two_commands(commands: Commands) -> None:
    """F-SHOW-12"""
    assert commands.open() == "@it"
    assert commands.said("call", "@it", "add", "amount=2") == "2"
    assert commands.said("call", "@it", "add", "amount=3") == "5"
    assert "once_called" in commands.said("tools", "@it")
    assert "@it" in commands.said("sessions")
    assert commands.said("close", "@it") == "closed @it"
    assert commands.said("sessions") == "no session is open"
    code, _, errors = commands.run("call", "@it", "add")
    assert code == 2
    assert "there is no session @it" in errors


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="arguments are read from /proc")
def test_a_secret_of_open_is_no_argument_of_the_session(commands: Commands) -> None:
    """F-SHOW-12: other users may see the arguments of a process; the server gets only its own."""
    commands.open(options=("--env", "API_KEY=s3cr3t", "--cwd", str(commands.runtime)))
    session = Path(f"/proc/{commands.pid()}")
    assert b"s3cr3t" not in (session / "cmdline").read_bytes()
    children = (session / "task" / session.name / "children").read_text().split()
    found = [Path(f"/proc/{child}/environ").read_bytes() for child in children]
    (environ,) = (each for each in found if b"\0API_KEY=s3cr3t\0" in b"\0" + each)
    assert b"MCPCLIENT_SESSION=" not in environ


# The first two do not change the server's state.
SAME = [
    "call add amount=0",
    "call add amount=0 --json",
    "call add amount=two",
    "call fail",
    "call ad",
    "call fail --json --unchecked",
    "tools add",
    "tools --json",
    "info --json",
    "read x:y",
    "call never --max-timeout 0.2",
    "call add --no-such-option",
    "call --help",
]


def test_a_command_is_the_same_with_a_session(commands: Commands) -> None:
    """F-SHOW-12: output, messages and exit codes; only the name of the server is another."""
    commands.said("add", "--scope", "user", "it", "--", sys.executable, SERVER)
    assert commands.said("open", "it") == "@it"

    def check(line: str) -> None:
        command, *words = line.split()
        plain = commands.run(command, "it", *words)
        staying = commands.run(command, "@it", *words)
        assert staying[0] == plain[0]
        assert [text.replace("@it", "it") for text in staying[1:]] == list(plain[1:])

    check_each(SAME, check)


def test_every_command_that_takes_a_server_takes_a_session(commands: Commands) -> None:
    """F-SHOW-12: those that run in the caller's own process, too."""
    commands.open()
    script = subprocess.run(
        [sys.executable, "-m", "mcpclient", "shell", "@it"],
        input="add amount=4\nadd amount=1\n",
        capture_output=True,
        text=True,
        cwd=TOP,
        env=commands.environ,
    )
    assert script.stdout.split() == ["4", "5"]
    assert "ok" in commands.said("doctor", "@it")
    assert commands.said("record", "r.jsonl", "call", "@it", "add") == "6"
    assert commands.said("replay", "r.jsonl", "call", "add") == "6"
    inspector = commands.start("inspect", "--no-browser", "@it")
    assert inspector.stdout is not None
    assert inspector.stdout.readline().startswith("http://127.0.0.1:")
    inspector.send_signal(signal.SIGINT)
    inspector.communicate(timeout=_LONGEST)


def test_a_command_imports_no_event_loop(commands: Commands) -> None:
    """F-SHOW-12: so that a call costs little more than the start of Python."""
    commands.open()
    told = "import atexit; atexit.register(lambda: print(sorted(sys.modules), file=sys.stderr))"
    code, out, errors = commands.run("call", "@it", "add", prelude=told)
    assert (code, out) == (0, "1\n")
    assert ".sessions.front'" in errors
    assert ".errors'" not in errors
    for heavy in ("asyncio", "argparse", "json", "socket", "typing"):
        assert f"'{heavy}'" not in errors


def test_two_callers_at_once(commands: Commands) -> None:
    """F-SHOW-12: each gets its own answer, though the server gives both together."""
    commands.open()
    first = commands.start("call", "@it", "both", "amount=1")
    second = commands.start("call", "@it", "both", "amount=2")
    assert first.communicate(timeout=_LONGEST) == ("1\n", "")
    assert second.communicate(timeout=_LONGEST) == ("2\n", "")


def test_a_caller_has_its_own_folder_and_environment(commands: Commands, tmp_path: Path) -> None:
    """F-SHOW-12: a file is looked for where the command runs, and stdin is the caller's."""
    commands.open()
    (tmp_path / "arguments.json").write_text('{"amount": 7}')
    assert commands.said("call", "@it", "add", "@arguments.json", cwd=tmp_path) == "7"
    process = commands.start("call", "@it", "add", "-", stdin=subprocess.PIPE)
    assert process.communicate('{"amount": 1}', timeout=_LONGEST) == ("8\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill -9"])
def test_the_end_of_a_command_cancels_its_call(commands: Commands, number: signal.Signals) -> None:
    """F-SHOW-12: the server is notified, and the session stays."""
    commands.open()
    process = commands.start_a_call_without_end()
    process.send_signal(number)
    out, errors = process.communicate(timeout=_LONGEST)
    assert commands.said("call", "@it", "once_cancelled") == "once_cancelled"
    if number == signal.SIGINT:
        assert (process.returncode, out, errors) == (130, "", "cancelled\n")


def said_in_pipe(pipe: int) -> bytes | None:
    """Read one byte; None if none comes."""
    return os.read(pipe, 1) if select.select([pipe], [], [], _LONGEST)[0] else None


GREETING = """\
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",\
"capabilities":{},"clientInfo":{"name":"host","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"""


@pytest.mark.parametrize(
    ("words", "number"),
    [
        (("call", "never"), signal.SIGTERM),
        (("record", "r.jsonl", "call", "never"), signal.SIGHUP),
        (("listen",), signal.SIGTERM),
        (("shell",), signal.SIGTERM),
        (("inspect", "--no-browser"), signal.SIGTERM),
        (("bridge",), signal.SIGTERM),
    ],
    ids=lambda value: str(value),
)
def test_a_command_that_is_terminated_stops_its_server(
    commands: Commands, words: tuple[str, ...], number: signal.Signals
) -> None:
    """F-STD-3, F-SHOW-2: by all steps, though the signal comes twice, as of ``timeout``."""
    pipe, alive = commands.pipe_of_life()
    server = [sys.executable, SERVER, "--alive", pipe, "--tell", "--deaf"]
    server += ["--stubborn"] * (words == ("bridge",))
    process = commands.start(*words, "--", *server, stdin=subprocess.PIPE)
    if words == ("bridge",):
        assert process.stdin is not None
        process.stdin.write(GREETING)
        process.stdin.flush()
    assert said_in_pipe(alive) == b"+"
    process.send_signal(number)
    process.send_signal(number)
    assert said_in_pipe(alive) == b"", "the server lives on"
    os.close(alive)
    process.communicate(timeout=_LONGEST)
    assert process.returncode == 143


def test_a_session_that_is_terminated_stops_its_server(commands: Commands) -> None:
    """F-SHOW-12, F-STD-3: as the end of the machine, or of the user's login, does it."""
    pipe, alive = commands.pipe_of_life()
    commands.open("--alive", pipe, "--deaf")
    os.kill(commands.pid(), signal.SIGTERM)
    assert said_in_pipe(alive) == b"", "the server lives on"
    os.close(alive)
    commands.run("close", "@it")  # waits for its end
    assert commands.said("sessions") == "no session is open"


@pytest.mark.parametrize("arguments", [(), ("--deaf",)], ids=["", "deaf"])
def test_a_session_that_is_killed_leaves_no_server(
    commands: Commands, arguments: tuple[str, ...]
) -> None:
    """F-SHOW-12: not even one that does not end with its input; and its socket is cleaned up."""
    pipe, alive = commands.pipe_of_life()
    commands.open("--alive", pipe, *arguments)
    process = commands.start_a_call_without_end()
    os.kill(commands.pid(), signal.SIGKILL)
    assert os.read(alive, 1) == b""  # the end comes with the server's
    os.close(alive)
    _, errors = process.communicate(timeout=_LONGEST)
    assert process.returncode == 3
    assert "the connection to @it was lost" in errors
    assert commands.said("sessions") == "no session is open"
    assert commands.open() == "@it"


def test_a_session_ends_with_its_server(commands: Commands) -> None:
    """F-SHOW-12: what it knew is lost; the call in flight says why, and so does the log."""
    commands.open()
    process = commands.start_a_call_without_end()
    assert commands.run("call", "@it", "die")[0] == 3
    _, errors = process.communicate(timeout=_LONGEST)
    assert process.returncode == 3
    assert "exited with code 7" in errors
    commands.run("close", "@it")  # waits for its end, if that has not come
    assert "the session ended" in commands.said("sessions", "--log", "@it")


def test_a_form_is_filled_in_by_the_caller(commands: Commands) -> None:
    """F-SHOW-12: in the terminal of the command that the server asks for."""
    commands.open()
    with terminal("call", "@it", "form", environ=commands.environ) as asked:
        asked.wait_for("@it asks: Which table?")
        asked.wait_for("Your name (text)")
        assert commands.said("call", "@it", "add") == "1"  # another caller is not held up
        asked.type("Ada\n")
        asked.reply("seats", "\n")
        asked.reply("Outside", "2\n")
        asked.reply("smoking", "\n")
        asked.reply("Send this?", "\n")
        shown = asked.wait_for("}")
        assert asked.end() == 0
    assert "'name': 'Ada'" in shown
    assert "'place': 'out'" in shown
    _, _, errors = commands.run("call", "@it", "form")
    assert "declined: there is no terminal to ask in" in errors


def test_an_idle_session_ends(commands: Commands) -> None:
    """F-SHOW-12: with its server, which is waited for here."""
    pipe, alive = commands.pipe_of_life()
    commands.open("--alive", pipe, options=("--idle", "0.1"))
    assert os.read(alive, 1) == b""
    os.close(alive)


def test_a_server_that_does_not_start_is_an_error(commands: Commands) -> None:
    """F-SHOW-12: with the exit code and the words of any command, and no session is left."""
    code, out, errors = commands.run("open", "it", "--", sys.executable, "-c", "print(1/0)")
    assert (code, out) == (3, "")
    assert "ZeroDivisionError" in errors
    assert commands.said("sessions") == "no session is open"


def test_all_configured_servers_are_opened(commands: Commands) -> None:
    """F-SHOW-12: one session each."""
    servers: dict[str, object] = {
        name: {"command": sys.executable, "args": [SERVER]} for name in ("one", "two")
    }
    servers["gone"] = {"command": "no-such-command-here"}
    (commands.runtime / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    code, out, errors = commands.run("open", "--all", "--config", "servers.json")
    assert (code, sorted(out.split())) == (3, ["@one", "@two"])
    assert errors.splitlines() == [
        "gone: no such command",
        "what to do about it: mcpclient doctor --config servers.json gone",
    ]
    rows = commands.said("sessions").splitlines()
    assert rows[0].split() == ["SESSION", "SERVER", "AGE", "FOLDER", "CALLERS", "PROCESS"]
    assert all(str(Path.cwd()) in row or str(commands.runtime) in row for row in rows[1:])
    assert commands.said("call", "@two", "add") == "1"
    assert commands.said("close", "--all") == "closed @one\nclosed @two"


def test_a_session_writes_the_calls_of_all_its_callers(commands: Commands) -> None:
    """F-AUDIT-1, F-SHOW-12: whatever the callers say; a call that was refused nowhere is sent."""
    commands.open(options=("--audit", "calls.jsonl"))
    commands.said("call", "@it", "add", "amount=2")
    commands.said("call", "@it", "add", "amount=3", "--audit", "mine.jsonl")
    assert commands.run("call", "@it", "fail", "--unchecked")[0] != 0
    assert commands.said("audit", "verify", "calls.jsonl").startswith("4 lines")
    lines = json.loads(commands.said("audit", "show", "calls.jsonl", "--json"))["lines"]
    found = [(each["kind"], each.get("name"), each["outcome"]) for each in lines]
    assert found[:3] == [("start", None, "ok"), ("call", "add", "ok"), ("call", "add", "ok")]
    assert found[3][:2] == ("call", "fail") and found[3][2] != "ok"
    own = json.loads(commands.said("audit", "show", "mine.jsonl", "--json"))["lines"]
    assert [each["server"] for each in own] == ["@it"] * 2
