"""Field lines in and out: F-WIRE-5."""

from __future__ import annotations

import pytest

from mcpclient.errors import ProtocolViolation, UsageError
from mcpclient.framing.headers import Headers, encode_header, parse_fields
from tests.support.tables import each_row


def test_names_are_case_insensitive_and_ordered() -> None:
    """F-WIRE-5: a header is found however its name is written."""
    headers = Headers([("Content-Type", "text/plain"), ("X-A", "1"), ("content-length", "3")])
    assert headers["content-TYPE"] == "text/plain"
    assert headers.get("X-a") == "1"
    assert headers.get("x-b") is None
    assert headers.get("x-b", "none") == "none"
    assert "CONTENT-LENGTH" in headers
    assert "x-b" not in headers
    assert not headers.__contains__(5)
    assert list(headers) == ["content-type", "x-a", "content-length"]
    assert list(headers.items()) == [
        ("content-type", "text/plain"),
        ("x-a", "1"),
        ("content-length", "3"),
    ]
    assert len(headers) == 3
    with pytest.raises(KeyError):
        headers["x-b"]


def test_equality() -> None:
    assert Headers([("A", "1"), ("b", "2")]) == Headers([("B", "2"), ("a", "1")])
    assert Headers([("a", "1"), ("a", "2")]) != Headers([("a", "1, 2")])
    assert Headers([("A", "1"), ("a", "2")]) == {"a": "1, 2"}
    assert Headers([("a", "1")]) == {"A": "1"}
    assert Headers([("a", "1")]) != {"a": "2"}
    assert Headers() != "a"
    with pytest.raises(TypeError):
        hash(Headers())


@each_row(
    "name",
    [
        *("Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "MCP-Session-Id"),
        *("X-Api-Key", "X-Goog-Api-Key", "CF-Access-Client-Secret", "Private-Token", "DPoP"),
        *("X-Amz-Security-Token", "Mcp-Param-Password", "Location", "WWW-Authenticate", "X-Any"),
    ],
)
def test_repr_hides_secrets(name: str) -> None:
    """F-AUTH-12: any value may be one, but for a short list of names."""
    headers = Headers([(name, "hunter2"), ("Content-Type", "shown"), (name, "hunter3")])
    assert "hunter" not in repr(headers)
    assert name.lower() in repr(headers)
    assert "shown" in repr(headers)


@each_row(
    ("block", "reason"),
    [
        ("a : b\r\n", "bad header name: 'a '"),
        ("a\t: b\r\n", "bad header name"),
        (": b\r\n", "bad header name: ''"),
        ("\xe9: b\r\n", "bad header name"),
        ("ok: 1\r\nnonsense\r\n", "without a colon: 'nonsense'"),
        (" a: b\r\n", "white space before the first"),
        ("\ta: b\r\n", "white space before the first"),
        ("a: secret\rb\r\n", "bare CR or a NUL in the header 'a'"),
        ("a: secret\0b\r\n", "bare CR or a NUL in the header 'a'"),
        ("a: b\r\r\n", "bare CR"),
    ],
)
def test_bad_lines_are_refused_and_explained(block: str, reason: str) -> None:
    """F-WIRE-5: an invalid field line breaks the protocol, and the error says which one."""
    for wire in (block, "first: 1\r\n" + block + "last: 2\r\n"):
        if block[0] in " \t" and wire != block:
            continue  # then it is a fold
        with pytest.raises(ProtocolViolation) as caught:
            parse_fields(wire)
        assert reason in caught.value.reason
        assert "secret" not in caught.value.reason


def test_encode_header_refuses_what_latin_1_cannot_carry() -> None:
    with pytest.raises(UsageError, match="Latin-1") as caught:
        encode_header("Authorization", "hunter2€")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
