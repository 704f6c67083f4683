"""permessage-deflate: negotiation, context, windows and odd streams (RFC 7692)."""

from __future__ import annotations

import pytest

from mcpclient.framing.websocket_frames import (
    DeflateParameters,
    MessageCodec,
    parse_extension_answer,
)
from tests.support.tables import each_row


def inflate(inflater: MessageCodec, payload: bytes) -> bytes:
    pieces = [*inflater.inflate(memoryview(payload)), *inflater.finish()]
    return b"".join(pieces)


@each_row(
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


# Sending.
