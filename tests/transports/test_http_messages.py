"""Headers of the caller's, and errors made of HTTP answers: F-HTTP-1, F-HTTP-6, F-HTTP-7."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from mcpclient.errors import HttpError, PeerError, SessionExpired, UsageError
from mcpclient.framing.headers import Headers
from mcpclient.framing.http1 import ResponseHead
from mcpclient.framing.uri import parse_url
from mcpclient.jsonrpc import messages
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.http_messages import CallerHeaders, HeaderSource, Refusal

URL = parse_url("https://h/mcp?token=s3cret")


def call_with(headers: Mapping[str, str]) -> Outgoing:
    outgoing = Outgoing(messages.request(1, "tools/call", None))
    outgoing.caller_headers = headers
    return outgoing


def test_headers_of_the_protocol_are_not_the_callers() -> None:
    """F-HTTP-1: the caller's are left out, in upper and lower case."""
    given = dict.fromkeys(("Host", "CONTENT-LENGTH", "Accept", "Mcp-Session-Id"), "mine")
    given |= dict.fromkeys(("MCP-Protocol-Version", "Mcp-Method", "Last-Event-ID"), "mine")
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


@pytest.mark.parametrize("source", [{"authorization": "mine"}, lambda: {"authorization": "mine"}])
def test_credentials_go_before_headers_of_the_caller(source: HeaderSource) -> None:
    """F-HTTP-1, F-AUTH-13: also before a provider's; but a single call may have its own."""
    headers = CallerHeaders(source, URL, {"Authorization": "Bearer token"})
    assert asyncio.run(headers.provided_for(None)) == [("Authorization", "Bearer token")]
    call = call_with({"AUTHORIZATION": "Bearer call"})
    assert asyncio.run(headers.provided_for(call)) == [("AUTHORIZATION", "Bearer call")]


def error_of(
    status: int, body: object = b"", request_id: int | None = 1, *, in_session: bool = False
) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    refusal = Refusal(ResponseHead(status, "", Headers([("Retry-After", "5")]), "1.1"))
    refusal.add(raw)
    return refusal.error(URL, request_id, in_session=in_session)


def refusal(code: object = -32601, request_id: object = 1) -> dict[str, Any]:
    error = {"code": code, "message": "no", "data": {"a": 1}}
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def test_sessions_that_expired() -> None:
    """F-HTTP-6: 404 within a session, with or without an error in the body."""
    for body in (b"", refusal(-32001), refusal(-32601)):
        error = error_of(404, body, in_session=True)
        assert type(error) is SessionExpired
        assert error.status == 404
    assert type(error_of(400, b"", in_session=True)) is HttpError
    assert type(error_of(404, refusal())) is PeerError


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, refusal()),
        (403, refusal()),
        (400, refusal(request_id=2)),
        (400, refusal(-32000, None)),
    ],
)
def test_an_error_that_remains_one_of_http(status: int, body: object) -> None:
    """F-HTTP-7, F-LIFE-3: one of authorization, or an error that answers something else."""
    assert type(error_of(status, body)) is HttpError
