"""Futures that fail when no caller waits for them any more."""

from __future__ import annotations

import asyncio

import pytest

from mcpclient.net.futures import cancel_all, gather_outcomes


@pytest.mark.virtual_time
async def test_a_bug_in_one_ends_the_others() -> None:
    """F-API-8"""
    ended: list[str] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waiting")

    async def fail() -> None:
        await asyncio.sleep(1)
        raise LookupError

    with pytest.raises(LookupError):
        await gather_outcomes([wait(), fail()])
    assert ended == ["waiting"]
    await cancel_all([])
