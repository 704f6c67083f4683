"""Remembering which servers need a human."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Mapping
from weakref import ref

import pytest

from mcpclient.net.login import storage
from mcpclient.net.login.logins import BrowserLogin, TwoStepLogin
from mcpclient.net.login.storage import MemoryStore, NeedsAuthMemory, memory_of

CLOCK = "mcpclient.net.login.storage.seconds_since_epoch"


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


def test_many_servers_are_looked_up_by_one_read() -> None:
    """F-AUTH-11"""

    async def main() -> None:
        store = CountingStore()
        await asyncio.gather(*(NeedsAuthMemory(store).mark(url) for url in URLS[:10]))
        memory = NeedsAuthMemory(store)
        store.loads = 0
        assert await memory.remembered(URLS) == set(URLS[:10])
        assert store.loads == 1

    asyncio.run(main())


def test_many_servers_that_need_a_login_at_once_read_once() -> None:
    """F-AUTH-11: each looks, and each is marked; all are in the store in the end."""

    async def main() -> None:
        store = CountingStore()

        async def need(memory: NeedsAuthMemory, url: str) -> None:
            assert not await memory.remembered([url])
            await memory.mark(url)

        memories = [memory_of(TwoStepLogin(store)) for _ in URLS]
        await asyncio.gather(*(memory.remembered(URLS) for memory in memories))
        assert store.loads == 1
        await asyncio.gather(*map(need, memories, URLS))
        assert await NeedsAuthMemory(store).remembered(URLS) == set(URLS)

    asyncio.run(main())


def test_one_read_serves_those_that_come_one_after_the_other() -> None:
    """F-AUTH-11: though none of them keeps the memory."""

    async def main() -> None:
        store = CountingStore()
        for url in URLS:
            assert not await memory_of(TwoStepLogin(store)).remembered([url])
        assert store.loads == 1

    asyncio.run(main())


def test_what_others_have_written_is_not_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-11: in the same second, and it is read after a while."""

    async def main() -> None:
        store = MemoryStore()
        ours, theirs = NeedsAuthMemory(store), NeedsAuthMemory(store)
        await ours.mark(URLS[0])
        await theirs.mark(URLS[1])
        await ours.mark(URLS[2])
        await theirs.clear(URLS[0])
        monkeypatch.setattr(storage, "_FRESH_FOR", -1.0)
        assert await ours.remembered(URLS) == set(URLS[1:3])

    asyncio.run(main())


def test_those_that_share_a_store_share_its_memory() -> None:
    """F-AUTH-11: also where each has a way to the user of its own."""
    store = MemoryStore()
    assert memory_of(TwoStepLogin(store)) is memory_of(BrowserLogin(store)) is memory_of(store)
    assert memory_of(MemoryStore()) is not memory_of(store)
    gone = ref(store)
    del store
    gc.collect()
    assert gone() is None


def test_it_lasts_for_15_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-11"""

    async def main() -> None:
        memory = NeedsAuthMemory(MemoryStore())
        await memory.mark(URLS[0])
        now = time.time()
        for seconds, expected in ((14 * 60, {URLS[0]}), (15 * 60 + 1, set())):
            monkeypatch.setattr(CLOCK, lambda seconds=seconds: now + seconds)
            assert await memory.remembered(URLS) == expected

    asyncio.run(main())


def test_it_is_forgotten_when_asked_to() -> None:
    """F-AUTH-11: and nothing is written where nothing changes."""

    async def main() -> None:
        store = CountingStore()
        memory = NeedsAuthMemory(store)
        await memory.clear(URLS[0])
        assert store.saves == 0
        await memory.mark(URLS[0])
        await memory.mark(URLS[1])
        await memory.clear(URLS[0])
        assert await memory.remembered(URLS) == {URLS[1]}

    asyncio.run(main())


def test_a_key_in_a_url_is_not_stored() -> None:
    """F-AUTH-12"""

    async def main() -> None:
        store = MemoryStore()
        memory = NeedsAuthMemory(store)
        url = "https://a.example/mcp?key=SECRET"
        await memory.mark(url)
        assert await memory.remembered([url]) == {url}
        assert "SECRET" not in str(await store.load("needs-auth"))

    asyncio.run(main())
