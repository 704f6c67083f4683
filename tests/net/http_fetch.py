"""Requests by an HTTP client to a server of the test, and what came of them."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Callable

from mcpclient.errors import McpError
from mcpclient.framing.http1 import ResponseHead
from mcpclient.framing.uri import Url
from mcpclient.net.dialing import Dialer
from mcpclient.net.exchange import Exchange, HttpRequest
from mcpclient.net.http import HttpClient
from tests.support.http_server import Answer, Handler, HttpServer, Request, answer_with

hello = answer_with(200, {"Content-Type": "text/plain"}, b"hello")


class Recorder:
    """A sink that remembers everything, and refuses to be told anything after the end."""

    def __init__(self) -> None:
        self.head: ResponseHead | None = None
        self.body = b""
        self.pieces = 0
        self.error: McpError | None = None
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.on_body: Callable[[], None] = lambda: None

    def head_received(self, head: ResponseHead) -> None:
        assert self.head is None and not self.over.done()
        self.head = head

    def body_received(self, data: bytes) -> None:
        assert self.head is not None and not self.over.done()
        self.body += data
        self.pieces += 1
        self.on_body()

    def response_ended(self) -> None:
        self.over.set_result(None)

    def response_failed(self, error: McpError) -> None:
        self.error = error
        self.over.set_result(None)

    @property
    def status(self) -> int:
        assert self.head is not None
        return self.head.status


async def fetch(
    client: HttpClient,
    url: Url,
    method: str = "GET",
    body: bytes | None = None,
    headers: tuple[tuple[str, str], ...] = (),
    *,
    repeatable: bool = True,
) -> Recorder:
    sink = Recorder()
    Exchange(client, HttpRequest(method, url, headers, body, repeatable=repeatable), sink)
    await asyncio.wait_for(sink.over, 60)
    return sink


@asynccontextmanager
async def serving(
    handler: Handler, dialer: Dialer | None = None
) -> AsyncIterator[tuple[HttpServer, HttpClient]]:
    """Give a server that passes all requests to ``handler``, and a client."""
    client = HttpClient(dialer or Dialer())
    async with HttpServer(dict.fromkeys(("GET", "POST", "DELETE"), handler)) as server:
        try:
            yield server, client
        finally:
            await client.close()


def raw(*pieces: bytes, cut: bool = True) -> Handler:
    async def handler(request: Request, answer: Answer) -> None:
        for piece in pieces:
            answer.raw(piece)
        if cut:
            answer.cut()

    return handler


def compressed(text: bytes, coding: str) -> bytes:
    bits = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}[coding]
    squeezer = zlib.compressobj(wbits=bits)
    return squeezer.compress(text) + squeezer.flush()
