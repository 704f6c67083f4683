"""Remembering which servers need a human."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Mapping
from weakref import ref

import pytest

from mcpclient.net.login import storage
from mcpclient.net.login.logins import BrowserLogin, TwoStepLogin
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


async def test_many_servers_are_looked_up_by_one_read() -> None:
    """F-AUTH-11"""
    store = CountingStore()
    await asyncio.gather(*(NeedsAuthMemory(store).mark(url) for url in URLS[:10]))
    memory = NeedsAuthMemory(store)
    store.loads = 0
    assert await memory.remembered(URLS) == set(URLS[:10])
    assert store.loads == 1


async def test_many_servers_that_need_a_login_at_once_read_once() -> None:
    """F-AUTH-11: each looks, and each is marked; all are in the store in the end."""
    store = CountingStore()

    async def need(memory: NeedsAuthMemory, url: str) -> None:
        assert not await memory.remembered([url])
        await memory.mark(url)

    memories = [memory_of(TwoStepLogin(store)) for _ in URLS]
    await asyncio.gather(*(memory.remembered(URLS) for memory in memories))
    assert store.loads == 1
    await asyncio.gather(*map(need, memories, URLS))
    assert await NeedsAuthMemory(store).remembered(URLS) == set(URLS)


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


def test_those_that_share_a_store_share_its_memory() -> None:
    """F-AUTH-11: also where each has a way to the user of its own."""
    store = MemoryStore()
    assert memory_of(TwoStepLogin(store)) is memory_of(BrowserLogin(store)) is memory_of(store)
    assert memory_of(MemoryStore()) is not memory_of(store)
    gone = ref(store)
    del store
    gc.collect()
    assert gone() is None


async def test_it_is_forgotten_when_asked_to() -> None:
    """F-AUTH-11: and nothing is written where nothing changes."""
    store = CountingStore()
    memory = NeedsAuthMemory(store)
    await memory.clear(URLS[0])
    assert store.saves == 0
    await memory.mark(URLS[0])
    await memory.mark(URLS[1])
    await memory.clear(URLS[0])
    assert await memory.remembered(URLS) == {URLS[1]}


async def test_a_key_in_a_url_is_not_stored() -> None:
    """F-AUTH-12"""
    store = MemoryStore()
    memory = NeedsAuthMemory(store)
    url = "https://a.example/mcp?key=SECRET"
    await memory.mark(url)
    assert await memory.remembered([url]) == {url}
    assert "SECRET" not in str(await store.load("needs-auth"))


class Clock:
    """The time of the memory, in seconds since the epoch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("mcpclient.net.login.storage.seconds_since_epoch", lambda: self.now)

    async def needs_auth(self, memory: NeedsAuthMemory, url: str, now: float) -> bool:
        self.now = now
        return bool(await memory.remembered([url]))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


async def test_a_server_is_remembered_for_a_quarter_of_an_hour(clock: Clock) -> None:
    """F-AUTH-11: 15 minutes, then it may be asked again."""
    memory = NeedsAuthMemory(MemoryStore())
    await memory.mark(URLS[0])
    assert storage.NEEDS_AUTH_SECONDS == 900
    assert await clock.needs_auth(memory, URLS[0], 1000.0)
    assert await clock.needs_auth(memory, URLS[0], 1899.0)
    assert not await clock.needs_auth(memory, URLS[0], 1900.0)
    assert not await clock.needs_auth(memory, URLS[1], 1000.0)
    assert not await clock.needs_auth(memory, URLS[0], 999.0), "the clock was set back"


async def test_it_is_stored_and_does_not_grow(clock: Clock) -> None:
    """F-AUTH-11: old entries go when new ones come; a damaged record is read as far as possible."""
    first, second, *_ = URLS
    store = MemoryStore()
    memory = NeedsAuthMemory(store)
    clock.now = 0.0
    await memory.mark(first)
    clock.now = 1000.0
    await memory.mark(second)
    record = json.loads(json.dumps(await store.load("needs-auth")))
    assert record == {second: 1000.0}
    damaged = {**record, "x": "soon", "y": None, "z": True, "huge": 10**400}
    await store.save("needs-auth", damaged)
    read = NeedsAuthMemory(store)
    assert await read.remembered([first, second, "x", "y", "z", "huge"]) == {second}
    await read.mark(first)
    assert await store.load("needs-auth") == {second: 1000.0, first: 1000.0}
