"""The events of a manager: F-MANY-2."""

from __future__ import annotations

import gc
import weakref

import pytest

from mcpclient import Status, StatusChanged
from mcpclient.manager.events import Events
from mcpclient.net.futures import LoopBound

pytestmark = pytest.mark.virtual_time


def changed(new: Status) -> StatusChanged:
    return StatusChanged("a", Status.CLOSED, new)


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
