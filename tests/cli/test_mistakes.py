"""Mistakes people make, in Python and in a shell: each is named, and the hint is the next step.

One table for both: an error's first line says what happened, and its hint what to do, with keyword
arguments in Python and with options on the command line; `test_broken_setups` has more of these.
"""

from __future__ import annotations

import asyncio
import http.server
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import mcpclient
from mcpclient import McpError
from mcpclient.cli.main import main
from mcpclient.errors import (
    CallTimeout,
    ConnectFailed,
    ConnectKind,
    PeerError,
    ProcessExited,
    SessionExpired,
)
from mcpclient.hints import hint_for
from mcpclient.hints.shell import SHELL
from tests.cli.odd_servers import DEMO, Handler, answer, served

pytestmark = pytest.mark.usefixtures("nothing_configured", "own_credentials")
Capture = pytest.CaptureFixture[str]
NOWHERE = "http://127.0.0.1:9/mcp"

# Words of one language that the hints of the other must not have.
PYTHON_ONLY = re.compile(r"\b[a-z_]+=(?=[\s,.:;)]|$)|\bclient\.|mcpclient\.\w+\(|\bconnect\(")
SHELL_ONLY = re.compile(r"(?<!\w)--[a-z]|mcpclient (?:auth|tools|info|resources)\b")


def test_the_languages_are_told_apart() -> None:
    """F-SHOW-15"""
    assert PYTHON_ONLY.search("give ca_file= or") and not PYTHON_ONLY.search("--ca-file")
    assert SHELL_ONLY.search("give --ca-file") and not SHELL_ONLY.search("give ca_file=")


class Typed(NamedTuple):
    """The line that is typed, the exit code, and parts of the first line and of the hint."""

    words: list[str]
    code: int
    said: str
    hint: str


def printing(text: str) -> list[str]:
    """A server that prints this and stays until its stdin ends."""
    data = text.encode() if isinstance(text, str) else text
    program = f"import sys; sys.stdout.buffer.write({data!r}); sys.stdout.flush(); sys.stdin.read()"
    return ["tools", "--timeout", "1.5", "--", sys.executable, "-c", program]


TYPED = {
    "no such resource": Typed(
        ["read", DEMO, "no://x"], 5, "answered resources/read 'no://x' with error", "as the server"
    ),
    "UTF-16": Typed(printing('{\0"\0a\0"\0:\0001\0}\0\n\0'), 3, "not connected", "UTF-8"),
    "printed over several lines": Typed(
        printing('{\n  "jsonrpc": "2.0"\n}\n'), 3, "not connected", "on one line"
    ),
    "the headers of a language server": Typed(
        printing("Content-Length: 2\r\n\r\n{}"), 3, "not connected", "Content-Length headers"
    ),
}


@pytest.mark.quick_rows(2)
@pytest.mark.parametrize("name", TYPED)
def test_what_is_typed(name: str, capsys: Capture) -> None:
    """F-SHOW-15: named in the first line, and the next step is in the shell's words."""
    words, code, said, hint = TYPED[name]
    assert main(words) == code
    errors = capsys.readouterr().err
    (told,) = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert said in told
    assert hint in errors
    assert not PYTHON_ONLY.search(errors.splitlines()[-1])


class Written(NamedTuple):
    """The target and its options; parts of the first line and of the hint."""

    target: Any
    options: dict[str, Any]
    said: str
    hint: str


WRITTEN = {
    "an empty token": Written(NOWHERE, {"auth": ""}, "empty token", "leave out auth="),
    "a token with its scheme": Written(
        NOWHERE, {"auth": "Bearer x"}, "begins with Bearer", "as auth= goes without it"
    ),
    "a header with the scheme twice": Written(
        NOWHERE, {"headers": {"authorization": "bearer Bearer x"}}, "twice", "auth="
    ),
    "a header without a token": Written(
        NOWHERE, {"headers": {"Authorization": "Bearer "}}, "no token", "variable"
    ),
    "a URL in a list": Written(["https://h/mcp"], {}, "cannot start", "as a string"),
    "a mapping's command": Written(
        {"command": "./npx -y x"}, {}, "cannot start", "a list with one item"
    ),
    "nobody listens": Written(NOWHERE, {}, "nothing listens", "Start the server"),
    "a shell's command": Written(["cd", "x"], {}, "'cd'", "as cwd="),
    "a folder that is not there": Written(["x"], {"cwd": "/no"}, "does not exist", "as cwd="),
    "a silent server": Written(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        {"connect_timeout": 0.5},
        "not connected within",
        "raise connect_timeout=",
    ),
    "a missing variable": Written(
        [sys.executable, "-c", "import os; os.environ['API_KEY']"], {}, "code 1", "env= with API_K"
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
async def test_what_is_written(name: str) -> None:
    """F-SHOW-15: named in the first line, and the next step is in Python's words."""
    target, options, said, hint = WRITTEN[name]
    with pytest.raises(McpError) as caught:
        await mcpclient.connect(target, stderr="discard", **options)
    error = caught.value
    assert said in str(error).splitlines()[0]
    assert hint in error.hint
    assert not SHELL_ONLY.search(error.hint)
    assert error.hint == error.hint
    if sys.version_info >= (3, 11):
        assert error.__notes__ == [f"Hint: {error.hint}"]
        error.add_note("mine")
        assert error.__notes__[1:] == ["mine"]


@pytest.mark.parametrize(
    ("error", "python", "shell"),
    [
        (ProcessExited(["docker", "run", "--rm", "x"], 0, ""), "Add -i", "Add -i"),
        (ProcessExited(["docker", "run", "-it", "x"], 0, ""), "in a terminal", "in a terminal"),
        (
            ConnectFailed("h", "407", kind=ConnectKind.PROXY_NEGOTIATE),
            "with proxy_auth=mcpclient.Negotiate()",
            "with --proxy-negotiate",
        ),
        (ConnectFailed("h", "x", kind=ConnectKind.SELF_SIGNED), "as ca_file=", "as --ca-file"),
        (ConnectFailed("h", "x", kind=ConnectKind.EXPIRED), "verify=False", "--insecure"),
        (PeerError(-32601, "x"), "client.list_tools()", "mcpclient info"),
        (CallTimeout("tools/call", 3, "total"), "Raise max_timeout=", "Raise --max-timeout"),
        (mcpclient.MessageTooLarge(9), "max_message_size=", "Ask for less"),
        (mcpclient.NotOffered("x"), "sampling=", "--elicit"),
        (mcpclient.ClientClosed(), "async with", "again"),
        (mcpclient.AuthorizationRequired("https://h/"), "finish_auth()", "mcpclient auth login"),
        (mcpclient.ServerUnavailable("x", "needs_approval", "y"), "approvals=", "--config FILE"),
    ],
)
def test_one_error_in_both_languages(error: McpError, python: str, shell: str) -> None:
    """F-SHOW-15: the same hint, worded for who reads it."""
    assert python in error.hint
    told = hint_for(error, SHELL)
    assert shell in told
    assert not PYTHON_ONLY.search(told)
    assert not SHELL_ONLY.search(error.hint)


def forgetting(request: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
    """A server of which several stand behind one address, and none knows the others' sessions."""
    message = json.loads(body or b"{}")
    result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
    result["serverInfo"] = {"name": "x", "version": "1"}
    opened = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result})
    kind = {"Content-Type": "application/json", "Mcp-Session-Id": str(id(message))}
    if message.get("method") == "initialize":
        answer(200, kind, opened)(request, body)
    elif message.get("method") == "server/discover":
        error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": ""}}
        answer(400, {"Content-Type": "application/json"}, json.dumps(error))(request, body)
    elif message.get("method") == "notifications/initialized":
        answer(202)(request, body)
    else:
        answer(404, {}, "Session not found")(request, body)


HTML = {"Content-Type": "text/html"}
NEGOTIATE = {"WWW-Authenticate": "Negotiate", "Proxy-Authenticate": "NTLM"}
REMOTE: dict[str, tuple[Handler, int, str, str]] = {
    "a page of a login": (answer(200, HTML, "<html>Sign in"), 3, "text/html", "A page for brow"),
    "a page without a name": (answer(200, HTML, "<!doctype x>"), 3, "text/html", "A page for"),
    "a redirect to a login": (
        answer(302, {"Location": "https://idp.corp/adfs/ls?x"}),
        3,
        "HTTP 302",
        "a login at https://idp.corp/adfs/ls",
    ),
    "a gateway's page": (answer(403, HTML, "<html>Access"), 4, "HTTP 403", "A gateway in front"),
    "only Negotiate": (answer(401, NEGOTIATE), 4, "HTTP 401", "accepts only Negotiate"),
    "a session that is forgotten": (forgetting, 5, "HTTP 404", "by Mcp-Session-Id"),
    "no such path": (answer(404), 3, "not an MCP endpoint", "/mcp or /sse"),
}


@pytest.mark.parametrize("name", REMOTE)
def test_a_remote_server(name: str, capsys: Capture) -> None:
    """F-SHOW-15: both languages name what happened, and what to do."""
    handle, code, said, hint = REMOTE[name]
    with served(handle) as place:
        assert main(["tools", f"http://{place}/mcp"]) == code
        errors = capsys.readouterr().err
        (told,) = [line for line in errors.splitlines() if line.startswith("error: ")]
        assert said in told and hint in errors.splitlines()[-1]
        assert not PYTHON_ONLY.search(errors.splitlines()[-1])

        async def listed() -> None:
            async with mcpclient.connect(f"http://{place}/mcp") as client:
                await client.list_tools()

        with pytest.raises(McpError) as caught:
            asyncio.run(listed())
        assert said in str(caught.value) and hint in caught.value.hint
        assert not SHELL_ONLY.search(caught.value.hint)
        assert isinstance(caught.value, SessionExpired) == (name == "a session that is forgotten")


@pytest.mark.parametrize("url", ["http://h.invalid/mcp", "https://h.invalid/mcp"])
def test_a_proxy_that_offers_only_ntlm(url: str, capsys: Capture) -> None:
    """F-SHOW-15: forwarded or tunnelled."""
    with served(answer(407, NEGOTIATE)) as place:
        assert main(["tools", url, "--proxy", f"http://{place}"]) == 3
    assert "which this client does not speak" in capsys.readouterr().err


def written(folder: Path, entry: Mapping[str, Any], name: str = "a") -> str:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {name: entry}}))
    return str(file)


def test_a_variable_that_has_no_value_is_named_by_a_401(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-15: the user is not asked to log in, and a manager says it as well."""
    with served(answer(401, {"WWW-Authenticate": "Bearer"})) as place:
        headers = {"Authorization": "Bearer ${NO_SUCH_TOKEN}"}
        file = written(tmp_path, {"url": f"http://{place}/mcp", "headers": headers})
        assert main(["tools", "a", "--config", file]) == 4
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith("Set ${NO_SUCH_TOKEN}")

        async def managed() -> McpError:
            async with mcpclient.connect_all(file) as manager:
                error = manager.servers["a"].error
                assert isinstance(error, McpError)
                return error

        assert asyncio.run(managed()).hint == last


def test_a_url_as_the_command_of_an_entry(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-15"""
    file = written(tmp_path, {"command": "https://h.example/mcp"})
    assert main(["tools", "a", "--config", file]) == 2
    assert 'its command is a URL (write it as "url")' in capsys.readouterr().err


@pytest.mark.needs_posix
def test_a_script_with_the_line_ends_of_windows(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-15: the kernel only says that there is no such file."""
    script = tmp_path / "server"
    script.write_bytes(b"#!/bin/sh\r\nexit 0\r\n")
    script.chmod(0o755)
    assert main(["tools", "--", str(script)]) == 3
    errors = capsys.readouterr().err
    assert "its first line ends in CRLF" in errors and "LF line ends" in errors
