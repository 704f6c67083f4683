"""HTTP requests of a client over every kind of connection, and the cookies they carry."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcpclient.errors import ConnectFailed
from tests.net.mcp_over_http import McpOverHttp, session
from tests.net.peers import serve


@pytest.mark.needs_posix
async def test_a_unix_socket(tmp_path: Path) -> None:
    """F-HTTP-12: instead of the URL's host and port, which the server still gets."""
    mcp, path = McpOverHttp(), tmp_path / "mcp.sock"
    async with serve(mcp.handle, path=path):
        await session("http://server.test/mcp", unix_socket=path)
        await session("http://server.test/mcp", unix_socket=os.fspath(path))
    assert "\r\nHost: server.test\r\n" in mcp.heads[0]
    with pytest.raises(ConnectFailed, match="there is no socket"):
        await session("http://server.test/mcp", unix_socket=tmp_path / "none")
