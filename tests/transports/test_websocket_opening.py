from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from typing import Any, Callable

import pytest

from mcpclient.errors import ConnectFailed, HttpError, McpError, ProtocolViolation
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


async def test_the_request_asks_for_the_subprotocol_and_carries_the_callers_headers() -> None:
    """F-WS-1, F-WIRE-6: what the handshake itself says cannot be changed by a caller."""
    peers: list[Peer] = []

    async def script(peer: Peer) -> None:
        peers.append(peer)
        await peer.accept("Sec-WebSocket-Protocol: mcp")
        await peer.reader.read()

    headers = {"X-Own": "1", "Upgrade": "h2c", "Sec-WebSocket-Protocol": "other"}
    async with websocket_server(script) as url:
        connection = await connect(f"{url}?a=b", headers)
        connection.abort()
        host = url.split("/")[2]
    head = peers[0].request
    assert head.startswith(f"GET /mcp?a=b HTTP/1.1\r\nHost: {host}\r\n")
    assert "\r\nX-Own: 1\r\n" in head
    assert head.count("Sec-WebSocket-Protocol") == head.count("Upgrade:") == 1
    assert "Sec-WebSocket-Protocol: mcp\r\n" in head
    assert "h2c" not in head


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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{ACCEPT}Sec-WebSocket-Accept: wrong\r\n\r\n", "Sec-WebSocket-Accept is 'wrong'"),
        (f"{ACCEPT}Sec-WebSocket-Accept: wrong\r\n\r\nearly", "Sec-WebSocket-Accept is 'wrong'"),
        ("HTTP/1.1 101 Hm\r\nConnection: Upgrade\r\n\r\n", "does not name the upgrade"),
        ("SSH-2.0-OpenSSH\r\n\r\n", "does not answer in HTTP"),
    ],
)
def test_an_answer_that_breaks_the_protocol(text: str, reason: str) -> None:
    """F-WIRE-6: the accept check, the upgrade, and what is no HTTP at all."""
    error = failure(answer_with(text))
    assert isinstance(error, ProtocolViolation)
    assert reason in str(error)
    assert "ws://127.0.0.1:" in str(error)


def test_a_subprotocol_that_was_not_offered() -> None:
    """F-WIRE-6, F-WS-1: mcp or none."""

    async def script(peer: Peer) -> None:
        await peer.accept("Sec-WebSocket-Protocol: chat")
        await peer.reader.read()

    assert "chose the subprotocol 'chat'" in str(failure(script))


@pytest.mark.parametrize("body_end", ["Content-Length: 9\r\n\r\nno tokens", "\r\nno tokens"])
def test_a_refusal_keeps_status_headers_and_body(body_end: str) -> None:
    """F-HTTP-7: as over HTTP; a body without an end is waited for a moment only."""
    error = failure(answer_with(f"HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer\r\n{body_end}"))
    assert isinstance(error, HttpError)
    assert error.status == 401
    assert error.authenticate == ("Bearer",)
    assert error.body == b"no tokens"
    assert error.url.startswith("ws://127.0.0.1:")


async def test_a_refusal_that_repeats_the_credentials_does_not_show_them() -> None:
    """F-AUTH-12: as over HTTP."""
    text = "HTTP/1.1 401 No\r\nContent-Length: 20\r\n\r\nbad: s3cret-token-17"
    async with websocket_server(answer_with(text)) as url:
        with pytest.raises(HttpError, match="bad: ") as caught:
            await connect(url, {"Authorization": "Bearer s3cret-token-17"})
    assert "s3cret" not in str(caught.value)


def test_a_refusal_that_is_cut_short() -> None:
    """F-HTTP-7: what has come is shown."""

    async def script(peer: Peer) -> None:
        await peer.read_request()
        peer.writer.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nlater")

    error = failure(script)
    assert isinstance(error, HttpError)
    assert error.body == b"later"


def test_the_body_of_a_refusal_is_bounded() -> None:
    """F-HTTP-7: 64 KiB of it are kept."""
    error = failure(answer_with(f"HTTP/1.1 500 Oh\r\nContent-Length: 99999\r\n\r\n{'x' * 99999}"))
    assert isinstance(error, HttpError)
    assert len(error.body) == 65536


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_refused(status: int) -> None:
    """F-HTTP-8: the caller is told, and no header goes anywhere else."""
    text = f"HTTP/1.1 {status} Moved\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"
    error = failure(answer_with(text))
    assert isinstance(error, HttpError)
    assert error.status == status
    assert "redirect that is not followed" in str(error)


def test_a_server_that_closes_instead_of_answering() -> None:
    """F-WIRE-6: it is said when that happened."""

    async def script(peer: Peer) -> None:
        await peer.read_request()

    error = failure(script)
    assert isinstance(error, ConnectFailed)
    assert "closed the connection without answering the WebSocket request" in str(error)


def test_a_server_that_resets_instead_of_answering() -> None:
    """F-WIRE-6: in the words of the system."""

    async def script(peer: Peer) -> None:
        peer.writer.transport.abort()

    error = failure(script)
    assert isinstance(error, ConnectFailed)


async def test_giving_up_closes_the_connection() -> None:
    """F-LIFE-5: cancelled while the server does not answer."""
    asked, closed = asyncio.Event(), asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.read_request()
        asked.set()
        await peer.reader.read()
        closed.set()

    async with websocket_server(script) as url:
        opening = asyncio.ensure_future(connect(url))
        await asked.wait()
        opening.cancel()
        await asyncio.wait({opening})
        assert opening.cancelled()
        await closed.wait()


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
        """What is written of an opening that fails, without times."""

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


async def test_the_opening_is_written_down() -> None:
    """F-SHOW-6, F-AUTH-12: the request and its answer, as other heads are."""
    taped = Taped()

    async def script(peer: Peer) -> None:
        await peer.accept(
            "X-Echo: s3cret-token", "Set-Cookie: a=s3cret-too", then=frame(TEXT, b"x")
        )
        await peer.reader.read()

    async with websocket_server(script) as url:
        (await taped.open(url)).abort()
    request, answer = taped.records
    assert (request["direction"], answer["direction"]) == ("sent", "received")
    assert request["http"]["method"] == "GET"
    assert request["http"]["target"] == "/mcp?key=redacted-1"
    assert ["Authorization", "Bearer redacted-3"] in request["http"]["headers"]
    assert ["Sec-WebSocket-Protocol", "mcp"] in request["http"]["headers"]
    assert (answer["http"]["status"], answer["http"]["reason"]) == (101, "Switching Protocols")
    assert ["x-echo", "redacted-3"] in answer["http"]["headers"]
    assert set(answer) == {"direction", "http"}


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("HTTP/1.1 401 No\r\nContent-Length: 15\r\n\r\nno s3cret-token", "complete"),
        ("HTTP/1.1 404 No\r\n\r\nno s3cret-token", "closed"),
    ],
)
def test_a_refusal_is_written_down(text: str, ends: str) -> None:
    """F-SHOW-6: with what is known of its body, and whether more of it was waited for."""
    _, *answer = Taped().refused(answer_with(text))
    assert answer[0]["http"]["status"] in (401, 404)
    assert answer[0]["text"] == "no redacted-3"
    assert answer[-1]["end"] == ends
    assert answer[-1]["direction"] == ("received" if ends == "complete" else "sent")


def test_a_refusal_that_is_cut_short_is_written_down() -> None:
    """F-SHOW-6"""

    async def script(peer: Peer) -> None:
        await peer.read_request()
        peer.writer.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nlater")

    _, answer, end = Taped().refused(script)
    assert answer["text"] == "later"
    assert end == {"direction": "note", "end": "closed by the server"}


def test_a_wrong_acceptance_is_written_down() -> None:
    """F-SHOW-6: it may show what was wrong."""
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
