from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize("is_tunnelled", [False, True])
def test_the_issuer_of_an_unknown_certificate_is_named(tmp_path: Path, is_tunnelled: bool) -> None:
    """F-HTTP-15: as of a proxy that inspects TLS; what reads it says nothing."""
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
                # Closing with data unread would be a reset, which overtakes the data sent.
                while socket.socket.recv(connection, 1024):
                    pass
        listener.close()  # whoever comes now need not wait

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve_all, args=(listener,))
        thread.start()
        yield listener.getsockname()[1]
        thread.join(PATIENCE)


def test_the_end_of_a_connection_is_explained() -> None:
    """F-LIFE-7: an alert after the handshake, an error of the system, or a plain end."""
    url = parse_url("https://server.test/mcp")
    alert = ssl.SSLError(1, "alert")
    alert.reason = "TLSV13_ALERT_CERTIFICATE_REQUIRED"
    assert "demands a client certificate" in explain_loss(alert, url)[1]
    assert explain_loss(ConnectionResetError("reset"), url) == ("dropped", "reset")
    assert explain_loss(None, url) == ("dropped", "closed by the server")
