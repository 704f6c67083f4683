"""Remembering which servers need a human."""

from __future__ import annotations

import pytest

from mcpclient.net.login import storage
from mcpclient.net.login.storage import MemoryStore, NeedsAuthMemory

URLS = [f"https://{number}.example/mcp" for number in range(20)]


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
