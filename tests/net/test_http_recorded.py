"""Requests that are written down: what came back, and what had to be sent again."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcpclient.errors import ConnectFailed, ConnectionLost, McpError, UsageError
from mcpclient.framing.http1 import ResponseHead
from mcpclient.framing.uri import Url, parse_url
from mcpclient.net.dialing import Dialer
from mcpclient.net.http import HttpClient, HttpRequest
from mcpclient.net.network_options import NetworkOptions
from mcpclient.net.recorder import Recorder
from tests.support.http_server import Answer, Handler, HttpServer, Request, answer_with, in_turn

pytestmark = pytest.mark.virtual_time

hello = answer_with(200, {"Content-Type": "text/plain"}, b"hello")


class Sink:
    """Waits for one response."""

    def __init__(self) -> None:
        self.body = b""
        self.news = asyncio.Event()
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def head_received(self, head: ResponseHead) -> None:
        self.status = head.status

    def body_received(self, data: bytes) -> None:
        self.body += data
        self.news.set()

    def response_ended(self) -> None:
        self.over.set_result(None)

    def response_failed(self, error: McpError) -> None:
        self.over.set_exception(error)


async def get(client: HttpClient, url: Url) -> Sink:
    sink = Sink()
    client.request(HttpRequest("GET", url, []), sink)
    await sink.over
    return sink


Records = list[dict[str, Any]]


@asynccontextmanager
async def recording(handler: Handler) -> AsyncIterator[tuple[HttpServer, HttpClient, Records]]:
    """Give a server, and a client that records."""
    records: Records = []
    recorder = Recorder(lambda line: records.append(json.loads(line)))
    client = HttpClient(Dialer(NetworkOptions(recorder=recorder)))
    async with HttpServer({"GET": handler}) as server:
        try:
            yield server, client, records
        finally:
            await client.close()


def in_short(record: dict[str, Any]) -> tuple[Any, ...]:
    http = record.get("http", {})
    what = http.get("target") or http.get("status")
    return record["channel"], record["direction"], what, record.get("text"), record.get("end")


async def test_a_request_and_its_response() -> None:
    """F-SHOW-6, F-SHOW-8"""
    async with recording(hello) as (server, client, records):
        assert (await get(client, server.url("/a"))).body == b"hello"
    assert [in_short(record) for record in records] == [
        ("http-1", "sent", "/a", None, None),
        ("http-1", "received", 200, "hello", "complete"),
    ]


async def test_a_body_is_recorded_as_it_is_read() -> None:
    """F-SHOW-8: its content coding is undone."""
    zipped = answer_with(200, {"Content-Encoding": "gzip"}, gzip.compress(b"hello"))
    async with recording(zipped) as (server, client, records):
        assert (await get(client, server.url())).body == b"hello"
    assert records[-1]["text"] == "hello"


async def test_a_redirect_is_two_requests() -> None:
    """F-SHOW-8"""
    moved = in_turn(answer_with(307, {"Location": "/b?token=x"}, b"go there"), hello)
    async with recording(moved) as (server, client, records):
        assert (await get(client, server.url("/a"))).body == b"hello"
    assert [in_short(record) for record in records] == [
        ("http-1", "sent", "/a", None, None),
        ("http-1", "received", 307, None, "complete"),
        ("http-2", "sent", "/b?token=redacted-1", None, None),
        ("http-2", "received", 200, "hello", "complete"),
    ]


async def test_a_connection_that_went_stale_is_noted() -> None:
    """F-SHOW-8"""

    async def cut(request: Request, answer: Answer) -> None:
        answer.cut()

    async with recording(in_turn(hello, cut, hello)) as (server, client, records):
        await get(client, server.url("/a"))
        await get(client, server.url("/b"))
    assert [in_short(record) for record in records[2:]] == [
        ("http-2", "sent", "/b", None, None),
        (
            *("http-2", "note", None, None),
            "it was sent again as http-3: the server had closed the connection",
        ),
        ("http-3", "sent", "/b", None, None),
        ("http-3", "received", 200, "hello", "complete"),
    ]


async def test_failures_before_and_within_a_response() -> None:
    """F-SHOW-8"""

    async def half(request: Request, answer: Answer) -> None:
        answer.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        answer.cut()

    async with recording(half) as (server, client, records):
        with pytest.raises(ConnectionLost):
            await get(client, server.url("/a"))
        with pytest.raises(ConnectFailed):
            await get(client, parse_url("http://127.0.0.1:1/b"))
    assert [in_short(record)[:4] for record in records] == [
        ("http-1", "sent", "/a", None),
        ("http-1", "received", 200, "half"),
        ("http-1", "note", None, None),
        ("http-2", "sent", "/b", None),
        ("http-2", "note", None, None),
    ]
    assert records[2]["error"]["type"] == "ConnectionLost"
    assert records[4]["error"]["type"] == "ConnectFailed"
    assert "nothing listens" in records[4]["end"]


async def test_a_request_that_is_given_up() -> None:
    """F-SHOW-8"""

    async def stream(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event({"id": 1})
        await answer.stall()

    async with recording(stream) as (server, client, records):
        sink = Sink()
        exchange = client.request(HttpRequest("GET", server.url("/a"), []), sink)
        await sink.news.wait()
        exchange.abort()
        exchange.abort()
    assert [record.get("event") for record in records] == [None, None, {"data": '{"id": 1}'}, None]
    assert in_short(records[-1]) == ("http-1", "sent", None, None, "closed")


async def test_a_request_that_cannot_be_sent_was_not_sent() -> None:
    """F-SHOW-8"""
    async with recording(hello) as (server, client, records):
        with pytest.raises(UsageError):
            client.request(HttpRequest("GET", server.url(), [("a", "\n")]), Sink())
    assert records == []
