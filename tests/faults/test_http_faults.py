"""One bad exchange over HTTP never takes a client down: after each, the next call works."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any

import pytest

from mcpclient import Client
from mcpclient.client import connection
from mcpclient.errors import CallTimeout, McpError
from tests.support.http_server import Answer, Handler, HttpServer, Request, answer_with, in_turn
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.virtual_time import run


@pytest.fixture(autouse=True)
def _no_memory_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_eras", {})


def raw(data: bytes, *, cut: bool = True) -> Handler:
    async def handler(request: Request, answer: Answer) -> None:
        answer.raw(data)
        if cut:
            answer.cut()
        else:
            await answer.stall()

    return handler


async def reset(request: Request, answer: Answer) -> None:
    answer.reset()


async def stall(request: Request, answer: Answer) -> None:
    await answer.stall()


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

FAULTS: dict[str, Handler] = {
    "400 html": answer_with(400, {"Content-Type": "text/html"}, HTML),
    "404 html": answer_with(404, {"Content-Type": "text/html"}, HTML),
    "500 html": answer_with(500, {"Content-Type": "text/html"}, HTML),
    "503 endless": raw(b"HTTP/1.1 503 Busy\r\n\r\n" + b"x" * 100_000, cut=False),
    "wrong content type": answer_with(200, {"Content-Type": "image/png"}, b"\x89PNG"),
    "empty": answer_with(200, {"Content-Type": "application/json"}),
    "accepted only": answer_with(202),
    "truncated": raw(OK + b"Content-Length: 100\r\n\r\n{"),
    "over-long": raw(OK + b'Content-Length: 2\r\n\r\n{}{"jsonrpc": "2.0"}'),
    "bad chunk": raw(OK + b"Transfer-Encoding: chunked\r\n\r\nXYZ\r\n{}\r\n"),
    "cut chunk": raw(OK + b"Transfer-Encoding: chunked\r\n\r\nFF\r\n{"),
    "negative length": raw(OK + b"Content-Length: -1\r\n\r\n"),
    "smuggled": raw(OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nrest"),
    "bad gzip": raw(OK + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd"),
    "unknown coding": raw(OK + b"Content-Encoding: br\r\nContent-Length: 4\r\n\r\nabcd"),
    "bomb": answer_with(200, {"Content-Encoding": "deflate"}, zlib.compress(b" " * 50_000_000, 9)),
    "endless head": raw(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, cut=False),
    "not HTTP": raw(b"\x16\x03\x01\x00\xa5 not http at all\r\n\r\n"),
    "other HTTP": raw(b"HTTP/2.0 200 OK\r\n\r\n"),
    "closed": raw(b""),
    "reset": reset,
    "redirect loop": answer_with(307, {"Location": "/mcp?again"}),
    "redirect elsewhere": answer_with(307, {"Location": "https://elsewhere.example/mcp"}),
    "redirect with another method": answer_with(303, {"Location": "/mcp"}),
    "stream without the answer": raw(SSE + b": nothing\n\n"),
    "stream with half an event": raw(SSE + b'data: {"jsonrpc": "2.0", "id"'),
    "stream of rubbish": raw(SSE + b"data: \xff\xfe\n\ndata: {{{\n\ndata: 1\n\n\0\0\0"),
    "NaN": answer_with(200, {"Content-Type": "application/json"}, b"NaN"),
    "nested": answer_with(200, {}, b'{"a":' * 100_000),
    "null": answer_with(200, {"Content-Type": "application/json"}, b"null"),
    "other id": answer_with(200, {}, b'{"jsonrpc": "2.0", "id": 4711, "result": {}}'),
    "error without a code": answer_with(200, {}, b'{"id": null, "error": {"code": NaN}}'),
    "never answers": stall,
    "trickles": trickle,
    "endless events": endless_events,
}


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("fault", list(FAULTS.values()), ids=list(FAULTS))
def test_a_fault_fails_its_call_and_nothing_else(fault: Handler, version: str) -> None:
    """F-HTTP-3, F-HTTP-7, F-HTTP-8, F-WIRE-5, F-WIRE-7, F-LIFE-7, pain 1, pain 5, pain 41.

    The call fails with an error of the one tree, within its limit; a call at the same time and the
    next one work; closing is quick; and nothing is left.
    """
    service = StreamableEndpoint(McpServer("both"))
    options: dict[str, Any] = {"protocol_version": version, "max_message_size": 1_000_000}

    async def serve(request: Request, answer: Answer) -> None:
        arguments = request.message.get("params", {}).get("arguments", {})
        if request.message.get("method") == "tools/call" and arguments.get("text") == "fault":
            await fault(request, answer)
        else:
            await service.post(request, answer)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with HttpServer({**service.routes, "POST /mcp": serve}) as server:
            async with Client(str(server.url()), **options) as client:
                failing = asyncio.ensure_future(
                    client.call_tool("echo", {"text": "fault"}, timeout=20, max_timeout=60)
                )
                assert (await client.call_tool("echo", {"text": "beside"})).text == "beside"
                assert loop.time() == 0
                with pytest.raises(McpError) as caught:
                    await failing
                assert str(caught.value)
                assert loop.time() in ((20, 60) if isinstance(caught.value, CallTimeout) else (0,))
                calls = [r for r in server.requests if b'"fault"' in r.body]
                assert len(calls) == 1 or fault is FAULTS["redirect loop"]
                assert (await client.call_tool("echo", {"text": "after"})).text == "after"
                before = loop.time()
            assert loop.time() - before <= 5
            await asyncio.sleep(1)
            assert server.open_connections == 0

    run(main())


@pytest.mark.parametrize("fault", list(FAULTS.values()), ids=list(FAULTS))
def test_a_fault_while_connecting_is_a_clear_error_in_time(fault: Handler) -> None:
    """F-LIFE-3, F-LIFE-6, F-HTTP-11, F-STD-7: nothing but errors of the one tree, nothing left."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with HttpServer(dict.fromkeys(("POST", "GET"), fault)) as server:
            client = Client(str(server.url()), connect_timeout=20, max_message_size=1_000_000)
            with pytest.raises(McpError) as caught:
                await client.connect()
            assert str(caught.value)
            assert loop.time() <= 20.1
            assert not client.is_connected
            await asyncio.sleep(5)
            assert server.open_connections == 0

    run(main())


@pytest.mark.parametrize("fault", ["never answers", "reset", "500 html", "closed", "not HTTP"])
def test_a_server_that_fails_at_the_end_does_not_hold_up_the_close(fault: str) -> None:
    """F-LIFE-6, F-HTTP-2, pain 41: whatever becomes of the DELETE."""
    service = StreamableEndpoint(McpServer(), session="s", listens=True)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        routes = {**service.routes, "DELETE /mcp": FAULTS[fault]}
        async with HttpServer(routes) as server:
            client = await Client(str(server.url()))
            calling = asyncio.ensure_future(client.call_tool("never"))
            await asyncio.sleep(1)
            await client.close()
            assert loop.time() <= 6
            with pytest.raises(McpError):
                await calling
            await asyncio.sleep(1)
            assert server.open_connections == 0

    run(main())


def test_a_dead_server_that_comes_back_is_used_again() -> None:
    """F-WIRE-5, F-HTTP-6, pain 3: over fresh connections, and in a fresh session."""
    service = StreamableEndpoint(McpServer(), session="one")

    async def main() -> None:
        server = await HttpServer(service.routes).__aenter__()
        async with Client(str(server.url())) as client:
            assert (await client.call_tool("echo", {"text": "x"})).text == "x"
            await server.__aexit__(None, None, None)
            with pytest.raises(McpError):
                await client.call_tool("echo", {"text": "x"})
            service.session = "two"
            async with HttpServer(service.routes, port=server.url().port):
                assert (await client.call_tool("echo", {"text": "y"})).text == "y"

    run(main())


def test_a_hundred_slow_calls_take_the_time_of_one() -> None:
    """F-LIFE-9, pain 39"""
    service = StreamableEndpoint(McpServer())

    async def slow(request: Request, answer: Answer) -> None:
        if request.message["method"] == "tools/call":
            await asyncio.sleep(0.5)
        await service.post(request, answer)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        routes = {**service.routes, "POST /mcp": slow}
        async with HttpServer(routes) as server, Client(str(server.url())) as client:
            began = loop.time()
            texts = [str(number) for number in range(100)]
            results = await asyncio.gather(
                *(client.call_tool("echo", {"text": text}) for text in texts)
            )
            assert [result.text for result in results] == texts
            assert loop.time() - began < 1

    run(main())


def test_a_lost_answer_of_a_tool_is_never_asked_for_twice() -> None:
    """F-WIRE-5, F-API-19, pain 14: a call that may have run is not repeated, a list is."""
    service = StreamableEndpoint(McpServer())
    seen: list[str] = []

    async def forgetful(request: Request, answer: Answer) -> None:
        seen.append(request.message["method"])
        answer.reset()

    async def main() -> None:
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

    run(main())
