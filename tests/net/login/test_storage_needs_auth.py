"""Remembering which servers need a human."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mcpclient.net.login import storage
from mcpclient.net.login.logins import TwoStepLogin
from mcpclient.net.login.storage import MemoryStore, NeedsAuthMemory, memory_of


class CountingStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.loads = 0
        self.saves = 0

    async def load(self, key: str) -> Mapping[str, object] | None:
        self.loads += 1
        return await super().load(key)

    async def save(self, key: str, record: Mapping[str, object] | None) -> None:
        self.saves += 1
        await super().save(key, record)


URLS = [f"https://{number}.example/mcp" for number in range(20)]


async def test_one_read_serves_those_that_come_one_after_the_other() -> None:
    """F-AUTH-11: though none of them keeps the memory."""
    store = CountingStore()
    for url in URLS:
        assert not await memory_of(TwoStepLogin(store)).remembered([url])
    assert store.loads == 1


async def test_what_others_have_written_is_not_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-11: in the same second, and it is read after a while."""
    store = MemoryStore()
    ours, theirs = NeedsAuthMemory(store), NeedsAuthMemory(store)
    await ours.mark(URLS[0])
    await theirs.mark(URLS[1])
    await ours.mark(URLS[2])
    await theirs.clear(URLS[0])
    monkeypatch.setattr(storage, "_FRESH_FOR", -1.0)
    assert await ours.remembered(URLS) == set(URLS[1:3])
