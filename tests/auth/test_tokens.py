from __future__ import annotations

import pytest

from mcpclient.auth.effects import Response
from mcpclient.auth.tokens import TokenSet, parse_token_response, read_challenge, token_set
from mcpclient.errors import AuthError, TokenRequestFailed
from tests.support.tables import each_row

from .world import json_response

NOW = 1_000_000.0


def tokens(**fields: object) -> TokenSet:
    return token_set({"access_token": "t", **fields}, NOW, None)


def form(text: str, content_type: str = "application/x-www-form-urlencoded") -> Response:
    return Response(200, [("Content-Type", content_type)], text.encode())


@each_row(
    "response",
    [
        Response(200, [("Content-Type", "text/html")], b"access_token=t"),
        Response(200, [], b""),
        json_response([]),
        json_response({}),
        json_response({"access_token": ""}),
        json_response({"access_token": 7}),
        json_response({"access_token": "t"}, 300),
        json_response({"access_token": "t"}, 500),
        json_response({"access_token": "a b"}),
        json_response({"access_token": "a\r\nX-Evil: 1"}),
        json_response({"access_token": "é"}),
        json_response({"access_token": "t" * 70_000}),
        form("&".join(["a=b"] * 100)),
        Response(200, [("Content-Type", "text/plain")], b"\xff\xfe"),
    ],
)
def test_an_answer_without_a_token_is_an_error(response: Response) -> None:
    """F-AUTH-5: HTML, nothing, and tokens that no header could carry."""
    with pytest.raises(TokenRequestFailed) as caught:
        parse_token_response(response, ())
    assert caught.value.error == "invalid_response"


@pytest.mark.parametrize(
    "response",
    [
        json_response({"error": "invalid_grant", "error_description": "used up"}, 400),
        json_response({"error": "invalid_grant", "error_description": "used up"}, 200),
        form("error=invalid_grant&error_description=used+up"),
        json_response(
            {"error": "invalid_grant", "error_description": "used up", "access_token": "t"}
        ),
    ],
)
def test_an_error_is_an_error_with_any_status(response: Response) -> None:
    """F-AUTH-5: an error with 200 is one."""
    with pytest.raises(TokenRequestFailed) as caught:
        parse_token_response(response, ())
    assert (caught.value.error, caught.value.description) == ("invalid_grant", "used up")
    assert caught.value.status == response.status


def test_token_types() -> None:
    """F-AUTH-5: Bearer by default and in any case; others cannot be used."""
    assert tokens().token_type == "Bearer"
    assert tokens(token_type="bearer").token_type == "Bearer"
    assert tokens(token_type="dpop").token_type == "DPoP"
    with pytest.raises(AuthError, match="type"):
        tokens(token_type="mac")


def test_bearer_and_dpop_are_read_together() -> None:
    """F-AUTH-1: other schemes are not OAuth's, and the first of each parameter counts."""
    challenge = read_challenge(
        [
            'Basic scope="not this"',
            'bearer resource_metadata="https://mcp.example/a", error="invalid_token"',
            'DPoP scope="a b a", error="other"',
        ]
    )
    assert challenge.resource_metadata == "https://mcp.example/a"
    assert challenge.scopes == ("a", "b")
    assert challenge.error == "invalid_token"
    assert not challenge.dpop_only
    assert read_challenge(["Basic", "dpop"]).dpop_only
    assert not read_challenge(["Basic"]).dpop_only
