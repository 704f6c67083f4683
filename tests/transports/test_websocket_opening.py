from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from typing import Any, Callable

import pytest

from mcpclient.errors import ConnectFailed, HttpError, McpError
from mcpclient.framing.uri import parse_url
from mcpclient.net.dialing import Dialer
from mcpclient.net.network_options import NetworkOptions
from mcpclient.net.recorder import Recorder
from tests.net.peers import dialer_with
from tests.net.websocket_peer import TEXT, Messages, Peer, RawWebSocket, frame, websocket_server
from tests.support import virtual_time

pytestmark = pytest.mark.virtual_time

Script = Callable[[Peer], Awaitable[None]]


async def connect(
    url: str, headers: dict[str, str] | None = None, messages: Messages | None = None
) -> RawWebSocket:
    return await RawWebSocket(parse_url(url), messages or Messages(), headers).connected()


def failure(script: Script) -> McpError:
    """Return the error that opening gives when the server follows the script."""

    async def scenario() -> McpError:
        async with websocket_server(script) as url:
            with pytest.raises(McpError) as caught:
                await connect(url)
            return caught.value

    return virtual_time.run(scenario())


def answer_with(text: str) -> Script:
    async def script(peer: Peer) -> None:
        await peer.read_request()
        peer.writer.write(text.encode())
        await peer.reader.read()

    return script


async def test_a_message_right_behind_the_handshake_is_not_lost() -> None:
    """F-WIRE-6: both may come in one packet."""

    async def script(peer: Peer) -> None:
        await peer.accept(then=frame(TEXT, b"early"))
        await peer.reader.read()

    messages = Messages()
    async with websocket_server(script) as url:
        connection = await connect(url, messages=messages)
        await messages.until(lambda: messages.taken == ["early"])
        connection.abort()


async def test_cookies_go_along_and_are_taken() -> None:
    """F-HTTP-14: a load balancer meets the next connection with the cookie it has set."""
    requests = []

    async def script(peer: Peer) -> None:
        await peer.accept("Set-Cookie: lb=server-1; Path=/")
        requests.append(peer.request)
        await peer.reader.read()

    async with websocket_server(script) as url:
        dialer, target = dialer_with(), parse_url(url)
        for _ in range(2):
            raw = RawWebSocket(target, Messages(), {"Cookie": "own=1"}, dialer=dialer)
            (await raw.connected()).abort()
    assert "Cookie: own=1\r\n" in requests[0]
    assert "Cookie: own=1; lb=server-1\r\n" in requests[1]


ACCEPT = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"


async def test_a_refusal_that_repeats_the_credentials_does_not_show_them() -> None:
    """F-AUTH-12: as over HTTP; nor a secret that only the server has said."""
    body = 'bad: s3cret-token-17, {"access_token": "0ther-s3cret"}'
    text = f"HTTP/1.1 401 No\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    async with websocket_server(answer_with(text)) as url:
        with pytest.raises(HttpError, match="bad: ") as caught:
            await connect(url, {"Authorization": "Bearer s3cret-token-17"})
    assert "s3cret" not in str(caught.value)


def test_a_server_that_closes_instead_of_answering() -> None:
    """F-WIRE-6: it is said when that happened."""

    async def script(peer: Peer) -> None:
        await peer.read_request()

    error = failure(script)
    assert isinstance(error, ConnectFailed)
    assert "closed the connection without answering the WebSocket request" in str(error)


class Taped:
    """A connection that is opened with a recorder."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._dialer = Dialer(NetworkOptions(recorder=Recorder(self.lines.append)))

    async def open(self, url: str) -> RawWebSocket:
        headers = {"Authorization": "Bearer s3cret-token"}
        target = parse_url(f"{url}?key=s3cret-key")
        raw = RawWebSocket(target, Messages(), headers, dialer=self._dialer)
        return await raw.connected()

    def refused(self, script: Script) -> list[dict[str, Any]]:
        """The records of an opening that fails, without times."""

        async def scenario() -> None:
            async with websocket_server(script) as url:
                with pytest.raises(McpError):
                    await self.open(url)

        virtual_time.run(scenario())
        return self.records

    @property
    def records(self) -> list[dict[str, Any]]:
        assert "s3cret" not in "".join(self.lines)
        records = [json.loads(line) for line in self.lines]
        for record in records:
            assert record.pop("channel") == "websocket"
            assert record.pop("time") >= 0
        return records


def test_a_refusal_that_is_cut_short_is_written_down() -> None:
    """F-SHOW-6"""

    async def script(peer: Peer) -> None:
        await peer.read_request()
        peer.writer.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nlater")

    _, answer, end = Taped().refused(script)
    assert answer["text"] == "later"
    assert end == {"direction": "note", "end": "closed by the server"}


def test_a_wrong_acceptance_is_written_down() -> None:
    """F-SHOW-6: it may show the fault."""
    _, answer = Taped().refused(answer_with(f"{ACCEPT}Sec-WebSocket-Accept: wrong\r\n\r\n"))
    assert ["sec-websocket-accept", "wrong"] in answer["http"]["headers"]


async def test_giving_up_a_refusal_loses_none_of_it() -> None:
    """F-SHOW-6: cancelled while its body is waited for."""
    taped = Taped()
    async with websocket_server(answer_with("HTTP/1.1 403 No\r\n\r\n")) as url:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(taped.open(url), 0.5)
    _, answer, end = taped.records
    assert answer["http"]["status"] == 403
    assert end == {"direction": "sent", "end": "closed"}
