from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcpclient.errors import ConnectFailed
from mcpclient.framing.uri import parse_url
from mcpclient.net.proxies import proxy_headers
from mcpclient.net.stream import Stream
from tests.net.certificates import Authority
from tests.net.peers import Proxy, Recorder, dialer_with, echo, serve
from tests.support.tables import each_row

OK = b"HTTP/1.1 200 Connection established\r\n\r\n"


async def through(proxy_url: str, url: str, **options: object) -> None:
    """Dial through a proxy to an echo server, and have it send something back."""
    recorder = Recorder()
    dialer = dialer_with(proxy_url, **options)  # type: ignore[arg-type]
    stream = await dialer.dial(parse_url(url), lambda: Stream(recorder))
    stream.write(b"through the tunnel")
    await recorder.has(b"through the tunnel")
    stream.abort()
    await recorder.has_ended()


def refusal(answer: bytes, proxy_credentials: str = "", url: str = "ws://server.test:81") -> str:
    """Dial through a proxy that answers this to everything, and return why it failed."""

    async def scenario() -> str:
        async with serve(Proxy(answer=answer).handle) as port:
            dialer = dialer_with(f"http://{proxy_credentials}127.0.0.1:{port}")
            with pytest.raises(ConnectFailed) as caught:
                await dialer.dial(parse_url(url), lambda: Stream(Recorder()))
            return str(caught.value)

    return asyncio.run(scenario())


async def test_credentials_are_sent_to_the_proxy() -> None:
    """F-HTTP-12: the URL's own, and a proxy that wants others says so."""
    proxy = Proxy(credentials="Basic dXNlcjpzZWNyZXQ=")
    async with serve(echo) as server, serve(proxy.handle) as port:
        url = f"ws://server.test:{server}"
        await through(f"http://user:secret@127.0.0.1:{port}", url)
        with pytest.raises(ConnectFailed, match="does not accept the credentials") as caught:
            await through(f"http://user:wrong@127.0.0.1:{port}", url)
        assert "wrong" not in str(caught.value)
        with pytest.raises(ConnectFailed, match="asks for credentials"):
            await through(f"http://127.0.0.1:{port}", url)
    assert proxy_headers(parse_url("http://proxy.test")) == []


async def test_a_proxy_is_not_shown_the_client_certificate(tmp_path: Path) -> None:
    """F-HTTP-12, F-AUTH-13: it is for the server; a proxy that demands one gets none."""
    authority = Authority(tmp_path)
    tls = authority.server_context("localhost", client_authority=authority)
    async with serve(echo) as server, serve(Proxy().handle, tls=tls) as port:
        proxy, url = f"https://localhost:{port}", f"ws://server.test:{server}"
        own = authority.client_file()
        with pytest.raises(ConnectFailed):
            await through(proxy, url, ca_file=authority.file, client_cert=own)


@each_row(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", "refused to connect to server.test port 81: 403 Forb"),
        (b"HTTP/1.1 401 No\r\n\r\n", "does not accept the credentials in its URL (401)"),
        (b"HTTP/1.1 502\r\n\r\n", "refused to connect to server.test port 81: 502"),
        (b"", "closed the connection without answering"),
        (b"HTTP/1.1 20", "closed the connection without answering"),
        (b"220 smtp.test\r\n\r\n", "does not answer in HTTP"),
        (OK + b"too early", "sent bytes behind its answer to CONNECT"),
    ],
)
def test_a_proxy_that_does_not_connect_is_named(answer: bytes, reason: str) -> None:
    """F-HTTP-12: one clear error each, naming the proxy without its credentials."""
    text = refusal(answer, "user:secret@")
    assert reason in text
    assert "the proxy http://127.0.0.1:" in text
    assert "secret" not in text


def test_a_proxy_may_close_where_the_server_should_speak_tls() -> None:
    """F-HTTP-12: the end of the connection during TLS is an error, too."""
    assert "closed the connection during" in refusal(OK, url="wss://server.test:81")


class Transport(asyncio.Transport):
    """Remembers all it received."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.told.append("write")

    def pause_reading(self) -> None:
        self.told.append("pause_reading")

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.told.append("set_protocol")

    def resume_reading(self) -> None:
        self.told.append("resume_reading")
