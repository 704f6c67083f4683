"""Ways in which the network may cut the same bytes; a framer must not notice any of them."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies


def chunkings(data: bytes) -> Iterator[list[bytes]]:
    """Give the data whole, byte by byte, cut once at every place, and in twos and threes."""
    yield [data]
    yield split(data, range(len(data)))
    for place in range(1, len(data)):
        yield split(data, [place])
    for step in (2, 3):
        yield split(data, range(0, len(data), step))


def split(data: bytes, places: range | list[int]) -> list[bytes]:
    """Cut the data at these places, in whatever order they are given."""
    edges = [0, *sorted(place for place in places if 0 < place < len(data)), len(data)]
    return [data[begin:end] for begin, end in zip(edges, edges[1:])]


cuts = strategies.lists(strategies.integers(min_value=1, max_value=400), max_size=8)
"""Random places to cut at."""
