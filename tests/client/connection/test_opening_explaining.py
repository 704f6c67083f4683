"""Newcomers' mistakes: what is said says where it went wrong and what to do."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient import CallTimeout, Client, ClientClosed, McpError, UsageError, connect
from mcpclient.client.connection.opening import explain
from mcpclient.client.connection.options import Route
from mcpclient.client.connection.session import Session
from mcpclient.client.events.callbacks import EventCallbacks
from mcpclient.client.requests import connection_of
from mcpclient.entries.resolve import IncompleteHeaders
from mcpclient.errors import ConnectionLost, HttpError, PeerError, ProcessExited, ProtocolViolation
from mcpclient.framing.headers import Headers
from mcpclient.net.futures import BackgroundTasks
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Receiver, Transport
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time


def failure(target: Any, **options: Any) -> McpError:
    async def main() -> None:
        await connect(target, **options)

    with pytest.raises(McpError) as caught:
        asyncio.run(main())
    return caught.value


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_script_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-1: the shell that would expand it is not there."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "server.py").write_text("import sys; sys.exit('found')", encoding="utf-8")
    error = failure("~/server.py", stderr="discard")
    assert isinstance(error, ProcessExited) and "found" in str(error)


def test_a_silent_server_is_told_without_the_values_of_its_variables() -> None:
    """F-AUTH-12"""
    code = (
        "import os, sys; key = os.environ['API_KEY']\n"
        "print('out', key, flush=True); print('error', key, file=sys.stderr, flush=True)\n"
        "sys.stdin.read()"
    )
    options = {"env": {"API_KEY": "s3cret-value"}, "stderr": "discard", "connect_timeout": 1.5}
    error = failure(python(code), protocol_version="2025-11-25", **options)
    assert isinstance(error, CallTimeout)
    assert (error.output, error.stderr.strip()) == ("out ${API_KEY}", "error ${API_KEY}")


def test_a_server_that_prints_its_usage_and_ends() -> None:
    """F-LIFE-7: exit code 0, and nothing on stderr."""
    error = failure(python("print('usage: server [-h] --root DIR')"), stderr="discard")
    assert isinstance(error, ProcessExited) and error.exit_code == 0
    assert error.output == "usage: server [-h] --root DIR"
    assert str(error).endswith("its stdout is not JSON-RPC:\nusage: server [-h] --root DIR")


@pytest.mark.parametrize("noise", ["Starting", '{"level": "info"}'])
def test_a_server_that_prints_to_stdout_and_hangs(noise: str) -> None:
    """F-STD-7: the target, what was skipped, and stderr."""
    code = f"import sys; print({noise!r}, flush=True); print('on err', file=sys.stderr, flush=True)"
    error = failure(python(f"{code}; sys.stdin.read()"), stderr="discard", connect_timeout=1)
    assert isinstance(error, CallTimeout)
    first, *rest = str(error).split("\n")
    assert "python" in first and first.endswith(
        "not connected within 1 s (connect_timeout), waiting for initialize"
    )
    assert set(rest[1:-2]) == {noise}
    assert rest[-1] == "on err"
    assert "belong on stderr" in error.hint


@pytest.mark.real_time
@pytest.mark.parametrize("answer", [b"\x15\x03\x03\x00\x02\x02\x50", b""])
async def test_http_to_a_port_of_tls(answer: bytes) -> None:
    """F-HTTP-12: an alert, or the end of the connection."""

    async def alert(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answer)
        writer.transport.abort() if not answer else writer.close()

    server = await asyncio.start_server(alert, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        with pytest.raises((ConnectionLost, ProtocolViolation)) as caught:
            await connect(f"http://127.0.0.1:{port}/mcp")
        assert f"write https://127.0.0.1:{port}/mcp" in caught.value.hint
    finally:
        server.close()


async def test_calling_before_connecting() -> None:
    """F-API-1"""
    client = Client(["server"])
    with pytest.raises(ClientClosed, match="not connected yet: use async with"):
        await client.call_tool("x")
    await client.close()
    with pytest.raises(ClientClosed, match="the client is closed"):
        await client.call_tool("x")


def test_with_for_async_with() -> None:
    """F-API-1"""
    with pytest.raises(UsageError, match="write async with"), Client(["server"]):
        pass


def explained(error: McpError, **options: Any) -> McpError:
    """Return an error of connecting to a URL, with an explanation added to it."""
    made = connection_of(Client("https://h/mcp", **options)).options
    route = Route("u", None, lambda: Silent())

    async def main() -> None:
        tasks = BackgroundTasks()
        events = EventCallbacks("the name", [], made.events, tasks)
        session = Session(Silent(), made.handlers, events, tasks)
        explain(error, "the name", session, made, route)
        await session.close(1.0)

    run(main())
    return error


class Silent(Transport):
    """A transport over which nothing comes."""

    async def open(self, receiver: Receiver) -> None: ...

    def send(self, outgoing: Outgoing) -> None: ...

    async def close(self) -> None: ...


def test_what_a_configuration_left_out_and_what_was_not_tried() -> None:
    """F-SHOW-15: the variable, the server, and the one transport."""
    headers = IncompleteHeaders({"A": "b"}, ["${TOKEN}"])
    refused = explained(HttpError(401, Headers(), b""), headers=headers)
    assert refused.hint == "Set ${TOKEN}: a header was left out, since it has no value."
    assert "auth=" in explained(HttpError(401, Headers(), b""), headers={"A": "b"}).hint
    for status in (400, 404, 405):
        fixed = explained(HttpError(status, Headers(), b""), transport="http")
        assert "only 'http' was tried" in fixed.hint
    assert str(explained(PeerError(1, "x"))).startswith("the name answered with error 1")
