"""Requests to places a server named: which address is really connected to, and what comes back."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mcpclient.auth.effects import Fetch, Response
from mcpclient.auth.url_guard import UrlPolicy
from mcpclient.errors import (
    AuthError,
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    McpError,
    SsrfError,
)
from mcpclient.net import dialing, guarded_fetch
from mcpclient.net.guarded_fetch import GuardedFetcher
from mcpclient.net.network_options import NetworkOptions
from tests.net.certificates import Authority
from tests.net.peers import serve
from tests.support.http_server import Answer, HttpServer, Request

LOCAL = UrlPolicy(allow_insecure_http=True, allow_loopback=True)
PUBLIC = UrlPolicy(allow_insecure_http=True)


def fetch(
    url: str,
    policy: UrlPolicy = LOCAL,
    *,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
    max_body: int = 1000,
) -> Fetch:
    return Fetch(method, url, headers or {}, body, policy, max_body)


async def get(request: Fetch, options: NetworkOptions | None = None) -> Response:
    return await GuardedFetcher(options).fetch(request)


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str, then: Sequence[str] = ()) -> None:
    """Let every name mean these addresses; the second time it is asked for, ``then``."""
    answers = [addresses, then or addresses]

    async def getaddrinfo(self: Any, host: str, port: int, **kwargs: Any) -> Any:
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (name, port)) for name in found]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)


def connecting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record which hosts are connected to, and let nothing through."""
    hosts: list[str] = []

    async def connect(address: dialing.Address) -> socket.socket:
        hosts.append(str(address.name[0]))
        raise OSError("not in a test")

    monkeypatch.setattr(dialing, "_connect", connect)
    return hosts


async def test_a_redirect_is_not_followed_and_no_cookie_is_kept() -> None:
    """F-AUTH-10: not even within the origin, unlike after requests to the server itself."""

    async def handler(request: Request, answer: Answer) -> None:
        head = "HTTP/1.1 307 Moved\r\nLocation: /other\r\nSet-Cookie: a=b\r\n"
        answer.raw(f"{head}Content-Length: 0\r\n\r\n".encode())

    fetcher = GuardedFetcher()
    async with HttpServer({"/t": handler}) as server:
        for _ in range(2):
            assert (await fetcher.fetch(fetch(str(server.url("/t"))))).status == 307
        assert [request.target for request in server.requests] == ["/t", "/t"]
        assert not any("cookie" in request.headers for request in server.requests)


@pytest.mark.parametrize("chunked", [True, False])
async def test_a_body_is_read_only_so_far(chunked: bool) -> None:
    """F-AUTH-10: one byte more than allowed tells that there is more, even of an endless one."""

    async def handler(request: Request, answer: Answer) -> None:
        answer.head(200, {"Transfer-Encoding": "chunked"} if chunked else {})
        while True:
            answer.chunk(b"x" * 10_000) if chunked else answer.raw(b"x" * 10_000)
            await asyncio.sleep(0)

    async with HttpServer({"/": handler}) as server:
        response = await get(fetch(str(server.url("/")), max_body=100))
        assert response.body == b"x" * 101


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.1", "::1", "::ffff:10.0.0.1", "fc00::1"],
)
def test_a_name_that_means_a_private_address(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """F-AUTH-10: nothing is connected to."""
    resolving(monkeypatch, address)
    hosts = connecting(monkeypatch)
    with pytest.raises(SsrfError, match=r"resolves to .* not public"):
        asyncio.run(get(fetch("http://harmless.example/", PUBLIC)))
    assert not hosts


def test_of_several_addresses_the_public_ones_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-10: one after the other, and no private one."""
    resolving(monkeypatch, "10.0.0.1", "93.184.216.34", "127.0.0.1", "93.184.216.35")
    hosts = connecting(monkeypatch)
    with pytest.raises(ConnectFailed):
        asyncio.run(get(fetch("http://harmless.example/", PUBLIC)))
    assert hosts == ["93.184.216.34", "93.184.216.35"]


def test_a_name_that_does_not_resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-10"""

    async def getaddrinfo(self: Any, host: str, port: int, **kwargs: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    with pytest.raises(ConnectFailed, match="cannot be resolved: Name or service not known"):
        asyncio.run(get(fetch("http://nowhere.example/")))


@pytest.mark.parametrize(
    ("raw", "error", "match"),
    [
        (b"", ConnectionLost, "without answering"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", ConnectionLost, "during its answer"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", AuthError, "does not answer in HTTP"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
            AuthError,
            "Content-Encoding",
        ),
    ],
)
async def test_an_answer_that_is_none(raw: bytes, error: type[McpError], match: str) -> None:
    """F-AUTH-10: and none of these is taken for the MCP server's fault."""

    async def handler(request: Request, answer: Answer) -> None:
        answer.raw(raw)
        answer.cut()

    async with HttpServer({"/": handler}) as server:
        with pytest.raises(error, match=match):
            await get(fetch(str(server.url("/?secret=SECRET"))))


async def test_silence_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-10: bounded in time."""
    monkeypatch.setattr(guarded_fetch, "FETCH_TIMEOUT", 0.01)

    async def handler(request: Request, answer: Answer) -> None:
        await answer.stall()

    async with HttpServer({"/": handler}) as server:
        with pytest.raises(CallTimeout) as caught:
            await get(fetch(str(server.url("/?secret=SECRET"))))
        assert "SECRET" not in str(caught.value)


async def tls_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    await writer.drain()
    await reader.read()


async def test_tls_is_checked_for_the_name(tmp_path: Path) -> None:
    """F-AUTH-10: though the connection goes to an address; with the caller's authorities."""
    authority = Authority(tmp_path)
    options = NetworkOptions(ca_file=authority.file)
    async with serve(tls_answer, tls=authority.server_context("localhost")) as port:
        url = f"https://localhost:{port}/"
        assert (await get(fetch(url), options)).body == b"ok"
        with pytest.raises(ConnectFailed, match="certificate"):
            await get(fetch(url))
    async with serve(tls_answer, tls=authority.server_context("other.example")) as port:
        with pytest.raises(ConnectFailed, match="certificate"):
            await get(fetch(f"https://localhost:{port}/"), options)


def lenient() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize(
    "options",
    [NetworkOptions(verify=False), NetworkOptions(ssl_context=lenient())],
    ids=["verify", "ssl_context"],
)
async def test_what_is_said_of_the_server_does_not_hold_for_token_endpoints(
    tmp_path: Path, options: NetworkOptions
) -> None:
    """F-AUTH-10: whoever named them; they have an ssl_context of their own."""
    authority = Authority(tmp_path)
    async with serve(tls_answer, tls=authority.server_context("other.example")) as port:
        url, origin = f"https://localhost:{port}/token", f"https://localhost:{port}"
        server = UrlPolicy(allow_loopback=True, server_origin=origin)
        assert (await get(fetch(url, server), options)).body == b"ok"
        for policy in (
            UrlPolicy(allow_loopback=True, server_origin="https://localhost:1"),
            UrlPolicy(trusted_origins=frozenset({origin}), server_origin="https://a.example:1"),
        ):
            request = fetch(url, policy, method="POST", body=b"client_secret=SECRET")
            with pytest.raises(ConnectFailed) as caught:
                await get(request, options)
            assert "give auth an ssl_context=" in caught.value.hint
            own = GuardedFetcher(options, ssl_context=lenient())
            assert (await own.fetch(request)).body == b"ok"
