"""What is known of servers met before: a reconnection need not find out their era again."""

from __future__ import annotations

from collections.abc import Mapping

from ...protocol.versions import Era

_MAX_SERVERS = 1000

# In which era to open a server first, and after an attempt at which it ended; None: by a probe.
_WAYS: Mapping[Era | None, tuple[Era | None, Era | None]] = {
    Era.HANDSHAKE: (Era.HANDSHAKE, None),
    Era.STATELESS: (Era.STATELESS, Era.HANDSHAKE),
    None: (None, Era.HANDSHAKE),
}


class EraMemory:
    """The era of each server, by the key of its route; the oldest entries are forgotten first.

    None as a key stands for a server of which nothing is to be remembered.
    """

    def __init__(self) -> None:
        self._ways: dict[str, tuple[Era | None, Era | None]] = {}
        self._failed: set[str] = set()

    def recall(self, key: str | None) -> Era | None:
        """Return the era to open a server in; None when that is to be found out."""
        return None if key is None else self._ways.get(key, (None, None))[0]

    def starts_once(self, key: str | None) -> bool:
        """Return whether one attempt is to start one process, though that ends at once.

        So it is for a server that was connected before: it need not be the first message that it
        ends at, and the next attempt opens it with the other one.
        """
        ways = None if key is None else self._ways.get(key)
        return key in self._failed or (ways is not None and ways[0] is None)

    def remember(self, key: str | None, era: Era, *, is_certain: bool = True) -> None:
        """Keep what a server has shown; an era that is not certain is found out again."""
        if key is None:
            return
        self._failed.discard(key)
        self._ways.pop(key, None)
        self._ways[key] = _WAYS[era if is_certain else None]
        if len(self._ways) > _MAX_SERVERS:
            oldest = next(iter(self._ways))
            del self._ways[oldest]
            self._failed.discard(oldest)

    def failed(self, key: str | None) -> None:
        """Note that a server ended while it was being opened: the next attempt opens it otherwise.

        It may have been replaced by one of the other era that ends at the wrong first message, and
        then it is found out so; or it merely crashes at its start.
        """
        if key is not None and key in self._ways:
            first, second = self._ways[key]
            self._ways[key] = second, first
            self._failed.add(key)
