"""The transport of a session's callers; `tests/sessions` has it with its other side."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

from mcpclient import (
    Client,
    ConnectionLost,
    HttpError,
    PeerError,
    ProcessExited,
    UsageError,
    __version__,
)
from mcpclient.errors import ConnectFailed, ConnectKind, McpError
from mcpclient.jsonrpc.codec import decode, encode
from mcpclient.sessions.open_session import SessionTransport, packed, unpacked
from mcpclient.sessions.sockets import Place, listen

pytestmark = pytest.mark.needs_posix

STATE = {
    "version": __version__,
    "transport": "stdio",
    "carriesHeaders": False,
    "stateless": False,
    "opening": {
        "protocolVersion": "2025-11-25",
        "serverInfo": {"name": "it", "version": "1"},
        "capabilities": {},
    },
}


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    folder = tempfile.mkdtemp(prefix="mc", dir="/tmp")  # pytest's are too long for sockets
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    yield {"XDG_RUNTIME_DIR": folder}
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    "error",
    [
        ConnectionLost("gone"),
        HttpError(503, {"retry-after": "1"}, b"\xff body", "https://x.example"),
        ConnectFailed("x", "no way", (OSError("a"),), ConnectKind.REFUSED),
        ProcessExited("server", -9, "its words"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_the_same_on_the_other_side(error: McpError) -> None:
    """F-SHOW-12: its class, its text, its hint, and so the exit code of the command."""
    found = unpacked(packed(error))
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert found.hint == error.hint
    if isinstance(error, HttpError):
        assert found.body == error.body  # type: ignore[attr-defined]


async def serve(environ: dict[str, str], state: dict[str, Any], *answers: Any) -> Any:
    """Serve one caller: the greeting, and then an answer to each line."""
    listener, _ = listen(Place.of("it", environ))

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = [{"result": state}, *answers]
        while left and (line := await reader.readline()):
            answer = left.pop(0)
            if answer is not None:
                message = {"jsonrpc": "2.0", "id": decode(line).get("id"), **answer}
                writer.write(encode(message) + b"\n")
        if answers and answers[-1] is None:
            await reader.read()
        writer.close()

    return await asyncio.start_unix_server(talk, sock=listener)


async def test_the_opening_costs_no_round_trip(environ: dict[str, str]) -> None:
    """F-SHOW-12: what the session knows answers it."""
    failed = {"failed": packed(HttpError(500, {}, b""))}
    refused = {"error": {"code": -32000, "message": "no"}}
    lost = {"id": None, "lost": packed(ConnectionLost("over"))}
    server = await serve(environ, STATE, {"result": {}}, refused, failed, lost)
    async with Client(SessionTransport("it", environ)) as client:
        assert client.server_info.name == "it"
        assert client.transport_name == "stdio"
        assert client.target == "@it"
        await client.ping()
        with pytest.raises(PeerError, match="no"):
            await client.ping()
        with pytest.raises(HttpError):
            await client.ping()
        with pytest.raises(ConnectionLost, match="over"):
            await client.ping()
    server.close()


@pytest.mark.parametrize("state", [{**STATE, "version": "9"}, {"version": __version__}, {}])
async def test_another_version_is_named(environ: dict[str, str], state: dict[str, Any]) -> None:
    """F-SHOW-12: with what to do; so is a session that is not open."""
    server = await serve(environ, state)
    with pytest.raises(UsageError, match="has opened @it") as caught:
        await Client(SessionTransport("it", environ))
    assert "mcpclient close @it" in caught.value.hint
    server.close()


async def test_a_folder_that_others_may_use_holds_no_session(environ: dict[str, str]) -> None:
    """F-SHOW-12: another user could have put a socket there."""
    server = await serve(environ, STATE)
    os.chmod(Place.of("it", environ).folder, 0o755)
    with pytest.raises(UsageError, match="other users may use"):
        await Client(SessionTransport("it", environ))
    server.close()


async def test_on_windows_the_token_is_shown(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SHOW-12: the one of the private file, at the port that it names."""
    shown: list[str] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = decode(await reader.readline())
        shown.append(asked["params"]["token"])
        writer.write(encode({"jsonrpc": "2.0", "id": asked["id"], "result": STATE}) + b"\n")
        await reader.read()
        writer.close()

    place = Place.of("it", {"LOCALAPPDATA": environ["XDG_RUNTIME_DIR"]}, "win32")
    listener, token = listen(place)
    server = await asyncio.start_server(talk, sock=listener)
    transport = SessionTransport("it", environ)
    transport._place = place
    async with Client(transport) as client:
        assert client.is_connected
    assert shown == [token]
    server.close()
