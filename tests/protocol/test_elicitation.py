"""Questions of a server to the user, and the answers that fit: F-API-10."""

from __future__ import annotations

import pytest

from mcpclient.errors import ProtocolViolation
from mcpclient.protocol.elicitation import ElicitationRequest, check_request, content_problem
from tests.support.tables import each_row


@each_row(
    ("url", "words"),
    [
        ("https://example.com/a@b?c@d", []),
        ("http://localhost:1/", []),
        ("http://example.com/", ["not be encrypted"]),
        ("https://example.com@evil.example/", ["only looks like the name of a host"]),
        ("https://shop.xn--e1afmkfd.example/", ["can look like others"]),
        ("https://evil.example\\@good.example/", ["not read this URL in the same way"]),
    ],
)
def test_warnings_about_a_url(url: str, words: list[str]) -> None:
    """F-API-10: the user has to look at the host."""
    warnings = ElicitationRequest({"mode": "url", "url": url}).url_warnings
    assert len(warnings) == len(words)
    assert all(each in warning for each, warning in zip(words, warnings))


@each_row("url", [None, "javascript:alert(1)", "https://e.example\\.evil.example/"])
def test_a_url_that_programs_read_differently(url: str | None) -> None:
    """F-API-10: none ever reaches a handler."""
    with pytest.raises(ProtocolViolation, match="without an http or https URL"):
        check_request(ElicitationRequest({"mode": "url", "url": url}), {"url": None})


@each_row("value", [None, {}, [1], ("a",), b""])
def test_content_that_no_form_can_hold(value: object) -> None:
    """F-API-10: the text names the field and not its value."""
    assert content_problem({"field": value}) == (
        "field must be a string, a number, a boolean or a list of strings"
    )
    assert content_problem({"a": "x", "b": 1.5, "c": True, "d": ["y"]}) is None
