"""The ``proxy.py`` package as the proxy, in a process of its own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcpclient.errors import ConnectFailed, HttpError
from tests.net.certificates import Authority
from tests.net.mcp_over_http import McpOverHttp, session
from tests.net.peers import serve

PROGRAM = """
import sys, proxy
arguments = ["--port", "0", "--num-acceptors", "1", "--log-level", "CRITICAL", *sys.argv[1:]]
with proxy.Proxy(arguments) as running:
    print(running.flags.port, flush=True)
    sys.stdin.read()
"""


@contextmanager
def real_proxy(*arguments: str) -> Iterator[str]:
    """Run the proxy, and give its host and port."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, *arguments]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with process:
        assert process.stdout is not None
        try:
            yield f"127.0.0.1:{int(process.stdout.readline())}"
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(20)


def test_http_and_https_through_a_real_proxy(tmp_path: Path) -> None:
    """F-HTTP-12: absolute-form for http, CONNECT for https, by option and by environment."""
    authority = Authority(tmp_path)

    async def scenario(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
        forwarded, tunnelled = McpOverHttp(), McpOverHttp()
        tls = authority.server_context()
        async with serve(forwarded.handle) as plain, serve(tunnelled.handle, tls=tls) as secure:
            http, https = f"http://127.0.0.1:{plain}/mcp", f"https://localhost:{secure}/mcp"
            await session(http, proxy=proxy)
            await session(https, proxy=f"http://{proxy}", ca_file=authority.file)
            monkeypatch.setenv("ALL_PROXY", proxy)
            monkeypatch.setenv("SSL_CERT_FILE", authority.file)
            await session(http)
            await session(https)
        # It marks the first request it forwards on a connection, and cannot see tunnelled ones.
        assert "Via: " in forwarded.heads[0]
        assert not any("Via: " in head for head in tunnelled.heads)

    with real_proxy() as proxy, pytest.MonkeyPatch.context() as monkeypatch:
        asyncio.run(scenario(proxy, monkeypatch))


@pytest.mark.slow
def test_a_real_proxy_with_credentials(tmp_path: Path) -> None:
    """F-HTTP-12: they open it; without them, the error names the scheme it wants."""
    authority = Authority(tmp_path)

    async def scenario(proxy: str) -> None:
        mcp, tls = McpOverHttp(), authority.server_context()
        async with serve(mcp.handle) as plain, serve(mcp.handle, tls=tls) as secure:
            http, https = f"http://127.0.0.1:{plain}/mcp", f"https://localhost:{secure}/mcp"
            own = f"http://user:secret@{proxy}"
            await session(http, proxy=own)
            await session(https, proxy=own, ca_file=authority.file)
            with pytest.raises(HttpError, match=r"407 .*the proxy wants credentials"):
                await session(http, proxy=f"http://{proxy}")
            with pytest.raises(ConnectFailed, match="asks for credentials"):
                await session(https, proxy=f"http://{proxy}")
            with pytest.raises(ConnectFailed, match="does not accept the credentials"):
                await session(https, proxy=f"http://user:wrong@{proxy}")

    with real_proxy("--basic-auth", "user:secret") as proxy:
        asyncio.run(scenario(proxy))
