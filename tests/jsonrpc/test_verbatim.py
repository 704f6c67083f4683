"""Messages that are passed on keep the text of their params and results."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.jsonrpc.codec import MalformedMessage, VerbatimObject, decode
from mcpclient.jsonrpc.verbatim import decode_verbatim
from tests.support.tables import each_row

VALUES = st.recursive(
    st.integers()
    | st.text()
    | st.sampled_from([None, True, False, '"', "\\", "{", "]", "NaN", "Infinity"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES)
MESSAGES = st.builds(
    lambda members, message: {**members, **message},
    OBJECTS,
    st.dictionaries(st.sampled_from(["id", "params", "result", "method"]), VALUES | OBJECTS),
)


def text_of(value: Any) -> str:
    assert isinstance(value, VerbatimObject)
    return str(value.text, "utf-8")


def test_the_text_of_a_line_is_not_copied() -> None:
    """F-BRIDGE-1: also behind and before characters that take several bytes."""
    line = '{"é":"ü","params":{"a": "–"},"x":"é"}'.encode()
    kept = decode_verbatim(line)["params"]
    assert text_of(kept) == '{"a": "–"}'
    assert kept.text.obj is line


def test_no_line_feed_is_kept() -> None:
    """F-BRIDGE-1: it would end the line on which the object is passed on."""
    message = decode_verbatim('{"result": {\r\n "a": [\n1] }}')
    assert text_of(message["result"]) == '{   "a": [ 1] }'


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ('"jsonrpc":"2.0","id":7', ""),
        ("", '"jsonrpc":"2.0","id":-7'),
        ('"id":"é","method":"x"', '"jsonrpc":"2.0"'),
        ('"id":1.5', '"id":2'),
        ('"id":1,"id":2', ""),
        ("", ""),
    ],
)
@pytest.mark.parametrize("member", ["params", "result", "error"])
def test_compact_messages_are_read_alike(before: str, behind: str, member: str) -> None:
    """F-BRIDGE-1: the usual form has a way of its own."""
    text = "{" + ",".join(filter(None, (before, f'"{member}":{{"a":"ü\\n"}}', behind))) + "}"
    decoded = decode_verbatim(text.encode())
    assert decoded == json.loads(text)
    assert text_of(decoded[member]) == '{"a":"ü\\n"}'


@given(MESSAGES, st.sampled_from([None, (",", ":")]), st.booleans())
def test_messages_are_read_as_the_decoder_reads_them(
    message: Any, separators: Any, ascii_only: bool
) -> None:
    """F-BRIDGE-1: params and results that are objects have the text between their braces."""
    text = json.dumps(message, separators=separators, ensure_ascii=ascii_only)
    decoded = decode_verbatim(text.encode("utf-8", "surrogatepass"))
    assert decoded == message
    for name in ("params", "result"):
        if isinstance(decoded.get(name), dict):
            assert decode(text_of(decoded[name])) == message[name]
            assert text_of(decoded[name]) in text


@each_row(
    "text",
    [
        *('{"id":01,"result":{}}', '{"id":1,"result":{}}}', '{"id":1,,"result":{}}'),
        *('{"result":{},"id":1,}', '{"result":{}"id":1}', '{"id":"\n","result":{}}'),
        '"params":{}}',
        *('{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a" 1}', "{1:2}", '{"a":}', '{"a":[}', '{"a":"'),
        *('{"a":1}x', '{"a":1 2}', "{,}", '{"params":{"b"', "{", "", '{"a":{"b":"\\"}}'),
    ],
)
def test_a_message_that_is_cut_off_is_malformed(text: str) -> None:
    """F-BRIDGE-1"""
    with pytest.raises(MalformedMessage):
        decode_verbatim(text)
