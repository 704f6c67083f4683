from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from mcpclient.errors import ConnectFailed
from mcpclient.framing.uri import parse_url
from mcpclient.net.proxies import Tunnel, proxy_headers
from mcpclient.net.stream import Stream
from tests.net.certificates import Authority
from tests.net.peers import Proxy, Recorder, SocksProxy, dialer_with, echo, serve

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


async def test_a_tunnel_carries_plain_bytes() -> None:
    """F-HTTP-12: CONNECT names host and port, and then any protocol runs."""
    proxy = Proxy()
    async with serve(echo) as server, serve(proxy.handle) as port:
        await through(f"http://127.0.0.1:{port}", f"ws://server.test:{server}")
        await through(f"http://127.0.0.1:{port}", f"tcp://[::1]:{server}")
    assert proxy.requests == [
        f"CONNECT server.test:{server} HTTP/1.1",
        f"CONNECT [::1]:{server} HTTP/1.1",
    ]


@pytest.mark.parametrize(("scheme", "made"), [("http", Proxy), ("socks5h", SocksProxy)])
async def test_a_tunnel_carries_tls(
    scheme: str, made: type[Proxy] | type[SocksProxy], tmp_path: Path
) -> None:
    """F-HTTP-12 F-HTTP-15: the server's certificate comes through, and its name is checked."""
    authority = Authority(tmp_path)
    tls = authority.server_context("server.test")
    async with serve(echo, tls=tls) as server, serve(made().handle) as port:
        proxy = f"{scheme}://127.0.0.1:{port}"
        await through(proxy, f"https://server.test:{server}", ca_file=authority.file)
        await through(proxy, f"wss://server.test:{server}", ca_file=authority.file)
        with pytest.raises(ConnectFailed, match=r"not one for other\.test"):
            await through(proxy, f"https://other.test:{server}", ca_file=authority.file)


async def test_a_proxy_may_itself_be_reached_by_tls(tmp_path: Path) -> None:
    """F-HTTP-12: an https proxy, its own certificate checked too."""
    authority = Authority(tmp_path)
    tls = authority.server_context("localhost")
    async with serve(echo) as server, serve(Proxy().handle, tls=tls) as port:
        proxy, url = f"https://localhost:{port}", f"ws://server.test:{server}"
        await through(proxy, url, ca_file=authority.file)
        with pytest.raises(ConnectFailed, match="its proxy cannot be reached: the certif"):
            await through(proxy, url)


async def test_a_proxy_is_not_shown_the_client_certificate(tmp_path: Path) -> None:
    """F-HTTP-12, F-AUTH-13: it is for the server; here, a proxy that demands one goes without."""
    authority = Authority(tmp_path)
    tls = authority.server_context("localhost", client_authority=authority)
    async with serve(echo) as server, serve(Proxy().handle, tls=tls) as port:
        proxy, url = f"https://localhost:{port}", f"ws://server.test:{server}"
        own = authority.client_file()
        with pytest.raises(ConnectFailed):
            await through(proxy, url, ca_file=authority.file, client_cert=own)


async def test_tls_inside_tls(tmp_path: Path) -> None:
    """F-HTTP-12: an https proxy for an https server, where Python can do it."""
    authority = Authority(tmp_path)
    tls = authority.server_context("localhost")
    async with serve(echo, tls=tls) as server, serve(Proxy().handle, tls=tls) as port:
        proxy, url = f"https://localhost:{port}", f"wss://localhost:{server}"
        if sys.version_info >= (3, 11):
            await through(proxy, url, ca_file=authority.file)
        else:
            with pytest.raises(ConnectFailed, match=r"needs Python 3\.11; use an http://"):
                await through(proxy, url, ca_file=authority.file)


async def test_credentials_are_sent_to_the_proxy() -> None:
    """F-HTTP-12: those of its URL, and a proxy that wants others says so."""
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


@pytest.mark.parametrize(
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


def test_an_interim_answer_is_passed_over() -> None:
    """F-HTTP-12: 1xx comes before the real answer."""
    text = refusal(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 403 No\r\n\r\n")
    assert "403 No" in text


def test_a_proxy_may_close_where_the_server_should_speak_tls() -> None:
    """F-HTTP-12: the end of the connection during TLS is an error, too."""
    assert "closed the connection during" in refusal(OK, url="wss://server.test:81")


async def test_giving_up_closes_the_connection() -> None:
    """F-HTTP-12: cancelling leaves nothing open, whatever the proxy does."""
    asked, closed = asyncio.Event(), asyncio.Event()

    async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await reader.read()
        closed.set()

    async with serve(never_answer) as port:
        url = parse_url("wss://server.test")
        dialing = asyncio.ensure_future(
            dialer_with(f"http://127.0.0.1:{port}").dial(url, lambda: Stream(Recorder()))
        )
        await asked.wait()
        dialing.cancel()
        await asyncio.wait({dialing})
        await closed.wait()


class Transport(asyncio.Transport):
    """Remembers what it was told."""

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


async def test_what_the_server_says_first_is_for_the_next_protocol() -> None:
    """F-HTTP-12: from the proxy's answer until the connection is handed over, nothing is read."""
    tunnel = Tunnel(parse_url("http://proxy.test"), parse_url("tcp://server.test:1"))
    transport = Transport()
    tunnel.connection_made(transport)
    establishing = asyncio.ensure_future(tunnel.establish())
    await asyncio.sleep(0)
    tunnel.data_received(OK)
    assert transport.told == ["write", "pause_reading"]
    await establishing
    await tunnel.hand_over(asyncio.Protocol, None)
    assert transport.told[2:] == ["set_protocol", "resume_reading"]


async def test_an_alert_that_comes_early_is_not_lost() -> None:
    """F-HTTP-12: a connection that ends before it is handed over is never handed over."""
    tunnel = Tunnel(parse_url("http://proxy.test"), parse_url("wss://server.test"))
    tunnel.abort()  # before there is anything to close
    tunnel.connection_lost(ConnectionResetError("an alert"))
    with pytest.raises(ConnectFailed):
        await tunnel._established
