"""A server's answer to the offer of compression, and compressed messages one after another."""

from __future__ import annotations

import zlib

from mcpclient.framing.websocket_frames import (
    OFFER,
    DeflateParameters,
    MessageCodec,
    parse_extension_answer,
)

from ..inputs import same_however_cut

LIMIT = 1_000_000


def target(data: bytes) -> None:
    answer, _, payload = data.partition(b"\n")
    try:
        parameters = parse_extension_answer(answer.decode("latin-1"))
    except ValueError as error:
        assert str(error)
        parameters = DeflateParameters()
    else:
        assert OFFER.split(";")[0].encode() in answer
    same_however_cut(payload, lambda chunks: read(chunks, parameters))


def read(chunks: list[bytes], parameters: DeflateParameters) -> list[bytes] | None:
    """Return the payload inflated twice, as two messages, or None if it is broken or too large."""
    inflater = MessageCodec(parameters)
    messages = []
    try:
        for _ in range(2):
            message = b""
            for chunk in [*chunks, None]:
                for piece in (
                    inflater.finish() if chunk is None else inflater.inflate(memoryview(chunk))
                ):
                    message += piece
                    if len(message) > LIMIT:
                        return None
            messages.append(message)
    except zlib.error:
        return None
    return messages
