"""SOCKS 5 proxies, with a small one in the loop of each test."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.errors import ConnectFailed, ConnectKind
from mcpclient.framing.uri import parse_url
from mcpclient.net import dialing
from mcpclient.net.proxies import SocksTunnel
from tests.net.certificates import Authority
from tests.net.mcp_over_http import McpOverHttp
from tests.net.peers import SocksProxy, echo, serve
from tests.net.test_proxies_tunnel import through


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Have every name but that of an address resolve to these."""

    async def resolve(host: str, port: int) -> list[dialing.Address]:
        return [
            dialing.Address(socket.AF_INET6 if ":" in address else socket.AF_INET, (address, port))
            for address in ([host] if host[0].isdigit() else addresses)
        ]

    monkeypatch.setattr(dialing, "_resolve", resolve)


async def refusal(proxy: SocksProxy, url: str, scheme: str = "socks5h://") -> ConnectFailed:
    """Dial through the proxy, and return why it failed."""
    async with serve(proxy.handle) as port:
        with pytest.raises(ConnectFailed) as caught:
            await through(f"{scheme}127.0.0.1:{port}", url)
    return caught.value


async def test_socks5h_has_the_proxy_resolve_names() -> None:
    """F-HTTP-15: names go to the proxy; addresses go as addresses."""
    proxy = SocksProxy()
    async with serve(echo) as server, serve(proxy.handle) as port:
        for host in ("server.invalid", "10.0.0.7", "[fd00::7]"):
            await through(f"socks5h://127.0.0.1:{port}", f"ws://{host}:{server}")
    assert proxy.asked == ["server.invalid", "10.0.0.7", "fd00::7"]


async def test_user_and_password() -> None:
    """F-HTTP-15: those of the URL, unescaped; no error shows them."""
    proxy = SocksProxy(login=b"us er:sec:ret")
    async with serve(echo) as server, serve(proxy.handle) as port:
        url = f"ws://server.test:{server}"
        await through(f"socks5h://us%20er:sec%3Aret@127.0.0.1:{port}", url)
        with pytest.raises(ConnectFailed, match="does not accept the cred") as caught:
            await through(f"socks5h://user:wrong@127.0.0.1:{port}", url)
        assert caught.value.kind is ConnectKind.PROXY_CREDENTIALS
        assert "wrong" not in f"{caught.value} {caught.value!r}"
        with pytest.raises(ConnectFailed, match="asks for credentials") as caught:
            await through(f"socks5h://127.0.0.1:{port}", url)
        assert caught.value.kind is ConnectKind.PROXY_CREDENTIALS


REPLIES = [
    (1, ConnectKind.PROXY, "failed to connect to server.test port 81"),
    (2, ConnectKind.PROXY, "has a rule against a connection to server.test port 81"),
    (3, ConnectKind.OTHER, "cannot reach the network of server.test"),
    (4, ConnectKind.OTHER, "cannot reach server.test port 81"),
    (5, ConnectKind.REFUSED, "says that nothing listens on server.test port 81"),
    (6, ConnectKind.OTHER, "the time to live (TTL) has run out"),
    (7, ConnectKind.PROXY, "does not offer connections (CONNECT)"),
    (8, ConnectKind.OTHER, "does not take server.test port 81 as an address; use socks5://"),
    (77, ConnectKind.PROXY, "failed for an unknown reason"),
]


@pytest.mark.parametrize(("code", "kind", "reason"), REPLIES)
async def test_each_reply_of_the_proxy_is_named(code: int, kind: ConnectKind, reason: str) -> None:
    """F-HTTP-15: with the proxy, the server and the number."""
    proxy = SocksProxy(replies={"server.test": code})
    error = await refusal(proxy, "ws://server.test:81")
    assert error.kind is kind
    assert "the proxy socks5h://127.0.0.1:" in error.reason
    assert reason in error.reason
    assert error.reason.endswith(f"(SOCKS reply {code})")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "closed the connection without answering"),
        (b"\x05", "closed the connection without answering"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not answer in SOCKS 5 but in HTTP"),
        (b"\x05\x00\x05\x00", "sent bytes that it was not asked for"),
    ],
)
async def test_a_proxy_that_does_not_speak_socks_is_named(answer: bytes, reason: str) -> None:
    """F-HTTP-15"""
    error = await refusal(SocksProxy(answer=answer), "wss://server.test")
    assert error.kind is ConnectKind.PROXY
    assert reason in error.reason


async def test_a_proxy_that_is_down_is_told() -> None:
    """F-HTTP-15"""
    async with serve(echo) as port:
        pass
    with pytest.raises(ConnectFailed, match="its proxy cannot be reached: nothing listens"):
        await through(f"socks5h://127.0.0.1:{port}", "ws://server.test")


async def test_bytes_behind_the_reply_are_refused() -> None:
    """F-HTTP-15: they could be lost where TLS begins."""
    tunnel = SocksTunnel(parse_url("tcp://p:1"), parse_url("ws://server.test"), "server.test")
    tunnel.connection_made(Transport())
    tunnel.data_received(b"\x05\x00")
    tunnel.data_received(b"\x05\x00\x00\x01" + bytes(6) + b"early")
    with pytest.raises(ConnectFailed, match="sent bytes behind its answer"):
        await tunnel.establish()


class Transport(asyncio.Transport):
    def write(self, data: bytes | bytearray | memoryview) -> None:
        pass


async def session(url: str, **options: Any) -> None:
    async with mcpclient.connect(url, **options) as client:
        assert (await client.call_tool("echo", {"text": "through"})).text == "through"


async def test_sessions_over_http_and_https(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-HTTP-15: by option and by environment; http is tunnelled too, its targets stay paths."""
    authority = Authority(tmp_path)
    proxy, mcp = SocksProxy(), McpOverHttp()
    tls = authority.server_context()
    async with serve(mcp.handle) as plain, serve(mcp.handle, tls=tls) as secure:
        http, https = f"http://server.test:{plain}/mcp", f"https://localhost:{secure}/mcp"
        async with serve(proxy.handle) as port:
            address = f"127.0.0.1:{port}"
            await session(http, proxy=f"socks5h://{address}")
            assert mcp.heads[0].startswith("POST /mcp HTTP/1.1\r\n")
            assert proxy.asked
            await session(https, proxy=f"socks5://{address}", ca_file=authority.file)
            assert proxy.asked[-1] in ("127.0.0.1", "::1")
            monkeypatch.setenv("ALL_PROXY", f"socks://{address}/")
            monkeypatch.setenv("SSL_CERT_FILE", authority.file)
            before = len(proxy.asked)
            await session(https)
            assert proxy.asked[before:]
            monkeypatch.setenv("NO_PROXY", "localhost")
            before = len(proxy.asked)
            await session(https)
            assert not proxy.asked[before:]
