"""Headers of the caller's, and errors made of HTTP answers: F-HTTP-1, F-HTTP-6, F-HTTP-7."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.errors import (
    HttpError,
    PeerError,
    SessionExpired,
    UrlElicitationRequired,
    UsageError,
)
from mcpclient.framing.headers import Headers
from mcpclient.framing.http1 import ResponseHead
from mcpclient.framing.uri import parse_url
from mcpclient.jsonrpc import messages
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.http_messages import (
    ERROR_BODY_LIMIT,
    CallerHeaders,
    HeaderSource,
    Refusal,
    refusal_of,
    speaks_of_the_session,
)

URL = parse_url("https://h/mcp?token=s3cret")


def call_with(headers: Mapping[str, str]) -> Outgoing:
    outgoing = Outgoing(messages.request(1, "tools/call", None))
    outgoing.caller_headers = headers
    return outgoing


# The caller's headers


def test_fixed_headers() -> None:
    """F-HTTP-1: sent with every message; those of a call replace them, whatever their case."""
    headers = CallerHeaders({"X-A": "1", "Authorization": "Bearer a"}, URL)
    assert not headers.may_wait
    assert headers.fixed_for(None) == [("X-A", "1"), ("Authorization", "Bearer a")]
    assert headers.fixed_for(call_with({})) == headers.fixed_for(None)
    call = call_with({"authorization": "Bearer b", "X-B": "2"})
    assert headers.fixed_for(call) == [("X-A", "1"), ("authorization", "Bearer b"), ("X-B", "2")]
    assert headers.fixed_for(None) == [("X-A", "1"), ("Authorization", "Bearer a")]


def plain_provider() -> Mapping[str, str]:
    return {"x-a": "provided", "X-C": "3"}


async def async_provider() -> Mapping[str, str]:
    await asyncio.sleep(0)
    return plain_provider()


@pytest.mark.parametrize("provider", [plain_provider, async_provider])
def test_a_provider(provider: HeaderSource) -> None:
    """F-HTTP-1: asked before every message, plain or async; a call's own headers win."""
    headers = CallerHeaders(provider, parse_url("https://user:pass@h/"))
    assert headers.may_wait
    basic = ("Authorization", "Basic dXNlcjpwYXNz")
    provided = [basic, ("x-a", "provided"), ("X-C", "3")]
    assert asyncio.run(headers.provided_for(None)) == provided
    assert asyncio.run(headers.provided_for(call_with({}))) == provided
    call = call_with({"X-A": "call"})
    assert asyncio.run(headers.provided_for(call)) == [basic, ("X-C", "3"), ("X-A", "call")]


async def cancelled_provider() -> Mapping[str, str]:
    raise asyncio.CancelledError


def test_a_provider_that_is_cancelled_by_itself() -> None:
    """F-HTTP-1, F-API-8: an error like any other; only whoever asks can be cancelled."""

    def plain() -> Mapping[str, str]:
        raise asyncio.CancelledError

    for provider in (cancelled_provider, plain):
        with pytest.raises(UsageError, match="was cancelled"):
            asyncio.run(CallerHeaders(provider, URL).provided_for(None))


async def test_a_provider_ends_with_whoever_asks() -> None:
    """F-API-8: it is cancelled, and may take its time for that."""
    seen: list[str] = []
    asked = asyncio.Event()

    async def provider() -> Mapping[str, str]:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            seen.append("ended")
        return {}

    asking = asyncio.ensure_future(CallerHeaders(provider, URL).provided_for(None))
    await asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert seen == ["ended"]


def test_credentials_of_the_url() -> None:
    """F-AUTH-13: used unless the caller gives others, and never beside them."""
    url = parse_url("https://user:pass@h/")
    assert CallerHeaders({}, url).fixed_for(None) == [("Authorization", "Basic dXNlcjpwYXNz")]
    own = CallerHeaders({"authorization": "Bearer x"}, url)
    assert own.fixed_for(None) == [("authorization", "Bearer x")]


@pytest.mark.parametrize("source", [{"authorization": "mine"}, lambda: {"authorization": "mine"}])
def test_credentials_go_before_headers_of_the_caller(source: HeaderSource) -> None:
    """F-HTTP-1, F-AUTH-13: also before those of a provider; but a single call may have its own."""
    headers = CallerHeaders(source, URL, {"Authorization": "Bearer token"})
    assert asyncio.run(headers.provided_for(None)) == [("Authorization", "Bearer token")]
    call = call_with({"AUTHORIZATION": "Bearer call"})
    assert asyncio.run(headers.provided_for(call)) == [("AUTHORIZATION", "Bearer call")]


def test_headers_of_the_protocol_are_not_the_callers() -> None:
    """F-HTTP-1: what the protocol says of a message is left out, in every case."""
    reserved = ["Host", "CONTENT-LENGTH", "content-type", "Accept", "Connection"]
    reserved += ["Transfer-Encoding", "Mcp-Session-Id", "MCP-Protocol-Version"]
    reserved += ["Mcp-Method", "mcp-name", "Last-Event-ID"]
    given = dict.fromkeys(reserved, "mine")
    assert CallerHeaders({**given, "X": "1"}, URL).fixed_for(None) == [("X", "1")]
    assert CallerHeaders({}, URL).fixed_for(call_with(given)) == []


@pytest.mark.parametrize("headers", [{"X": 1}, {1: "x"}, {"X": None}, {"X": b"1"}])
def test_headers_are_strings(headers: Any) -> None:
    """F-HTTP-1: said at once, without the value, which may be secret."""
    with pytest.raises(UsageError, match="strings"):
        CallerHeaders(headers, URL)
    with pytest.raises(UsageError, match="strings"):
        CallerHeaders({}, URL).fixed_for(call_with(headers))
    with pytest.raises(UsageError, match="strings"):
        asyncio.run(CallerHeaders(lambda: headers, URL).provided_for(None))


@pytest.mark.parametrize("headers", [[("X", "s3cret")], None, "X: s3cret"])
def test_headers_are_a_mapping(headers: Any) -> None:
    """F-HTTP-1: one plain error, without the values."""
    with pytest.raises(UsageError, match="headers are a mapping") as refused:
        asyncio.run(CallerHeaders(lambda: headers, URL).provided_for(None))
    assert "s3cret" not in str(refused.value)


# Errors


def error_of(
    status: int, body: object = b"", request_id: int | None = 1, *, in_session: bool = False
) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    refusal = Refusal(ResponseHead(status, "", Headers([("Retry-After", "5")]), "1.1"))
    refusal.add(raw)
    return refusal.error(URL, request_id, in_session=in_session)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 429, 500, 503])
@pytest.mark.parametrize("body", [b"", b"<html>no</html>", b"\xff{", b'{"error":"denied"}'])
def test_statuses_are_told_apart(status: int, body: bytes) -> None:
    """F-HTTP-7: status, headers and body of every refusal; no query in the URL."""
    error = error_of(status, body)
    assert type(error) is HttpError
    assert (error.status, error.body) == (status, body)
    assert error.headers["retry-after"] == "5"
    assert error.url == "https://h/mcp"
    assert "s3cret" not in str(error)


def refusal(code: object = -32601, request_id: object = 1) -> dict[str, Any]:
    error = {"code": code, "message": "no", "data": {"a": 1}}
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


@pytest.mark.parametrize(
    "body",
    [
        refusal(),
        refusal(request_id="1"),
        refusal(-32022, None),
        refusal(-32020, None),
        refusal(-32021, None),
        {"error": {"code": -32022}},
    ],
)
def test_a_json_rpc_error_is_the_peers(body: dict[str, Any]) -> None:
    """F-HTTP-7, F-LIFE-3: as on any other transport; the HTTP error is its cause."""
    error = error_of(400, body)
    assert type(error) is PeerError
    assert error.code == body["error"]["code"]
    assert isinstance(error.__cause__, HttpError)
    assert error.__cause__.status == 400


@pytest.mark.parametrize(
    "body",
    [
        refusal(request_id=2),
        refusal(request_id="server-error"),
        refusal(-32000, None),
        refusal(-32601, None),
        refusal("x"),
        refusal(1.5),
        {"error": "x", "id": 1},
        {"id": 1},
        ["x"],
        5,
        b"[" * 100_000,
    ],
)
def test_an_error_that_answers_something_else(body: object) -> None:
    """F-LIFE-3: a legacy server's complaint is no modern error, so it leads to the fallback."""
    assert type(error_of(400, body)) is HttpError


def test_sessions_that_expired() -> None:
    """F-HTTP-6: 404 within a session, with or without an error in the body."""
    for body in (b"", refusal(-32001), refusal(-32601)):
        error = error_of(404, body, in_session=True)
        assert type(error) is SessionExpired
        assert error.status == 404
    assert type(error_of(400, b"", in_session=True)) is HttpError
    assert type(error_of(404, refusal())) is PeerError


@pytest.mark.parametrize("status", [401, 403])
def test_authorization_is_http(status: int) -> None:
    """F-HTTP-7: what a challenge says stands in the headers, so the HTTP error is kept."""
    assert type(error_of(status, refusal())) is HttpError


def test_an_error_object_reads_as_on_any_transport() -> None:
    """F-API-10, F-HTTP-7: also where its code became a float, or asks for a visit."""
    error = error_of(400, refusal(-32602.0))
    assert type(error) is PeerError
    assert error.code == -32602 and isinstance(error.code, int)
    assert type(error_of(400, refusal(-32042))) is UrlElicitationRequired
    assert type(error_of(400, refusal(True))) is HttpError


def test_no_request_no_peer_error() -> None:
    """F-HTTP-7: the refusal of a notification answers no request."""
    assert refusal_of(None, refusal(request_id=None)) is None
    assert refusal_of(None, refusal()) is None
    found = refusal_of(None, refusal(-32022, None))
    assert found is not None
    assert (found.message, found.data) == ("no", {"a": 1})


def test_a_refusal_keeps_the_beginning_of_its_body() -> None:
    """F-HTTP-7"""
    refusal = Refusal(ResponseHead(503, "Busy", Headers([("Retry-After", "2")]), "1.1"))
    assert not refusal.add(b"busy")
    assert refusal.add(b"x" * ERROR_BODY_LIMIT)
    assert len(refusal.body) == ERROR_BODY_LIMIT
    error = refusal.error(parse_url("https://example.com/mcp"), 1)
    assert isinstance(error, HttpError)
    assert (error.status, bytes(error.body[:5])) == (503, b"busyx")


@pytest.mark.parametrize(
    ("body", "speaks"),
    [
        (b'{"error": {"code": -32000, "message": "Bad Request: No valid session ID"}}', True),
        (b'{"error": {"code": -32602, "message": "no such session"}}', False),
        (b"Session not found", True),
        (b"[]", False),
    ],
)
def test_a_refusal_may_speak_of_the_session(body: bytes, speaks: bool) -> None:
    """F-HTTP-6"""
    assert speaks_of_the_session(body) is speaks
