"""Remembering in the store which servers need a human, so that nobody is asked again and again."""

from __future__ import annotations

import time
from collections.abc import Iterable

from ...auth.grants import store_name
from ...auth.needs_auth import NeedsAuthCache
from ...auth.provider import CredentialStore

__all__ = ["NeedsAuthMemory"]

_KEY = "needs-auth"


class NeedsAuthMemory:
    """What is remembered in one store. Servers are named by their URLs.

    A server is remembered for 15 minutes after a login was needed and did not take place.
    """

    def __init__(self, store: CredentialStore) -> None:
        self._store = store

    async def remembered(self, server_urls: Iterable[str]) -> set[str]:
        """Return those of ``server_urls`` that need a human, with one read for all of them."""
        cache = await self._load()
        now = time.time()
        return {url for url in server_urls if cache.needs_auth(store_name(url), now)}

    async def mark(self, server_url: str) -> None:
        """Remember that the server needs a human."""
        # One after the other, so that no process undoes what another one has written.
        async with self._store.lock(_KEY):
            cache = await self._load()
            cache.mark(store_name(server_url), time.time())
            await self._store.save(_KEY, cache.to_record())

    async def clear(self, server_url: str) -> None:
        """Forget about the server: it has been authorized, or another try is wanted."""
        if not await self.remembered([server_url]):
            return
        async with self._store.lock(_KEY):
            cache = await self._load()
            cache.clear(store_name(server_url))
            await self._store.save(_KEY, cache.to_record())

    async def _load(self) -> NeedsAuthCache:
        return NeedsAuthCache.from_record(await self._store.load(_KEY))
