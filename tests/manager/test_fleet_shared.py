"""What the servers of one manager have in common: F-MANY-1."""

from __future__ import annotations

import pytest

from mcpclient import Manager
from tests.manager.fleet import Member

pytestmark = pytest.mark.virtual_time


async def test_servers_share_one_of_each() -> None:
    """F-MANY-1, F-MANY-12: slots, events and the list of tools."""
    async with Manager({"a": Member("x")}) as manager:
        added = await manager.add("b", Member("y"))
        shared = added._shared
        assert shared is manager.servers["a"]._shared
        assert shared.catalog.tools is manager.tools
        assert manager.servers["a"]._shared.slots is shared.slots
