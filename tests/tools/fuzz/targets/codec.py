"""JSON-RPC text: decoded, or refused with the id it seems to answer; and encoded again."""

from __future__ import annotations

from mcpclient.errors import UsageError
from mcpclient.jsonrpc.codec import MalformedMessage, VerbatimObject, decode, encode
from mcpclient.jsonrpc.response_id import find_response_id
from mcpclient.jsonrpc.verbatim import decode_verbatim


def target(data: bytes) -> None:
    for text in (data, data.decode("latin-1")):
        assert isinstance(find_response_id(text), (int, str, type(None)))
    find_response_id(data[: len(data) // 2], data[len(data) // 2 :])
    try:
        value = decode(data)
    except MalformedMessage as error:
        assert error.reason and isinstance(error.request_id, (int, str, type(None)))
        return
    if isinstance(value, dict):
        check_round_trip(value)
        check_passed_on(data, value)


def check_round_trip(message: dict[str, object]) -> None:
    try:
        line = encode(message)
    except UsageError:  # NaN, infinities and lone surrogates are read, and never written
        return
    assert b"\n" not in line
    assert decode(line) == decode(b"\xef\xbb\xbf" + line) == message
    message_id = message.get("id")
    if "method" not in message and type(message_id) is int and abs(message_id) < 10**18:
        assert find_response_id(line) == message_id


def check_passed_on(data: bytes, value: dict[str, object]) -> None:
    kept = decode_verbatim(data)
    assert repr(kept) == repr(value)  # NaN equals nothing
    for content in (each for each in kept.values() if isinstance(each, VerbatimObject)):
        assert decode(bytes(content.text)) == dict(content) and b"\n" not in bytes(content.text)
