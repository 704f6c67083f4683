"""Messages put together from pieces: UTF-8, size limits and memory (RFC 6455 section 5.4)."""

from __future__ import annotations

import tracemalloc
import zlib

import pytest

from mcpclient.framing.websocket_frames import (
    DeflateParameters,
    FrameViolation,
    MessageAssembly,
    MessageCodec,
)

MEBIBYTE = 1024 * 1024


def plain(*, is_text: bool, limit: int = MEBIBYTE) -> MessageAssembly:
    return MessageAssembly(is_text=is_text, limit=limit, inflater=None)


def compressed(*, is_text: bool, limit: int = MEBIBYTE) -> MessageAssembly:
    inflater = MessageCodec(DeflateParameters())
    return MessageAssembly(is_text=is_text, limit=limit, inflater=inflater)


def test_text_that_ends_inside_a_character_is_bad() -> None:
    """F-WIRE-6"""
    assembly = plain(is_text=True)
    assembly.add(memoryview(b"\xf0\x9f\x98"))
    with pytest.raises(FrameViolation) as caught:
        assembly.finish()
    assert caught.value.code == 1007


def test_a_size_that_shows_only_at_the_end_is_checked() -> None:
    """F-WIRE-6: DEFLATE may hold back bytes until the flush that ends the message."""
    compressor = zlib.compressobj(wbits=-15)
    payload = compressor.compress(b"abc") + compressor.flush(zlib.Z_SYNC_FLUSH)
    # A stored block of four bytes, which are those that end every message.
    held_back = payload + b"\x00\x04\x00\xfb\xff"
    assembly = compressed(is_text=False, limit=6)
    assembly.add(memoryview(held_back))
    with pytest.raises(FrameViolation) as caught:
        assembly.finish()
    assert caught.value.code == 1009


def test_a_decompression_bomb_costs_no_more_than_the_limit() -> None:
    """F-WIRE-6: 64 MiB from 64 KiB, stopped at 4 MiB."""
    compressor = zlib.compressobj(9, wbits=-15)
    mebibyte = bytes(MEBIBYTE)
    bomb = b"".join(compressor.compress(mebibyte) for _ in range(64)) + compressor.flush()
    assembly = compressed(is_text=False, limit=4 * MEBIBYTE)
    tracemalloc.start()
    try:
        with pytest.raises(FrameViolation) as caught:
            assembly.add(memoryview(bomb))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.code == 1009
    assert peak < 12 * MEBIBYTE
