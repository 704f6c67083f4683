"""Messages that are passed on keep the text of their params and results."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.jsonrpc import verbatim
from mcpclient.jsonrpc.codec import MalformedMessage, VerbatimObject, decode, encode
from mcpclient.jsonrpc.verbatim import decode_verbatim

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(['"', "\\", "{", "]"]),
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
    return value.text if isinstance(value.text, str) else bytes(value.text).decode()


def test_params_and_results_keep_their_text() -> None:
    """F-BRIDGE-1: numbers, escapes and white space are those of their writer."""
    text = '{ "id":1 ,"params" : {"a": 1.10, "b":"\\u00e9" } , "result":{}}'
    message = decode_verbatim(text)
    assert message == {"id": 1, "params": {"a": 1.1, "b": "é"}, "result": {}}
    assert text_of(message["params"]) == '{"a": 1.10, "b":"\\u00e9" }'
    del message["result"]
    assert encode(message) == b'{"id":1,"params":{"a": 1.10, "b":"\\u00e9" }}'


@pytest.mark.parametrize("text", ["[]", "1", "{}", '{"params":[1]}', '{"params":null}', '{"a":{}}'])
def test_other_values_are_decoded_as_they_always_are(text: str) -> None:
    """F-BRIDGE-1: only objects are kept."""
    assert decode_verbatim(text.encode()) == decode(text)


def test_no_line_feed_is_kept() -> None:
    """F-BRIDGE-1: it would end the line on which the object is passed on."""
    message = decode_verbatim('{"result": {\r\n "a": [\n1] }}')
    assert text_of(message["result"]) == '{   "a": [ 1] }'


def test_a_value_that_is_not_json_is_not_kept() -> None:
    """F-BRIDGE-1: `json` reads NaN, which nobody else does."""
    assert type(decode_verbatim('{"result": {"a": NaN}}')["result"]) is dict
    assert type(decode_verbatim('{"result": {"a": -Infinity}}')["result"]) is dict


@given(MESSAGES, st.sampled_from([None, (", ", ": ")]), st.booleans())
def test_a_large_message_is_read_like_a_small_one(
    message: Any, separators: Any, ascii_only: bool
) -> None:
    """F-BRIDGE-1: its brackets and strings are found without decoding it."""
    text = json.dumps(message, separators=separators, ensure_ascii=ascii_only)
    small = decode_verbatim(text.encode("utf-8", "surrogatepass"))
    large = decode_verbatim(text.encode("utf-8", "surrogatepass"), 0)
    assert large == small == message
    for name in ("params", "result"):
        if isinstance(small.get(name), VerbatimObject):
            assert text_of(large[name]) == text_of(small[name])


def test_a_large_object_holds_only_its_small_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-BRIDGE-1: the rest of it is never decoded."""
    monkeypatch.setattr(verbatim, "_SMALL", 20)
    long = "x" * 30
    message = decode_verbatim(f'{{"id":7,"params":{{"name":"t","arguments":"{long}"}}}}', 0)
    assert message == {"id": 7, "params": {"name": "t"}}
    assert text_of(message["params"]) == f'{{"name":"t","arguments":"{long}"}}'


@pytest.mark.parametrize(
    "text",
    [
        *('{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a" 1}', "{1:2}", '{"a":}', '{"a":[}', '{"a":"'),
        *('{"a":1}x', '{"a":1 2}', "{,}", '{"params":{"b"', "{", "", '{"a":{"b":"\\"}}'),
    ],
)
def test_a_large_message_that_is_cut_off_is_malformed(text: str) -> None:
    """F-BRIDGE-1: as a small one is."""
    with pytest.raises(MalformedMessage):
        decode_verbatim(text, 0)


def test_a_long_run_of_backslashes_is_read_by_the_decoder() -> None:
    """F-BRIDGE-1: the expression for strings looks at a thousand of them at most."""
    text = json.dumps({"result": {"a": "\\" * 2000, "b": 1}})
    assert text_of(decode_verbatim(text, 0)["result"]) == text[len('{"result": ') : -1]
