"""Field lines in and out: F-WIRE-5."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpclient.errors import ProtocolViolation, UsageError
from mcpclient.framing.headers import (
    MAX_FIELDS,
    Headers,
    encode_header,
    merged,
    parse_fields,
)
from tests.support.properties import examples


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


def test_repeated_values_are_kept() -> None:
    """F-WIRE-5: repeated fields are joined as RFC 9110, section 5.2 has it."""
    headers = Headers([("Vary", "a"), ("X", "1"), ("vary", "b, c")])
    assert headers["vary"] == "a, b, c"
    assert headers.get_all("VARY") == ["a", "b, c"]
    assert headers.get_all("nothing") == []
    assert list(headers) == ["vary", "x"]
    headers.get_all("vary").append("d")
    assert headers["vary"] == "a, b, c"


def test_set_cookie_is_never_joined() -> None:
    headers = Headers([("Set-Cookie", "a=1, x"), ("Set-Cookie", "b=2")])
    assert headers["set-cookie"] == "a=1, x"
    assert headers.get_all("set-cookie") == ["a=1, x", "b=2"]


def test_white_space_around_a_value_is_not_part_of_it() -> None:
    assert Headers([("a", " \tb c\t ")])["a"] == "b c"


def test_equality() -> None:
    assert Headers([("A", "1"), ("b", "2")]) == Headers([("B", "2"), ("a", "1")])
    assert Headers([("a", "1"), ("a", "2")]) != Headers([("a", "1, 2")])
    assert Headers([("A", "1"), ("a", "2")]) == {"a": "1, 2"}
    assert Headers([("a", "1")]) == {"A": "1"}
    assert Headers([("a", "1")]) != {"a": "2"}
    assert Headers() != "a"
    with pytest.raises(TypeError):
        hash(Headers())


@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "MCP-Session-Id"),
        *("X-Api-Key", "X-Goog-Api-Key", "CF-Access-Client-Secret", "Private-Token", "DPoP"),
        *("X-Amz-Security-Token", "Mcp-Param-Password", "Location", "WWW-Authenticate", "X-Any"),
    ],
)
def test_repr_hides_secrets(name: str) -> None:
    """F-AUTH-12: any value may be one, but for those of a short list of names."""
    headers = Headers([(name, "hunter2"), ("Content-Type", "shown"), (name, "hunter3")])
    assert "hunter" not in repr(headers)
    assert name.lower() in repr(headers)
    assert "shown" in repr(headers)


def test_parse_fields_takes_every_line() -> None:
    """F-WIRE-5: names, values, line ends and white space as RFC 9112, section 5 has them."""
    headers = parse_fields("A:1\r\nB-b: two words \t\r\nc:\nD:\t\xe9:x\r\n")
    assert dict(headers) == {"a": "1", "b-b": "two words", "c": "", "d": "\xe9:x"}
    assert parse_fields("") == {}


def test_folded_lines_are_joined() -> None:
    """F-WIRE-5: RFC 9112, section 5.2: a user agent replaces a fold by spaces."""
    headers = parse_fields("a: one\r\n two\r\n\tthree\nb: x\n  y\r\n")
    assert dict(headers) == {"a": "one two three", "b": "x y"}
    assert parse_fields("a: b\r\n c\r\n") == {"a": "b c"}
    assert parse_fields("a: b\r\n\tc\r\n") == {"a": "b c"}


@pytest.mark.parametrize(
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
    """F-WIRE-5: what is no field line breaks the protocol, and the error says which one."""
    for wire in (block, "first: 1\r\n" + block + "last: 2\r\n"):
        if block[0] in " \t" and wire != block:
            continue  # then it is a fold
        with pytest.raises(ProtocolViolation) as caught:
            parse_fields(wire)
        assert reason in caught.value.reason
        assert "secret" not in caught.value.reason


def test_the_number_of_fields_is_limited() -> None:
    """F-WIRE-5: header limits."""
    assert parse_fields("a: b\r\n" * MAX_FIELDS).get_all("a") == ["b"] * MAX_FIELDS
    with pytest.raises(ProtocolViolation, match="more than 256"):
        parse_fields("a: b\r\n" * (MAX_FIELDS + 1))


# Hardly any text is a block of fields, so most lines begin like one.
odd_text = st.text(st.sampled_from("aB: \t\r\n\0\x7f\xe9-\v\f\x1c\x85"), max_size=20)
blocks = st.lists(st.tuples(st.sampled_from(["a:", "B-a:", "c:x\n\t", ""]), odd_text).map("".join))


@given(blocks.map("\n".join))
@example("a: b\nB:c\n d")
@examples(60)
def test_any_block_is_parsed_or_refused(block: str) -> None:
    """F-WIRE-5: no line is silently passed over, and nothing but ProtocolViolation is raised."""
    block += "\n"
    try:
        headers = parse_fields(block)
    except ProtocolViolation:
        return
    folded = block.count("\n ") + block.count("\n\t")
    assert sum(len(headers.get_all(name)) for name in headers) == block.count("\n") - folded


def test_encode_header() -> None:
    assert encode_header("X-Name", "value") == b"X-Name: value\r\n"
    assert encode_header("x", " tab\there \t") == b"x: tab\there\r\n"
    assert encode_header("x", "caf\xe9") == b"x: caf\xe9\r\n"
    assert encode_header("x", "") == b"x: \r\n"


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\r\n", "\xe9", "(a)", "a\0"])
def test_encode_header_refuses_bad_names(name: str) -> None:
    with pytest.raises(UsageError, match="name of an HTTP header"):
        encode_header(name, "value")


@pytest.mark.parametrize("value", ["x\r\nEvil: 1", "x\n", "x\r", "x\0", "x\x7f", "x\x1b[0m"])
def test_encode_header_refuses_control_characters(value: str) -> None:
    """A value can never add a header or a request, and the error does not show it."""
    with pytest.raises(UsageError) as caught:
        encode_header("Authorization", "hunter2" + value)
    assert "Authorization" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_encode_header_refuses_what_latin_1_cannot_carry() -> None:
    with pytest.raises(UsageError, match="Latin-1") as caught:
        encode_header("Authorization", "hunter2€")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@given(st.text(max_size=30))
@examples(60)
def test_what_is_written_is_one_line(value: str) -> None:
    """A written header reads back as the same single header."""
    try:
        line = encode_header("name", value)
    except UsageError:
        return
    assert parse_fields(line.decode("latin-1")) == {"name": value.strip(" \t")}


def test_fields_are_merged_by_name() -> None:
    """F-AUTH-13: what is added stands for all of its name, in whatever case; the rest stays."""
    base = [("authorization", "Basic x"), ("X-A", "1"), ("AUTHORIZATION", "Basic y")]
    assert merged(base, {"Authorization": "Bearer z"}.items()) == [
        ("X-A", "1"),
        ("Authorization", "Bearer z"),
    ]
    assert merged(base, []) == base
