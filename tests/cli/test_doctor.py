"""``doctor``: what is wrong is found, in order, and there is something to do about it."""

from __future__ import annotations

import http.server
import json
import socket
import ssl
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcpclient.cli.doctor import CHECKS
from mcpclient.cli.main import main
from tests.net.certificates import Authority
from tests.support.subprocesses import TOP

Capture = pytest.CaptureFixture[str]
DEMO = str(TOP / "mcpclient" / "testing" / "demo_server.py")

# A server over stdio in the handshake era, with one part replaced.
STDIO = f"""
import sys; sys.path.insert(0, {str(TOP)!r})
from tests.support.mcp_server import OpenedServer, serve_stdio
serve_stdio(OpenedServer("handshake", %r, capabilities={{"tools": {{}}}},
                         answers={{"tools/list": {{"tools": %r}}}}))
"""
FINE = {"name": "t", "inputSchema": {"type": "object"}}


def python(code: str) -> list[str]:
    return ["--", sys.executable, "-c", code]


def offering(tools: Any, version: str = "2025-11-25") -> list[str]:
    return python(STDIO % (version, tools))


# (words, the check that fails or warns, its status, the exit code, a part of the hint)
LOCAL: dict[str, tuple[list[str], str, str, int, str]] = {
    "no such command": (["--", "no-such-command"], "command", "failed", 3, "Install it"),
    "a wrong path": (["--", "./no/such/file"], "command", "failed", 3, "Check the path"),
    "a command line in one word": (
        ["--", "npx -y x"],
        "command",
        "failed",
        3,
        "words of the command apart",
    ),
    "a script that is not there": (
        ["--", sys.executable, "gone.py"],
        "command",
        "failed",
        3,
        "Check the path of the script",
    ),
    "a script as a target": (["gone.py"], "command", "failed", 3, "path of the script"),
    "a package as a command": (
        ["--", "@scope/server"],
        "command",
        "failed",
        3,
        "npx -y @scope/server",
    ),
    "a URL as a command": (
        ["--", "localhost:3000/mcp"],
        "command",
        "failed",
        3,
        "http://localhost:3000",
    ),
    "a missing module": (python("import no_such_module"), "command", "failed", 3, "no_such_module"),
    "a missing variable": (
        python("import os; os.environ['MY_API_KEY']"),
        "command",
        "failed",
        3,
        "--env with MY_API_KEY",
    ),
    "a variable that it asks for": (
        python("import sys; sys.exit('Error: GITHUB_TOKEN is not set')"),
        "command",
        "failed",
        3,
        "--env with GITHUB_TOKEN",
    ),
    "a crash at the start": (
        python("1/0"),
        "command",
        "failed",
        3,
        "Run the command in a terminal",
    ),
    "an end without a word": (python("pass"), "command", "failed", 3, "has to run until its stdin"),
    "a syntax error": (python("def"), "command", "failed", 3, "Correct the server's program"),
    "a folder that is not there": (
        ["--cwd", "/no/such/folder", *python("")],
        "config",
        "failed",
        2,
        "--cwd",
    ),
    "a folder that is a file": (["--cwd", DEMO, *python("")], "config", "failed", 2, "--cwd"),
    "a name that is not configured": (["nobody"], "config", "failed", 2, ""),
    "an option that makes no sense": (
        ["--header", "A: b", *python("")],
        "config",
        "failed",
        2,
        "",
    ),
    "noise on stdout": (
        python(f"import runpy; print('a banner'); runpy.run_path({DEMO!r}, run_name='__main__')"),
        "command",
        "warning",
        0,
        "log to stderr",
    ),
    "log lines of JSON on stdout": (
        python("print('{\"level\": 30}', flush=True)\n" + STDIO % ("2025-11-25", [FINE])),
        "command",
        "warning",
        0,
        "log to stderr",
    ),
    "revisions of another time": (
        python(
            "import json, sys\n"
            "for line in sys.stdin:\n"
            "    data = {'supported': ['2031-01-01', '2030-01-01']}\n"
            "    error = {'code': -32022, 'message': 'no', 'data': data}\n"
            "    answer = {'jsonrpc': '2.0', 'id': json.loads(line)['id'], 'error': error}\n"
            "    print(json.dumps(answer), flush=True)"
        ),
        "era",
        "failed",
        3,
        "speaks only 2031-01-01, 2030-01-01",
    ),
    "a revision that is none": (offering([FINE], "1.0"), "era", "failed", 3, ""),
    "tools as an object": (offering({"t": FINE}), "tools", "failed", 5, ""),
    "two tools of one name": (offering([FINE, FINE]), "tools", "warning", 0, "a unique name"),
    "a schema that is none": (
        offering([{"name": "t", "inputSchema": {"type": "object", "properties": 5}}]),
        "schemas",
        "warning",  # the adapters repair it
        0,
        "Correct the schema",
    ),
    "a tool without a schema": (offering([{"name": "t"}]), "schemas", "warning", 0, "Correct"),
    "an output schema that is none": (
        offering([{**FINE, "outputSchema": {"type": "object", "properties": 5}}]),
        "schemas",
        "failed",
        5,
        "cannot be checked",
    ),
    "a schema of another type": (
        offering([{"name": "t", "inputSchema": {"type": "string"}}]),
        "schemas",
        "warning",
        0,
        "Correct the schema",
    ),
}


def examined(words: list[str], capsys: Capture) -> tuple[int, dict[str, dict[str, str]]]:
    """Run the doctor; return its exit code, and the checks by name, in their order."""
    code = main(["doctor", "--json", *words])
    out, _ = capsys.readouterr()
    checks = {check["name"]: check for check in json.loads(out)["checks"]}
    assert tuple(checks) == CHECKS
    return code, checks


def expect(
    words: list[str], check: str, status: str, code: int, hint: str, capsys: Capture
) -> None:
    found, checks = examined(words, capsys)
    shown = json.dumps(checks, indent=1)
    assert checks[check]["status"] == status, shown
    assert found == code, shown
    assert hint in checks[check]["hint"], shown
    assert checks[check]["found"], shown
    before = list(checks.values())[: CHECKS.index(check)]
    assert all(each["status"] in ("ok", "skipped") for each in before), shown
    if status == "failed":
        assert checks[check]["hint"], shown


@pytest.mark.parametrize("name", LOCAL)
@pytest.mark.usefixtures("nothing_configured")
def test_what_is_wrong_with_a_command(name: str, capsys: Capture) -> None:
    """F-SHOW-1: named, with the exit code of the first check that fails, and a hint."""
    words, check, status, code, hint = LOCAL[name]
    expect(words, check, status, code, hint, capsys)


Answer = tuple[int, Mapping[str, str], str]


@contextmanager
def answering(answer: Answer, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve one answer to everything. Yields host and port."""
    status, headers, body = answer

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_GET = do_POST = do_DELETE = do_CONNECT = answer

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


HTML = {"Content-Type": "text/html"}
REMOTE: dict[str, tuple[Answer, str, int, str]] = {
    "no such path": ((404, {}, ""), "path", 3, "/mcp or /sse"),
    "a page for browsers": ((200, HTML, "<html>Welcome"), "path", 3, "log in first"),
    "a redirect to a login": (
        (302, {"Location": "https://sso.example/login?x"}, ""),
        "path",
        3,
        "sso.example/login",
    ),
    "a token that may not": ((403, {}, ""), "auth", 4, "--bearer"),
    "no token": ((401, {"WWW-Authenticate": "Bearer"}, ""), "auth", 4, "--bearer TOKEN"),
    "too many requests": ((429, {"Retry-After": "17"}, ""), "http", 3, "Wait 17 seconds"),
    "a server error": ((500, {}, "oops"), "http", 3, "look at its log"),
    "a gateway without a server": ((502, HTML, "<h1>Bad gateway"), "http", 3, "look at its log"),
    "TLS expected": (
        (400, HTML, "The plain HTTP request was sent to HTTPS port"),
        "path",
        3,
        "https://",
    ),
}


@pytest.mark.parametrize("name", REMOTE)
def test_what_is_wrong_with_a_url(
    name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """F-SHOW-1"""
    monkeypatch.setenv("MCPCLIENT_CREDENTIALS", str(tmp_path / "credentials.json"))
    answer, check, code, hint = REMOTE[name]
    with answering(answer) as place:
        expect([f"http://{place}/mcp"], check, "failed", code, hint, capsys)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def test_nothing_listens(capsys: Capture) -> None:
    """F-SHOW-1"""
    url = f"http://127.0.0.1:{free_port()}/mcp"
    expect([url], "tcp", "failed", 3, "Start the server", capsys)


def test_a_name_without_an_address(capsys: Capture) -> None:
    """F-SHOW-1: .invalid never has one (RFC 2606)."""
    expect(["http://nobody.invalid/mcp"], "dns", "failed", 3, "name of the host", capsys)


def test_a_proxy_that_is_down_or_refuses(capsys: Capture) -> None:
    """F-SHOW-1"""
    down = f"http://127.0.0.1:{free_port()}"
    words = ["https://a.invalid/mcp", "--proxy"]
    expect([*words, down], "proxy", "failed", 3, "--proxy", capsys)
    with answering((403, {}, "")) as place:
        expect([*words, f"http://{place}"], "proxy", "failed", 3, "--proxy", capsys)


def test_https_for_http_and_a_certificate_of_its_own(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-1"""
    with answering((200, {}, "")) as place:
        expect([f"https://{place}/mcp"], "tls", "failed", 3, "http://", capsys)
    authority = Authority(tmp_path)
    with answering((404, {}, ""), authority.server_context()) as place:
        url = f"https://{place}/mcp"
        expect([url], "tls", "failed", 3, "--ca-file", capsys)
        expect([url, "--insecure"], "path", "failed", 3, "/mcp", capsys)


def test_variables_with_authorities_are_told(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-1: those that are read, those that lead nowhere, and those of other programs."""
    authority, missing = Authority(tmp_path), str(tmp_path / "none")
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", missing)
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", authority.file)
    with answering((404, {}, ""), authority.server_context()) as place:
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


def test_a_sound_server_passes(capsys: Capture) -> None:
    """F-SHOW-1"""
    code, checks = examined(["--", sys.executable, DEMO], capsys)
    assert code == 0
    assert {name for name, check in checks.items() if check["status"] == "ok"} == {
        *("config", "command", "era", "tools", "schemas"),
    }


def test_nothing_is_said_of_what_was_not_seen(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-15: no TLS for http://, no path without an answer, no name for an address."""
    monkeypatch.setenv("MCPCLIENT_CREDENTIALS", str(tmp_path / "credentials.json"))

    def seen(url: str, *words: str) -> set[str]:
        _, checks = examined([url, *words], capsys)
        return {name for name, check in checks.items() if check["status"] == "ok"}

    with answering((401, {"WWW-Authenticate": "Bearer"}, "")) as place:
        assert seen(f"http://{place}/mcp") == {"config", "tcp", "http"}
        assert "dns" in seen(f"http://localhost:{place.partition(':')[2]}/mcp")
    with answering((404, {}, ""), Authority(tmp_path).server_context()) as place:
        assert seen(f"https://{place}/mcp", "--insecure") == {"config", "tcp", "tls", "http"}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        assert seen(f"http://{place}/mcp", "--timeout", "0.5") == {"config", "tcp"}
        _, checks = examined([f"https://{place}/mcp", "--timeout", "0.5"], capsys)
        assert (checks["tcp"]["status"], checks["tls"]["status"]) == ("ok", "failed")


def test_without_a_name_all_servers_are_looked_at(
    tmp_path: Path, nothing_configured: Path, capsys: Capture
) -> None:
    """F-SHOW-15: the exit code is that of the first failure; what is switched off is not run."""
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


def test_for_people(capsys: Capture) -> None:
    """F-SHOW-1: what was checked, and the hint below what failed."""
    assert main(["doctor", "--", "no-such-command"]) == 3
    config, command, hint = capsys.readouterr().out.splitlines()
    assert config == "config   ok"
    assert command.startswith("command  failed   cannot start 'no-such-command'")
    assert hint.strip().startswith("→ Install it")


def test_a_failed_command_says_the_same(capsys: Capture) -> None:
    """F-SHOW-1: one diagnosis for all commands."""
    assert main(["tools", *LOCAL["a missing variable"][0]]) == 3
    assert "--env with MY_API_KEY" in capsys.readouterr().err


def test_a_revision_that_is_none_is_refused_by_every_command(capsys: Capture) -> None:
    """F-SHOW-2"""
    assert main(["ping", *LOCAL["a revision that is none"][0]]) == 3
    assert "'1.0'" in capsys.readouterr().err
