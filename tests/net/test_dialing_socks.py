"""Names that are resolved here for a SOCKS 5 proxy, and their addresses."""

from __future__ import annotations

import pytest

from mcpclient.errors import ConnectKind, McpError
from mcpclient.framing.uri import parse_url
from mcpclient.net.stream import Stream
from tests.net.peers import Recorder, SocksProxy, dialer_with, echo, serve
from tests.net.test_proxies_socks import refusal, resolving
from tests.net.test_proxies_tunnel import through


async def test_socks5_resolves_names_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-HTTP-15: the proxy is asked for one address after another until it reaches one."""
    resolving(monkeypatch, "fd00::1", "10.0.0.1", "10.0.0.2")
    proxy = SocksProxy(replies={"fd00::1": 8, "10.0.0.1": 5})
    async with serve(echo) as server, serve(proxy.handle) as port:
        await through(f"socks5://127.0.0.1:{port}", f"tcp://server.test:{server}")
    assert proxy.asked == ["fd00::1", "10.0.0.1", "10.0.0.2"]

    proxy = SocksProxy(replies={"fd00::1": 4, "10.0.0.1": 2})
    error = await refusal(proxy, "ws://server.test:81", "socks5://")
    assert proxy.asked == ["fd00::1", "10.0.0.1"]  # a rule holds for all
    assert "cannot reach server.test (fd00::1) port 81 (SOCKS reply 4)" in str(error)


async def test_a_name_that_does_not_resolve_here_is_told() -> None:
    """F-HTTP-15"""
    error = await refusal(SocksProxy(), "https://nobody.invalid", "socks5://")
    assert error.kind is ConnectKind.UNKNOWN_HOST
    assert "'nobody.invalid' cannot be resolved" in str(error)


async def test_addresses_that_are_resolved_here_are_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-HTTP-15: as without a proxy."""
    resolving(monkeypatch, "10.0.0.1", "8.8.8.8")

    def check(address: str) -> None:
        if address.startswith("10."):
            raise McpError(f"{address} is private")

    proxy = SocksProxy()
    async with serve(echo) as server, serve(proxy.handle) as port:
        dialer, url = dialer_with(f"socks5://127.0.0.1:{port}"), f"tcp://server.test:{server}"
        (await dialer.dial(parse_url(url), lambda: Stream(Recorder()), check)).abort()
    assert proxy.asked == ["8.8.8.8"]
