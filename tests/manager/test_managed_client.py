"""The client of one server of a manager: F-MANY-14."""

from __future__ import annotations

import pytest

from mcpclient.client.client import Client
from mcpclient.client.connection.options import EraMemory
from mcpclient.manager.manager import Manager
from tests.manager.fleet import Member

pytestmark = pytest.mark.virtual_time


async def test_the_clients_of_one_manager_share_what_is_known_of_eras() -> None:
    """F-MANY-14, F-LIFE-3: and no other manager in the same program does."""

    def eras(manager: Manager, name: str) -> EraMemory:
        return manager[name]._connection.options.eras

    managers = (Manager({"a": Member("a"), "b": Member("b")}), Manager({"a": Member("a")}))
    async with managers[0] as one, managers[1] as other:
        assert eras(one, "a") is eras(one, "b")
        assert eras(one, "a") is not eras(other, "a")
        assert eras(one, "a") is not Client._eras
