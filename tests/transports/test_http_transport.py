"""Common behaviour of both HTTP transports: F-HTTP-14, F-AUTH-12 and F-SHOW-8."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpclient.errors import ConnectionLost
from mcpclient.transports.http_transport import HttpTransport
from mcpclient.transports.legacy_sse import LegacySseTransport
from mcpclient.transports.streamable_http import StreamableHttpTransport
from tests.contract.transport_contract import ERA
from tests.support.http_server import HttpServer
from tests.support.inbox import Inbox
from tests.support.mcp_http import LegacyEndpoint, StreamableEndpoint
from tests.support.mcp_server import McpServer

both = pytest.mark.parametrize("kind", [StreamableHttpTransport, LegacySseTransport])


@both
async def test_nothing_is_sent_once_it_is_closed(kind: type[HttpTransport[Any]]) -> None:
    """F-LIFE-5: its connection would stay open, when the caller's function took until then."""
    asked, answer = asyncio.Event(), asyncio.Event()
    is_slow = False

    async def headers() -> dict[str, str]:
        if is_slow:
            asked.set()
            await answer.wait()
        return {}

    server = McpServer("handshake")
    endpoint = (LegacyEndpoint if kind is LegacySseTransport else StreamableEndpoint)(server)
    async with HttpServer(endpoint.routes) as web:
        transport = kind(web.url(), headers=headers)
        await transport.open(Inbox())
        before = len(web.requests)
        is_slow = True
        sending = asyncio.ensure_future(_sent(transport))
        await asked.wait()
        await transport.close()
        answer.set()
        with pytest.raises(ConnectionLost, match="closed"):
            await asyncio.wait_for(sending, 10)
        assert len(web.requests) == before


async def _sent(transport: HttpTransport[Any]) -> None:
    sending = transport.send(ERA.notification("notifications/roots/list_changed", None))
    assert sending is not None
    await sending
