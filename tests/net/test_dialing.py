from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable

import pytest

from mcpclient.errors import ConnectFailed, UsageError
from mcpclient.framing.uri import parse_url
from mcpclient.net.dialing import Dialer, explain_loss
from mcpclient.net.network_options import NetworkOptions
from mcpclient.net.stream import Stream
from tests.net.certificates import Authority
from tests.net.peers import PATIENCE, Proxy, Recorder, dialer_with, echo, serve

GREETING = b"hello over there"


async def greet(dialer: Dialer, url: str) -> None:
    """Connect to an echo server and have it send something back."""
    recorder = Recorder()
    stream = await dialer.dial(parse_url(url), lambda: Stream(recorder))
    stream.write(GREETING)
    try:
        await recorder.until(lambda recorder: recorder.data == GREETING or bool(recorder.ends))
        if recorder.ends:
            raise ConnectionError(explain_loss(recorder.ends[0], parse_url(url))[1])
    finally:
        stream.abort()
        if not recorder.ends:
            await recorder.has_ended()


def failure(dialer: Dialer, url: str) -> str:
    """Return the text of the error that connecting gives."""

    async def scenario() -> str:
        with pytest.raises(ConnectFailed) as caught:
            await greet(dialer, url)
        assert len(caught.value.attempts) == 1
        return str(caught.value)

    return asyncio.run(scenario())


async def test_one_dialer_connects_with_and_without_tls(tmp_path: Path) -> None:
    """F-HTTP-12: one dialer for every scheme; TLS with an own authority."""
    authority = Authority(tmp_path)
    dialer, tls = dialer_with(ca_file=authority.file), authority.server_context()
    tls.set_alpn_protocols(["h2", "http/1.1"])
    spoken: list[str] = []

    async def greeted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        spoken.append(writer.get_extra_info("ssl_object").selected_alpn_protocol())
        await echo(reader, writer)

    async with serve(echo) as plain, serve(greeted, tls=tls) as secure:
        for scheme in ("http", "ws", "tcp"):
            await greet(dialer, f"{scheme}://127.0.0.1:{plain}")
        for scheme in ("https", "wss"):
            await greet(dialer, f"{scheme}://localhost:{secure}")
            await greet(dialer, f"{scheme}://127.0.0.1:{secure}")
    assert spoken == ["http/1.1"] * 4


@pytest.mark.needs_posix
def test_unix_sockets(tmp_path: Path) -> None:
    """F-STD-8, F-HTTP-12: by URL, or instead of a URL's host, with and without TLS."""
    authority = Authority(tmp_path)
    plain, secure = tmp_path / "plain.sock", tmp_path / "secure socket"

    async def scenario() -> None:
        async with (
            serve(echo, path=plain),
            serve(echo, path=secure, tls=authority.server_context("server.test")),
        ):
            await greet(dialer_with(), f"unix://{plain}")
            await greet(dialer_with(unix_socket=plain), "http://server.test/mcp")
            dialer = dialer_with(unix_socket=os.fspath(secure), ca_file=authority.file)
            await greet(dialer, "https://server.test/mcp")
            with pytest.raises(ConnectFailed, match=r"not one for other\.test"):
                await greet(dialer, "https://other.test/mcp")

    asyncio.run(scenario())


@pytest.mark.needs_posix
def test_unix_sockets_that_cannot_be_used(tmp_path: Path) -> None:
    """F-STD-8: one clear error each, naming the path."""
    (tmp_path / "file").write_text("no socket")
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "silent"))
        assert "nothing listens on the socket" in failure(
            dialer_with(), f"unix://{tmp_path}/silent"
        )
    assert "there is no socket" in failure(dialer_with(), f"unix://{tmp_path}/none")
    too_long = f"unix://{tmp_path}/{'x' * 200}"
    assert "cannot be used: AF_UNIX path too long" in failure(dialer_with(), too_long)


def test_a_system_without_unix_sockets_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-STD-8: where the event loop has none, that is the reason given."""

    async def not_here(*arguments: object, **options: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(asyncio.SelectorEventLoop, "create_unix_connection", not_here)
    text = failure(dialer_with(), "unix:///run/mcp.sock")
    assert "has no Unix-domain sockets" in text


PIPE = "\\\\.\\pipe\\mcp"


@pytest.mark.needs_posix
def test_a_named_pipe_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-HTTP-15: by its name in place of a socket's; here a socket stands for it."""
    path = tmp_path / "pipe.sock"

    async def connect_to_pipe(self: Any, protocol: Any, name: str) -> Any:
        assert name == PIPE
        return await self.create_unix_connection(protocol, os.fspath(path))

    loops = asyncio.SelectorEventLoop
    monkeypatch.setattr(loops, "create_pipe_connection", connect_to_pipe, raising=False)

    async def scenario() -> None:
        assert "there is no socket" in await asyncio.to_thread(missing)
        async with serve(echo, path=path):
            await greet(dialer_with(unix_socket=PIPE), "http://server.test/mcp")
            with pytest.raises(UsageError, match="no TLS over a named pipe: write http://"):
                await greet(dialer_with(unix_socket=PIPE), "https://server.test/mcp")

    def missing() -> str:
        return failure(dialer_with(unix_socket=PIPE), "http://server.test/mcp")

    asyncio.run(scenario())


@pytest.mark.needs_posix
def test_a_system_without_named_pipes_is_told() -> None:
    """F-HTTP-15: only the event loop of Windows has them."""
    with pytest.raises(UsageError, match="only the event loop of Windows has named pipes"):
        asyncio.run(greet(dialer_with(unix_socket=PIPE), "http://server.test/mcp"))


def test_nothing_listens() -> None:
    """F-HTTP-12: refused, by the server or by its proxy."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        text = failure(dialer_with(), f"http://127.0.0.1:{port}/mcp")
        assert f"nothing listens on 127.0.0.1 port {port}" in text
        through = failure(dialer_with(f"http://127.0.0.1:{port}"), "http://server.test/mcp")
        assert f"its proxy cannot be reached: nothing listens on 127.0.0.1 port {port}" in through


def test_a_name_that_cannot_be_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-HTTP-12: the name is in the text."""

    async def unknown(*arguments: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.SelectorEventLoop, "getaddrinfo", unknown)
    text = failure(dialer_with(), "https://server.test/mcp")
    assert "the host name 'server.test' cannot be resolved" in text


def test_other_errors_of_the_system_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-HTTP-12: in the system's own words."""

    async def unreachable(*arguments: object, **options: object) -> None:
        raise OSError(113, "No route to host")

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", unreachable)
    assert "No route to host" in failure(dialer_with(), "http://server.test/mcp")


CERTIFICATES: dict[str, tuple[Callable[[Authority], ssl.SSLContext], str]] = {
    "self-signed": (lambda ca: ca.self_signed_context(), "is self-signed"),
    "unknown authority": (lambda ca: ca.server_context(), "authority that is not trusted"),
    "expired": (lambda ca: ca.server_context(days=-1), "has expired"),
    "not yet valid": (lambda ca: ca.future_server_context(), "not valid yet"),
    "another name": (lambda ca: ca.server_context("other.test"), "not one for localhost"),
}


@pytest.mark.parametrize("kind", CERTIFICATES)
async def test_a_certificate_that_is_no_good(kind: str, tmp_path: Path) -> None:
    """F-HTTP-12: each fault by its name, with what would change it; verify=False takes all."""
    authority, other = Authority(tmp_path), Authority(tmp_path, "other")
    make_context, expected = CERTIFICATES[kind]
    trusted = other if kind in ("self-signed", "unknown authority") else authority
    async with serve(echo, tls=make_context(authority)) as port:
        url = f"https://localhost:{port}"
        with pytest.raises(ConnectFailed, match=expected):
            await greet(dialer_with(ca_file=trusted.file), url)
        await greet(dialer_with(verify=False), url)


@pytest.mark.parametrize("is_tunnelled", [False, True])
def test_the_issuer_of_an_unknown_certificate_is_named(tmp_path: Path, is_tunnelled: bool) -> None:
    """F-HTTP-15: as that of a proxy that inspects TLS; what reads it says nothing."""
    authority, other = Authority(tmp_path), Authority(tmp_path, "other")
    tls = authority.server_context(client_authority=authority)
    tls.verify_mode = ssl.CERT_OPTIONAL
    seen: list[object] = []

    async def watch(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(writer.get_extra_info("peercert"))
        with suppress(OSError):
            seen.append(await reader.read())

    async def scenario() -> str:
        proxy = Proxy()
        async with serve(watch, tls=tls) as port, serve(proxy.handle) as entrance:
            options = NetworkOptions(ca_file=other.file, client_cert=authority.client_file())
            choice = f"http://localhost:{entrance}" if is_tunnelled else False
            dialer = Dialer(options.with_proxy(choice, {}))
            with pytest.raises(ConnectFailed) as caught:
                await greet(dialer, f"https://localhost:{port}")
            assert len(proxy.requests) == 2 * is_tunnelled
            return f"{caught.value} {caught.value.hint}"

    text = asyncio.run(scenario())
    assert re.search(r"authority that is not trusted here: Testing CA", text), text
    assert "a proxy of your network inspects TLS" in text
    assert {str(each) for each in seen} <= {"None", "{}", "b''"}


def test_an_issuer_that_cannot_be_read(tmp_path: Path) -> None:
    """F-HTTP-15: the first error stays."""
    authority, other = Authority(tmp_path), Authority(tmp_path, "other")
    with blocking_server(authority.server_context(), 1) as port:
        text = failure(dialer_with(ca_file=other.file), f"https://localhost:{port}")
    assert "authority that is not trusted here\n" in f"{text}\n"


def with_options(**options: Any) -> Dialer:
    return Dialer(NetworkOptions(**options))


@contextmanager
def blocking_server(tls: ssl.SSLContext, connections: int) -> Iterator[int]:
    """Greet and hang up so many times, by blocking calls: asyncio's servers send no alerts."""

    def serve_all(listener: socket.socket) -> None:
        listener.settimeout(PATIENCE)
        for _ in range(connections):
            plain, _ = listener.accept()
            plain.settimeout(PATIENCE)
            connection = tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
            with connection, suppress(OSError):
                with suppress(ssl.SSLError):
                    connection.do_handshake()
                    connection.sendall(GREETING)
                # Closing with data unread would be a reset, which overtakes what was sent.
                while socket.socket.recv(connection, 1024):
                    pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve_all, args=(listener,))
        thread.start()
        yield listener.getsockname()[1]
        thread.join(PATIENCE)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_client_certificates(version: ssl.TLSVersion, tmp_path: Path) -> None:
    """F-HTTP-12, F-AUTH-13: shown where it is asked for, and missed where it is not there."""
    authority, other = Authority(tmp_path), Authority(tmp_path, "other")
    tls = authority.server_context(client_authority=authority)
    tls.minimum_version = tls.maximum_version = version

    async def scenario(url: str) -> None:
        file = authority.file
        await greet(with_options(ca_file=file, client_cert=authority.client_file()), url)
        with pytest.raises((ConnectFailed, ConnectionError), match="client certificate"):
            await greet(with_options(ca_file=file), url)
        stranger = with_options(ca_file=file, client_cert=other.client_file())
        with pytest.raises((ConnectFailed, ConnectionError), match="of our client certificate"):
            await greet(stranger, url)

    with blocking_server(tls, 3) as port:
        asyncio.run(scenario(f"https://localhost:{port}"))


def test_an_encrypted_connection_can_be_dropped_after_its_loop_is_closed(tmp_path: Path) -> None:
    """F-LIFE-5: a finalizer may come late; the socket is released all the same."""
    authority = Authority(tmp_path)
    dialer = dialer_with(ca_file=authority.file)

    async def connect(port: int) -> Stream:
        return await dialer.dial(parse_url(f"https://localhost:{port}"), lambda: Stream(Recorder()))

    with blocking_server(authority.server_context(), 1) as port:
        loop = asyncio.new_event_loop()
        stream = loop.run_until_complete(connect(port))
        loop.close()
        stream.abort()
        stream.abort()


async def test_a_server_without_tls_is_noticed() -> None:
    """F-HTTP-12: https where http is spoken."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        await reader.read()

    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100_000)

    async with serve(answer) as talks, serve(close) as closes:
        with pytest.raises(ConnectFailed, match="does not speak TLS"):
            await greet(dialer_with(), f"https://localhost:{talks}")
        with pytest.raises(ConnectFailed, match=r"it may not speak TLS|during TLS"):
            await greet(dialer_with(), f"https://localhost:{closes}")


def test_a_plain_request_is_for_the_proxy_itself() -> None:
    """F-HTTP-12: absolute-form with the proxy's credentials; a tunnel for everything else."""
    dialer = dialer_with("http://user:secret@proxy.test:3128")
    target, fields = dialer.request_target(parse_url("http://user:own@server.test/mcp?a=b"))
    assert target == "http://server.test/mcp?a=b"
    assert fields == [("Proxy-Authorization", "Basic dXNlcjpzZWNyZXQ=")]
    assert dialer.request_target(parse_url("https://server.test/mcp")) == ("/mcp", [])
    assert dialer_with().request_target(parse_url("http://server.test/mcp")) == ("/mcp", [])


async def test_a_plain_request_goes_to_the_proxy() -> None:
    """F-HTTP-12: without CONNECT, which many proxies allow for TLS only."""
    proxy = Proxy(answer=GREETING)
    async with serve(proxy.handle) as port:
        recorder = Recorder()
        dialer = dialer_with(f"http://127.0.0.1:{port}")
        url = parse_url("http://server.test/mcp")
        stream = await dialer.dial(url, lambda: Stream(recorder))
        stream.write(b"GET http://server.test/mcp HTTP/1.1\r\n\r\n")
        await recorder.has(GREETING)
        stream.abort()
        await recorder.has_ended()
    assert proxy.requests == ["GET http://server.test/mcp HTTP/1.1"]


async def test_an_unusable_file_fails_the_dialing(tmp_path: Path) -> None:
    """F-HTTP-12: and closes what was open already."""
    async with serve(Proxy().handle) as proxy, serve(echo) as port:
        for through in (False, f"http://127.0.0.1:{proxy}"):
            dialer = dialer_with(through, ca_file=str(tmp_path / "none.pem"))
            with pytest.raises(UsageError, match="holds no certificates"):
                await greet(dialer, f"https://localhost:{port}")


def test_the_end_of_a_connection_is_explained() -> None:
    """F-LIFE-7: an alert after the handshake, an error of the system, or a plain end."""
    url = parse_url("https://server.test/mcp")
    alert = ssl.SSLError(1, "alert")
    alert.reason = "TLSV13_ALERT_CERTIFICATE_REQUIRED"
    assert "demands a client certificate" in explain_loss(alert, url)[1]
    assert explain_loss(ConnectionResetError("reset"), url) == ("dropped", "reset")
    assert explain_loss(None, url) == ("dropped", "closed by the server")


@pytest.mark.skipif(sys.platform == "win32", reason="addresses are tried otherwise there")
async def test_an_ipv6_address_in_brackets_is_connected_to(tmp_path: Path) -> None:
    """F-HTTP-12: an address in brackets."""
    try:
        server = await asyncio.start_server(lambda reader, writer: writer.close(), "::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    port = server.sockets[0].getsockname()[1]
    recorder = Recorder()
    url = parse_url(f"http://[::1]:{port}/")
    await dialer_with().dial(url, lambda: Stream(recorder))
    await recorder.has_ended()
    server.close()
    await server.wait_closed()
