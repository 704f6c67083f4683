"""Every screen of every command, at 40, 80 and 120 columns, as it is kept in ``screens/``.

The files are for people to read and to diff: ``screens/80/tools.txt`` has what the lines of
``SCREENS["tools"]`` show on a terminal of 80 columns. After a change that is meant, write them anew
with ``MCPCLIENT_SCREENS=write python -m pytest tests/cli/test_screens.py`` and read the diff.

The commands run in this process, on streams that say they are terminals, against servers on
sockets of this process; `test_asking` and others have real terminals.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import socketserver
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from mcpclient.cli.commands import COMMANDS
from mcpclient.cli.layout import width_of
from mcpclient.cli.main import main
from mcpclient.net.chained_log import ChainedLog
from mcpclient.testing.demo_server import DemoServer
from tests.cli.test_screen import drawn
from tests.support.mcp_server import OpenedServer, send_result

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="messages of the system are quoted"),
    pytest.mark.usefixtures("nothing_configured", "own_credentials"),
]

KEPT = Path(__file__).parent / "screens"

LONG = (
    "Search all the pages of the archive for words, names and dates. It takes a while, and may "
    "cost money: see https://example.com/a/rather/long/path/to/a/page?about=prices for how much."
)
SEARCH = {
    "name": "search_everything",
    "description": LONG,
    "annotations": {"readOnlyHint": True},
    "inputSchema": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for, " * 5},
            "limit": {"type": "integer", "minimum": 3, "default": 10},
            "kind": {"enum": ["page", "file"], "description": "What to find"},
        },
        "required": ["query", "kind"],
    },
}
WIPE = {
    "name": "wipe",
    "description": "世界の天気を調べる。都市の名前が必要です。",
    "annotations": {"destructiveHint": True},
    "inputSchema": {"type": "object"},
}
NESTED = {
    "total": 2,
    "items": [{"name": "Café", "tags": ["a", "b"], "about": LONG, "price": {"EUR": 12}}] * 2,
}
TASK = {
    "taskId": "task-1",
    "status": "working",
    "statusMessage": "reading page 7 of 9",
    "createdAt": "2026-01-01T12:00:00Z",
    "lastUpdatedAt": "2026-01-01T12:00:00Z",
    "ttl": 60000,
}
LISTS = ("tools", "prompts", "resources")


def long_server() -> OpenedServer:
    """One with long descriptions, and that keeps tasks."""
    server = OpenedServer(capabilities={**{each: {} for each in LISTS}, "tasks": {"list": {}}})
    server.instructions = LONG
    prompt = {"name": "p", "description": LONG, "arguments": [{"name": "topic"}]}
    server.answers.update(
        {
            "tools/list": {"tools": [SEARCH, WIPE]},
            "tools/call": {"content": [], "structuredContent": NESTED},
            "resources/list": {"resources": [{"uri": "file:///a", "description": LONG}]},
            "resources/read": {"contents": [{"uri": "file:///a", "text": LONG}]},
            "prompts/list": {"prompts": [prompt]},
            "prompts/get": {
                "messages": [{"role": "user", "content": {"type": "text", "text": LONG}}]
            },
            "tasks/list": {"tasks": [TASK]},
            "tasks/get": TASK,
        }
    )
    return server


def empty_server() -> OpenedServer:
    """One that has lists with nothing in them."""
    server = OpenedServer(capabilities={each: {} for each in LISTS})
    for each in LISTS:
        server.answers[f"{each}/list"] = {each: []}
    return server


class Changing(OpenedServer):
    """One that reports a change and a log message once it is asked for its level."""

    def __init__(self) -> None:
        super().__init__(capabilities={"logging": {}})

    def take_other(self, message: Any, params: Any, send: Callable[[Any], None]) -> None:
        send_result(message, send, {})
        if message["method"] != "logging/setLevel":
            return
        note = {"level": "warning", "logger": "disk", "data": LONG}
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": note})
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})


class Browser(OpenedServer):
    """The process of a session that is open for three hours."""

    def receive(self, message: Any, send: Callable[[Any], None]) -> None:
        since = datetime.fromtimestamp(time.time() - 3 * 3600 - 9, timezone.utc)
        state: dict[str, Any] = {
            "name": "browser",
            "server": "npx @playwright/mcp",
            "since": since.isoformat(),
        }
        state.update({"folder": "/home/ada/project", "callers": 1, "process": 4711})
        send_result(message, send, state)


SERVERS: dict[str, Any] = {
    "demo": DemoServer,
    "empty": empty_server,
    "long": long_server,
    "changing": Changing,
}
RUN = "mcpclient/browser.link"


class Served(socketserver.StreamRequestHandler):
    """A connection to one of the servers."""

    def handle(self) -> None:
        def send(message: Any) -> None:
            with suppress(OSError):
                self.connection.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

        made = SERVERS.get(Path(str(self.server.server_address)).stem, Browser)
        server = made(send) if made is DemoServer else made()
        for line in self.rfile:
            server.receive(json.loads(line), *(() if made is DemoServer else (send,)))


class Listener(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@pytest.fixture(scope="module")
def sockets() -> Iterator[Path]:
    """The folder of the servers' sockets. The length of its path is always the same, since lines
    are broken by it."""
    folder = Path(tempfile.mkdtemp(prefix="s", dir="/tmp"))
    (folder / RUN).parent.mkdir(mode=0o700)
    files = [RUN, *(f"{name}.sock" for name in SERVERS)]
    listeners = [Listener(str(folder / file), Served) for file in files]
    for each in listeners:
        threading.Thread(target=each.serve_forever, args=(0.01,), daemon=True).start()
    yield folder
    for each in listeners:
        each.shutdown()
        each.server_close()
    shutil.rmtree(folder)


# Configurations that are broken, and two files that are not programs.
FILES = {
    "comma.json": '{"mcpServers": {"x": {"command": "y",,}}}',
    "empty.json": "",
    "list.json": "[1]",
    "field.json": '{"mcpServers": {"x": {"comand": "y"}}}',
    "name.json": '{"mcpServers": {"xx": {"command": "y"}}}',
    "twice.json": '{"mcpServers": {}, "mcpServers": {"git": {"command": "y"}}}',
}
PROGRAMS = {"odd": "#!/no/such/interpreter\n", "bare": "no program\n"}

# What is typed; the files are written beforehand by `place`.

SCREENS: dict[str, Sequence[str]] = {
    "info": ("info demo", "info long", "info gone"),
    "tools": (
        *("tools demo", "tools empty", "tools long", "tools long --long", "tools demo add"),
        *("tools long search_everything", "tools demo ad", "tools demo add more", "tools gone"),
        *("tools -- no-such-command", "tools -- ./no/such", "tools -- /", "tools -- 'npx -y x'"),
        *("tools -- cd x '&&' y", "tools -- A=1 node x.js", "tools -- '$HOME/x'", "tools -- '~/x'"),
        *("""tools -- '"node"' x.js""", "tools -- @x/server", "tools -- http://h/mcp", "tools --"),
        *("tools localhost:3/mcp", "tools gone.py", "tools --cwd /no -- true", "tools ftp://h/x"),
        *("tools --cwd lines -- true", "tools -- ./lines", "tools -- ./odd", "tools -- ./bare"),
        *("tools nobody", "tools http:///mcp", "tools http://h:99999/mcp", "tools npx -y x"),
        *("tools demo --jsn", "tools --header 'A: b' -- x", "tools --header A http://h/"),
        *("tools --env A -- x", "tools --env =x -- x", "tools --env A=b http://h/mcp"),
        *("tools --cwd / http://h/mcp", "tools --bearer t -- x", "tools --insecure -- x"),
        *("tools tcp://h:1 --header 'A: b'", "tools --ca-file x -- x", "tools --timeout x -- x"),
        *("tools --timeout=-5 -- x", "tools --ca-file no.pem https://h/", "tools --audit / -- x"),
        *("tools demo --protocol-version 1999"),
        *("tools --trace no/x -- x", "tools http://h/ --bearer ''", "tools http://h/ --bearer ' '"),
        *(
            "tools http://h/ --bearer 'Bearer x'",
            "tools http://h/ --header 'Authorization: Bearer'",
        ),
        "tools http://h/ --header 'Authorization: Bearer Bearer x'",
        *(f"tools --config {name} x" for name in FILES),
        "tools --config twice.json gitt",
    ),
    "call": (
        *("call demo add a=1 b=2", "call demo echo message='Café'", "call demo fail reason=tired"),
        *("call long search_everything query=a kind=page", "call demo add a=1 b=x"),
        *("call demo ecko", "call demo add a=1 c=2", "call demo", "call nobody echo", "call"),
        *("call demo echo x", "call demo echo --pick items[", "call demo nope --unchecked"),
        *("call long search_everything kind=page", "call uvx --from x y", "call echo -- "),
        *("call --model no-such-model demo add", 'call --model "\'" demo add', "call demo x://y"),
        *("call @it add --env A=B", "call '@no such' add", "call @none add"),
    ),
    "tasks": ("tasks long", "tasks demo", "tasks empty"),
    "task": ("task long task-1", "task demo task-1"),
    "resources": ("resources demo", "resources empty", "resources long", "resources gone"),
    "read": ("read demo demo://readme", "read long file:///a", "read demo demo://nothing", "read"),
    "prompts": ("prompts demo", "prompts empty", "prompts long"),
    "prompt": ("prompt demo greet name=Ada", "prompt long p", "prompt demo greet", "prompt demo x"),
    "complete": ("complete demo greet name A", "complete demo greet", "complete demo haiku mood"),
    "listen": ("listen changing --count 2", "listen gone", "listen demo --count 0"),
    "servers": (
        *("servers", "servers --no-connect", "servers --config nothing.json", "servers --found"),
        *("servers --config no.json", "servers --config c -- x"),
    ),
    "find": ("find add numbers", "find zebra", "find", "find --limit=0 add"),
    "add": (
        *("add docs https://example.com/mcp", "add docs https://example.com/mcp", "add"),
        *("add docs", "add docs ftp://x", "add a https://h/mcp --env A=b", "add none.mcpb"),
        *("add a --header 'A: b' -- x", "add none.json"),
    ),
    "remove": ("remove docs", "remove docs", "remove"),
    "approve": (
        *("approve", "approve --list", "approve nobody", "approve clock@cursor", "approve --all"),
        *("approve clok@cursor", "approve --all demo", "approve --revoke demo"),
        *("approve clock@cursor < n", "tools clock@cursor < n", "approve clock@cursor < y"),
        *("approve --list", "approve clock@cursor", "approve --revoke clock@cursor"),
    ),
    "check": ("check gone", "check demo --ignore x", "check demo --call ''", "check demo --call x"),
    "lock": (
        *("lock --check", "lock demo long", "lock --check demo long", "lock", "lock nobody"),
        *("lock --check", "lock --check --file changed.lock"),
    ),
    "doctor": (
        *("doctor demo", "doctor", "doctor gone", "doctor --config nothing.json", "doctor nobody"),
        *("doctor --cwd /no -- true", "doctor -- no-such-command", "doctor --header A:b -- x"),
    ),
    "ping": ("ping demo", "ping gone", "ping demo x"),
    "shell": (
        *("shell demo < lines", "shell demo < wrong", "shell --config nothing.json"),
        *("shell -- no-such-program", "shell one two"),
        "shell --model no-such-model demo",
    ),
    "open": ("open demo --idle=-5", "open --all demo", "open a.b -- x"),
    "sessions": ("sessions", "XDG_RUNTIME_DIR=/run sessions", "sessions --log", "sessions @x"),
    "close": ("close", "close @browser"),
    "record": (
        *("record s.jsonl call demo add a=1 b=2", "record s.jsonl tools demo", "record"),
        *("record f", "record f auth status", "record f record f tools", "record f --nope tools"),
        *(
            "record f nope",
            "record f tools",
            "record f tools --trace x demo",
            "record f/a ping demo",
        ),
    ),
    "replay": (
        *("replay s.jsonl", "replay s.jsonl call demo add a=1 b=2", "replay no.jsonl"),
        *("replay s.jsonl auth status", "replay e.jsonl"),
    ),
    "inspect": (
        *("inspect --replay no.jsonl", "inspect --config no.json", "inspect --replay s.jsonl x"),
        *("inspect nobody", "inspect demo more", "inspect demo -- x"),
    ),
    "audit": (
        *("audit verify a.log", "audit show a.log", "audit show no.log", "audit"),
        *("audit show --head x a.log", "audit verify no.log"),
    ),
    "auth": (
        *(
            "auth",
            "auth status https://example.com/mcp",
            "auth login",
            "auth logout",
            "auth finish",
        ),
        *("auth enter http://h/", "auth login http://h/ http://h/", "auth finish http://h/"),
        *("auth finish http://h/ a b", "auth login 'not a url'", "auth status -- server"),
    ),
    "bridge": (
        *("bridge", "bridge --all --header 'a: b'", "bridge --all -- x", "bridge demo three"),
        *("bridge --only nine", "bridge --pins one", "bridge --all --name-limit 3"),
    ),
    "stubs": ("stubs empty", "stubs gone", "stubs demo --check", "stubs demo --check -o no.py"),
    "vendor": ("vendor", "vendor x --with htpp"),
    "completion": ("completion fish", "completion", "completion ksh", "completion bash zsh"),
    "help": (
        *("help", "help errors", "help errors 4", "help errors 130", "help errors PeerError"),
        *("help errors CallTimeout", "help tols", "help autentication", "help errors 99"),
        *("help errors PearError", "help servers github", "help errors 1 2", "--help"),
        "help errors AuthorizationRequired",
        *("help call", "list", "ls URL", "run x", "login", "qqq", "toolz", "--quiet tools"),
    ),
}


def place(sockets: Path) -> None:
    """Write the files of the table into the current folder and the user's."""
    user = Path(os.environ["XDG_CONFIG_HOME"], "mcpclient", "mcp.json")
    user.parent.mkdir(parents=True)
    entries: dict[str, Any] = {
        name: {"url": f"unix://{sockets}/{name}.sock"} for name in (*SERVERS, "gone")
    }
    entries["broken"] = {"command": "no-such-program", "args": ["--a-long-option", "b"]}
    user.write_text(json.dumps({"mcpServers": entries}))
    Path("nothing.json").write_text('{"mcpServers": {}}')
    for name, text in {**FILES, **PROGRAMS}.items():
        Path(name).write_text(text)
        Path(name).chmod(0o755)
    Path("e.jsonl").write_text('{"transcript": 1}\n')
    Path("lines").write_text('echo message=hi\nexpect text == "hi"\ntools\n')
    Path("wrong").write_text("echo message=hi\necko message=hi\n")
    clock = {"command": "uvx", "args": ["mcp-clock", "--zone", "UTC"], "env": {"ZONE": "UTC " * 9}}
    Path(os.environ["HOME"], ".cursor").mkdir()
    cursor = Path(os.environ["HOME"], ".cursor", "mcp.json")
    cursor.write_text(json.dumps({"mcpServers": {"clock": clock}}))
    log = ChainedLog("a.log", 1 << 20)
    line = {"time": "2026-01-01T12:00:00.000Z", "user": "ada", "server": "demo", "kind": "start"}
    log.append({**line, "decision": "allowed", "outcome": "ok"})
    call = {**line, "kind": "call", "method": "tools/call", "name": "search_everything"}
    log.append({**call, "decision": "refused", "reason": "the user said no"})


class Shared(io.StringIO):
    """Both streams of a terminal."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError("this terminal has no descriptor")


class Keys(io.StringIO):
    """Stdin: a line that is typed at a terminal, or else not a terminal."""

    def __init__(self, text: str, screen: Shared) -> None:
        super().__init__(text)
        self._screen = screen

    def isatty(self) -> bool:
        return self.getvalue() in ("y\n", "n\n")

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        line = super().readline(-1 if size is None else size)
        self._screen.write(line if self.isatty() else "")  # as a terminal echoes it
        return line


def shown(line: str) -> str:
    """Return a line as a terminal shows it."""
    words, _, typed = line.partition(" < ")
    *environ, words = re.split(r"(?<==/run) ", words)
    screen = Shared()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", screen)
        patch.setattr(sys, "stderr", screen)
        text = Path(typed).read_text() if len(typed) > 1 else f"{typed}\n"
        patch.setattr(sys, "stdin", Keys(text, screen))
        for each in environ:
            name, _, folder = each.partition("=")
            patch.setenv(name, folder.replace("/run", os.environ["RUN"]))
        try:
            code = main(shlex.split(words))
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else 1
    printed = re.sub(r"\r.*\r", "", screen.getvalue())  # a status line, drawn and erased
    ends = f"[exit code {code}]\n" if code else ""
    line = " ".join([*environ, "mcpclient", words, *(["<", typed] if typed else [])])
    return f"$ {line}\n{printed}{ends}"


STABLE = (
    (r"\d+\.\d ms", "1.2 ms"),
    (r"\d+\.\d\d\d s\b", "0.001 s"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "2026-01-01T12:00:00.000Z"),
    (r"\b[0-9a-f]{64}\b", "0" * 64),
)


def stable(text: str, folders: dict[str, str]) -> str:
    """Return a screen without what differs from run to run."""
    for folder, name in folders.items():
        text = text.replace(folder, name)
    for pattern, instead in STABLE:
        text = re.sub(pattern, instead, text)
    return text


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize("columns", [80, 40, 120])
def test_each_screen_is_as_it_is_kept(
    columns: int, sockets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-22: and no line is wider than the terminal, unless it is one word."""
    home = sockets / f"{columns:03}"
    project = home / "project"
    project.mkdir(parents=True)
    monkeypatch.chdir(project)
    environ = {
        "COLUMNS": str(columns),
        "NO_COLOR": "1",
        "PATH": "/usr/bin:/bin",
        "RUN": str(sockets),
    }
    environ.update(dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(home)))
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    place(sockets)
    folders = {f"{project}/": "", str(project): ".", str(home): "~", f"{sockets}/": "/run/"}
    wrong = []
    for command, lines in SCREENS.items():
        screens = [shown(line) for line in (*lines, f"{command} --help")]
        for screen in screens if command not in ("stubs", "completion") else ():
            wide = [each for each in screen.split("\n")[1:] if is_wide(each, columns)]
            wrong += [f"{command}: wider than {columns}: {each}" for each in wide]
        if command == "call":
            screens.append(running(columns))
        text = stable("\n".join(screens), folders)
        file = KEPT / str(columns) / f"{command}.txt"
        if os.environ.get("MCPCLIENT_SCREENS") == "write":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            wrong.append(f"{file} differs:\n{text}")
    assert not wrong, "\n".join(wrong)
    assert not Path("f").exists()


def running(columns: int) -> str:
    """Return the line of a call that takes its time: a spinner, and a bar once there is a total."""
    report = {"progress": 3, "total": 9, "message": "reading page 3 of the nine pages there are"}
    frames = [*drawn(0.95, columns=columns)[:-2], *drawn(0.65, report, columns=columns)[:-2]]
    return "\n".join(["$ mcpclient call …, while it runs", *frames, ""])


def is_wide(line: str, columns: int) -> bool:
    """Whether a terminal breaks a line that has several words."""
    return width_of(line) > columns and " " in re.sub(r"^ *(?:[-→] )?| \\$", "", line)


def test_every_command_has_its_screens() -> None:
    """F-SHOW-22"""
    assert set(SCREENS) == set(COMMANDS)
