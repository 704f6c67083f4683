"""One bad exchange over HTTP never takes a client down: after each, the next call works."""

from __future__ import annotations

import asyncio
import functools
import zlib
from typing import Any

import pytest

from mcpclient import Client
from mcpclient.errors import CallTimeout, ConnectionLost, HttpError, McpError, MessageTooLarge
from mcpclient.errors import ProtocolViolation as VIOLATION
from tests.net.process_helpers import until
from tests.support.http_server import Answer, Handler, HttpServer, Request, answer_with, in_turn
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

pytestmark = [pytest.mark.usefixtures("fresh_eras"), pytest.mark.virtual_time]


def raw(data: bytes, *, cut: bool = True) -> Handler:
    async def handler(request: Request, answer: Answer) -> None:
        answer.raw(data)
        if cut:
            answer.cut()
        else:
            await answer.stall()

    return handler


async def trickle(request: Request, answer: Answer) -> None:
    """Never end, one byte at a time."""
    answer.head(200, {"Content-Type": "application/json", "Content-Length": "1000000"})
    for _ in range(500):
        answer.raw(b" ")
        await asyncio.sleep(1)


async def endless_events(request: Request, answer: Answer) -> None:
    answer.stream()
    for number in range(500):
        answer.event({"jsonrpc": "2.0", "method": "vendor/noise", "params": {"n": number}})
        await asyncio.sleep(1)


HTML = b"<!doctype html><title>Oops</title>"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
JSON = {"Content-Type": "application/json"}


async def endless_continue(request: Request, answer: Answer) -> None:
    """Promise to go on, again and again."""
    for _ in range(500):
        answer.raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
        await asyncio.sleep(1)


async def trickling_head(request: Request, answer: Answer) -> None:
    """Never come to the end of the headers, one byte at a time."""
    for byte in b"HTTP/1.1 200 OK\r\n" + b"x" * 500:
        answer.raw(bytes([byte]))
        await asyncio.sleep(1)


async def comments(request: Request, answer: Answer) -> None:
    """Say nothing at all, at length."""
    answer.stream()
    for _ in range(500):
        answer.chunk(b": still here\n\n" * 100)
        await asyncio.sleep(1)


async def bomb(request: Request, answer: Answer) -> None:
    """Say little that becomes very much."""
    answer.full(200, {"Content-Encoding": "deflate"}, squeezed())


@functools.cache
def squeezed() -> bytes:
    return zlib.compress(b" " * 50_000_000, 9)


# The response to a call, and its outcome. Drops, resets, stalls, cuts and garbage are
# in the matrix.
FAULTS: dict[str, tuple[Handler, type[McpError]]] = {
    "400 html": (answer_with(400, {"Content-Type": "text/html"}, HTML), HttpError),
    "404 html": (answer_with(404, {"Content-Type": "text/html"}, HTML), HttpError),
    "500 html": (answer_with(500, {"Content-Type": "text/html"}, HTML), HttpError),
    "503 endless": (raw(b"HTTP/1.1 503 Busy\r\n\r\n" + b"x" * 100_000, cut=False), HttpError),
    "wrong content type": (answer_with(200, {"Content-Type": "image/png"}, b"\x89PNG"), VIOLATION),
    "empty": (answer_with(200, JSON), ConnectionLost),
    "accepted only": (answer_with(202), ConnectionLost),
    "204": (answer_with(204), ConnectionLost),
    "204 with a body": (raw(b"HTTP/1.1 204 None\r\nContent-Length: 2\r\n\r\n{}"), ConnectionLost),
    "205 with a body": (raw(b"HTTP/1.1 205 Reset\r\n\r\n{}"), VIOLATION),
    "304": (answer_with(304), HttpError),
    "over-long": (raw(OK + b'Content-Length: 2\r\n\r\n{}{"jsonrpc": "2.0"}'), VIOLATION),
    "bad chunk": (raw(OK + b"Transfer-Encoding: chunked\r\n\r\nXYZ\r\n{}\r\n"), VIOLATION),
    "huge chunk": (
        raw(OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"F" * 40 + b"\r\n"),
        VIOLATION,
    ),
    "negative chunk": (raw(OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n"), VIOLATION),
    "long chunk line": (
        raw(OK + b"Transfer-Encoding: chunked\r\n\r\n2;" + b"x" * 9999, cut=False),
        VIOLATION,
    ),
    "chunk of another size": (
        raw(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n"),
        VIOLATION,
    ),
    "cut chunk": (raw(OK + b"Transfer-Encoding: chunked\r\n\r\nFF\r\n{"), ConnectionLost),
    "endless trailers": (
        raw(OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: x\r\n" * 20_000, cut=False),
        VIOLATION,
    ),
    "unknown transfer coding": (raw(OK + b"Transfer-Encoding: gzip\r\n\r\n{}"), VIOLATION),
    "negative length": (raw(OK + b"Content-Length: -1\r\n\r\n"), VIOLATION),
    "two lengths": (raw(OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), VIOLATION),
    "unknown coding": (
        raw(OK + b"Content-Encoding: br\r\nContent-Length: 4\r\n\r\nabcd"),
        VIOLATION,
    ),
    "bomb": (bomb, MessageTooLarge),
    "endless head": (raw(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, cut=False), VIOLATION),
    "many headers": (raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000, cut=False), VIOLATION),
    "header without a colon": (raw(b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"), VIOLATION),
    "other HTTP": (raw(b"HTTP/2.0 200 OK\r\n\r\n"), VIOLATION),
    "status of four digits": (raw(b"HTTP/1.1 2000 OK\r\n\r\n"), VIOLATION),
    "only a promise": (raw(b"HTTP/1.1 100 Continue\r\n\r\n"), ConnectionLost),
    "another protocol": (raw(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nxyz"), HttpError),
    "redirect loop": (answer_with(307, {"Location": "/mcp?again"}), HttpError),
    "redirect elsewhere": (
        answer_with(307, {"Location": "https://elsewhere.example/mcp"}),
        HttpError,
    ),
    "redirect with another method": (answer_with(303, {"Location": "/mcp"}), HttpError),
    "redirect to nowhere": (answer_with(307), HttpError),
    "redirect to nonsense": (answer_with(307, {"Location": "http://[x"}), HttpError),
    "stream without the answer": (raw(SSE + b": nothing\n\n"), ConnectionLost),
    "stream of rubbish": (
        raw(SSE + b"data: \xff\xfe\n\ndata: {{{\n\ndata: 1\n\n\0\0\0"),
        VIOLATION,
    ),
    "stream of empty events": (raw(SSE + b"data\n\ndata:\n\n\n" * 99), ConnectionLost),
    "stream of other events": (raw(SSE + b'event: ping\ndata: {"id": 1}\n\n'), ConnectionLost),
    "NaN": (answer_with(200, JSON, b"NaN"), VIOLATION),
    "nested": (answer_with(200, {}, b'{"a":' * 100_000), VIOLATION),
    "null": (answer_with(200, JSON, b"null"), VIOLATION),
    "error without a code": (
        answer_with(200, {}, b'{"id": null, "error": {"code": NaN}}'),
        VIOLATION,
    ),
    "trickles": (trickle, CallTimeout),
    "trickling head": (trickling_head, CallTimeout),
    "endless events": (endless_events, CallTimeout),
    "endless comments": (comments, CallTimeout),
    "endless promises": (endless_continue, CallTimeout),
}


@pytest.mark.quick_rows(24)
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("fault", list(FAULTS.values()), ids=list(FAULTS))
async def test_a_fault_fails_its_call_and_nothing_else(
    fault: tuple[Handler, type[McpError]], version: str
) -> None:
    """F-HTTP-3, F-HTTP-7, F-HTTP-8, F-WIRE-5, F-WIRE-7, F-LIFE-7: no call hangs when a server dies.

    The call fails with an error of the one tree, within its limit; a call at the same time and the
    next one work; closing is quick; and nothing is left.
    """
    handler, expected = fault
    service = StreamableEndpoint(McpServer("both"))
    options: dict[str, Any] = {"protocol_version": version, "max_message_size": 1_000_000}

    async def serve(request: Request, answer: Answer) -> None:
        arguments = request.message.get("params", {}).get("arguments", {})
        if request.message.get("method") == "tools/call" and arguments.get("text") == "fault":
            await handler(request, answer)
        else:
            await service.post(request, answer)

    loop = asyncio.get_running_loop()
    async with HttpServer({**service.routes, "POST /mcp": serve}) as server:
        async with Client(str(server.url()), **options) as client:
            failing = asyncio.ensure_future(
                client.call_tool("echo", {"text": "fault"}, timeout=20, max_timeout=60)
            )
            assert (await client.call_tool("echo", {"text": "beside"})).text == "beside"
            assert loop.time() == 0
            with pytest.raises(expected) as caught:
                await failing
            assert str(caught.value)
            assert loop.time() in ((20, 60) if isinstance(caught.value, CallTimeout) else (0,))
            calls = [r for r in server.requests if b'"fault"' in r.body]
            assert len(calls) == 1 or handler is FAULTS["redirect loop"][0]
            assert (await client.call_tool("echo", {"text": "after"})).text == "after"
            before = loop.time()
        assert loop.time() - before <= 5
        await asyncio.sleep(5)
        await until(lambda: server.open_connections == 0, "all connections are closed")


@pytest.mark.quick_rows(12)
@pytest.mark.parametrize("fault", list(FAULTS.values()), ids=list(FAULTS))
async def test_a_fault_while_connecting_is_a_clear_error_in_time(
    fault: tuple[Handler, type[McpError]],
) -> None:
    """F-LIFE-5, F-HTTP-7, F-HTTP-13: nothing but errors of the one tree, nothing left."""
    loop = asyncio.get_running_loop()
    async with HttpServer(dict.fromkeys(("POST", "GET"), fault[0])) as server:
        client = Client(str(server.url()), connect_timeout=20, max_message_size=1_000_000)
        with pytest.raises(McpError) as caught:
            await client.connect()
        assert str(caught.value)
        assert loop.time() <= 20.1
        assert not client.is_connected
        await asyncio.sleep(5)
        await until(lambda: server.open_connections == 0, "all connections are closed")


CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"

# What is odd and yet an answer; ANSWER stands for it, LENGTH for its length.
FINE = {
    "promises before": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    + OK
    + b"Content-Length: LENGTH\r\n\r\nANSWER",
    "trailers": OK + CHUNKED + b"LENGTHx;a=b\r\nANSWER\r\n0\r\nX: y\r\nX-Other: z\r\n\r\n",
    "until the end": OK + b"\r\nANSWER",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\nANSWER",
    "HTTP/1.0, chunked": b"HTTP/1.0 200 OK\r\n" + CHUNKED + b"LENGTHx\r\nANSWER\r\n0\r\n\r\n",
    "two framings": OK + b"Content-Length: 1\r\n" + CHUNKED + b"LENGTHx\r\nANSWER\r\n0\r\n\r\n",
    "close": OK + b"Connection: close\r\nContent-Length: LENGTH\r\n\r\nANSWER",
    "no reason": b"HTTP/1.1 200\r\nContent-Length: LENGTH\r\n\r\nANSWER",
    "bare line feeds": b"HTTP/1.1 200 OK\nContent-Length: LENGTH\n\nANSWER",
    "empty line before": b"\r\n" + OK + b"Content-Length: LENGTH\r\n\r\nANSWER",
    "the same length twice": OK + b"Content-Length: LENGTH, LENGTH\r\n\r\nANSWER",
    "no content type": b"HTTP/1.1 200 OK\r\nContent-Length: LENGTH\r\n\r\nANSWER",
    "another success": b"HTTP/1.1 203 Changed\r\nContent-Length: LENGTH\r\n\r\nANSWER",
    "mark and space": OK + b"\r\n\xef\xbb\xbf \r\nANSWER\r\n",
    "more than one answer": OK + b"Content-Length: LENGTH\r\n\r\nANSWERHTTP/1.1 200 OK\r\n\r\n",
    "events of all kinds": SSE
    + b"\xef\xbb\xbf: hello\r\rretry: 1"
    + b"0" * 5000
    + b"\nretry: soon\nid: a\x00b\nevent: x\ndata: {}\n\n"
    + b"data\n\ndata:\nnonsense\n: comment\ndata:ANSWER\r\n\r\n",
    "events without an end": SSE + b"data: ANSWER\n\nid: 7\ndata: {",
}


@pytest.mark.parametrize("answer", list(FINE.values()), ids=list(FINE))
async def test_an_odd_answer_is_an_answer(answer: bytes) -> None:
    """F-WIRE-4, F-WIRE-5: once is enough, and the next call works, too."""
    service = StreamableEndpoint(McpServer())

    async def serve(request: Request, response: Answer) -> None:
        message = request.message
        if (message.get("params") or {}).get("name") != "odd":
            await service.post(request, response)
            return
        service.server.received.append(message)
        text = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}' % message["id"]
        raw = answer.replace(b"LENGTHx", b"%x" % len(text)).replace(b"LENGTH", b"%d" % len(text))
        response.raw(raw.replace(b"ANSWER", text))
        response.cut()

    async with HttpServer({**service.routes, "POST /mcp": serve}) as server:
        client = await Client(str(server.url()), protocol_version="2025-11-25")
        assert (await client.call_tool("odd", timeout=20)).raw == {"content": []}
        assert (await client.call_tool("echo", {"text": "x"})).text == "x"
        assert asyncio.get_running_loop().time() == 0
        await client.close()
    assert len(service.server.messages("tools/call")) == 2


async def test_a_dead_server_that_comes_back_is_used_again() -> None:
    """F-WIRE-5, F-HTTP-6: over fresh connections, and in a fresh session."""
    service = StreamableEndpoint(McpServer(), session="one")
    server = await HttpServer(service.routes).__aenter__()
    async with Client(str(server.url())) as client:
        assert (await client.call_tool("echo", {"text": "x"})).text == "x"
        await server.__aexit__(None, None, None)
        with pytest.raises(McpError):
            await client.call_tool("echo", {"text": "x"})
        service.session = "two"
        async with HttpServer(service.routes, port=server.url().port):
            assert (await client.call_tool("echo", {"text": "y"})).text == "y"


async def test_a_lost_answer_of_a_tool_is_never_asked_for_twice() -> None:
    """F-WIRE-5, F-API-19: a call that may have run is not repeated, a list is."""
    service = StreamableEndpoint(McpServer())
    seen: list[str] = []

    async def forgetful(request: Request, answer: Answer) -> None:
        seen.append(request.message["method"])
        answer.reset()

    async with HttpServer(service.routes) as server, Client(str(server.url())) as client:
        for method in ("tools/call", "tools/list"):
            await client.ping()
            server.routes["POST /mcp"] = in_turn(forgetful, service.post)
            try:
                await client.request(method, {"name": "echo", "arguments": {"text": "x"}})
            except McpError:
                seen.append("failed")
            server.routes["POST /mcp"] = service.post
        assert seen == ["tools/call", "failed", "tools/list"]


async def test_a_server_that_is_gone_fails_the_call_within_a_second() -> None:
    """F-LIFE-7, F-HTTP-5: also where the answer could be continued if the server were there."""

    async def begin(request: Request, answer: Answer) -> None:
        answer.stream()
        answer.event("", id="1")
        await answer.stall()

    routes = StreamableEndpoint(McpServer()).routes
    async with HttpServer(routes) as server:
        client = Client(str(server.url()), protocol_version="2025-11-25")
        await client.connect()
        server.routes["POST /mcp"] = begin
        call = asyncio.ensure_future(client.call_tool("echo", {"text": "x"}))
        await asyncio.sleep(1)
    with pytest.raises(ConnectionLost, match=r"No response .*\(tools/call\): cannot connect"):
        await call
    assert asyncio.get_running_loop().time() < 2
    await client.close()
