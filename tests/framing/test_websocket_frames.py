"""Frames as bytes: masking, lengths and close payloads (RFC 6455 sections 5 and 7.4)."""

from __future__ import annotations

import pytest

from mcpclient.framing.websocket_frames import (
    FrameViolation,
    encode_frame,
    is_wire_close_code,
    read_head,
)
from tests.support.tables import each_row


def masked_one_by_one(payload: bytes, key: bytes) -> bytes:
    """The definition of section 5.3, as slow as it is plain."""
    return bytes(octet ^ key[index % 4] for index, octet in enumerate(payload))


def test_the_masked_frame_of_the_rfc() -> None:
    """F-WIRE-6: section 5.7, "A single-frame masked text message"."""
    frame = encode_frame(0x81, b"Hello", bytes.fromhex("37fa213d"))
    assert frame == bytes.fromhex("818537fa213d7f9f4d5158")


@each_row("length", [1, 2, 3, 4, 5, 200, 32767, 32768, 32769, 65536, 100_003])
def test_masking_is_what_the_rfc_defines_for_any_length(length: int) -> None:
    """F-WIRE-6: also across the blocks a large payload is masked in."""
    payload = (bytes(range(251)) * (length // 251 + 1))[:length]
    key = b"\x01\xfe\x80\x7f"
    frame = encode_frame(0x81, payload, key)
    assert frame[-length - 4 : -length] == key
    assert frame[-length:] == masked_one_by_one(payload, key)


@each_row(
    ("head", "length"),
    [
        (b"\x81\x00", 0),
        (b"\x81\x7d", 125),
        (b"\x81\x7e\x00\x7e", 126),
        (b"\x81\x7e\xff\xff", 0xFFFF),
        (b"\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 0x10000),
        (b"\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", 0x7FFFFFFFFFFFFFFF),
    ],
)
def test_a_head_is_read_at_its_place_and_only_when_complete(head: bytes, length: int) -> None:
    """F-WIRE-6"""
    assert read_head(b"zzz" + head + b"rest", 3) == (0x81, length, 3 + len(head))
    for size in range(len(head)):
        assert read_head(head[:size], 0) is None


@each_row(
    ("head", "reason"),
    [
        (b"\x81\x80", "masked"),
        (b"\x81\xfe", "masked"),
        (b"\x81\x7e\x00\x7d", "longer than needed"),
        (b"\x81\x7f\x00\x00\x00\x00\x00\x00\xff\xff", "longer than needed"),
        (b"\x81\x7f\x80\x00\x00\x00\x00\x00\x00\x00", "top bit"),
    ],
)
def test_a_head_that_breaks_the_rules_is_a_violation(head: bytes, reason: str) -> None:
    """F-WIRE-6"""
    with pytest.raises(FrameViolation, match=reason) as caught:
        read_head(head, 0)
    assert caught.value.code == 1002


def test_which_close_codes_may_be_on_the_wire() -> None:
    """F-WS-2: the IANA registry's codes and the two ranges for libraries and applications."""
    legal = {code for code in range(70_000) if is_wire_close_code(code)}
    registered = {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014}
    assert legal == registered | set(range(3000, 5000))
