"""What a server may ask a user, and which answers fit: F-API-10."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import ProtocolViolation
from mcpclient.protocol.elicitation import (
    ElicitationRequest,
    check_request,
    content_problem,
    with_defaults,
)

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "default": 30},
        "odd": True,
    },
    "required": ["name", 7],
}


def test_a_form() -> None:
    """F-API-10: without a mode it is a form (2025-06-18)."""
    raw = {"message": "Who?", "requestedSchema": SCHEMA, "_meta": {"x": 1}}
    request = ElicitationRequest(raw, "a server")
    assert (request.mode, request.message, request.server) == ("form", "Who?", "a server")
    assert request.schema is SCHEMA
    assert request.fields == {"name": {"type": "string"}, "age": {"type": "integer", "default": 30}}
    assert request.required == ["name"]
    assert request.defaults == {"age": 30}
    assert request.url is None and request.elicitation_id is None
    assert request.host == "" and request.url_warnings == []
    assert request.raw is raw and request.meta == {"x": 1}


def test_a_form_that_is_none() -> None:
    request = ElicitationRequest({"requestedSchema": [], "message": 5})
    assert (request.schema, request.fields, request.required) == ({}, {}, [])
    assert request.message == ""


def test_a_visit() -> None:
    """F-API-10: URL mode; the host is what a user has to look at."""
    raw = {"mode": "url", "url": "https://example.com/connect?x=1", "elicitationId": "e1"}
    request = ElicitationRequest(raw)
    assert (request.mode, request.elicitation_id) == ("url", "e1")
    assert (request.host, request.url_warnings) == ("example.com", [])
    assert not ElicitationRequest({"mode": "url", "url": "http://localhost:1/"}).url_warnings


@pytest.mark.parametrize(
    ("url", "warning"),
    [
        ("http://example.com/", "not be encrypted"),
        ("https://bank.example@evil.example/", "before the @"),
        ("https://xn--pple-43d.example/", "look like others"),
        ("https://\u0430pple.example/", "look like others"),
    ],
)
def test_what_a_user_is_warned_of(url: str, warning: str) -> None:
    """F-API-10: "Safe URL Handling"."""
    (found,) = ElicitationRequest({"mode": "url", "url": url}).url_warnings
    assert warning in found


def test_a_url_that_is_none_has_no_host() -> None:
    """F-API-10: reading it raises nothing, in form mode either, where nobody has checked it."""
    request = ElicitationRequest({"mode": "form", "url": "http://["})
    assert request.host == ""
    assert "not read this URL in the same way" in request.url_warnings[0]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"mode": "url", "url": "https://x.example/"}, "mode 'url' was not declared"),
        ({"mode": "voice"}, "mode 'voice' was not declared"),
        ({"message": "m"}, "without a requestedSchema"),
        ({"requestedSchema": {"type": "object"}}, "without a requestedSchema"),
        ({"requestedSchema": {"properties": {}}}, "without a message"),
        ({"message": 5, "requestedSchema": {"properties": {}}}, "without a message"),
    ],
)
def test_requests_that_break_the_rules(raw: dict[str, Any], reason: str) -> None:
    """F-API-10: a mode that was not declared, a form without fields, no word to the user."""
    with pytest.raises(ProtocolViolation, match=reason):
        check_request(ElicitationRequest(raw), {"form": None})


@pytest.mark.parametrize(
    "url",
    [
        *(None, "", "javascript:alert(1)", "file:///etc/passwd", "https://", "http://[::1"),
        *("https://evil.example\\@good.example/", "https://evil.example\\.good.example/"),
        *(
            "https://evil.example/\x1b[2J",
            "https://evil.example/\r\nHost: x",
            "https://e.example/ ",
        ),
        *("https://evil.example/\u202egnp.exe", "https://evil.example/\u200b", "https:e.example"),
        *(
            "https://e.example:99999/",
            "https://e.example:8x/",
            "https:///e.example/",
            " https://e/",
        ),
        *(
            "https://%65vil.example/",
            "https://0x7f.1/",
            "https://2130706433/",
            "ht\ntp://e.example",
        ),
        *(
            "https://e\u3002example/",
            "https://e.example\uff0f@good.example/",
            "https://xn--a.example/",
        ),
        *("https://a@b@evil.example/", "https://e.example/\ud800", "https://[::1%25eth0]/"),
    ],
)
def test_a_visit_to_what_is_no_web_page(url: object) -> None:
    """F-API-10: only what browsers and we read alike ever reaches a handler."""
    with pytest.raises(ProtocolViolation, match="without an http or https URL"):
        check_request(ElicitationRequest({"mode": "url", "url": url}), {"url": None})


def test_requests_in_order() -> None:
    form = {"message": "m", "requestedSchema": {"properties": {}}}
    check_request(ElicitationRequest(form), {"form": None})
    visit = {"message": "m", "mode": "url", "url": "HTTP://x.example"}
    check_request(ElicitationRequest(visit), {"url": None})


def test_defaults() -> None:
    """F-API-10: SEP-1034; what the user entered comes first."""
    request = ElicitationRequest({"requestedSchema": SCHEMA})
    assert with_defaults(request, {"name": "x"}) == {"name": "x", "age": 30}
    assert with_defaults(request, {"age": 0}) == {"age": 0}


@pytest.mark.parametrize("value", ["", 0, 1.5, True, [], ["a", "b"]])
def test_what_a_field_can_hold(value: object) -> None:
    assert content_problem({"field": value}) is None


@pytest.mark.parametrize("value", [None, {}, [1], ("a",), b"", object()])
def test_what_a_field_cannot_hold(value: object) -> None:
    """F-API-10: the text names the field and not its value."""
    assert content_problem({"field": value}) == (
        "field must be a string, a number, a boolean or a list of strings"
    )


def test_the_name_of_a_field_is_text() -> None:
    assert content_problem({1: "x"}) is not None  # type: ignore[dict-item]


def test_the_host_is_the_one_that_every_program_visits() -> None:
    """F-API-10: as `new URL(url).hostname` has it, or none where another reading exists."""
    for url, host in (
        ("https://good.example@evil.example/", "evil.example"),
        ("https://evil.example\\@good.example/", ""),
    ):
        assert ElicitationRequest({"mode": "url", "url": url}).host == host
