"""What both HTTP transports have in common: F-HTTP-14, F-AUTH-12 and F-SHOW-8."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpclient.errors import ConnectionLost
from mcpclient.framing.headers import Headers
from mcpclient.framing.uri import parse_url
from mcpclient.jsonrpc import messages
from mcpclient.net.dialing import Dialer
from mcpclient.net.network_options import NetworkOptions
from mcpclient.net.recorder import Recorder
from mcpclient.transports.http_transport import HttpTransport
from mcpclient.transports.legacy_sse import LegacySseTransport
from mcpclient.transports.streamable_http import StreamableHttpTransport
from tests.contract.transport_contract import ERA
from tests.support.http_server import HttpServer
from tests.support.inbox import Inbox
from tests.support.mcp_http import LegacyEndpoint, StreamableEndpoint
from tests.support.mcp_server import McpServer

URL = parse_url("http://user:s3cret@h.example/mcp?key=s3cret")

both = pytest.mark.parametrize("kind", [StreamableHttpTransport, LegacySseTransport])


@both
def test_it_is_described_without_secrets(kind: type[HttpTransport[Any]]) -> None:
    """F-AUTH-12"""
    assert kind(URL).description == "http://h.example/mcp"


@both
def test_its_cookies_are_those_that_the_server_has_set(kind: type[HttpTransport[Any]]) -> None:
    """F-HTTP-14: they may say who calls, and so which answers may be used again."""
    dialer = Dialer()
    transport = kind(URL, dialer=dialer)
    assert transport.cookies == ""
    dialer.cookies.store(URL, Headers([("Set-Cookie", "user=1")]))
    assert transport.cookies == "user=1"


@both
def test_it_records_itself_where_there_is_a_recorder(kind: type[HttpTransport[Any]]) -> None:
    """F-SHOW-8"""
    recorded = Dialer(NetworkOptions(recorder=Recorder(None)))
    assert not kind(URL).records_itself
    assert kind(URL, dialer=recorded).records_itself


async def test_messages_go_to_the_receiver_of_the_moment() -> None:
    transport = StreamableHttpTransport(URL)
    for receiver in (Inbox(), Inbox()):
        await transport.open(receiver)
        assert transport.receiver is receiver
    async with transport._turns:
        pass
    await transport.close()


@both
async def test_nothing_is_sent_once_it_is_closed(kind: type[HttpTransport[Any]]) -> None:
    """F-LIFE-5: nobody would close its connection, when the caller's function took until then."""
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


@pytest.mark.parametrize("asks", [False, True])
@both
async def test_a_notification_and_an_answer_are_sent_when_they_were_taken(
    kind: type[HttpTransport[Any]], asks: bool
) -> None:
    """F-LIFE-4: and then nothing is left of them, whoever was asked for headers."""
    server = McpServer("handshake")
    endpoint = (LegacyEndpoint if kind is LegacySseTransport else StreamableEndpoint)(server)
    async with HttpServer(endpoint.routes) as web:
        headers = (lambda: {"X-A": "1"}) if asks else {"X-A": "1"}
        transport = kind(web.url(), headers=headers)
        await transport.open(Inbox())
        await _sent(transport)
        answer = transport.send(ERA.answer(messages.response(1, {})))
        assert answer is not None
        await answer
        posted = [request for request in web.requests if request.method == "POST"]
        assert [request.headers["x-a"] for request in posted] == ["1", "1"]
        await transport.close()
        assert not transport.posts


async def _sent(transport: HttpTransport[Any]) -> None:
    sending = transport.send(ERA.notification("notifications/roots/list_changed", None))
    assert sending is not None
    await sending
