"""The events of a manager: F-MANY-2."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from mcpclient import Manager, Status, StatusChanged, ToolsUpdated
from mcpclient.manager.events import Events
from mcpclient.net.futures import LoopBound
from tests.manager.fleet import Member

pytestmark = pytest.mark.virtual_time


def changed(new: Status) -> StatusChanged:
    return StatusChanged("a", Status.CLOSED, new)


async def test_events_of_closing_are_delivered_before_close_returns() -> None:
    """F-MANY-2, F-MANY-4: to a callback that takes its time as well."""
    heard: list[Any] = []

    async def note(event: Any) -> None:
        await asyncio.sleep(0.01)
        heard.append(event)

    manager = await Manager({"a": Member("x")}, on_event=note)
    stream = manager.events()
    await manager.close()
    assert heard[-2:] == [
        ToolsUpdated("a", removed=("a__x",)),
        StatusChanged("a", Status.CONNECTED, Status.CLOSED),
    ]
    assert [event async for event in stream] == heard[-2:]


async def test_a_stream_that_nobody_reads_any_more_is_freed() -> None:
    """F-MANY-2: one who looks again and again leaves nothing behind."""
    events = Events(None, LoopBound())
    read = events.stream()
    forgotten = weakref.ref(events.stream())
    gc.collect()
    assert forgotten() is None
    events.tell(changed(Status.FAILED))
    await events.close(1)
    assert [event async for event in read] == [changed(Status.FAILED)]
