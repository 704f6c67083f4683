"""Compressed bodies: the header's value in the first line, the body after it."""

from __future__ import annotations

from mcpclient.framing.content_coding import MAX_PIECE, ContentDecoder

from ..inputs import same_however_cut

LIMIT = 200_000


def target(data: bytes) -> None:
    coding, _, body = data.partition(b"\n")
    same_however_cut(body, lambda chunks: read(chunks, coding.decode("latin-1")))


def read(chunks: list[bytes], coding: str) -> bytes | None:
    """Return the body, or None if it is faulty: how much of it came out depends on the cuts."""
    decoder = ContentDecoder(coding)
    output = b""
    for chunk in chunks:
        for piece in decoder.decode(chunk):
            assert len(piece) <= max(MAX_PIECE, len(chunk))
            output += piece
            if len(output) > LIMIT:
                return None
    decoder.finish()
    return output if decoder.fault is None else None
