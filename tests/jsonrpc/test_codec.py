"""JSON text and messages: F-WIRE-7."""

from __future__ import annotations

import json
import math
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpclient.errors import UsageError
from mcpclient.jsonrpc import codec
from mcpclient.jsonrpc.codec import (
    MalformedMessage,
    decode,
    encode,
)
from tests.support.properties import examples


def deep_list(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def circular() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


def decoded_or_fault(text: bytes | str) -> Any:
    try:
        return decode(text)
    except MalformedMessage as fault:
        return fault


# Out


def test_an_object_that_is_passed_on_is_encoded_as_it_was_read() -> None:
    """F-BRIDGE-1: byte for byte, and the rest of the message around it."""
    passed_on = codec.VerbatimObject({"b": 1}, b'{"b": 1,  "a": [2]}')
    message = {"jsonrpc": "2.0", "result": passed_on, "id": 7}
    assert encode(message) == b'{"jsonrpc":"2.0","id":7,"result":{"b": 1,  "a": [2]}}'
    assert codec.encode_large(message) == ()


@pytest.mark.parametrize("others", [{}, {"name": "x", "arguments": {}}])
def test_metadata_of_all_requests_is_encoded_once(others: dict[str, Any]) -> None:
    """F-LIFE-2: it is the last of the params, and stays among them whatever happens."""
    meta = codec.VerbatimObject({"a": 1}, b'{"a":  1}')
    request = {"id": 7, "method": "x", "params": {**others, "_meta": meta}}
    text = json.dumps({**others, "_meta": 0}, separators=(",", ":"))
    params = text.replace("0}", '{"a":  1}}')
    assert codec.encode(request) == b'{"id":7,"method":"x","params":%b}' % params.encode()
    request["params"] = {"broken": object(), "_meta": meta}
    with pytest.raises(UsageError, match=r"^x: cannot be sent as JSON"):
        codec.encode(request)
    assert request["params"]["_meta"] is meta  # type: ignore[index]


def test_a_large_object_that_is_passed_on_is_not_copied() -> None:
    """F-BRIDGE-1: the pieces of its line, of which one is the text that was read."""
    text = memoryview(b'{"a": "%b"}' % (b"x" * 2**20))
    message = {"id": 7, "params": codec.VerbatimObject({"a": ""}, text)}
    pieces = codec.encode_large(message)
    assert b"".join(pieces) == encode(message) + b"\n"
    assert any(piece is text for piece in pieces)


def test_depth_is_measured_without_recursion() -> None:
    """F-WIRE-7"""
    assert not codec.is_deep({"a": [{"b": 1}]}, 4)
    assert codec.is_deep({"a": [{"b": 1}]}, 2)
    assert codec.is_deep(deep_list(5000), 100)


def test_encoding_is_compact_utf_8() -> None:
    """F-WIRE-7: what JSON.stringify would write, on one line."""
    message = {"text": 'a\n"\u2028é😀', "list": [1, 2.5, None, True]}
    assert encode(message) == '{"text":"a\\n\\"\u2028é😀","list":[1,2.5,null,true]}'.encode()
    assert b"\n" not in encode(message)


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        {1, 2},
        b"bytes",
        object(),
        {(1, 2): 3},
        MappingProxyType({}),
        "\ud800",
        circular(),
    ],
)
def test_what_json_cannot_carry_is_an_error_of_the_caller(value: Any) -> None:
    """F-WIRE-7: a clear error for that one message, before anything is sent."""
    with pytest.raises(UsageError, match=r"tools/call: cannot be sent as JSON"):
        encode({"method": "tools/call", "params": {"value": value}})


def test_an_encoder_without_the_accelerator_writes_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-WIRE-7: `json` has one in C where the interpreter can load it."""
    message = {"text": 'a\n"é😀', "list": [1, 2.5, None, True]}
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    encoder = codec._encoder()
    assert "".join(encoder(message, 0)).encode() == encode(message)
    with pytest.raises(ValueError, match="not JSON compliant"):
        "".join(encoder({"n": float("nan")}, 0))


def test_an_answer_that_cannot_be_sent_is_named_so() -> None:
    """F-WIRE-7: an answer has no method to name."""
    with pytest.raises(UsageError, match="the answer: cannot be sent"):
        encode({"id": 1, "result": {"x": b""}})


def test_nesting_too_deep_to_send() -> None:
    """F-WIRE-7: the interpreter's recursion limit is a limit of the message, not a crash."""
    with pytest.raises(UsageError):
        encode({"method": "m", "params": deep_list(100_000)})


def test_huge_integers_out() -> None:
    """F-WIRE-7: sent exactly, or refused by an interpreter that converts no more digits."""
    assert encode({"n": 2**200}) == b'{"n":%d}' % 2**200
    try:
        text = encode({"n": 10**5000})
    except UsageError:
        return
    assert text == b'{"n":1' + b"0" * 5000 + b"}"


# In


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": 1}', {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        ('\ufeff{"a": 1}', {"a": 1}),
        (b'\xef\xbb\xbf \r\n{"a": 1}\r', {"a": 1}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b"[1e999, -1e999]", [math.inf, -math.inf]),
        (b"Infinity", math.inf),
        (b'"\\ud800"', "\ud800"),
        (b'"\\ud83d\\ude00"', "😀"),
        ('"\u2028\u2029\u0085"', "\u2028\u2029\u0085"),
        (b'"\\u0000"', "\0"),
        (b"1" * 400, int("1" * 400)),
    ],
)
def test_lenient_decoding(text: bytes | str, value: Any) -> None:
    """F-WIRE-7: marks, duplicate keys, infinities and lone surrogates are read."""
    assert decode(text) == value


def test_nan_is_read() -> None:
    """F-WIRE-7: NaN, which is no JSON, but which Python servers write."""
    assert math.isnan(decode(b'{"x": NaN}')["x"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
        (b"\xed\xa0\x80", "not UTF-8 at byte 0"),
        (b"hello", "not JSON: Expecting value at character 0"),
        (b"", "not JSON"),
        (b"{} {}", "not JSON: Extra data"),
        (b"[" * 100_000, "JSON nested too deeply"),
        (b'{"a":' * 100_000, "JSON nested too deeply"),
        ("[" * 100_000 + "]" * 100_000, "JSON nested too deeply"),
        ("\ufeff\ufeff{}", "not JSON"),
        (b'"\n"', "not JSON: Invalid control character"),
    ],
)
def test_malformed(text: bytes | str, reason: str) -> None:
    """F-WIRE-7: one exception with a reason, and nothing else."""
    with pytest.raises(MalformedMessage) as caught:
        decode(text)
    assert caught.value.reason.startswith(reason)
    assert caught.value.request_id is None


def test_huge_integers_in() -> None:
    """F-WIRE-7: an integer too long to convert costs its own message, whose id is still found."""
    text = b'{"jsonrpc":"2.0","id":3,"result":{"n":' + b"9" * 5000 + b"}}"
    value = decoded_or_fault(text)
    if isinstance(value, MalformedMessage):
        assert value.reason.startswith("not representable")
        assert value.request_id == 3
    else:
        assert value["result"]["n"] == 10**5000 - 1


# The id of what cannot be read

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=4))
@example({"x": float("-inf")})
@examples(60)
def test_what_is_encoded_is_decoded(message: dict[str, Any]) -> None:
    """F-WIRE-7: a round trip changes nothing; what cannot make one is refused."""
    try:
        text = encode(message)
    except UsageError:
        assert "inf" in repr(message)
    else:
        assert decode(text) == message
        assert decode(b"\xef\xbb\xbf" + text) == message


fragments = st.sampled_from(
    [
        *b'{ } [ ] " \\ "id": 7 "7" , : "method": \xff \\ud800 1e999 NaN "jsonrpc":"2.0"'.split(),
        *(b"\xef\xbb\xbf", b" ", b"\n"),
    ]
)


@given(st.binary(max_size=60) | st.lists(fragments, max_size=20).map(b"".join))
@examples(150)
def test_any_bytes_decode_or_are_malformed(text: bytes) -> None:
    """F-WIRE-7: no bytes make the decoder raise anything but MalformedMessage."""
    for form in (text, text.decode("latin-1"), text.decode("utf-8", "surrogateescape")):
        value = decoded_or_fault(form)
        if isinstance(value, MalformedMessage):
            assert value.reason
            assert isinstance(value.request_id, (int, str, type(None)))
