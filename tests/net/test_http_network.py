"""HTTP requests of a client over every kind of connection, and the cookies they carry."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import mcpclient
from mcpclient.errors import ConnectFailed, ConnectionLost, HttpError
from tests.net.certificates import Authority
from tests.net.mcp_over_http import McpOverHttp
from tests.net.peers import Proxy, serve


async def session(url: str, **options: Any) -> None:
    async with mcpclient.connect(url, **options) as client:
        for text in ("once", "and again"):
            assert (await client.call_tool("echo", {"text": text})).text == text


async def test_a_proxy_forwards_plain_requests() -> None:
    """F-HTTP-12: absolute-form, the server's name in Host, and the proxy's credentials."""
    mcp, proxy = McpOverHttp(), Proxy(credentials="Basic dXNlcjpzZWNyZXQ=")
    async with serve(mcp.handle) as port, serve(proxy.handle) as proxy_port:
        url = f"http://server.test:{port}/mcp?a=b"
        await session(url, proxy=f"http://user:secret@127.0.0.1:{proxy_port}")
        assert proxy.requests[0] == f"POST {url} HTTP/1.1"
        assert f"\r\nHost: server.test:{port}\r\n" in mcp.heads[0]
        with pytest.raises(HttpError, match=r"407 .*the proxy wants credentials"):
            await session(url, proxy=f"http://127.0.0.1:{proxy_port}")


async def test_a_proxy_that_closes() -> None:
    """F-HTTP-12: over http it cannot be told from the server; over https it can."""
    async with serve(Proxy(answer=b"").handle) as port:
        proxy = f"http://127.0.0.1:{port}"
        with pytest.raises(ConnectionLost, match="closed the connection without answering"):
            await session("http://server.test/mcp", proxy=proxy)
        with pytest.raises(ConnectFailed, match=r"the proxy http://127.0.0.1:.* closed the co"):
            await session("https://server.test/mcp", proxy=proxy)


async def test_tls_with_a_client_certificate(tmp_path: Path) -> None:
    """F-HTTP-12, F-AUTH-13: an own authority, shown and checked on both sides."""
    authority = Authority(tmp_path)
    tls = authority.server_context(client_authority=authority)
    async with serve(McpOverHttp().handle, tls=tls) as port:
        url = f"https://localhost:{port}/mcp"
        await session(url, ca_file=authority.file, client_cert=authority.client_file())
        await session(url, ca_file=authority.file, client_cert=authority.client_files())
        with pytest.raises(ConnectFailed, match="certificate of localhost comes from an auth"):
            await session(url)


@pytest.mark.needs_posix
async def test_a_unix_socket(tmp_path: Path) -> None:
    """F-HTTP-12: instead of the URL's host and port, which the server still hears of."""
    mcp, path = McpOverHttp(), tmp_path / "mcp.sock"
    async with serve(mcp.handle, path=path):
        await session("http://server.test/mcp", unix_socket=path)
        await session("http://server.test/mcp", unix_socket=os.fspath(path))
    assert "\r\nHost: server.test\r\n" in mcp.heads[0]
    with pytest.raises(ConnectFailed, match="there is no socket"):
        await session("http://server.test/mcp", unix_socket=tmp_path / "none")


async def test_cookies_are_replayed() -> None:
    """F-HTTP-14: on every later request of the client, after a reconnection too."""
    mcp = McpOverHttp()
    mcp.cookies = ["lb=server-1; Path=/", "other=1; Path=/elsewhere"]
    async with serve(mcp.handle) as port:
        client = mcpclient.connect(f"http://127.0.0.1:{port}/mcp", headers={"Cookie": "own=1"})
        async with client:
            await client.ping()
        async with client:
            await client.ping()
    sent = [
        [line for line in head.split("\r\n") if line.startswith("Cookie")] for head in mcp.heads
    ]
    assert sent[0] == ["Cookie: own=1"]
    assert sent[1:] == [["Cookie: own=1; lb=server-1"]] * (len(sent) - 1)
    assert len(sent) > 5


async def test_another_client_has_other_cookies() -> None:
    """F-HTTP-14: they belong to one client."""
    mcp = McpOverHttp()
    mcp.cookies = ["lb=server-1"]
    async with serve(mcp.handle) as port:
        for _ in range(2):
            await session(f"http://127.0.0.1:{port}/mcp")
    assert [head for head in mcp.heads if "Cookie" not in head][1:]
