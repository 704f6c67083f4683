from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from mcpclient.auth.effects import (
    Authorize,
    AuthProvider,
    Callback,
    CredentialStore,
    ShowDeviceCode,
    StoredItem,
)


class HostProvider:
    """What a host application has to write, and no more."""

    def __init__(self) -> None:
        self.records: dict[str, StoredItem] = {}

    async def load(self, key: str) -> StoredItem | None:
        return self.records.get(key)

    async def save(self, key: str, record: StoredItem | None) -> None:
        if record is None:
            self.records.pop(key, None)
        else:
            self.records[key] = record

    def lock(self, name: str) -> AbstractAsyncContextManager[None]:
        @asynccontextmanager
        async def unlocked() -> AsyncIterator[None]:
            yield

        return unlocked()

    async def open_redirect(self, configured: str | None, registered: tuple[str, ...]) -> str:
        return configured or "https://host.example/callback"

    async def authorize(self, request: Authorize) -> Callback | None:
        return None

    async def show_device_code(self, request: ShowDeviceCode) -> None:
        return None


def test_a_plain_class_is_a_provider() -> None:
    """F-AUTH-9: no base class: mypy checks these two lines, and they run."""
    provider: AuthProvider = HostProvider()
    store: CredentialStore = provider

    async def use() -> StoredItem | None:
        async with store.lock("name"):
            await store.save("key", {"a": 1})
            return await store.load("key")

    assert asyncio.run(use()) == {"a": 1}
