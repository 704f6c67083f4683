"""F-SHOW-10: a server that only the browser of this machine can use."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from types import SimpleNamespace
from typing import Any, Callable

import pytest

from mcpclient.errors import UsageError
from mcpclient.framing.headers import Headers
from mcpclient.net import local_http
from mcpclient.net.local_http import LocalHttpServer, LocalRequest, LocalResponse, send_at_once
from tests.net.process_helpers import until

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


def test_a_request_is_answered_with_everything_forbidden() -> None:
    response = ask(get("/a?b=c&d="))
    assert status(response) == 200
    assert response.endswith(b"GET /a {'b': 'c', 'd': ''} ")
    for header in (
        *(b"default-src 'none'", b"no-store", b"nosniff", b"no-referrer", b"X-Own: 1"),
        *(b"Cross-Origin-Resource-Policy: same-origin", b"X-Frame-Options: DENY"),
        *(b"Cross-Origin-Opener-Policy: same-origin", b"Connection: close"),
    ):
        assert header in response


def test_a_body_arrives_whole() -> None:
    body = b"x" * 100_000
    request = b"POST /p HTTP/1.1\r\nHost: HOST\r\nContent-Length: 100000\r\n\r\n" + body
    assert ask(request).endswith(body)


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


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://HOST", "http://127.0.0.1:1", "http://HOST/"]
)
def test_a_page_of_another_site_is_refused(origin: str) -> None:
    """F-SHOW-10"""
    assert status(ask(get("/", f"Origin: {origin}"))) == 403


def smuggled(*headers: str) -> bytes:
    hidden = get("/hidden").decode()
    lines = ["POST / HTTP/1.1", "Host: HOST", *headers, "", hidden]
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",  # the beginning of TLS
        b"PRI * HTTP/2.0\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: HOST\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: HOST\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        get("/", "Host: evil.example"),
        get("/ /"),
        smuggled("Content-Length: 5", "Content-Length: 0"),
        smuggled("Content-Length: 0", "Transfer-Encoding: chunked"),
        smuggled("Transfer-Encoding: identity"),
        smuggled("Content-Length: -1"),
        smuggled("Content-Length: +0"),
        smuggled("Content-Length : 0"),
    ],
)
def test_what_is_no_request_gets_400(request_bytes: bytes) -> None:
    """F-SHOW-10: nor what could be two requests, or one that others would read in another way."""
    response = ask(request_bytes)
    assert status(response) == 400
    assert b"/hidden" not in response


def test_one_request_is_all_that_a_connection_carries() -> None:
    """F-SHOW-10: what comes after it is not read as another one."""
    response = ask(get("/first") + get("/second"))
    assert response.count(b"HTTP/1.1 ") == 1
    assert response.endswith(b"GET /first {} ")


def test_nothing_is_upgraded() -> None:
    """F-SHOW-10: a WebSocket is not subject to the rules for pages of other sites."""
    response = ask(get("/", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: eA=="))
    assert status(response) == 200
    assert b"upgrade" not in response.lower()


def test_only_the_head_is_sent_for_head() -> None:
    response = ask(get("/a").replace(b"GET", b"HEAD"))
    assert status(response) == 200
    assert response.endswith(b"\r\n\r\n")


def test_another_site_is_not_told_that_it_may_ask() -> None:
    """F-SHOW-10: a preflight of a browser gets no leave."""
    asking = ("Origin: http://evil.example", "Access-Control-Request-Method: POST")
    response = ask(get("/", *asking).replace(b"GET", b"OPTIONS"))
    assert status(response) == 403
    assert b"access-control" not in response.lower()


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//evil.example/x", "//[", "/a#b"]
)
def test_a_path_is_taken_as_it_stands(path: str) -> None:
    """F-SHOW-10: it names a route and nothing else, and is not tidied up into another one."""
    assert ask(get(path)).endswith(f"GET {path} {{}} ".encode())


def test_a_refused_request_is_refused_before_its_body_comes() -> None:
    """F-SHOW-10: nobody who has no access makes the program read 64 MiB."""
    head = b"POST /refused HTTP/1.1\r\nHost: HOST\r\nContent-Length: 60000000\r\n\r\n"
    assert status(ask(head)) == 401
    foreign = head.replace(b"\r\n\r\n", b"\r\nOrigin: http://evil.example\r\n\r\n")
    assert status(ask(foreign)) == 403


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


async def test_many_who_say_nothing_keep_nobody_out() -> None:
    """F-SHOW-10: the oldest that has asked for nothing yet makes room."""
    async with serving() as (server, exchange):
        host, _, port = server.authority.rpartition(":")
        idle = [await asyncio.open_connection(host, int(port)) for _ in range(200)]
        assert status(await exchange(get("/still"))) == 200
        assert len(server._connections) <= local_http._MAX_CONNECTIONS
        for _, writer in idle:
            writer.close()


@contextmanager
def connected(server: LocalHttpServer) -> Iterator[None]:
    """Ask the server, and read nothing."""
    host, _, port = server.authority.rpartition(":")
    with socket.create_connection((host, int(port))) as deaf:
        deaf.sendall(get(host=server.authority))
        yield


async def test_who_takes_no_response_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-SHOW-10: a connection whose peer does not read ends, and so does the server."""
    monkeypatch.setattr(local_http, "_RESPONSE_TIMEOUT", 0.05)

    async def answer(request: LocalRequest) -> LocalResponse:
        # More than the system keeps for a peer that does not read.
        return LocalResponse(body=bytes(64 * 1024 * 1024))

    async with serving(answer) as (server, _):
        with connected(server):
            await until(lambda: bool(server._connections), "it is accepted")
            await until(lambda: not server._connections, "it is ended")


async def test_closing_does_not_wait_for_a_page_that_reads_nothing() -> None:
    """F-SHOW-10"""
    async with serving() as (server, _):
        asked = asyncio.Event()

        async def pieces() -> AsyncIterator[bytes]:
            asked.set()
            while True:
                yield b"x" * 1024 * 1024

        async def answer(request: LocalRequest) -> LocalResponse:
            return LocalResponse(200, "text/event-stream", pieces())

        server._answer = answer
        with connected(server):
            await asked.wait()
            await asyncio.wait_for(server.close(), 5)
            assert not server._connections, "its response has ended"


async def test_a_stream_is_written_as_it_comes_and_ends_with_its_reader() -> None:
    async with serving() as (server, _):
        over = asyncio.Event()

        async def pieces() -> AsyncIterator[bytes]:
            try:
                yield b"one "
                yield b"two"
                await asyncio.get_running_loop().create_future()
            finally:
                over.set()

        async def answer(request: LocalRequest) -> LocalResponse:
            return LocalResponse(200, "text/event-stream", pieces())

        server._answer = answer
        host, _, port = server.authority.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(get(host=server.authority))
        assert b"Content-Length" not in await reader.readuntil(b"one two")
        writer.close()
        await asyncio.wait_for(over.wait(), 5)


async def test_a_stream_is_ended_when_its_reader_goes_in_the_middle_of_a_piece() -> None:
    """F-SHOW-10: also where somebody else keeps the iterator."""
    async with serving() as (server, _):
        over = asyncio.Event()

        async def pieces() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b"x" * 1_000_000
            finally:
                over.set()

        kept = pieces()

        async def answer(request: LocalRequest) -> LocalResponse:
            return LocalResponse(200, "text/event-stream", kept)

        server._answer = answer
        host, _, port = server.authority.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(get(host=server.authority))
        await reader.readuntil(b"xxx")
        writer.close()
        await asyncio.wait_for(over.wait(), 5)


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


def test_a_stream_may_end_by_itself() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"all"

    async def answer(request: LocalRequest) -> LocalResponse:
        return LocalResponse(body=pieces())

    assert ask(get(), answer).endswith(b"all")


def test_others_cannot_be_let_in() -> None:
    """F-SHOW-10: loopback only."""
    with pytest.raises(UsageError, match="only this machine"):
        asyncio.run(LocalHttpServer(refuse, echo).open("0.0.0.0"))


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}"):
            asyncio.run(LocalHttpServer(refuse, echo).open("127.0.0.1", port))
    with pytest.raises(UsageError, match=r"99999 of 127\.0\.0\.1: .*65535"):
        asyncio.run(LocalHttpServer(refuse, echo).open("127.0.0.1", 99999))


def test_a_request_shows_none_of_its_secrets() -> None:
    """F-AUTH-12: a token is in its headers, the code of a login in its query."""
    headers = Headers([("Cookie", "SECRET")])
    request = LocalRequest("GET", "/a", {"code": "SECRET"}, headers, b"SECRET", "code=SECRET")
    assert repr(request) == "LocalRequest(method='GET', path='/a')"


@pytest.mark.parametrize(
    ("host", "refused"), [("127.0.0.1", None), ("localhost:80", None), ("x", 421)]
)
async def test_browsers_leave_out_the_port_of_http(
    monkeypatch: pytest.MonkeyPatch, host: str, refused: int | None
) -> None:
    """F-SHOW-10: here a stand-in listens, since only root may use that port."""
    listening = SimpleNamespace(getsockname=lambda: ("127.0.0.1", 80))

    async def start_server(*arguments: object, **options: object) -> object:
        return SimpleNamespace(sockets=[listening])

    monkeypatch.setattr(asyncio, "start_server", start_server)
    server = LocalHttpServer(refuse, echo)
    await server.open(port=80)
    request = LocalRequest("GET", "/", {}, Headers([("Host", host)]), b"")
    refusal = server._refusal_of(request, 0)
    assert (refusal and refusal.status) == refused


def test_it_can_be_closed_before_it_was_opened() -> None:
    asyncio.run(LocalHttpServer(refuse, echo).close())


async def test_no_write_waits_for_what_the_browser_acknowledges() -> None:
    """F-SHOW-10: on Windows the second part of every response waited."""
    flags: list[int] = []

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        for _ in range(2):
            flags.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            send_at_once(writer)
        writer.close()

    # What it accepts has no named protocol, as what asyncio accepts has on Windows.
    listening = socket.create_server(("127.0.0.1", 0))
    server = await asyncio.start_server(accepted, sock=listening)
    reader, writer = await asyncio.open_connection(*listening.getsockname())
    await reader.read()
    writer.close()
    server.close()
    assert flags[0] == 0
    assert flags[1] != 0
