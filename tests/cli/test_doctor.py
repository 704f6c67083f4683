"""``doctor``: what is wrong is found, in order, and there is something to do about it."""

from __future__ import annotations

import http.server
import json
import socket
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from conformance.workspace import free_port
from mcpclient import (
    AuthorizationRequired,
    CallTimeout,
    CommandNotFound,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    PeerError,
    ProcessExited,
    ProtocolViolation,
    UsageError,
)
from mcpclient.cli import doctor
from mcpclient.cli.doctor import CHECKS, check_of
from mcpclient.cli.main import main
from mcpclient.errors import ConnectKind, LossKind, ViolationKind
from tests.cli.odd_servers import (
    BANNER_FIRST,
    DEMO,
    FINE,
    LOGS_OF_JSON,
    answer,
    offering,
    python,
    refusing,
    served,
)
from tests.net.certificates import Authority
from tests.support.tables import each_row

Capture = pytest.CaptureFixture[str]


class Found(NamedTuple):
    """The line that is typed, a part of the hint, and the check that fails or warns."""

    words: list[str]
    hint: str
    check: str = "command"
    status: str = "failed"
    code: int = 3


LOCAL = {
    "a missing variable": Found(
        python("import os; os.environ['MY_API_KEY']"), "--env with MY_API_KEY"
    ),
    "noise on stdout": Found(BANNER_FIRST, "belong on stderr", status="warning", code=0),
    "log lines of JSON on stdout": Found(
        LOGS_OF_JSON, "belong on stderr", status="warning", code=0
    ),
    "revisions of another time": Found(
        refusing(-32022, "no", {"supported": ["2031-01-01", "2030-01-01"]}),
        "speaks only 2031-01-01, 2030-01-01",
        check="era",
    ),
    "a revision that is none": Found(offering([FINE], "1.0"), "", check="era"),
    "tools as an object": Found(offering({"t": FINE}), "", check="tools", code=5),
    "invisible text": Found(
        offering([{**FINE, "description": "a\u200b"}]),
        "Remove the invisible characters",
        check="tools",
        status="warning",
        code=0,
    ),
    "no tools": Found(offering([]), "list of tools is empty", "tools", "warning", 0),
    "10,000 tools": Found(
        offering([{**FINE, "name": f"t{n}"} for n in range(1001)]),
        "fewer tools",
        "tools",
        "warning",
        0,
    ),
    "a name that no model API takes": Found(
        offering([{**FINE, "name": "a.b"}]), "Name tools with", "tools", "warning", 0
    ),
    "two tools of one name": Found(
        offering([FINE, FINE]), "a unique name", check="tools", status="warning", code=0
    ),
    "a schema that is none": Found(
        offering([{"name": "t", "inputSchema": {"type": "object", "properties": 5}}]),
        "Correct the schema",
        check="schemas",
        status="warning",
        code=0,
    ),
    "a tool without a schema": Found(
        offering([{"name": "t"}]), "Correct", check="schemas", status="warning", code=0
    ),
    "an output schema that is none": Found(
        offering([{**FINE, "outputSchema": {"type": "object", "properties": 5}}]),
        "cannot be checked",
        check="schemas",
        code=5,
    ),
    "a schema of another type": Found(
        offering([{"name": "t", "inputSchema": {"type": "string"}}]),
        "Correct the schema",
        check="schemas",
        status="warning",
        code=0,
    ),
}


def examined(words: list[str], capsys: Capture) -> tuple[int, dict[str, dict[str, str]]]:
    """Run the doctor; return its exit code, and the checks by name, in their order."""
    code = main(["doctor", "--json", *words])
    out, _ = capsys.readouterr()
    checks = {check["name"]: check for check in json.loads(out)["checks"]}
    assert tuple(checks) == CHECKS
    return code, checks


def expect(row: Found, capsys: Capture) -> None:
    found, checks = examined(row.words, capsys)
    shown = json.dumps(checks, indent=1)
    check = checks[row.check]
    assert (check["status"], found) == (row.status, row.code), shown
    assert row.hint in check["hint"], shown
    assert check["found"], shown
    before = list(checks.values())[: CHECKS.index(row.check)]
    assert all(each["status"] in ("ok", "skipped") for each in before), shown
    if row.status == "failed":
        assert check["hint"], shown


@pytest.mark.quick_rows(4)
@pytest.mark.parametrize("name", LOCAL)
@pytest.mark.usefixtures("nothing_configured")
def test_what_is_wrong_with_a_command(name: str, capsys: Capture) -> None:
    """F-SHOW-1: named, with the exit code of the first check that fails, and a hint."""
    expect(LOCAL[name], capsys)


def test_a_way_that_ends_early(capsys: Capture) -> None:
    """F-SHOW-1: nothing listens; .invalid never has an address (RFC 2606)."""
    url = f"http://127.0.0.1:{free_port()}/mcp"
    expect(Found([url], "Start the server", "tcp"), capsys)
    expect(Found(["http://nobody.invalid/mcp"], "name of the host", "dns"), capsys)


def test_a_proxy_that_is_down_or_refuses(capsys: Capture) -> None:
    """F-SHOW-1"""
    down = f"http://127.0.0.1:{free_port()}"
    words = ["https://a.invalid/mcp", "--proxy"]
    expect(Found([*words, down], "--proxy", "proxy"), capsys)
    with served(answer(403)) as place:
        expect(Found([*words, f"http://{place}"], "--proxy", "proxy"), capsys)
    with served(answer(404)) as place:
        words = ["http://a.invalid/mcp", "--proxy", f"http://{place}"]
        found = {name: check["status"] for name, check in examined(words, capsys)[1].items()}
        assert (found["proxy"], found["dns"], found["path"]) == ("ok", "skipped", "failed")


def test_variables_with_authorities_are_told(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-1: those that are read, those that lead nowhere, and other programs' variables."""
    authority, missing = Authority(tmp_path), str(tmp_path / "none")
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", missing)
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", authority.file)
    with served(answer(404), authority.server_context()) as place:
        url = f"https://{place}/mcp"
        _, checks = examined([url], capsys)
        assert checks["tls"]["status"] == "failed"
        assert checks["tls"]["found"].splitlines()[-2:] == [
            f"SSL_CERT_DIR={missing} does not exist",
            f"NODE_EXTRA_CA_CERTS={authority.file} is not read: give it as SSL_CERT_FILE",
        ]
        monkeypatch.setenv("SSL_CERT_FILE", authority.file)
        _, checks = examined([url], capsys)
        assert checks["tls"]["status"] == "ok"
        assert f"SSL_CERT_FILE={authority.file}\n" in checks["tls"]["found"]
        _, checks = examined([url, "--ca-file", authority.file], capsys)
        assert checks["tls"]["found"] == ""


def test_what_other_programs_refuse(
    nothing_configured: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-1: a byte order mark, answers of another type than JSON, and a slow start."""
    file = nothing_configured / "servers.json"
    demo = {"command": sys.executable, "args": [DEMO]}
    file.write_text(json.dumps({"mcpServers": {"demo": demo}}), "utf-8-sig")
    expect(
        Found(["demo", "--config", str(file)], "without a byte order mark", "config", "warning", 0),
        capsys,
    )
    answers = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "serverInfo": {"name": "n", "version": "1"},
        }
    }

    def plain(request: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        asked = json.loads(body or b"{}")
        result = answers.get(asked.get("method"))
        error = {"error": {"code": -32601, "message": "no"}}
        outcome = {"result": result} if result else error
        said = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), **outcome})
        answer(200, {"Content-Type": "text/plain"}, said)(request, body)

    with served(plain) as place:
        words = [f"http://{place}/mcp"]
        expect(Found(words, "application/json", "http", "warning", 0), capsys)
    monkeypatch.setattr(doctor, "SLOW_START", -1.0)
    expect(Found(offering([FINE]), "start faster", "era", "warning", 0), capsys)


def test_a_sound_server_passes(capsys: Capture) -> None:
    """F-SHOW-1"""
    code, checks = examined(["--", sys.executable, DEMO], capsys)
    assert code == 0
    assert {name for name, check in checks.items() if check["status"] == "ok"} == {
        *("config", "command", "era", "tools", "schemas", "protocol")
    }


def test_nothing_is_said_of_what_was_not_seen(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-15: no TLS for http://, no path without an answer, no name for an address."""
    monkeypatch.setenv("MCPCLIENT_CREDENTIALS", str(tmp_path / "credentials.json"))

    def seen(url: str, *words: str) -> set[str]:
        _, checks = examined([url, *words], capsys)
        return {name for name, check in checks.items() if check["status"] == "ok"}

    with served(answer(401, {"WWW-Authenticate": "Bearer"})) as place:
        assert seen(f"http://{place}/mcp") == {"config", "tcp", "http"}
        assert "dns" in seen(f"http://localhost:{place.partition(':')[2]}/mcp")
    with served(answer(404), Authority(tmp_path).server_context()) as place:
        assert seen(f"https://{place}/mcp", "--insecure") == {"config", "tcp", "tls", "http"}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        assert seen(f"http://{place}/mcp", "--timeout", "0.5") == {"config", "tcp"}
        _, checks = examined([f"https://{place}/mcp", "--timeout", "2"], capsys)
        assert (checks["tcp"]["status"], checks["tls"]["status"]) == ("ok", "failed")


def test_without_a_name_all_servers_are_looked_at(
    tmp_path: Path, nothing_configured: Path, capsys: Capture
) -> None:
    """F-SHOW-15: the first failure sets the exit code; disabled servers are not run."""
    file = tmp_path / "servers.json"
    demo = {"command": sys.executable, "args": [DEMO]}
    off = {"command": str(tmp_path / "touched"), "disabled": True}
    gone = {"command": "no-such-command"}
    file.write_text(json.dumps({"mcpServers": {"demo": demo, "gone": gone, "off": off}}))
    assert main(["doctor", "--json", "--config", str(file)]) == 3
    servers = {each["name"]: each for each in json.loads(capsys.readouterr().out)["servers"]}
    statuses = {
        name: {check["name"]: check["status"] for check in server["checks"]}
        for name, server in servers.items()
    }
    assert statuses["demo"]["tools"] == "ok"
    assert statuses["gone"]["command"] == "failed"
    assert statuses["off"]["config"] == "failed" and statuses["off"]["command"] == "skipped"
    assert main(["doctor", "--config", str(file)]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line in servers] == ["demo", "gone", "off"]
    file.write_text('{"mcpServers": {}}')
    assert main(["doctor", "--config", str(file)]) == 2
    assert "no server is configured" in capsys.readouterr().err.lower()


def timed_out(reached: str) -> CallTimeout:
    error = CallTimeout("initialize", 1, "connect")
    error.reached = reached
    return error


def failed(*kinds: ConnectKind) -> list[McpError]:
    return [ConnectFailed("h", "x", kind=kind) for kind in kinds]


def refused(*statuses: int) -> list[McpError]:
    return [HttpError(status, {}, b"") for status in statuses]


CHECK_OF: dict[str, list[McpError]] = {
    "config": [UsageError("x"), *failed(ConnectKind.WORKING_DIRECTORY)],
    "command": [CommandNotFound(["x"], "no", ""), ProcessExited(["x"], 1, "")],
    "dns": failed(ConnectKind.UNKNOWN_HOST),
    "tcp": [*failed(ConnectKind.REFUSED, ConnectKind.OTHER), timed_out("nothing")],
    "tls": [
        *failed(*(kind for kind in ConnectKind if kind.value.endswith(("tls", "valid", "signed")))),
        *failed(ConnectKind.CERTIFICATE, ConnectKind.UNKNOWN_AUTHORITY, ConnectKind.OTHER_HOST),
        *failed(ConnectKind.EXPIRED, ConnectKind.CLIENT_CERTIFICATE),
        ConnectionLost("x", LossKind.CLIENT_CERTIFICATE),
        timed_out("tcp"),
    ],
    "proxy": [*failed(*(k for k in ConnectKind if k.value.startswith("proxy"))), *refused(407)],
    "http": [
        *failed(ConnectKind.CLOSED_EARLY),
        *refused(429, 500, 503),
        ConnectionLost("x", LossKind.DROPPED),
        ProtocolViolation("x", ViolationKind.NOT_HTTP),
        timed_out("connected"),
    ],
    "path": [
        *failed(ConnectKind.NOT_AN_ENDPOINT),
        *refused(302, 404, 499),
        ConnectionLost("x", LossKind.NO_RESPONSE),
        ProtocolViolation("x", ViolationKind.PAGE),
        ProtocolViolation("x", ViolationKind.NOT_JSON),
    ],
    "auth": [*refused(401, 403), AuthorizationRequired("https://h/")],
    "era": [PeerError(-1, "x"), ProtocolViolation("x"), timed_out(""), ConnectionLost("x")],
}


@each_row("check", CHECK_OF)
def test_each_kind_of_error_belongs_to_a_check(check: str) -> None:
    """F-SHOW-15: doctor names the step that failed."""
    assert {f"{error!r}": check_of(error) for error in CHECK_OF[check]} == {
        f"{error!r}": check for error in CHECK_OF[check]
    }
