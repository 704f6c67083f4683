"""Ways to cut the bytes of a server into pieces before they are sent.

A client must not care: what TCP or a pipe delivers at once is an accident. `blocks` of a chunking
takes what may be sent now on one channel, a piece for each record, and yields what is written at
once; between two blocks the client gets the time to read.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Callable

__all__ = ["CHUNKINGS", "Chunking"]

# Of a transcript with more bytes from the server than this, not every byte is sent on its own. On
# Windows each byte of a process passes another process, which copies it.
SMALL = 2000 if sys.platform == "win32" else 4000


@dataclass(frozen=True)
class Chunking:
    """One way to cut: its name, and for which transcripts it is meant, by their size in bytes."""

    name: str
    blocks: Callable[[list[bytes]], Iterator[bytes]]
    largest: float = float("inf")
    smallest: int = 0

    def fits(self, size: float) -> bool:
        """Whether a transcript of this size is played in this way."""
        return self.smallest <= size <= self.largest


def _as_recorded(pieces: list[bytes]) -> Iterator[bytes]:
    return iter(pieces)


def _in_one_block(pieces: list[bytes]) -> Iterator[bytes]:
    return iter([b"".join(pieces)])


def _byte_by_byte(pieces: list[bytes]) -> Iterator[bytes]:
    return _cut(b"".join(pieces), itertools.repeat(1))


def _in_odd_pieces(pieces: list[bytes]) -> Iterator[bytes]:
    """Cut anywhere, in and between messages and in the middle of a character."""
    return _cut(b"".join(pieces), itertools.cycle((1, 2, 3, 97, 5, 251, 7, 1021)))


def _cut(data: bytes, sizes: Iterable[int]) -> Iterator[bytes]:
    position = 0
    for size in sizes:
        if position >= len(data):
            return
        yield data[position : position + size]
        position += size


CHUNKINGS = (
    Chunking("as recorded", _as_recorded),
    Chunking("byte by byte", _byte_by_byte, largest=SMALL),
    Chunking("in odd pieces", _in_odd_pieces, smallest=SMALL + 1),
    Chunking("in one block", _in_one_block),
)
"""Every transcript is played in three of these ways."""
