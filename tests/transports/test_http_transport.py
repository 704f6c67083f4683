"""What both HTTP transports have in common: F-HTTP-14, F-AUTH-12 and F-SHOW-8."""

from __future__ import annotations

import asyncio

import pytest

from mcpclient.framing.headers import Headers
from mcpclient.framing.uri import parse_url
from mcpclient.net.dialing import Dialer
from mcpclient.net.network_options import NetworkOptions
from mcpclient.net.recorder import Recorder
from mcpclient.transports.http_transport import HttpTransport
from mcpclient.transports.legacy_sse import LegacySseTransport
from mcpclient.transports.streamable_http import StreamableHttpTransport
from tests.support.inbox import Inbox

URL = parse_url("http://user:s3cret@h.example/mcp?key=s3cret")

both = pytest.mark.parametrize("kind", [StreamableHttpTransport, LegacySseTransport])


@both
def test_it_is_described_without_secrets(kind: type[HttpTransport]) -> None:
    """F-AUTH-12"""
    assert kind(URL).description == "http://h.example/mcp"  # type: ignore[call-arg]


@both
def test_its_cookies_are_those_that_the_server_has_set(kind: type[HttpTransport]) -> None:
    """F-HTTP-14: they may say who calls, and so which answers may be used again."""
    dialer = Dialer()
    transport = kind(URL, dialer=dialer)  # type: ignore[call-arg]
    assert transport.cookies == ""
    dialer.cookies.store(URL, Headers([("Set-Cookie", "user=1")]))
    assert transport.cookies == "user=1"


@both
def test_it_records_itself_where_there_is_a_recorder(kind: type[HttpTransport]) -> None:
    """F-SHOW-8"""
    recorded = Dialer(NetworkOptions(recorder=Recorder(None)))
    assert not kind(URL).records_itself  # type: ignore[call-arg]
    assert kind(URL, dialer=recorded).records_itself  # type: ignore[call-arg]


def test_messages_go_to_the_receiver_of_the_moment() -> None:
    async def main() -> None:
        transport = StreamableHttpTransport(URL)
        with pytest.raises(AssertionError, match="not open"):
            _ = transport.receiver
        for receiver in (Inbox(), Inbox()):
            await transport.open(receiver)
            assert transport.receiver is receiver
        async with transport._turns:
            pass
        await transport.close()

    asyncio.run(main())
