"""Remembering in the store which servers need a human, so that nobody is asked again and again."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakValueDictionary

from ...auth.effects import CredentialStore
from ...auth.grants import store_name
from ...auth.needs_auth import NeedsAuthCache
from ...net.clocks import seconds_since_epoch, steady_seconds
from ...net.locks import TaskLocks

_KEY = "needs-auth"

# For so many seconds, what was read serves every server, also to be written back. Another process
# that writes in the same second may be undone, which costs a user one question more.
_FRESH_FOR = 1.0


class NeedsAuthMemory:
    """What is remembered in one store. Servers are named by their URLs.

    A server is remembered for 15 minutes after a login was needed and did not take place. However
    many servers there are, the store is read once in a second at most, and written one after the
    other. See `memory_of`.
    """

    def __init__(self, store: CredentialStore) -> None:
        self._store = store
        self._cache = NeedsAuthCache()
        self._read_at: float | None = None
        self._turns = TaskLocks()

    async def remembered(self, server_urls: Iterable[str]) -> set[str]:
        """Return those of ``server_urls`` that need a human, with one read for all of them."""
        cache = await self._current()
        now = seconds_since_epoch()
        return {url for url in server_urls if cache.needs_auth(store_name(url), now)}

    async def mark(self, server_url: str) -> None:
        """Remember that the server needs a human."""
        async with self._store.lock(_KEY):
            cache = await self._current()
            cache.mark(store_name(server_url), seconds_since_epoch())
            await self._store.save(_KEY, cache.to_record())

    async def clear(self, server_url: str) -> None:
        """Forget about the server: it has been authorized, or another try is wanted."""
        if not await self.remembered([server_url]):
            return
        async with self._store.lock(_KEY):
            cache = await self._current()
            cache.clear(store_name(server_url))
            await self._store.save(_KEY, cache.to_record())

    async def _current(self) -> NeedsAuthCache:
        async with self._turns.lock("read"):
            now = steady_seconds()
            if self._read_at is None or now - self._read_at > _FRESH_FOR:
                self._cache = NeedsAuthCache.from_record(await self._store.load(_KEY))
                self._read_at = now
        return self._cache


# By the identity of the store, which a memory keeps alive.
_memories: WeakValueDictionary[int, NeedsAuthMemory] = WeakValueDictionary()


def memory_of(provider: CredentialStore) -> NeedsAuthMemory:
    """Return the memory in the provider's store: one for all servers that share it."""
    store = getattr(provider, "store", provider)  # ours keep theirs under that name
    return _memories.setdefault(id(store), NeedsAuthMemory(store))
