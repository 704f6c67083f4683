"""Requests to places a server named: which address is really connected to, and what comes back."""

from __future__ import annotations

import asyncio
import json
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
from mcpclient.net.dialing import Dialer
from mcpclient.net.guarded_fetch import GuardedFetcher
from mcpclient.net.network_options import NetworkOptions
from mcpclient.net.recorder import Recorder
from tests.net.certificates import Authority
from tests.net.peers import SocksProxy, serve
from tests.support.http_server import Answer, HttpServer, Request, answer_with

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
    """Let every name mean these addresses; the second time it is asked for, those of ``then``."""
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


async def test_a_request_and_its_answer() -> None:
    """F-AUTH-10: repeated headers stay apart; a redirect is an answer like any other."""

    async def handler(request: Request, answer: Answer) -> None:
        answer.raw(
            b"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\nX-A: 1\r\nx-a: 2\r\n"
            b"Content-Length: 4\r\n\r\nbody"
        )

    async with HttpServer({"/t": handler}) as server:
        response = await get(
            fetch(str(server.url("/t?q=1")), method="POST", headers={"X-B": "b"}, body=b"sent")
        )
        assert (response.status, response.body) == (302, b"body")
        assert response.header("location") == "http://10.0.0.1/"
        assert response.header_values("X-A") == ["1", "2"]
        (request,) = server.requests
        assert (request.target, request.body) == ("/t?q=1", b"sent")
        assert request.headers["x-b"] == "b"
        assert request.headers["connection"] == "close"
        assert request.headers["host"] == f"127.0.0.1:{server.url().port}"


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_within_the_origin_is_not_followed_and_no_cookie_is_kept(
    status: int,
) -> None:
    """F-AUTH-10: unlike what a client sends to its own server."""

    async def handler(request: Request, answer: Answer) -> None:
        head = f"HTTP/1.1 {status} Moved\r\nLocation: /other\r\nSet-Cookie: a=b\r\n"
        answer.raw(f"{head}Content-Length: 0\r\n\r\n".encode())

    fetcher = GuardedFetcher()
    async with HttpServer({"/t": handler}) as server:
        for _ in range(2):
            assert (await fetcher.fetch(fetch(str(server.url("/t"))))).status == status
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


async def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    """F-AUTH-10"""

    async def handler(request: Request, answer: Answer) -> None:
        answer.raw(b"HTTP/1.0 200 OK\r\n\r\nbody")
        answer.cut()

    async with HttpServer({"/": handler}) as server:
        assert (await get(fetch(str(server.url("/"))))).body == b"body"


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


def test_what_was_checked_is_what_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-10: a name that changes its mind (DNS rebinding) is asked once."""
    resolving(monkeypatch, "93.184.216.34", then=["127.0.0.1"])
    hosts = connecting(monkeypatch)
    with pytest.raises(ConnectFailed):
        asyncio.run(get(fetch("http://harmless.example/", PUBLIC)))
    assert hosts == ["93.184.216.34"]


def test_of_several_addresses_the_public_ones_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-10: one after the other, and no private one."""
    resolving(monkeypatch, "10.0.0.1", "93.184.216.34", "127.0.0.1", "93.184.216.35")
    hosts = connecting(monkeypatch)
    with pytest.raises(ConnectFailed):
        asyncio.run(get(fetch("http://harmless.example/", PUBLIC)))
    assert hosts == ["93.184.216.34", "93.184.216.35"]


async def test_the_users_own_server_may_be_private() -> None:
    """F-AUTH-10: what the user named himself."""
    async with HttpServer({"/": answer_with(200, body=b"ok")}) as server:
        url = str(server.url("/"))
        origin = f"http://127.0.0.1:{server.url().port}"
        own = UrlPolicy(allow_insecure_http=True, trusted_origins=frozenset({origin}))
        assert (await get(fetch(url, own))).body == b"ok"
        with pytest.raises(SsrfError):
            await get(fetch(url, PUBLIC))


def test_a_name_that_does_not_resolve(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-10"""

    async def getaddrinfo(self: Any, host: str, port: int, **kwargs: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    with pytest.raises(ConnectFailed, match="cannot be resolved: Name or service not known"):
        asyncio.run(get(fetch("http://nowhere.example/")))


async def test_nothing_listens() -> None:
    """F-AUTH-10"""
    async with HttpServer() as server:
        url = str(server.url("/"))
    with pytest.raises(ConnectFailed):
        await get(fetch(url))


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


async def test_a_reset_connection() -> None:
    """F-AUTH-10"""

    async def handler(request: Request, answer: Answer) -> None:
        answer.reset()

    async with HttpServer({"/": handler}) as server:
        with pytest.raises(ConnectionLost):
            await get(fetch(str(server.url("/"))))


@pytest.mark.parametrize("first", [b"", b"SSH-2.0-OpenSSH\r\n"])
async def test_a_server_that_speaks_first_or_leaves_at_once(first: bytes) -> None:
    """F-AUTH-10"""

    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(first)

    async with serve(leave) as port:
        with pytest.raises((ConnectionLost, AuthError)):
            await get(fetch(f"http://127.0.0.1:{port}/"))


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


async def test_the_client_certificate_is_for_the_users_server_only(tmp_path: Path) -> None:
    """F-AUTH-13: and not for whomever it names."""
    authority = Authority(tmp_path)
    options = NetworkOptions(ca_file=authority.file, client_cert=authority.client_file())
    context = authority.server_context("localhost", client_authority=authority)
    async with serve(tls_answer, tls=context) as port:
        url = f"https://localhost:{port}/"
        own = UrlPolicy(allow_loopback=True, server_origin=f"https://localhost:{port}")
        assert (await get(fetch(url, own), options)).body == b"ok"
        named = UrlPolicy(trusted_origins=frozenset({f"https://localhost:{port}"}))
        for policy in (LOCAL, named):
            with pytest.raises((ConnectFailed, ConnectionLost)):
                await get(fetch(url, policy), options)


def lenient() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


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


async def test_token_endpoints_may_have_certificates_of_the_system_or_the_clients_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-AUTH-10: a private server may have a public authorization server, or a private one."""
    private, public = Authority(tmp_path, "private"), Authority(tmp_path, "public")
    monkeypatch.setenv("SSL_CERT_FILE", str(public.file))
    options = NetworkOptions(ca_file=private.file)
    for authority in (private, public):
        async with serve(tls_answer, tls=authority.server_context("localhost")) as port:
            url = f"https://localhost:{port}/token"
            assert (await get(fetch(url), options)).body == b"ok"
            own = UrlPolicy(allow_loopback=True, server_origin=f"https://localhost:{port}")
            if authority is public:
                with pytest.raises(ConnectFailed, match="certificate"):
                    await get(fetch(url, own), options)


async def test_the_callers_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-HTTP-12: where it leads on to is its own business."""
    async with HttpServer({"GET": answer_with(200, body=b"proxied")}) as proxy:
        options = NetworkOptions().with_proxy(str(proxy.url("/")), {})
        response = await get(fetch("http://intranet.example/x", PUBLIC), options)
        assert response.body == b"proxied"
        assert proxy.requests[0].target == "http://intranet.example/x"


async def test_a_socks_proxy_of_the_caller_is_used() -> None:
    """F-HTTP-15: an address that it is told to connect to is checked here."""
    proxy, answer = SocksProxy(), answer_with(200, body=b"told")
    async with HttpServer({"GET": answer}) as server, serve(proxy.handle) as port:
        url = f"http://intranet.example:{server.url('/').port}/x"
        options = NetworkOptions().with_proxy(f"socks5h://127.0.0.1:{port}", {})
        assert (await get(fetch(url, PUBLIC), options)).body == b"told"
        assert server.requests[0].target == "/x"
        options = NetworkOptions().with_proxy(f"socks5://127.0.0.1:{port}", {})
        with pytest.raises(SsrfError):
            await get(fetch(url.replace("intranet.example", "localhost"), PUBLIC), options)
    assert proxy.asked == ["intranet.example"]


def test_a_proxy_leads_to_others_without_what_is_for_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-AUTH-13: behind a proxy as well, their certificates are checked."""
    checked: list[bool] = []

    class Dialing(Dialer):
        async def dial(self, url: Any, protocol: Any, check: Any = None) -> Any:
            checked.append(self._options.verify)
            raise ConnectFailed(str(url), "not in a test", ())

    monkeypatch.setattr(guarded_fetch, "Dialer", Dialing)
    options = NetworkOptions(verify=False).with_proxy("http://proxy.test", {})
    own = UrlPolicy(server_origin="https://mcp.example:443")
    for url in ("https://mcp.example/", "https://auth.example/"):
        with pytest.raises(ConnectFailed, match="not in a test"):
            asyncio.run(get(fetch(url, own), options))
    assert checked == [False, True]


def test_a_unix_socket_for_the_server_leaves_others_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """F-AUTH-10: their names may not mean private addresses."""
    resolving(monkeypatch, "10.0.0.1")
    hosts = connecting(monkeypatch)
    options = NetworkOptions(unix_socket=tmp_path / "socket")
    with pytest.raises(SsrfError):
        asyncio.run(get(fetch("http://harmless.example/", PUBLIC), options))
    assert not hosts


@pytest.mark.needs_posix
async def test_the_servers_unix_socket_is_for_its_own_urls(tmp_path: Path) -> None:
    """F-HTTP-12"""
    path = tmp_path / "socket"
    options = NetworkOptions(unix_socket=path)
    own = UrlPolicy(allow_insecure_http=True, server_origin="http://mcp.example:80")
    async with serve(tls_answer, path=path):
        assert (await get(fetch("http://mcp.example/", own), options)).body == b"ok"
        with pytest.raises(ConnectFailed):
            await get(fetch("http://127.0.0.1:9/"), options)


def test_what_is_fetched_is_written_down() -> None:
    """F-SHOW-8, F-AUTH-12: a login is in the trace, its secrets are not."""
    lines: list[str] = []

    async def main() -> None:
        options = NetworkOptions(recorder=Recorder(lines.append))
        answer = answer_with(200, {"Content-Type": "application/json"}, b'{ "token": "s3cret" }')
        async with HttpServer({"/token": answer}) as server:
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            url = str(server.url("/token?a=s3cret"))
            request = fetch(url, method="POST", headers=form, body=b"code=s3cret&scope=x")
            assert (await get(request, options)).body == b'{ "token": "s3cret" }'
            with pytest.raises(SsrfError):
                await get(fetch(url, PUBLIC), options)

    asyncio.run(main())
    first, second, third, fourth = map(json.loads, lines)
    assert (first["http"]["target"], first["text"]) == (
        "/token?a=redacted-1",
        "code=redacted-1&scope=x",
    )
    assert (second["channel"], second["text"], second["end"]) == (
        "http-1",
        '{ "token": "redacted-1" }',
        "complete",
    )
    assert (third["channel"], third["direction"]) == ("http-2", "sent")
    assert fourth["error"]["type"] == "SsrfError"


async def test_a_fetch_that_is_given_up_has_an_end_in_the_trace() -> None:
    """F-SHOW-8: whoever reads it sees that nobody waited for the answer any more."""
    lines: list[str] = []
    arrived = asyncio.Event()

    async def silent(request: Request, answer: Answer) -> None:
        arrived.set()
        await asyncio.get_running_loop().create_future()

    async with HttpServer({"/": silent}) as server:
        options = NetworkOptions(recorder=Recorder(lines.append))
        getting = asyncio.ensure_future(get(fetch(str(server.url("/"))), options))
        await asyncio.wait_for(arrived.wait(), 5)
        getting.cancel()
        await asyncio.wait({getting})
        assert getting.cancelled()
    assert [json.loads(line).get("end") for line in lines] == [None, "closed"]
