"""A target's reader of the bytes. All of it follows from them, so that a find repeats."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any, TypeVar
from zlib import crc32

T = TypeVar("T")

_BYTE_BY_BYTE = 60


def chunkings(data: bytes) -> Iterator[list[bytes]]:
    """Yield the data cut at random places, and with a part of it cut into bytes."""
    random = Random(crc32(data))
    size = len(data)
    yield _cut(data, [random.randrange(size + 1) for _ in range(random.randrange(1, 9))])
    begin = random.randrange(max(1, size - _BYTE_BY_BYTE))
    yield _cut(data, range(begin, min(size, begin + _BYTE_BY_BYTE)))


def _cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(places), len(data)]
    return [data[begin:end] for begin, end in zip(edges, edges[1:])]


def same_however_cut(data: bytes, read: Callable[[list[bytes]], T]) -> T:
    """Return what ``read`` makes of the data; it must be the same in every chunking."""
    whole = read([data])
    for chunks in chunkings(data):
        found = read(chunks)
        assert found == whole, f"cut: {found!r}\nwhole: {whole!r}"
    return whole


def text_of(data: bytes) -> str:
    """Read any bytes as text; what is no UTF-8 becomes lone surrogates, which JSON can carry."""
    return data.decode("utf-8", "surrogateescape")


def lines_of(data: bytes, count: int) -> list[str]:
    """Read the data as so many lines, the last of which has the rest; missing ones are empty."""
    lines = text_of(data).split("\n", count - 1)
    return lines + [""] * (count - len(lines))


def json_lines_of(data: bytes, count: int) -> list[Any]:
    """Read each line as the JSON of a server; one that is none is None."""
    return [_json_of(line) for line in lines_of(data, count)]


def _json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
