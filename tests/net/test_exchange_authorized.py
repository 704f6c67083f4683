"""One request with authorization: what the sink sees, however often it was sent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.errors import AuthError, McpError
from mcpclient.framing.http1 import ResponseHead
from mcpclient.framing.uri import http_url
from mcpclient.net.clocks import PausableClocks
from mcpclient.net.dialing import Dialer
from mcpclient.net.exchange import Exchange, HttpRequest
from mcpclient.net.http import HttpClient
from tests.support.http_server import Answer, Handler, HttpServer, Request, answer_with, in_turn


def start_request(client: Any, request: Any, sink: Any, authorizer: Any) -> Any:
    """Start a request as transports do."""
    if authorizer is None:
        return Exchange(client, request, sink)
    authorization = authorizer.request(request.method, http_url(request.url), passive=False)
    return Exchange(client, request, sink, authorization)


class Script:
    """An authorizer and its request: hands out headers in turn, and answers `recover` in turn."""

    clocks: PausableClocks | None = None

    def __init__(self, headers: list[Any], recoveries: list[Any] | None = None) -> None:
        self._headers = headers
        self.recoveries = recoveries or []
        self.asked: list[tuple[str, str, bool]] = []
        self.noted: list[int] = []
        self.refused: list[int] = []
        self.sent_to: list[str | None] = []

    def request(self, method: str, url: str, *, passive: bool = False) -> Script:
        self.asked.append((method, url, passive))
        return self

    async def headers(self, url: str | None = None) -> Mapping[str, str]:
        self.sent_to.append(url)
        return _said(self._headers.pop(0))  # type: ignore[no-any-return]

    def note(self, head: ResponseHead) -> None:
        self.noted.append(head.status)

    async def recover(self, head: ResponseHead) -> bool:
        self.refused.append(head.status)
        return _said(self.recoveries.pop(0))  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Nothing is held."""

    def abort(self) -> None:
        """Nothing is held."""


def _said(value: Any) -> Any:
    if isinstance(value, BaseException):
        raise value
    return value


class Sink:
    """Keeps one response."""

    def __init__(self) -> None:
        self.heads: list[int] = []
        self.body = b""
        self.over: asyncio.Future[McpError | None] = asyncio.get_running_loop().create_future()

    def head_received(self, head: ResponseHead) -> None:
        self.heads.append(head.status)

    def body_received(self, data: bytes) -> None:
        self.body += data

    def response_ended(self) -> None:
        self.over.set_result(None)

    def response_failed(self, error: McpError) -> None:
        self.over.set_result(error)


def send(
    script: Script, *handlers: Handler, headers: list[tuple[str, str]] | None = None
) -> tuple[Sink, list[Request], McpError | None]:
    async def main() -> tuple[Sink, list[Request], McpError | None]:
        async with HttpServer({"/mcp": in_turn(*handlers)}) as server:
            client = HttpClient(Dialer())
            sink = Sink()
            request = HttpRequest("POST", server.url(), headers or [], b"{}")
            sending = start_request(client, request, sink, script)
            error = await asyncio.wait_for(sink.over, 10)
            assert sending.url == server.url()
            await client.close()
            return sink, server.requests, error

    return asyncio.run(main())


REFUSED = answer_with(401, {"WWW-Authenticate": "Bearer"}, b"who are you?")


async def test_a_request_on_a_stale_connection_is_made_anew_on_a_new_one() -> None:
    """F-AUTH-7, F-HTTP-16: the server may have seen the first proof, and accepts none twice."""
    script = Script([{"DPoP": f"proof-{number}"} for number in range(3)])
    proofs: list[str] = []

    async def answer(request: Request, answer: Answer) -> None:
        proofs.append(request.headers["dpop"])
        if len(proofs) == 2:
            answer.cut()
        else:
            answer.full(200)

    async with HttpServer({"/mcp": answer}) as server:
        client = HttpClient(Dialer())
        for _ in range(2):
            client.release(await client.new_connection(server.url()))  # may be stale as well
            sink = Sink()
            start_request(client, HttpRequest("POST", server.url(), [], b"{}"), sink, script)
            assert await asyncio.wait_for(sink.over, 10) is None
            assert sink.heads == [200]
        await client.close()
    assert server.connections == 3
    assert proofs == ["proof-0", "proof-1", "proof-2"]


@pytest.mark.parametrize("recovered", [True, False])
def test_a_refusal_without_end_is_one(recovered: bool) -> None:
    """F-HTTP-7, F-AUTH-4: no call waits for the rest of it."""

    async def refuse(request: Request, answer: Answer) -> None:
        answer.head(401, {"Transfer-Encoding": "chunked"})
        answer.chunk(b"x" * 70_000)
        await answer.stall()

    script = Script([{}, {}], [recovered])
    sink, _, error = send(script, refuse, answer_with(200, body=b"ok"))
    assert error is None and script.refused == [401]
    assert (sink.heads, sink.body) == (([200], b"ok") if recovered else ([401], b"x" * 65536))


@pytest.mark.parametrize(
    "script",
    [
        Script([asyncio.CancelledError()]),
        Script([{}], [asyncio.CancelledError()]),
        Script([{}, asyncio.CancelledError()]),
    ],
    ids=["headers", "recover", "renew"],
)
def test_an_authorizer_that_is_cancelled_by_itself_fails_the_request(script: Script) -> None:
    """F-AUTH-9: no caller gave the request up, so none waits for its timeout."""
    moved = answer_with(307, {"Location": "/mcp"})
    sink, _, error = send(script, REFUSED if script.recoveries else moved)
    assert isinstance(error, AuthError)
    assert isinstance(error.__cause__, asyncio.CancelledError)
    assert not sink.heads


async def test_a_refusal_after_a_redirect_is_answered_where_it_came_from() -> None:
    """F-AUTH-7, F-HTTP-8: a proof names the URL that it is for, which is the last one."""
    script = Script([{} for _ in range(3)], [True])
    there = in_turn(REFUSED, answer_with(200))
    moved = answer_with(307, {"Location": "/there"})
    async with HttpServer({"/mcp": moved, "/there": there}) as server:
        client, sink = HttpClient(Dialer()), Sink()
        sending = start_request(client, HttpRequest("POST", server.url(), [], b"{}"), sink, script)
        assert await asyncio.wait_for(sink.over, 10) is None
        assert sink.heads == [200]
        assert sending.url.path == "/there"
        assert [each.target for each in server.requests] == ["/mcp", "/there", "/there"]
        await client.close()


def test_a_refusal_cut_short_is_still_one() -> None:
    """F-AUTH-5: its head tells everything."""

    async def cut(request: Request, answer: Answer) -> None:
        answer.raw(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 10\r\n\r\nhalf")
        answer.cut()

    sink, _, _ = send(Script([{}, {}], [True]), cut, answer_with(200))
    assert sink.heads == [200]
