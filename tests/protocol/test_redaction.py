"""F-AUTH-12, F-SHOW-6: what is shown or stored holds no secret."""

from __future__ import annotations

import pytest

from mcpclient.protocol.redaction import REDACTED, redact_headers, redact_message, redact_url


@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "authorization", "Cookie", "Set-Cookie", "Mcp-Session-Id", "DPoP"),
        *("X-Api-Key", "Proxy-Authorization", "X-Auth-Token", "My-Secret"),
    ],
)
def test_secret_headers_lose_their_value(name: str) -> None:
    assert redact_headers([(name, "s3cret"), ("Accept", "text/html")]) == [
        (name, REDACTED),
        ("Accept", "text/html"),
    ]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:pass@host/mcp", "https://host/mcp"),
        ("https://host/mcp?key=1&b=2", f"https://host/mcp?{REDACTED}"),
        ("https://host/mcp", "https://host/mcp"),
    ],
)
def test_urls_lose_credentials_and_query(url: str, shown: str) -> None:
    assert redact_url(url) == shown


def test_strings_under_secret_names_are_replaced_at_any_depth() -> None:
    message = {
        "params": {
            "_meta": {"progressToken": "p1"},
            "arguments": {"password": "x", "list": [{"apiKey": "y", "n": 1}], "query": "z"},
            "maxTokens": 100,
            "access_token": "t",
        }
    }
    assert redact_message(message) == {
        "params": {
            "_meta": {"progressToken": "p1"},
            "arguments": {
                "password": REDACTED,
                "list": [{"apiKey": REDACTED, "n": 1}],
                "query": "z",
            },
            "maxTokens": 100,
            "access_token": REDACTED,
        }
    }


def test_a_schema_keeps_its_shape() -> None:
    """A tool's parameter may be called password; that is no secret."""
    schema = {"properties": {"password": {"type": "string"}}}
    assert redact_message(schema) == schema
