"""SOCKS 5 proxies, with a small one in the loop of each test."""

from __future__ import annotations

import asyncio
import socket

import pytest

from mcpclient.errors import ConnectFailed, ConnectKind
from mcpclient.framing.uri import parse_url
from mcpclient.net import dialing
from mcpclient.net.proxies import SocksTunnel
from tests.net.peers import SocksProxy, echo, serve
from tests.net.test_proxies_tunnel import through


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Have every name, but no address, resolve to these."""

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


async def test_user_and_password() -> None:
    """F-HTTP-15: the URL's own, unescaped; no error shows them."""
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
