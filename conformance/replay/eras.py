"""The library's memory of servers, kept apart for each meeting.

A client remembers by the URL in which era a server was met. Meetings go on side by side and one
after another, so a port is used again, and by another server: what one meeting has learned must not
decide how the next one opens.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from contextvars import ContextVar

import mcpclient
from mcpclient.client.connection.options import EraMemory
from mcpclient.protocol.negotiation import Era

__all__ = ["begin_meeting", "memories_apart"]

_numbers = itertools.count()
_meeting: ContextVar[int] = ContextVar("meeting", default=-1)


def begin_meeting() -> None:
    """Give the current task, and the tasks it starts, a memory of servers of their own."""
    _meeting.set(next(_numbers))


@contextlib.contextmanager
def memories_apart() -> Iterator[None]:
    """Give every client a memory that tells meetings apart."""
    shared = mcpclient.Client._eras
    mcpclient.Client._eras = _EraMemories()
    try:
        yield
    finally:
        mcpclient.Client._eras = shared


class _EraMemories(EraMemory):
    def recall(self, key: str | None) -> Era | None:
        return super().recall(_own(key))

    def starts_once(self, key: str | None) -> bool:
        return super().starts_once(_own(key))

    def remember(self, key: str | None, era: Era, *, is_certain: bool = True) -> None:
        super().remember(_own(key), era, is_certain=is_certain)

    def failed(self, key: str | None) -> None:
        super().failed(_own(key))


def _own(key: str | None) -> str | None:
    return None if key is None else f"{_meeting.get()} {key}"
