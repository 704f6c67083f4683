"""Remembering for a while which servers need a human, so that not every connection asks again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from .effects import StoredItem

NEEDS_AUTH_SECONDS = 15 * 60


@dataclass
class NeedsAuthCache:
    """Servers that answered with "authorization required", and when.

    One object is read from the store once for many servers; each change gives the record to write.
    Times are epoch seconds.
    """

    _since: dict[str, float] = field(default_factory=dict)

    @classmethod
    def from_record(cls, record: StoredItem | None) -> NeedsAuthCache:
        """The cache in what `to_record` gave; entries that make no sense are left out."""
        return cls(dict(_valid_entries(record or {})))

    def to_record(self) -> dict[str, object]:
        """The cache as JSON can carry it."""
        return dict(self._since)

    def needs_auth(self, server: str, now: float) -> bool:
        """Whether ``server`` needed a human less than 15 minutes ago."""
        since = self._since.get(server)
        # A time in the future means that the clock was set back; then nothing is known.
        return since is not None and 0 <= now - since < NEEDS_AUTH_SECONDS

    def mark(self, server: str, now: float) -> None:
        """Remember that ``server`` needs a human; forget the servers marked long ago."""
        recent = {name: at for name, at in self._since.items() if now - at < NEEDS_AUTH_SECONDS}
        self._since = {**recent, server: now}

    def clear(self, server: str) -> None:
        """Forget about ``server``: it has been authorized, or another try is wanted."""
        self._since.pop(server, None)


def _valid_entries(record: StoredItem) -> Iterator[tuple[str, float]]:
    for server, since in record.items():
        if isinstance(since, (int, float)) and not isinstance(since, bool):
            with suppress(OverflowError):  # an integer beyond all floats
                yield server, float(since)
