"""F-API-24: HTTP to an ASGI application in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Callable

import pytest

from mcpclient.errors import ConnectFailed, ConnectionLost, McpError
from mcpclient.framing.http1 import ResponseHead
from mcpclient.framing.uri import parse_url
from mcpclient.net.exchange import Exchange, HttpRequest
from mcpclient.net.http import HttpClient
from mcpclient.net.network_options import NetworkOptions
from mcpclient.transports.asgi import AsgiTransport, _Dialer
from tests.support.virtual_time import run

from .receivers import RecordingReceiver

pytestmark = pytest.mark.virtual_time

URL = parse_url("http://127.0.0.1:8000/a%20b?c=d")
App = Callable[[Any, Any, Any], Awaitable[None]]


class Sink:
    """Keeps a response."""

    def __init__(self) -> None:
        self.head: ResponseHead | None = None
        self.pieces: list[bytes] = []
        self.error: McpError | None = None
        self.done = asyncio.get_running_loop().create_future()

    def head_received(self, head: ResponseHead) -> None:
        self.head = head

    def body_received(self, data: bytes) -> None:
        self.pieces.append(bytes(data))

    def response_ended(self) -> None:
        self.done.set_result(None)

    def response_failed(self, error: McpError) -> None:
        self.error = error
        self.done.set_result(None)


async def ask(app: App, method: str = "POST", body: bytes | None = b"question") -> Sink:
    client = HttpClient(_Dialer(NetworkOptions(), app, {"set": "up"}))
    sink = Sink()
    Exchange(client, HttpRequest(method, URL, [("X-Mine", "1")], body), sink)
    await sink.done
    await client.close()
    return sink


async def answer(send: Any, *bodies: bytes, status: int = 200, headers: Any = ()) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for index, body in enumerate(bodies):
        more = index + 1 < len(bodies)
        await send({"type": "http.response.body", "body": body, "more_body": more})


def test_an_application_sees_the_request_and_its_answer_arrives() -> None:
    """F-API-24: the scope as the specification has it, the body, and chunks as they are sent."""
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.extend((scope, await receive()))
        await answer(send, b"one", b"", b"two", headers=[(b"x-their", b"2")])

    sink = run(ask(app))
    scope, event = seen
    assert event == {"type": "http.request", "body": b"question", "more_body": False}
    assert scope["method"] == "POST" and scope["path"] == "/a b" and scope["query_string"] == b"c=d"
    assert (b"x-mine", b"1") in scope["headers"] and scope["server"] == ("127.0.0.1", 8000)
    assert scope["state"] == {"set": "up"} and scope["raw_path"] == b"/a%20b"
    assert sink.head is not None and sink.head.status == 200
    assert sink.head.headers.get("x-their") == "2" and b"".join(sink.pieces) == b"onetwo"


def test_an_application_that_fails_says_why() -> None:
    """F-API-24: what its author wants to see in a test."""

    async def fail(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError("no such table")

    async def say_nothing(scope: Any, receive: Any, send: Any) -> None:
        return

    async def fail_late(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise LookupError

    for app, text in ((fail, b"LookupError: no such table"), (say_nothing, b"without a response")):
        sink = run(ask(app))
        assert sink.head is not None and sink.head.status == 500
        assert text in b"".join(sink.pieces)
    late = run(ask(fail_late))
    assert late.error is not None and late.pieces == [b"half"]


def test_an_application_that_is_cancelled_by_itself_ends_the_connection() -> None:
    """F-API-24, F-LIFE-7: no call waits for a response that will not come."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise asyncio.CancelledError

    assert isinstance(run(ask(app)).error, ConnectionLost)


async def test_a_client_that_goes_away_ends_the_application() -> None:
    """F-API-8: it is notified, and is cancelled."""
    ended: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        try:
            await asyncio.Event().wait()
        finally:
            ended.append((await receive())["type"])

    client = HttpClient(_Dialer(NetworkOptions(), app, {}))
    exchange = Exchange(client, HttpRequest("POST", URL, [], b""), Sink())
    await asyncio.sleep(1)
    exchange.abort()
    await asyncio.sleep(1)
    await client.close()
    assert ended == ["http.disconnect"]


async def test_work_after_a_response_ends_with_the_transport() -> None:
    """F-API-24: it goes on while the client is connected, as behind a real server."""
    ended: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            raise NotImplementedError
        await answer(send, b"")
        try:
            await asyncio.sleep(60 if scope["method"] == "POST" else 3600)
            ended.append("done")
        finally:
            ended.append(scope["method"])

    transport = AsgiTransport(URL, app, NetworkOptions())
    await transport.open(RecordingReceiver())
    for method in ("POST", "GET"):
        sink = Sink()
        Exchange(transport._http, HttpRequest(method, URL, [], b""), sink)
        await sink.done
    await asyncio.sleep(120)
    assert ended == ["done", "POST"]
    await transport.close()
    assert ended == ["done", "POST", "GET"]


async def test_an_application_waits_for_a_client_that_does_not_read() -> None:
    """F-API-24, F-BRIDGE-1: as for the socket of a slow peer."""
    sent: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for piece in (b"one", b"two"):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            sent.append(piece)
            await asyncio.sleep(2)
        await send({"type": "http.response.body"})

    client, sink = HttpClient(_Dialer(NetworkOptions(), app, {})), Sink()
    Exchange(client, HttpRequest("POST", URL, [], b""), sink)
    await asyncio.sleep(1)
    client.hold(is_held=True)
    await asyncio.sleep(10)
    assert sent == [b"one"]
    client.hold(is_held=False)
    await sink.done
    assert b"".join(sink.pieces) == b"onetwo"
    await client.close()


async def test_a_lifespan_starts_and_ends_with_its_state() -> None:
    told: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "lifespan"
        scope["state"]["pool"] = "made"
        for _ in range(2):
            told.append((await receive())["type"])
            await send({"type": f"{told[-1]}.complete"})

    transport = AsgiTransport(URL, app, NetworkOptions())
    await transport.open(RecordingReceiver())
    assert transport.state == {"pool": "made"}
    await transport.close()
    await transport.close()
    assert told == ["lifespan.startup", "lifespan.shutdown"]


async def test_an_application_that_does_not_start_says_why() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    with pytest.raises(ConnectFailed, match="did not start: no database"):
        await AsgiTransport(URL, app, NetworkOptions()).open(RecordingReceiver())


async def test_an_opening_that_is_cancelled_ends_the_application() -> None:
    """F-LIFE-5: nothing stays behind, not even a lifespan that never got anywhere."""
    ended: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(scope["type"])

    opening = AsgiTransport(URL, app, NetworkOptions()).open(RecordingReceiver())
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(opening, 1)
    await asyncio.sleep(1)
    assert ended == ["lifespan"]
