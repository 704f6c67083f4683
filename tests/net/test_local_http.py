"""F-SHOW-10: a server that only the browser of this machine can use."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from typing import Any, Callable

import pytest

from mcpclient.errors import UsageError
from mcpclient.framing.headers import Headers
from mcpclient.net import local_http
from mcpclient.net.local_http import LocalHttpServer, LocalRequest, LocalResponse

Exchange = Callable[[bytes], Awaitable[bytes]]


async def echo(request: LocalRequest) -> LocalResponse:
    if request.path == "/fail":
        raise ValueError("secret detail")
    text = f"{request.method} {request.path} {dict(request.query)} {request.body.decode()}"
    return LocalResponse(body=text.encode(), headers={"X-Own": "1"})


def refuse(request: LocalRequest) -> LocalResponse | None:
    return LocalResponse(401, body=b"not you") if request.path == "/refused" else None


@asynccontextmanager
async def serving(answer: Any = echo) -> AsyncIterator[tuple[LocalHttpServer, Exchange]]:
    """Give a server, which is closed in the end, and a function that sends it a request."""
    server = LocalHttpServer(refuse, answer)
    await server.open()
    port = int(server.authority.rpartition(":")[2])

    async def exchange(request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request.replace(b"HOST", server.authority.encode()))
        try:
            return await asyncio.wait_for(reader.read(), 5)
        except ConnectionError:
            return b""
        finally:
            writer.close()

    try:
        yield server, exchange
    finally:
        await server.close()
        await server.close()


def get(path: str = "/", *headers: str, host: str = "HOST") -> bytes:
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


def ask(request: bytes, answer: Any = echo) -> bytes:
    async def asked() -> bytes:
        async with serving(answer) as (_, exchange):
            return await exchange(request)

    return asyncio.run(asked())


def status(response: bytes) -> int:
    return int(response.split(b" ", 2)[1])


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost", ""])
def test_another_name_is_another_site(host: str) -> None:
    """F-SHOW-10: against DNS rebinding."""
    assert status(ask(get(host=host))) == 421


async def test_localhost_is_its_name_too() -> None:
    async with serving() as (server, exchange):
        port = server.authority.rpartition(":")[2]
        here = f"localhost:{port}"
        assert status(await exchange(get("/", f"Origin: http://{here}", host=here))) == 200
        elsewhere = get("/", f"Origin: http://127.0.0.1:{port}", host=here)
        assert status(await exchange(elsewhere)) == 403


def test_only_the_head_is_sent_for_head() -> None:
    response = ask(get("/a").replace(b"GET", b"HEAD"))
    assert status(response) == 200
    assert response.endswith(b"\r\n\r\n")


def test_a_body_that_is_too_large_is_not_read() -> None:
    request = b"POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 99999999999\r\n\r\n"
    assert status(ask(request)) == 413


def test_a_failure_says_nothing_of_its_cause(caplog: pytest.LogCaptureFixture) -> None:
    response = ask(get("/fail"))
    assert status(response) == 500
    assert b"secret" not in response
    assert "ValueError" in caplog.text


@pytest.mark.parametrize("request_bytes", [b"", b"GET / HT", b"A" * 70_000])
def test_who_says_nothing_of_use_hears_nothing(
    request_bytes: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_http, "_REQUEST_TIMEOUT", 0.05)
    assert ask(request_bytes) == b""


async def test_many_who_say_nothing_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-10: the oldest that has asked for nothing yet makes room."""
    monkeypatch.setattr(local_http, "_MAX_CONNECTIONS", 3)
    async with serving() as (server, exchange):
        host, _, port = server.authority.rpartition(":")
        idle = [await asyncio.open_connection(host, int(port)) for _ in range(9)]
        assert status(await exchange(get("/still"))) == 200
        for reader, _ in idle[:7]:
            assert await reader.read() == b""
        assert not any(reader.at_eof() for reader, _ in idle[7:])
        for _, writer in idle:
            writer.close()


async def test_a_connection_that_comes_while_the_server_is_closed_is_not_served() -> None:
    server = LocalHttpServer(refuse, echo)
    await server.open()
    await server.close()
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)
    with ours:
        ours.sendall(get(host=server.authority))
        await asyncio.ensure_future(server._accept(reader, writer))
        with suppress(ConnectionResetError):
            assert await asyncio.get_running_loop().run_in_executor(None, ours.recv, 1) == b""


def test_others_cannot_be_let_in() -> None:
    """F-SHOW-10: loopback only."""
    with pytest.raises(UsageError, match="only this machine"):
        asyncio.run(LocalHttpServer(refuse, echo).open("0.0.0.0"))


def test_a_request_shows_none_of_its_secrets() -> None:
    """F-AUTH-12: a token is in its headers, the code of a login in its query."""
    headers = Headers([("Cookie", "SECRET")])
    request = LocalRequest("GET", "/a", {"code": "SECRET"}, headers, b"SECRET", "code=SECRET")
    assert repr(request) == "LocalRequest(method='GET', path='/a')"
