"""One request with authorization: what the sink sees, however often it was sent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest

from mcpclient.errors import AuthError, HttpError, McpError, UsageError
from mcpclient.framing.http1 import ResponseHead
from mcpclient.framing.uri import http_url, parse_url
from mcpclient.net.clocks import PausableClocks
from mcpclient.net.dialing import Dialer
from mcpclient.net.http import Exchange, HttpClient, HttpRequest, ResponseSink
from mcpclient.transports.http_messages import AuthorizedExchange, authorizer_in
from tests.support.http_server import Answer, Handler, HttpServer, Request, answer_with, in_turn


def start_request(client: Any, request: Any, sink: Any, authorizer: Any) -> Any:
    """Start a request as transports do."""
    if authorizer is None:
        return client.request(request, sink)
    authorization = authorizer.request(request.method, http_url(request.url), passive=False)
    return AuthorizedExchange(client, request, sink, authorization)


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


def test_the_headers_are_sent() -> None:
    """F-AUTH-5: and replace those of the same names."""
    script = Script([{"Authorization": "Bearer a", "DPoP": "proof"}])
    sink, (request,), error = send(
        script, answer_with(200, body=b"ok"), headers=[("authorization", "mine"), ("X-A", "b")]
    )
    assert (sink.heads, sink.body, error) == ([200], b"ok", None)
    assert request.headers["authorization"] == "Bearer a"
    assert request.headers["dpop"] == "proof"
    assert request.headers["x-a"] == "b"
    assert script.noted == [200]
    assert script.asked[0][0] == "POST"


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_request_is_sent_again(status: int) -> None:
    """F-AUTH-5: with new headers; the sink sees one response."""
    script = Script([{}, {"Authorization": "Bearer a"}], [True])
    refused = answer_with(status, body=b"no")
    sink, requests, error = send(script, refused, answer_with(200, body=b"ok"))
    assert (sink.heads, sink.body, error) == ([200], b"ok", None)
    assert [request.headers.get("authorization") for request in requests] == [None, "Bearer a"]
    assert [request.body for request in requests] == [b"{}", b"{}"]
    assert script.refused == [status]


def test_a_redirected_request_is_made_anew() -> None:
    """F-AUTH-7: a proof of possession names where it goes, and serves once."""
    script = Script([{"DPoP": "proof-1"}, {"DPoP": "proof-2"}])

    async def main() -> list[Request]:
        routes: dict[str, Handler] = {
            "/mcp": answer_with(307, {"Location": "/elsewhere?a=1"}),
            "/elsewhere?a=1": answer_with(200),
            "/elsewhere": answer_with(200),
        }
        async with HttpServer(routes) as server:
            client, sink = HttpClient(Dialer()), Sink()
            start_request(client, HttpRequest("POST", server.url(), [], b"{}"), sink, script)
            assert await asyncio.wait_for(sink.over, 10) is None
            assert script.sent_to == [None, str(server.url()).replace("/mcp", "/elsewhere?a=1")]
            await client.close()
            return server.requests

    first, second = asyncio.run(main())
    assert [first.headers["dpop"], second.headers["dpop"]] == ["proof-1", "proof-2"]
    assert second.body == b"{}"


async def test_a_request_on_a_stale_connection_is_made_anew() -> None:
    """F-AUTH-7: the server may have seen the first proof, and accepts none twice."""
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
            sink = Sink()
            start_request(client, HttpRequest("POST", server.url(), [], b"{}"), sink, script)
            assert await asyncio.wait_for(sink.over, 10) is None
            assert sink.heads == [200]
        await client.close()
    assert proofs == ["proof-0", "proof-1", "proof-2"]


@pytest.mark.parametrize("failure", [AuthError("no way"), ValueError("SECRET")])
def test_a_request_that_cannot_be_made_anew_fails(failure: Exception) -> None:
    """F-AUTH-7: with the reason, and without waiting for ever."""
    script = Script([{}, failure])
    sink, _, error = send(script, answer_with(307, {"Location": "/mcp"}), answer_with(200))
    assert isinstance(error, AuthError)
    assert "SECRET" not in str(error)
    assert not sink.heads


def test_a_refusal_that_stands_is_passed_on() -> None:
    """F-HTTP-7: as it came, with its body."""
    sink, requests, error = send(Script([{}], [False]), REFUSED)
    assert (sink.heads, sink.body, error) == ([401], b"who are you?", None)
    assert len(requests) == 1
    sink, _, error = send(Script([{}], [False]), answer_with(403))
    assert (sink.heads, sink.body, error) == ([403], b"", None)


@pytest.mark.parametrize("recovered", [True, False])
def test_a_refusal_without_end_is_one(recovered: bool) -> None:
    """F-HTTP-7, F-AUTH-4: nobody waits for the rest of it."""

    async def refuse(request: Request, answer: Answer) -> None:
        answer.head(401, {"Transfer-Encoding": "chunked"})
        answer.chunk(b"x" * 70_000)
        await answer.stall()

    script = Script([{}, {}], [recovered])
    sink, _, error = send(script, refuse, answer_with(200, body=b"ok"))
    assert error is None and script.refused == [401]
    assert (sink.heads, sink.body) == (([200], b"ok") if recovered else ([401], b"x" * 65536))


def test_what_recovering_fails_with_is_the_failure() -> None:
    """F-HTTP-7: and the refusal that began it is its cause, unless it has one."""
    failure = AuthError("no way")
    sink, _, error = send(Script([{}], [failure]), REFUSED)
    assert error is failure
    assert isinstance(error.__cause__, HttpError)
    assert (error.__cause__.status, error.__cause__.body) == (401, b"who are you?")
    assert not sink.heads
    failure = AuthError("no way")
    failure.__cause__ = ValueError("the cause")
    _, _, error = send(Script([{}], [failure]), REFUSED)
    assert error is failure
    assert isinstance(error.__cause__, ValueError)


def test_an_authorizer_with_a_fault_does_not_leave_the_caller_waiting() -> None:
    """F-AUTH-9: a host's own code may raise anything."""
    _, _, error = send(Script([ValueError("SECRET")]), REFUSED)
    assert isinstance(error, AuthError)
    assert "SECRET" not in str(error)
    assert isinstance(error.__cause__, ValueError)
    _, _, error = send(Script([{}], [ValueError("SECRET")]), REFUSED)
    assert isinstance(error, AuthError)


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
    """F-AUTH-9: nobody gave the request up, so that nobody is to wait for its timeout."""
    moved = answer_with(307, {"Location": "/mcp"})
    sink, _, error = send(script, REFUSED if script.recoveries else moved)
    assert isinstance(error, AuthError)
    assert isinstance(error.__cause__, asyncio.CancelledError)
    assert not sink.heads


@pytest.mark.parametrize("failure", [None, ValueError()])
async def test_an_authorizer_that_takes_no_notice_of_the_end(failure: Exception | None) -> None:
    """F-AUTH-8: nothing is sent for a request that was given up, and its sink hears no more."""
    reached = asyncio.Event()
    sent: list[HttpRequest] = []

    class Stubborn(Script):
        async def headers(self, url: str | None = None) -> Mapping[str, str]:
            reached.set()
            with suppress(asyncio.CancelledError):
                await asyncio.get_running_loop().create_future()
            if failure is not None:
                raise failure
            return {}

    class Noting(HttpClient):
        def request(self, request: HttpRequest, sink: ResponseSink) -> Exchange:
            sent.append(request)
            return super().request(request, sink)

    client, sink = Noting(Dialer()), Sink()
    request = HttpRequest("POST", parse_url("http://127.0.0.1:9/mcp"), [], b"{}")
    sending = start_request(client, request, sink, Stubborn([]))
    await reached.wait()
    sending.abort()
    await client.tasks.wait(10)
    assert not sent
    assert not sink.over.done()
    await client.close()


def test_headers_that_cannot_be_sent() -> None:
    """F-HTTP-1: a line break in one is an error of the caller, whoever gave it."""
    _, _, error = send(Script([{"Authorization": "a\nb"}]), REFUSED)
    assert isinstance(error, UsageError)


def test_a_refusal_cut_short_is_still_one() -> None:
    """F-AUTH-5: its head tells everything."""

    async def cut(request: Request, answer: Answer) -> None:
        answer.raw(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 10\r\n\r\nhalf")
        answer.cut()

    sink, _, _ = send(Script([{}, {}], [True]), cut, answer_with(200))
    assert sink.heads == [200]


def test_a_lost_connection_is_passed_on() -> None:
    """F-LIFE-7: it is not a failure of authorization."""

    async def cut(request: Request, answer: Answer) -> None:
        answer.cut()

    _, _, error = send(Script([{}]), cut)
    assert error is not None
    assert not isinstance(error, AuthError)


async def test_giving_up_at_every_stage() -> None:
    """F-AUTH-8: the sink hears no more."""

    class Slow(Script):
        def __init__(self, where: str) -> None:
            super().__init__([{}], [True])
            self.where = where
            self.reached = asyncio.Event()
            self.never: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        async def headers(self, url: str | None = None) -> Mapping[str, str]:
            if self.where == ("headers" if url is None else "renew"):
                self.reached.set()
                await self.never
            return await super().headers()

        async def recover(self, head: ResponseHead) -> bool:
            self.reached.set()
            await self.never
            return True

    async def stall(request: Request, answer: Answer) -> None:
        slow.reached.set()
        await answer.stall()

    stages = {
        "headers": REFUSED,
        "recover": REFUSED,
        "renew": answer_with(307, {"Location": "/mcp"}),
        "answer": stall,
    }
    for where, handler in stages.items():
        slow = Slow(where)
        async with HttpServer({"/mcp": handler}) as server:
            client, sink = HttpClient(Dialer()), Sink()
            request = HttpRequest("POST", server.url(), [], b"{}")
            sending = start_request(client, request, sink, slow)
            assert isinstance(sending, AuthorizedExchange)
            assert sending.url == server.url()
            await slow.reached.wait()
            sending.abort()
            sending.abort()
            await asyncio.sleep(0)
            assert not sink.over.done()
            assert len(server.requests) == (where != "headers")
            await client.close()


async def test_without_an_authorizer_there_is_nothing_in_between() -> None:
    """F-AUTH-13: fixed headers are headers like others."""
    assert authorizer_in(None) is None
    assert authorizer_in({"Authorization": "Bearer a"}) is None
    script = Script([])
    assert authorizer_in(script) is script
    async with HttpServer({"/mcp": answer_with(200)}) as server:
        client, sink = HttpClient(Dialer()), Sink()
        sending = start_request(client, HttpRequest("GET", server.url(), []), sink, None)
        assert not isinstance(sending, AuthorizedExchange)
        await sink.over
        await client.close()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example/mcp?q=1", "https://a.example/mcp?q=1"),
        ("wss://a.example/mcp", "https://a.example/mcp"),
        ("ws://a.example:81/mcp", "http://a.example:81/mcp"),
    ],
)
def test_the_url_for_authorization(url: str, expected: str) -> None:
    """F-AUTH-3: the resource is an http URL for a WebSocket too, and its query stays."""
    assert http_url(parse_url(url)) == expected


async def test_a_login_goes_on_over_the_connection_of_the_refusal() -> None:
    """F-HTTP-15: another request meanwhile has a connection of its own."""
    asked, go_on = asyncio.Event(), asyncio.Event()

    class Slow(Script):
        async def recover(self, head: ResponseHead) -> bool:
            asked.set()
            await go_on.wait()
            return True

    handler = in_turn(answer_with(401), answer_with(200), answer_with(200))
    async with HttpServer({"/mcp": handler}) as server:
        client = HttpClient(Dialer())
        request = HttpRequest("POST", server.url(), [], b"{}")
        first, second = Sink(), Sink()
        start_request(client, request, first, Slow([{}, {}]))
        await asked.wait()
        client.request(request, second)
        await second.over
        go_on.set()
        await first.over
        assert [each.connection for each in server.requests] == [1, 2, 1]
        await client.close()
