from __future__ import annotations

import json

import pytest

from mcpclient.auth.effects import Response
from mcpclient.auth.tokens import TokenSet, parse_token_response, safe_text, token_set
from mcpclient.errors import AuthError, TokenRequestFailed

from .world import json_response

NOW = 1_000_000.0


def tokens(**fields: object) -> TokenSet:
    return token_set({"access_token": "t", **fields}, NOW, None)


def form(text: str, content_type: str = "application/x-www-form-urlencoded") -> Response:
    return Response(200, [("Content-Type", content_type)], text.encode())


def test_json_and_forms_are_read() -> None:
    """F-AUTH-5: some servers answer form-encoded, whatever was accepted."""
    assert parse_token_response(json_response({"access_token": "t"}), ())["access_token"] == "t"
    fields = parse_token_response(form("access_token=t&scope=a+b&expires_in=60"), ())
    assert token_set(fields, NOW, None).scopes == ("a", "b")
    assert parse_token_response(form("access_token=t", "text/plain; charset=utf-8"), ())


@pytest.mark.parametrize(
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


def test_an_error_that_is_no_text() -> None:
    """F-AUTH-5: still an error."""
    with pytest.raises(TokenRequestFailed) as caught:
        parse_token_response(json_response({"error": {"a": 1}, "error_description": 7}, 401), ())
    assert (caught.value.error, caught.value.status) == ("invalid_response", 401)


def test_a_servers_words_are_cleaned() -> None:
    """F-AUTH-12: no secret sent comes back in an error, no control characters, no novel."""
    assert safe_text("code s3cret was\x1b[31m used\n", ["s3cret"]) == "code … was [31m used"
    assert len(safe_text("x" * 5000, [])) == 300
    assert safe_text(None, []) == ""


@pytest.mark.parametrize(
    ("lifetime", "renew", "end"),
    [
        (3600, 3540, 3600),
        ("3600", 3540, 3600),
        (3600.5, 3540.5, 3600.5),
        (100, 50, 100),
        (30, 15, 30),
        (10**30, 315_360_000 - 60, 315_360_000),
    ],
)
def test_expiry_is_a_minute_early(lifetime: object, renew: float, end: float) -> None:
    """F-AUTH-5: 60 s, or half of a short life."""
    found = tokens(expires_in=lifetime)
    assert (found.renew_at, found.expires_at) == (NOW + renew, NOW + end)
    assert not found.should_renew(NOW + renew - 1)
    assert found.should_renew(NOW + renew)
    assert not found.has_expired(NOW + end - 1)
    assert found.has_expired(NOW + end)


@pytest.mark.parametrize(
    "lifetime", [None, 0, -1, "-1", "soon", True, [], float("inf"), float("nan"), 10**400]
)
def test_a_lifetime_that_makes_no_sense_is_none(lifetime: object) -> None:
    """F-AUTH-5: no or a negative expires_in: the token is used until it is refused."""
    found = tokens(expires_in=lifetime)
    assert found.expires_at is None
    assert not found.should_renew(NOW * 1000)
    assert not found.has_expired(NOW * 1000)


def test_token_types() -> None:
    """F-AUTH-5: Bearer by default and in any case; others cannot be used."""
    assert tokens().token_type == "Bearer"
    assert tokens(token_type="bearer").token_type == "Bearer"
    assert tokens(token_type="dpop").token_type == "DPoP"
    with pytest.raises(AuthError, match="type"):
        tokens(token_type="mac")


def test_a_refresh_keeps_what_it_does_not_replace() -> None:
    """F-AUTH-5: rotation, and servers that do not rotate."""
    old = tokens(refresh_token="r1", scope="a b")
    kept = token_set({"access_token": "u", "refresh_token": ""}, NOW, old)
    assert (kept.refresh_token, kept.scopes, kept.access_token) == ("r1", ("a", "b"), "u")
    rotated = token_set({"access_token": "u", "refresh_token": "r2", "scope": "c"}, NOW, old)
    assert (rotated.refresh_token, rotated.scopes) == ("r2", ("c",))
    assert tokens(refresh_token=7, scope=7).refresh_token is None


def test_tokens_survive_a_store() -> None:
    """F-AUTH-5: as JSON, with and without the optional parts."""
    for found in (tokens(), tokens(token_type="DPoP", refresh_token="r", scope="a", expires_in=9)):
        assert TokenSet.from_record(json.loads(json.dumps(found.to_record()))) == found


@pytest.mark.parametrize("record", [{}, {"access_token": 7}, {"access_token": "a\nb"}])
def test_a_damaged_record_holds_no_tokens(record: dict[str, object]) -> None:
    """F-AUTH-9: a corrupt store, or one with a line break in the token."""
    assert TokenSet.from_record(record) is None


def test_a_damaged_part_of_a_record_is_left_out() -> None:
    """F-AUTH-9: a refresh token that is no text is none."""
    record = {"access_token": "t", "refresh_token": 7, "expires_at": "soon", "scopes": "a"}
    assert TokenSet.from_record(record) == TokenSet("t")


def test_tokens_do_not_show_themselves() -> None:
    """F-AUTH-12."""
    text = repr(token_set({"access_token": "hidden1", "refresh_token": "hidden2"}, NOW, None))
    assert "hidden" not in text
