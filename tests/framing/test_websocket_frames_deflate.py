"""permessage-deflate: negotiation, context, windows and odd streams (RFC 7692)."""

from __future__ import annotations

import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpclient.framing.websocket_frames import (
    OFFER,
    DeflateParameters,
    MessageCodec,
    parse_extension_answer,
)
from tests.support.properties import examples


def inflate(inflater: MessageCodec, payload: bytes) -> bytes:
    pieces = [*inflater.inflate(memoryview(payload)), *inflater.finish()]
    return b"".join(pieces)


class Server:
    """The other side, as RFC 7692 section 7.2 describes it, straight on zlib."""

    def __init__(self, window_bits: int = 15) -> None:
        self.compressor = zlib.compressobj(wbits=-window_bits)
        self.decompressor = zlib.decompressobj(wbits=-window_bits)

    def deflate(self, payload: bytes) -> bytes:
        compressed = self.compressor.compress(payload)
        return (compressed + self.compressor.flush(zlib.Z_SYNC_FLUSH))[:-4]

    def inflate(self, payload: bytes) -> bytes:
        return self.decompressor.decompress(payload + b"\x00\x00\xff\xff")


# Negotiation.


def test_the_offer_lets_the_server_choose_every_parameter() -> None:
    """F-WIRE-6: client_max_window_bits is the only one that has to be offered (7.1.2.2)."""
    assert OFFER == "permessage-deflate; client_max_window_bits"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("permessage-deflate", DeflateParameters()),
        (" permessage-deflate ;  ", None),
        (
            "permessage-deflate; server_no_context_takeover",
            DeflateParameters(server_no_context_takeover=True),
        ),
        (
            "permessage-deflate;client_no_context_takeover",
            DeflateParameters(client_no_context_takeover=True),
        ),
        (
            "permessage-deflate; server_max_window_bits=8",
            DeflateParameters(server_max_window_bits=8),
        ),
        (
            'permessage-deflate; client_max_window_bits = "10" , ',
            DeflateParameters(client_max_window_bits=10),
        ),
        (
            "permessage-deflate; client_max_window_bits=15; server_no_context_takeover; "
            "server_max_window_bits=9; client_no_context_takeover",
            DeflateParameters(True, True, 9, 15),
        ),
    ],
)
def test_an_answer_is_read(answer: str, expected: DeflateParameters | None) -> None:
    """F-WIRE-6"""
    if expected is None:
        with pytest.raises(ValueError, match="''"):
            parse_extension_answer(answer)
    else:
        assert parse_extension_answer(answer) == expected


# Receiving.


def test_the_examples_of_the_rfc() -> None:
    """F-WIRE-6: sections 7.2.3.1 to 7.2.3.5 inflate to "Hello", with one context for all."""
    inflater = MessageCodec(DeflateParameters())
    for payload in (
        "f248cdc9c90700",  # one block
        "f200110000",  # section 7.2.3.2, sharing the window of the message before
        "000500faff48656c6c6f00",  # not compressed
        "f348cdc9c9070000",  # a final block
        "f248050000 00ffff cac9c90700",  # two blocks
    ):
        assert inflate(inflater, bytes.fromhex(payload)) == b"Hello"


@examples(30)
@given(messages=st.lists(st.binary(max_size=100)), cut=st.integers(1, 20))
def test_messages_share_a_context_and_may_be_cut_anywhere(messages: list[bytes], cut: int) -> None:
    """F-WIRE-6"""
    server, inflater = Server(), MessageCodec(DeflateParameters())
    for message in messages * 2:
        # zlib flushes nothing for nothing; the RFC has one zero byte there (section 7.2.3.6).
        payload = server.deflate(message) if message else b"\0"
        pieces: list[bytes] = []
        for start in range(0, len(payload), cut):
            pieces += inflater.inflate(memoryview(payload[start : start + cut]))
        pieces += inflater.finish()
        assert b"".join(pieces) == message


# Sending.


@pytest.mark.parametrize("window_bits", range(9, 16))
@pytest.mark.parametrize("no_takeover", [True, False])
def test_every_window_of_the_client_is_kept(window_bits: int, no_takeover: bool) -> None:
    """F-WIRE-6: the server may hold a window of just the agreed size."""
    parameters = DeflateParameters(
        client_max_window_bits=window_bits, client_no_context_takeover=no_takeover
    )
    deflater, server = MessageCodec(parameters), Server(window_bits)
    randomness = random.Random(1).getrandbits(8 * 3000).to_bytes(3000, "big")
    # Repeats within the smallest window, and beyond it.
    message = randomness[:100] * 20 + randomness * 3 + randomness[:100]
    sizes = []
    for _ in range(3):
        payload = deflater.deflate(message)
        sizes.append(len(payload))
        if no_takeover:
            server = Server(window_bits)
        assert server.inflate(payload) == message
    assert no_takeover == (sizes[0] == sizes[1])
