"""Lines: the framer against a plain split of the whole."""

from __future__ import annotations

from functools import partial

from mcpclient.framing.ndjson import Line, LineFramer, OversizedLine

from ..inputs import same_however_cut

LIMITS = (7, 10_000)


def target(data: bytes) -> None:
    *whole, rest = data.split(b"\n")
    expected = [*whole, rest] if rest else whole
    for limit in LIMITS:
        lines = same_however_cut(data, partial(read, limit=limit))
        assert len(lines) == len(expected)
        for line, original in zip(lines, expected):
            if isinstance(line, OversizedLine):
                assert line.size == len(original) > limit
                assert original.startswith(line.start) and original.endswith(line.end)
            else:
                assert line == original and len(line) <= limit


def read(chunks: list[bytes], limit: int) -> list[Line]:
    framer = LineFramer(limit)
    return [line for chunk in chunks for line in framer.feed(chunk)] + framer.feed_eof()
