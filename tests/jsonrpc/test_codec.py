"""JSON text and messages: F-WIRE-7."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpclient.errors import UsageError
from mcpclient.jsonrpc import codec
from mcpclient.jsonrpc.codec import decode, encode
from tests.support.properties import examples

# Out


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
