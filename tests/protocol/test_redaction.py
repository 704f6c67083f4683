"""F-AUTH-12, F-SHOW-6, F-SHOW-8: what is shown or stored holds no secret."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from mcpclient.protocol.redaction import Redactor


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Authorization", "Bearer s3cret", "Bearer redacted-1"),
        ("authorization", "s3cret", "redacted-1"),
        ("Proxy-Authorization", "Basic /w==", "Basic redacted-1"),
        ("Cookie", "a=s3cret; b=other", "a=redacted-1; b=redacted-2"),
        ("Cookie", "s3cret", "redacted-1"),
        ("Set-Cookie", "a=s3cret; Path=/; Secure", "a=redacted-1; Path=/; Secure"),
        ("Mcp-Session-Id", "s3cret", "redacted-1"),
        ("DPoP", "s3cret", "redacted-1"),
        ("X-Api-Key", "s3cret", "redacted-1"),
        ("Ocp-Apim-Subscription-Key", "s3cret", "redacted-1"),
        ("X-Auth-Token", "s3cret", "redacted-1"),
        ("Location", "https://u:p@h/x?code=s3cret", "https://h/x?code=redacted-1"),
        ("Referer", "https://h/x?token=s3cret", "https://h/x?token=redacted-1"),
        ("X-Request-Id", "17", "17"),
        ("WWW-Authenticate", 'Bearer error="invalid_token"', 'Bearer error="invalid_token"'),
    ],
)
def test_headers(name: str, value: str, shown: str) -> None:
    assert Redactor().headers([(name, value), ("Accept", "x")]) == [[name, shown], ["Accept", "x"]]


def test_a_client_may_call_its_key_what_it_likes() -> None:
    """F-AUTH-12: of a request, only headers that are known keep their value."""
    sent = [("X-Mine", "s3cret"), ("Mcp-Method", "ping"), ("Mcp-Param-Token", "t"), ("Host", "h")]
    assert Redactor().headers(sent, sent=True) == [
        ["X-Mine", "redacted-1"],
        ["Mcp-Method", "ping"],
        ["Mcp-Param-Token", "redacted-2"],
        ["Host", "h"],
    ]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:pass@host/mcp", "https://host/mcp"),
        ("https://host/mcp?key=1&b", "https://host/mcp?key=redacted-1&b"),
        ("/token?grant_type=x&a=b%20c#t=1", "/token?grant_type=x&a=redacted-1#t=redacted-2"),
        ("https://host/mcp", "https://host/mcp"),
        ("", ""),
    ],
)
def test_urls_keep_what_oauth_says_and_lose_the_rest(url: str, shown: str) -> None:
    assert Redactor().url(url) == shown


def test_the_same_secret_has_the_same_name_everywhere() -> None:
    """F-SHOW-8: so it can be seen where a token came from, and where it went."""
    redactor = Redactor()
    assert redactor.message({"access_token": "a b/é", "expires_in": 5}) == {
        "access_token": "redacted-1",
        "expires_in": 5,
    }
    assert redactor.headers([("Authorization", "Bearer a b/é")]) == [
        ["Authorization", "Bearer redacted-1"]
    ]
    assert redactor.form("token=a+b%2F%C3%A9&token_type_hint=x") == (
        "token=redacted-1&token_type_hint=x"
    )
    assert redactor.name_of("a b/é") == "redacted-1"
    assert repr(redactor) == "<Redactor of 1 secrets>"


def test_names_are_names_already() -> None:
    """F-SHOW-8: what was redacted once is not changed by another redactor."""
    assert Redactor().message({"password": "redacted-7"}) == {"password": "redacted-7"}
    assert Redactor().name_of("") == ""


def test_strings_under_secret_names_are_replaced_at_any_depth() -> None:
    message = {
        "params": {
            "_meta": {"progressToken": "p1"},
            "arguments": {"password": "x", "list": [{"apiKey": "y", "n": 1}], "query": "z"},
            "maxTokens": 100,
            "cookies": ["c", 1],
        }
    }
    assert Redactor().message(message) == {
        "params": {
            "_meta": {"progressToken": "p1"},
            "arguments": {
                "password": "redacted-1",
                "list": [{"apiKey": "redacted-2", "n": 1}],
                "query": "z",
            },
            "maxTokens": 100,
            "cookies": ["redacted-3", 1],
        }
    }


@pytest.mark.parametrize(
    "value",
    [
        {"properties": {"password": {"type": "string"}}, "required": ["password"]},
        {"token_endpoint": "https://as/token", "authorization_servers": ["https://as"]},
        {"token_type": "Bearer", "code": -32601, "input_tokens": 12},
        [None, 1, "text"],
    ],
)
def test_what_only_sounds_like_a_secret_stays(value: Any) -> None:
    """A tool's parameter may be called password; that is no secret."""
    assert Redactor().message(value) == value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"access_token": "s3cret", "a" : "b"}', '{"access_token": "redacted-1", "a" : "b"}'),
        ('data:{"token":"s\\"3"}', 'data:{"token":"redacted-1"}'),
        ('{"token": "\\x"}', '{"token": "redacted-1"}'),
        ("see https://h/?a=1&api_key=s3&b=2.", "see https://h/?a=1&api_key=redacted-1&b=2."),
        ("/messages?sessionId=s3cret", "/messages?sessionId=redacted-1"),
        ("token=s3cret", "token=s3cret"),
        ("nothing", "nothing"),
    ],
)
def test_text_is_searched_for_json_and_queries(text: str, shown: str) -> None:
    """F-SHOW-8: also where JSON is not compact, is cut off, or stands in an event stream."""
    assert Redactor().text(text) == shown


def test_a_secret_seen_once_is_found_in_any_text() -> None:
    """F-AUTH-12: a careless server repeats what it was sent."""
    redactor = Redactor()
    redactor.headers([("Authorization", "Bearer long-s3cret"), ("DPoP", "long-s3cret-too")])
    redactor.name_of("short")
    assert redactor.message({"error": ["long-s3cret-too, long-s3cret, short"]}) == {
        "error": ["redacted-2, redacted-1, short"]
    }


@pytest.mark.parametrize("password", ["very s3cret", "very+s3cret"])
def test_the_password_in_basic_credentials_is_known_too(password: str) -> None:
    """F-AUTH-12: plain, and as RFC 6749 (section 2.3.1) has a client secret written."""
    redactor = Redactor()
    value = base64.b64encode(f"id:{password}".encode()).decode()
    (header,) = redactor.headers([("Authorization", f"Basic {value}")])
    assert value not in header[1]
    assert "s3cret" not in redactor.text("client secret very s3cret is wrong")


def test_basic_credentials_without_a_password() -> None:
    redactor = Redactor()
    value = base64.b64encode(b"nothing else").decode()
    assert redactor.headers([("Authorization", f"Basic {value}")])[0][1] == "Basic redacted-1"


def test_a_whole_record() -> None:
    """F-SHOW-8"""
    headers = [["Content-Type", "application/x-www-form-urlencoded"], ["X-Mine", "s3cret"]]
    request = {
        "time": 1,
        "http": {"method": "POST", "target": "/t?k=v", "headers": headers},
        "text": "grant_type=x&code=s3cret",
    }
    redactor = Redactor()
    assert redactor.record(request) == {
        "time": 1,
        "http": {
            "method": "POST",
            "target": "/t?k=redacted-1",
            "headers": [headers[0], ["X-Mine", "redacted-2"]],
        },
        "text": "grant_type=x&code=redacted-2",
    }
    response = {
        "http": {"status": 200, "headers": [["X-Mine", "s"]]},
        "message": {"id_token": "t"},
        "end": "lost ?token=abc",
    }
    assert redactor.record(response) == {
        "http": {"status": 200, "headers": [["X-Mine", "s"]]},
        "message": {"id_token": "redacted-3"},
        "end": "lost ?token=redacted-4",
    }
    event = {"event": {"event": "endpoint", "data": "/m?session_id=abc"}, "text": "token"}
    assert redactor.record(event) == {
        "event": {"event": "endpoint", "data": "/m?session_id=redacted-4"},
        "text": "token",
    }
    assert json.dumps(request).count("s3cret") == 2, "the record given is not changed"
