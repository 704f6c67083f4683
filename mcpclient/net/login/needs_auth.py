"""The servers that need a login, remembered so that not every connection asks the user again."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakValueDictionary

from ...auth.effects import CredentialStore
from ...auth.grants import store_name
from ..clocks import seconds_since_epoch, steady_seconds
from ..futures import TaskLocks

NEEDS_AUTH_SECONDS = 15 * 60


_KEY = "needs-auth"

# Seconds for which one read serves every server, and every write. A write of another process in the
# same second may be undone, at the cost of one more question to the user.
_FRESH_FOR = 1.0


class NeedsAuthMemory:
    """The servers remembered in one store, by their URLs; see `memory_of`.

    A server is remembered for 15 minutes after a login was needed and did not take place. For any
    number of servers the store is read at most once in a second, and written by one at a time.
    """

    def __init__(self, store: CredentialStore) -> None:
        self._store = store
        # By the name of a server: when it needed a login, in seconds since the epoch.
        self._since: dict[str, float] = {}
        self._read_at: float | None = None
        self._turns = TaskLocks()

    async def remembered(self, server_urls: Iterable[str]) -> set[str]:
        """Return those of ``server_urls`` that need a login, with one read for all of them."""
        await self._read()
        now = seconds_since_epoch()
        # After the clock was set back, the time may be in the future; such entries do not count.
        recent = {name for name, at in self._since.items() if 0 <= now - at < NEEDS_AUTH_SECONDS}
        return {url for url in server_urls if store_name(url) in recent}

    async def mark(self, server_url: str) -> None:
        """Remember that a server needs a login; forget the servers marked long ago."""
        async with self._store.lock(_KEY):
            await self._read()
            now = seconds_since_epoch()
            recent = {name: at for name, at in self._since.items() if now - at < NEEDS_AUTH_SECONDS}
            self._since = {**recent, store_name(server_url): now}
            await self._store.save(_KEY, dict(self._since))

    async def clear(self, server_url: str) -> None:
        if not await self.remembered([server_url]):
            return
        async with self._store.lock(_KEY):
            await self._read()
            self._since.pop(store_name(server_url), None)
            await self._store.save(_KEY, dict(self._since))

    async def _read(self) -> None:
        async with self._turns.lock("read"):
            now = steady_seconds()
            if self._read_at is None or now - self._read_at > _FRESH_FOR:
                record = await self._store.load(_KEY) or {}
                # A damaged record is read as far as possible; no clock shows a larger number.
                self._since = {
                    server: float(since)
                    for server, since in record.items()
                    if isinstance(since, (int, float)) and not isinstance(since, bool)
                    if abs(since) < 1e15
                }
                self._read_at = now


# By the id of the store; a memory keeps its store alive, so no other object can have that id.
_memories: WeakValueDictionary[int, NeedsAuthMemory] = WeakValueDictionary()


def memory_of(provider: CredentialStore) -> NeedsAuthMemory:
    """Return the memory in the provider's store: one for all servers that share it."""
    store = getattr(provider, "store", provider)  # ours keep theirs under that name
    return _memories.setdefault(id(store), NeedsAuthMemory(store))
