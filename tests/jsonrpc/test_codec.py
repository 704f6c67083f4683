"""JSON text and messages: F-WIRE-7."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from mcpclient.errors import UsageError
from mcpclient.jsonrpc import codec
from mcpclient.jsonrpc.codec import MalformedMessage, decode, encode
from mcpclient.jsonrpc.verbatim import decode_verbatim

# Out


def test_an_encoder_without_the_accelerator_writes_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-WIRE-7: `json` has one in C where the interpreter can load it."""
    message = {"text": 'a\n"é😀', "list": [1, 2.5, None, True]}
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    encoder = codec._encoder(allow_nan=False)
    assert "".join(encoder(message, 0)).encode() == encode(message)
    with pytest.raises(ValueError, match="not JSON compliant"):
        "".join(encoder({"n": float("nan")}, 0))
    with pytest.raises(UsageError, match="not JSON compliant"):
        encode({"n": float("inf")})


@pytest.mark.parametrize("others", [{}, {"name": "x"}])
def test_metadata_of_all_requests_is_encoded_once(others: dict[str, Any]) -> None:
    """F-LIFE-2: it is the last of the params, and stays among them whatever happens."""
    meta = codec.VerbatimObject({"a": 1}, b'{"a":  1}')
    request: Any = {"id": 7, "method": "x", "params": {**others, "_meta": meta}}
    params = json.dumps({**others, "_meta": 0}, separators=(",", ":")).replace("0}", '{"a":  1}}')
    assert encode(request) == b'{"id":7,"method":"x","params":%b}' % params.encode()
    request["params"] = {"broken": object(), "_meta": meta}
    with pytest.raises(UsageError, match=r"^x: cannot be sent as JSON"):
        encode(request)
    assert request["params"]["_meta"] is meta


def test_values_that_take_far_more_memory_than_their_text_are_not_decoded() -> None:
    """F-WIRE-7: 7 MB of ``{},`` would take over 512 MiB; in a string they take no more."""
    text = '{"id":7,"result":{"a":[' + "{}," * 2_300_000 + "0]}}"
    for decoded in (decode, decode_verbatim):
        with pytest.raises(MalformedMessage, match="would take over 512 MiB") as caught:
            decoded(text)
        assert caught.value.request_id == 7
    assert decode('{"csv":"' + "{}," * 2_300_000 + '"}')


@pytest.mark.parametrize(
    ("value", "least"),
    [({"x" * 900: "x" * 1000}, 1900), ([b"x" * 1000], 1000), (ValueError("x" * 1000), 1000)],
)
def test_the_weight_of_a_value(value: Any, least: int) -> None:
    """Names count as well, and so do the arguments of an error."""
    assert least <= codec.weight_of(value, math.inf) <= least + 400


def test_what_json_does_not_have_is_null() -> None:
    assert codec.finite({"a": [math.inf, 1.5]}) == {"a": [None, 1.5]}
    assert codec.encode_string("\ud800") == b""
