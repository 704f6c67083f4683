"""The denials of a sandbox: found in a server's words, and named in reports and hints."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.client.events.around import name_denials
from mcpclient.errors import ClientClosed, PeerError, ProcessExited
from mcpclient.hints.shell import SHELL
from mcpclient.hints.words import PYTHON, worded
from mcpclient.protocol.types import CallToolResult
from mcpclient.sandbox.denials import Denials
from mcpclient.sandbox.rights import Sandbox
from tests.support.tables import each_row

TOP = Path(__file__).parent.parent.parent

NETWORK = ("network", "", "")
# By a server's words, with {there} for a folder that exists: the right, the path, what to grant.
SAID: Mapping[str, tuple[str, str, str]] = {
    "[Errno 13] Permission denied: '{there}/file'": ("read", "{there}/file", "{there}/file"),
    "Error: EACCES: permission denied, scandir '{there}'": ("read", "{there}", "{there}"),
    "cat: {there}/file: Permission denied": ("read", "{there}/file", "{there}/file"),
    "java.io.FileNotFoundException: {there}/file (Permission denied)": (
        *("read", "{there}/file", "{there}/file"),
    ),
    "Access to the path '{there}/file' is denied.": ("read", "{there}/file", "{there}/file"),
    "Permission denied @ rb_sysopen - {there}/file (Errno::EACCES)": (
        *("read", "{there}/file", "{there}/file"),
    ),
    "fopen({there}/file): Failed to open stream: Permission denied": (
        *("read", "{there}/file", "{there}/file"),
    ),
    '{{"error": "EACCES: permission denied, open \'{there}/file\'"}}': (
        *("read", "{there}/file", "{there}/file"),
    ),
    "OSError: [Errno 30] Read-only file system: '{there}/new'": (
        *("write", "{there}/new", "{there}"),
    ),
    "Error: EROFS: read-only file system, open '{there}/a/b'": (
        *("write", "{there}/a/b", "{there}"),
    ),
    "mkdir {there}/new: read-only file system": ("write", "{there}/new", "{there}"),
    "mkdir: cannot create directory ‘{there}/new’: Read-only file system": (
        *("write", "{there}/new", "{there}"),
    ),
    "fatal: Unable to create '{there}/.git/index.lock': Permission denied": (
        *("write", "{there}/.git/index.lock", "{there}"),
    ),
    "open 'notes/x': EACCES": ("write", "{there}/notes/x", "{there}"),
    "sqlite3.OperationalError: unable to open database file": (
        *("write", "{there}/notes.db", "{there}"),
    ),
    "attempt to write a readonly database": ("write", "{there}/notes.db", "{there}"),
    "getaddrinfo EAI_AGAIN api.example.com": NETWORK,
    "[Errno -3] Temporary failure in name resolution": NETWORK,
    "dial tcp 192.0.2.1:443: socket: permission denied": NETWORK,
    "connect EACCES 192.0.2.1:443 - Local (undefined:undefined)": NETWORK,
    "<urlopen error [Errno 13] Permission denied>": NETWORK,
    "Could not resolve host: example.com": NETWORK,
    "could not create socket: Permission denied": NETWORK,
    "npm ERR! code EACCES\nnpm ERR! syscall open\nnpm ERR! path {there}/a\nnpm ERR! errno -13": (
        *("write", "{there}/a", "{there}"),
    ),
    "chown: changing ownership of '{there}/file': Operation not permitted": (
        *("", "changing the owner of '{there}/file'", ""),
    ),
    "permission denied while trying to connect to unix:///var/run/docker.sock": (
        *("", "the Unix socket /var/run/docker.sock", ""),
    ),
    "clone: Operation not permitted": ("", "", ""),
    "in __init__ sl = _multiprocessing.SemLock(: [Errno 13] Permission denied": (
        *("write", "/dev/shm", "/dev/shm"),
    ),
}


@pytest.mark.needs_posix
@pytest.mark.parametrize("said", SAID)
def test_a_denial_is_found_in_what_a_server_says(said: str, tmp_path: Path) -> None:
    """F-BOX-4: of each language and library, with the path and what to grant."""
    (tmp_path / "file").write_text("")
    command = ["/bin/server", *(["--db-path", "notes.db"] if "database" in said else [])]
    (tmp_path / "notes.db").write_text("")
    denials = Denials(Sandbox(), command, {}, str(tmp_path))
    expected = tuple(part.format(there=tmp_path) for part in SAID[said])
    assert [tuple(each) for each in denials.read(said.format(there=tmp_path))] == [expected]


@pytest.mark.needs_posix
def test_what_is_granted_was_not_denied_by_the_sandbox(tmp_path: Path) -> None:
    """F-BOX-4: nor is the path of a URL a file."""
    denials = Denials(Sandbox(write=[tmp_path], network=True), ["server"], {}, "/")
    for said in (
        f"EACCES: permission denied, open '{tmp_path}/x'",
        "Permission denied",
        "EAI_AGAIN",
    ):
        assert denials.read(said) == []
    assert Denials(Sandbox(), ["server"], {}, "/").read("unable to open database file") == []
    assert denials.read("GET /no-such-folder/x: permission denied") == []
    assert denials.read(f"open '{tmp_path}\0/x': permission denied") == []
    assert denials.read("EROFS, mkdir '/tmp/mcpclient-0123456789abcdef01234567/x'") == []


@pytest.mark.needs_posix
def test_a_denial_is_reported_once_and_its_hint_names_the_option(tmp_path: Path) -> None:
    """F-BOX-4"""
    lines: list[str] = []
    denials = Denials(Sandbox(), ["server"], {}, "/")
    denials.report = lines.append
    for _ in range(2):
        (denial,) = denials.read(f"EROFS: read-only file system, mkdir '{tmp_path}/x'")
    assert lines == [
        f"[mcpclient sandbox] writing '{tmp_path}/x' was denied; the right it needs is 'write':"
        f" --allow-write '{tmp_path}'\n"
    ]
    assert worded(denial.hint, PYTHON) == f"Grant it with Sandbox(write=['{tmp_path}'])."
    assert worded(denial.hint, SHELL) == f"Grant it with --allow-write '{tmp_path}'."
    (network,) = denials.read("EAI_AGAIN")
    assert worded(network.hint, SHELL) == "Grant it with --allow-network."


@each_row(
    "said",
    [
        *("/a" * 9000 + " EACCES", "'" * 16_000 + "EACCES", "access to the path " * 900),
        *("urlopen error" * 1300, "/x.sock " * 2000 + "EACCES", "permission denied " * 1000),
    ],
)
def test_no_words_take_long_to_read(said: str) -> None:
    """F-BOX-4: a server chooses them."""
    began = time.process_time()
    Denials(Sandbox(), ["server"], {}, "/").read(said)
    assert time.process_time() - began < 2  # they take 0.03 s; quadratic patterns took 10 to 40


SERVER = f"""
import os, socket, sys
sys.path.insert(0, {str(TOP)!r})
from tests.support.mcp_server import OpenedServer, serve_stdio

class Calling(OpenedServer):
    def call_tool(self, message, name, arguments, send):
        text, failed, answer = "", False, {{"jsonrpc": "2.0", "id": message["id"]}}
        try:
            open(sys.argv[1]) if name == "read" else socket.create_connection(("127.0.0.1", 9))
        except OSError as error:
            text, failed = str(error), True
        if name == "read":
            send({{**answer, "error": {{"code": -32603, "message": text}}}})
            return
        content = [{{"type": "text", "text": text}}]
        send({{**answer, "result": {{
            "content": content, "isError": failed, "resultType": "complete"}}}})

if sys.argv[2:]:
    open(sys.argv[2], "w")
serve_stdio(Calling("handshake"))
"""


@pytest.mark.slow
@pytest.mark.needs_landlock
def test_whatever_fails_names_the_right(tmp_path: Path) -> None:
    """F-BOX-4: a warning of the result, hints of errors, also of the start, and stderr."""
    (tmp_path / "config").write_text("")
    command = [sys.executable, "-c", SERVER, str(tmp_path / "config")]
    lines: list[str] = []

    async def main() -> None:
        box = Sandbox(read=[TOP])
        async with mcpclient.connect(command, sandbox=box, stderr=lines.append) as client:
            result = await client.call_tool("connect")
            assert result.is_error
            assert result.warnings == ["the sandbox: " + NETWORK_SAID]
            with pytest.raises(PeerError) as failed:
                await client.call_tool("read")
            assert failed.value.hint == f"Grant it with Sandbox(read=['{tmp_path}/config'])."
        with pytest.raises(ProcessExited) as ended:
            await mcpclient.connect(
                [*command, str(tmp_path / "new")], sandbox=box, stderr=lines.append
            )
        assert ended.value.hint == f"Grant it with Sandbox(write=['{tmp_path}'])."

    asyncio.run(main())
    told = [line for line in lines if line.startswith("[mcpclient sandbox]")]
    assert told[0] == "[mcpclient sandbox] " + NETWORK_SAID
    assert [line.partition("the right it needs is ")[2] for line in told[1:]] == [
        f"'read': --allow-read '{tmp_path}/config'",
        f"'write': --allow-write '{tmp_path}'",
    ]


@pytest.mark.quick_rows(1)
@pytest.mark.needs_landlock
@pytest.mark.parametrize(("code", "hinted"), [("0", True), ("3", True), ("'why'", False)])
async def test_a_server_that_hides_why_it_ended(code: str, hinted: bool) -> None:
    """F-BOX-4: the sandbox may be the reason, which only the server knows."""
    hidden = f"try: open('/etc/shadow')\nexcept OSError: raise SystemExit({code})"
    env = {"CURL_CA_BUNDLE": "/x"}  # It is not a URL.
    client = mcpclient.connect([sys.executable, "-c", hidden], env=env, sandbox=Sandbox())
    with pytest.raises(ProcessExited) as ended:
        await client.connect()
    hint = "It said nothing. Run it without its sandbox to see if that is the reason."
    assert (ended.value.hint == hint) is hinted


NETWORK_SAID = (
    "a connection to the network was denied; the right it needs is 'network': --allow-network"
)


def test_a_result_is_not_lost_when_the_client_is_closed_meanwhile() -> None:
    """F-API-13: only a client that is open can say what its sandbox has denied."""

    def closed() -> None:
        raise ClientClosed()

    async def proceed(call: object) -> CallToolResult:
        return CallToolResult({"isError": True, "content": []})

    given: Any = (closed, None, proceed)
    assert asyncio.run(name_denials(*given)).is_error
