"""Every command explains a broken set-up: the exit code, the cause, and a cure.

Each row is a set-up that a user might have, the command that meets it, and parts of its output.
An empty cure: the cause says what to do.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conformance.workspace import free_port
from mcpclient.cli.main import main
from tests.cli.odd_servers import (
    BANNER_FIRST,
    FINE,
    LOGS_OF_JSON,
    answer,
    offering,
    python,
    refusing,
    served,
)
from tests.cli.test_mistakes import PYTHON_ONLY
from tests.net.certificates import Authority

pytestmark = pytest.mark.usefixtures("nothing_configured", "own_credentials")
Capture = pytest.CaptureFixture[str]


class Row(NamedTuple):
    """``words``: the server and options; ``command``: what is asked of it."""

    words: list[str]
    code: int
    cause: str
    cure: str = ""
    command: str = "tools"


def check(row: Row, capsys: Capture) -> None:
    """Run a command, and compare its output."""
    head, *arguments = row.command.split()
    before, *behind = row.words
    words = [*arguments, *row.words] if before.startswith("-") else [before, *arguments, *behind]
    assert main([head, *words]) == row.code
    _, errors = capsys.readouterr()
    assert "\x1b" not in errors
    assert row.cause in errors
    assert row.cure in errors
    assert (
        sum(line.startswith("error: ") for line in errors.splitlines()) <= 1
        and errors.count("Traceback") <= 1
    )
    lines = errors.splitlines()
    assert len(lines) == len(set(lines)), "something is said twice"
    assert row.code == 0 or not PYTHON_ONLY.search(lines[-1])


ENDS = {
    "a missing script": Row(["--", sys.executable, "x.py"], 3, "can't open file", "Check the path"),
    "a missing module": Row(
        python("import no_such"), 3, "no_such", "Install the package that provides no_such"
    ),
    "a module of -m": Row(
        ["--", sys.executable, "-m", "no_such"], 3, "no_such", "Install the package"
    ),
    "a missing variable": Row(python("import os; os.environ['A_KEY']"), 3, "A_KEY", "--env with"),
    "a program that is wrong": Row(python("def"), 3, "SyntaxError", "Fix the server's program"),
    "a crash": Row(python("1/0"), 3, "ZeroDivisionError", "Run the command in a terminal"),
    "a crash of the interpreter": Row(
        python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"), 3, "signal 11", "crashed"
    ),
    "a question, and an end": Row(
        python("print('Continue? [y/N] ', end='', flush=True); raise SystemExit(1)"),
        3,
        "Continue?",
        "It asks a question",
    ),
    "an end without a word": Row(python("pass"), 3, "exited with code 0", "until its stdin is"),
    "help in place of a server": Row(
        python("print('usage: server --stdio'); raise SystemExit(2)"),
        3,
        "usage: server",
        "terminal",
    ),
}


# A server process that speaks, but not as it should

AGREED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "t", "version": "1"},
}


def saying(code: str, initialized: Any = AGREED) -> list[str]:
    """A server of the handshake era that does this with every other request ``m``."""
    return python(
        "import json, os, sys, time\n"
        "def send(m): print(json.dumps({'jsonrpc': '2.0', **m}), flush=True)\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    if 'id' not in m: continue\n"
        f"    if m['method'] == 'initialize': send({{'id': m['id'], 'result': {initialized!r}}})\n"
        "    elif m['method'] == 'server/discover':\n"
        "        send({'id': m['id'], 'error': {'code': -32601, 'message': 'no'}})\n"
        f"    elif m['method'] == 'tools/list' and {code.startswith('call:')}:\n"
        f"        send({{'id': m['id'], 'result': {{'tools': [{FINE!r}]}}}})\n"
        f"    else: {code.replace('call:', '')}\n"
    )


BANNER = "import time; print('listening on 3000', flush=True); time.sleep(60)"
STRAY = '{"jsonrpc": "2.0", "id": 99, "result": {}}'
SHORT = ["--timeout", "0.5"]
# The server has to start within that, too, which takes longer on Windows.
ONCE_IT_RUNS = ["--timeout", "1.5" if os.name == "posix" else "6"]
OTHERS = {"supported": ["2031-01-01"]}
REPORT = "Report it to the author"
ODD_SERVERS = {
    "only a banner": Row(
        [*ONCE_IT_RUNS, *python(BANNER)], 3, "listening on 3000", "logs belong on stderr"
    ),
    "a URL that it serves": Row(
        [*ONCE_IT_RUNS, *python(BANNER.replace("on 3000", "on http://127.0.0.1:3000/mcp"))],
        3,
        "listening on",
        "It serves HTTP at http://127.0.0.1:3000/mcp: connect to that URL",
    ),
    "a question": Row(
        [
            *ONCE_IT_RUNS,
            *python("import time; print('API key: ', end='', flush=True); time.sleep(60)"),
        ],
        3,
        "API key:",
        "It asks a question",
    ),
    "JSON of another kind": Row(
        [
            *ONCE_IT_RUNS,
            *python("import time; print('{\"hello\": 1}', flush=True); time.sleep(60)"),
        ],
        3,
        "hello",
        "perhaps not an MCP server",
    ),
    "silence": Row(
        [*SHORT, *python("import time; time.sleep(60)")], 3, "not connected within", "--timeout"
    ),
    "an id of its own": Row(
        [*ONCE_IT_RUNS, *saying("send({'id': 'x', 'result': {}})")],
        124,
        "unknown request id: 'x'",
        REPORT,
    ),
    "an id of its own at once": Row(
        [*SHORT, *python(f"print('{STRAY}', flush=True); import time; time.sleep(60)")],
        3,
        "unknown request id: 99",
        REPORT,
    ),
    "no answer": Row(
        [*ONCE_IT_RUNS, *saying("call:pass")], 124, "no answer within", "Raise", "call t"
    ),
    "a crash in a call": Row(
        saying("call:raise ValueError('boom')"), 3, "boom", "Run the command", "call t"
    ),
    "a crash after connecting": Row(saying("os._exit(7)"), 3, "code 7", "Run the command"),
    "half a message": Row(
        saying("print('{\"id\": %s, oops' % m['id'], flush=True)"), 5, "not JSON", REPORT
    ),
    "no object": Row(saying("send({'id': m['id'], 'result': []})"), 5, "without a result", REPORT),
    "a revision that is none": Row(offering([FINE], "1.0"), 3, "'1.0'", REPORT),
    "a revision without initialize": Row(offering([FINE], "2031-01-01"), 3, "2031-01-01", REPORT),
    "no revision": Row(saying("pass", {}), 3, "without a protocolVersion", REPORT),
    "other revisions": Row(refusing(-32022, "no", OTHERS), 3, "-32022", "speaks only 2031-01-01"),
    "a database that is down": Row(refusing(-32603, "no database"), 3, "no database", "its log"),
    "tools that are no list": Row(offering({"t": FINE}), 5, "are not a list", REPORT),
    "tools that it does not have": Row(
        saying("send({'id': m['id'], 'error': {'code': -32601, 'message': 'none'}})"),
        5,
        "-32601",
        "mcpclient info",
    ),
    "another tool": Row(offering([FINE]), 2, "there is no tool 'tt'", "did you mean", "call tt"),
    "a banner and then a server": Row(
        BANNER_FIRST, 0, "skipped a line that is not a JSON-RPC message: 'a \\x1b[1mbanner"
    ),
    "log lines of JSON": Row(LOGS_OF_JSON, 0, 'not a JSON-RPC message: {"level": 30}'),
}


ROWS = {**ENDS, **ODD_SERVERS}


@pytest.mark.quick_rows(10)
@pytest.mark.parametrize("name", ROWS)
def test_what_is_wrong_here_is_said(name: str, capsys: Capture) -> None:
    """F-SHOW-2: of a command, of its server, of the words; before more is started or sent."""
    check(ROWS[name], capsys)


HTML, JSON, TEXT = ({"Content-Type": kind} for kind in ("text/html", "application/json", "text/x"))
STREAM = {"Content-Type": "text/event-stream"}
BEARER = {"WWW-Authenticate": "Bearer"}
MOVED = {"Location": "https://h.example/mcp"}
METADATA = {"WWW-Authenticate": 'Bearer resource_metadata="http://{host}/.well-known/none"'}
PATH = "/mcp or /sse"
ANSWERS: dict[str, tuple[tuple[int, dict[str, str], str], int, str, str]] = {
    "another method": ((405, {}, ""), 3, "does not take this method", PATH),
    "not acceptable": ((406, {}, ""), 3, "HTTP 406", PATH),
    "no token": ((401, BEARER, ""), 4, "HTTP 401", "--bearer TOKEN"),
    "no token, and no challenge": ((401, {}, ""), 4, "HTTP 401", "--bearer TOKEN"),
    "metadata that cannot be read": ((401, METADATA, ""), 4, "answered with HTTP 401", ""),
    "forbidden": ((403, {}, "not yours"), 4, "not yours", "--bearer TOKEN"),
    "too many requests": ((429, {"Retry-After": "17"}, ""), 3, "HTTP 429", "Wait 17 seconds and"),
    "a failure": ((500, {}, "oops"), 3, "oops", "look at its log"),
    "a gateway": ((502, HTML, "<h1>Bad gateway"), 3, "Bad gateway", "look at its log"),
    "maintenance": ((503, {"Retry-After": "5"}, ""), 3, "HTTP 503", "Wait 5 seconds and"),
    "another place": ((307, MOVED, ""), 3, "HTTP 307", "https://h.example/mcp"),
    "other JSON": ((200, JSON, '{"a": 1}'), 3, 'not a JSON-RPC message: {"a": 1}', PATH),
    "broken JSON": ((200, JSON, '{"jsonrpc'), 3, "not JSON", REPORT),
    "plain text": ((200, TEXT, "hello"), 3, "It begins: hello", PATH),
    "nothing": ((200, JSON, ""), 3, "No response received", PATH),
    "no content": ((204, {}, ""), 3, "No response received", PATH),
    "a stream without events": ((200, STREAM, ""), 3, "No response received", PATH),
    "TLS expected": ((400, HTML, "sent to HTTPS port"), 3, "HTTPS port", "write https://"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_wrong_with_an_answer(name: str, capsys: Capture) -> None:
    """F-SHOW-2"""
    (status, headers, body), code, cause, cure = ANSWERS[name]
    with served(answer(status, headers, body)) as place:
        check(Row([f"http://{place}/mcp"], code, cause, cure), capsys)


def test_a_token_that_is_refused(capsys: Capture) -> None:
    """F-SHOW-15: it is not asked for again as if none had been given."""
    with served(answer(401, BEARER)) as place:
        refused = Row([f"http://{place}/mcp", "--bearer", "x"], 4, "HTTP 401", "refused the token")
        check(refused, capsys)


def test_authorities_that_are_none_or_in_der(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-15"""
    file = tmp_path / "ca.crt"
    file.write_bytes(b"\x30\x82" + bytes(300))
    check(Row(["--ca-file", str(file), "https://h/"], 2, "no certificates", "It is in DER"), capsys)
    check(Row(["--ca-file", __file__, "https://h/"], 2, "no certificates"), capsys)


def test_one_scheme_for_the_other(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-2"""
    with served(answer(200)) as place:
        check(Row([f"https://{place}/mcp"], 3, "does not speak TLS", "Write http://"), capsys)
        check(Row([f"ws://{place}/mcp"], 3, "HTTP 200", PATH), capsys)
    with served(answer(404), Authority(tmp_path).server_context()) as place:
        check(Row([f"http://{place}/mcp"], 3, "was lost", f"write https://{place}/mcp"), capsys)


@contextmanager
def behaving(behave: Callable[[socket.socket], None]) -> Iterator[str]:
    """A port where each connection is treated like this. Yields host and port."""
    ended = threading.Event()

    def treat(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            behave(connection)
            if behave is _nothing:
                ended.wait(20)

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=treat, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            ended.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)


def _nothing(connection: socket.socket) -> None:
    """Read and write nothing, and stay."""


def _sending(data: bytes) -> Callable[[socket.socket], None]:
    def send(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(data)

    return send


def test_nobody_or_somebody_else_is_there(capsys: Capture) -> None:
    """F-SHOW-2"""
    check(Row([f"ws://127.0.0.1:{free_port()}/"], 3, "nothing listens", "Start the server"), capsys)
    unknown = Row(["http://nobody.invalid/mcp"], 3, "cannot be resolved", "Check the name of the h")
    check(unknown, capsys)
    with behaving(_nothing) as place:
        silent = Row([*SHORT, f"http://{place}/"], 3, "not connected within", "--timeout")
        check(silent, capsys)
        check(silent._replace(words=[*SHORT, f"https://{place}/"]), capsys)
        words = [*SHORT, "http://h.invalid/mcp", "--proxy", f"http://{place}"]
        check(Row(words, 3, f"waiting for the proxy http://{place}", "Check --proxy"), capsys)
    with behaving(_sending(b"SSH-2.0-OpenSSH_9\r\n")) as place:
        check(Row([f"http://{place}/mcp"], 3, "SSH-2.0-OpenSSH_9", "TLS on this port"), capsys)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
    with behaving(_sending(head)) as place:
        check(Row([f"http://{place}/mcp"], 3, "98 bytes of its body are missing"), capsys)


@pytest.mark.parametrize(
    ("status", "cause", "cure"),
    [
        (b"407 Who", "asks for credentials (407)", "://user:password@host:port"),
        (b"403 No", "refused to connect to a.invalid port 443: 403 No", "Check --proxy"),
    ],
)
def test_a_proxy_that_refuses(status: bytes, cause: str, cure: str, capsys: Capture) -> None:
    """F-SHOW-2"""
    with behaving(_sending(b"HTTP/1.1 %b\r\nContent-Length: 0\r\n\r\n" % status)) as place:
        words = ["https://a.invalid/mcp", "--proxy", f"http://{place}"]
        check(Row(words, 3, cause, cure), capsys)
