from __future__ import annotations

import pytest

from mcpclient.auth.effects import Response
from mcpclient.auth.tokens import (
    TokenSet,
    parse_challenges,
    parse_scope,
    parse_token_response,
    read_challenge,
    safe_text,
    token_set,
)
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


@each_row(
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


def test_a_refresh_keeps_what_it_does_not_replace() -> None:
    """F-AUTH-5: a new refresh token and new scopes count, and missing ones stay as they were."""
    old = tokens(refresh_token="r1", scope="a b")
    kept = token_set({"access_token": "u", "refresh_token": ""}, NOW, old)
    assert (kept.refresh_token, kept.scopes, kept.access_token) == ("r1", ("a", "b"), "u")
    rotated = token_set({"access_token": "u", "refresh_token": "r2", "scope": "c"}, NOW, old)
    assert (rotated.refresh_token, rotated.scopes) == ("r2", ("c",))


def test_a_damaged_record_holds_no_tokens() -> None:
    """F-AUTH-9: nor does one with a line break in the token; a damaged part is left out."""
    for record in ({}, {"access_token": 7}, {"access_token": "a\nb"}):
        assert TokenSet.from_record(record) is None
    damaged = {"access_token": "t", "refresh_token": 7, "expires_at": "soon", "scopes": "a"}
    assert TokenSet.from_record(damaged) == TokenSet("t")


def test_tokens_do_not_show_themselves() -> None:
    """F-AUTH-12"""
    assert "hidden" not in repr(tokens(access_token="hidden1", refresh_token="hidden2"))


def test_the_work_for_a_hostile_server_is_bounded() -> None:
    """F-AUTH-1, F-AUTH-4: long fields are cut; scopes have valid characters and are at most 200."""
    assert len(parse_challenges(['a="' * 400_000])) < 20_000
    assert read_challenge(["Bearer " + "a=1," * 5000 + "scope=x"]).scopes is None
    assert parse_scope('a b"c d\\e é f') == ("a", "f")
    assert len(parse_scope(" ".join(map(str, range(1000))))) == 200
    assert len(safe_text("x" * 5000, [])) == 300
