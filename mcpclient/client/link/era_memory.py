"""What is known of servers met before: a reconnection need not find out their era again."""

from __future__ import annotations

from ...protocol.versions import Era

__all__ = ["EraMemory"]

_MAX_SERVERS = 1000


class EraMemory:
    """The era of each server, by the key of its route; the oldest entries are forgotten first.

    None as a key stands for a server of which nothing is to be remembered.
    """

    def __init__(self) -> None:
        self._eras: dict[str, Era] = {}
        self._doubted: set[str] = set()

    def recall(self, key: str | None) -> Era | None:
        """Return the era of a server; None when it is not known, or in doubt."""
        return None if key is None or key in self._doubted else self._eras.get(key)

    def remember(self, key: str | None, era: Era) -> None:
        """Keep what a server has shown."""
        if key is None:
            return
        self._doubted.discard(key)
        self._eras.pop(key, None)
        self._eras[key] = era
        if len(self._eras) > _MAX_SERVERS:
            oldest = next(iter(self._eras))
            del self._eras[oldest]
            self._doubted.discard(oldest)

    def failed(self, key: str | None) -> None:
        """Take note that a server ended while it was being opened.

        It may have been replaced by one of the other era that ends at the wrong first message; or
        it merely crashes at its start. So what is known is left out of account at every other
        attempt: the former is found out at the next one, and the latter is mostly started once.
        """
        if key in self._doubted:
            self._doubted.remove(key)
        elif key is not None and key in self._eras:
            self._doubted.add(key)
