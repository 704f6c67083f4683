from __future__ import annotations

import asyncio
import json

import pytest

from mcpclient.net.login.storage import NEEDS_AUTH_SECONDS, MemoryStore, NeedsAuthMemory

A, B = "https://a.example/mcp", "https://b.example/mcp"


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


def test_a_server_is_remembered_for_a_quarter_of_an_hour(clock: Clock) -> None:
    """F-AUTH-11: 15 minutes, then it may be asked again."""

    async def main() -> None:
        memory = NeedsAuthMemory(MemoryStore())
        await memory.mark(A)
        assert NEEDS_AUTH_SECONDS == 900
        assert await clock.needs_auth(memory, A, 1000.0)
        assert await clock.needs_auth(memory, A, 1899.0)
        assert not await clock.needs_auth(memory, A, 1900.0)
        assert not await clock.needs_auth(memory, B, 1000.0)
        assert not await clock.needs_auth(memory, A, 999.0), "the clock was set back"

    asyncio.run(main())


def test_success_clears_it(clock: Clock) -> None:
    """F-AUTH-11: also when nothing was known."""

    async def main() -> None:
        memory = NeedsAuthMemory(MemoryStore())
        await memory.mark(A)
        await memory.clear(A)
        await memory.clear(A)
        assert not await clock.needs_auth(memory, A, 1000.0)

    asyncio.run(main())


def test_it_is_stored_and_does_not_grow(clock: Clock) -> None:
    """F-AUTH-11: old entries go when new ones come; a damaged record is read as far as possible."""

    async def main() -> None:
        store = MemoryStore()
        memory = NeedsAuthMemory(store)
        clock.now = 0.0
        await memory.mark(A)
        clock.now = 1000.0
        await memory.mark(B)
        record = json.loads(json.dumps(await store.load("needs-auth")))
        assert record == {B: 1000.0}
        damaged = {**record, "x": "soon", "y": None, "z": True, "huge": 10**400}
        await store.save("needs-auth", damaged)
        read = NeedsAuthMemory(store)
        assert await read.remembered([A, B, "x", "y", "z", "huge"]) == {B}
        await read.mark(A)
        assert await store.load("needs-auth") == {B: 1000.0, A: 1000.0}

    asyncio.run(main())
