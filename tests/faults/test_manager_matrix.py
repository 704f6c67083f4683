"""The fault matrix once more, with a manager: one server is at fault, another one works beside it.

What the caller sees is what the matrix says of a client, since a call that may have run is not made
twice. Besides, no caller has to connect anew, a first attempt that failed is made again by the
next call, and the other server never notices anything.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Callable

import pytest

from mcpclient import Manager
from mcpclient.errors import McpError
from tests.faults.faulty_peers import PEERS
from tests.faults.faulty_peers.peer import Peer
from tests.faults.faulty_peers.script import Script
from tests.faults.matrix import Cell, cells
from tests.faults.plays import TIMEOUT, VERSIONS
from tests.faults.test_matrix import Play, playing, rows
from tests.manager.fleet import Member
from tests.support import virtual_time
from tests.support.tables import check_each

__all__ = ["playing"]

STEPS = ("connect", "open", "request")
FAULTS = ("drop", "reset", "stall", "truncate", "duplicate")

# A call waits for its server to come back for as long as this, in virtual seconds.
PATIENCE = 120.0


CELLS = [cell for cell in cells() if cell.step in STEPS and cell.fault in FAULTS]


@pytest.mark.parametrize("row", rows(CELLS, ("request",)))
def test_a_fault_stays_with_its_server(
    row: list[Cell], playing: Callable[[Play], Play], workplace: Path
) -> None:
    """F-MANY-1, F-MANY-5: the fault stays with its server, and passes."""
    check_each(row, playing(lambda cell: play_cell(cell, workplace)))


def play_cell(cell: Cell, workplace: Path) -> None:
    script = Script(cell.era, cell.step, cell.fault)
    unhandled: list[dict[str, Any]] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: unhandled.append(what))
        async with PEERS[cell.transport](script, workplace) as peer:
            well = Member("x", version=VERSIONS[cell.era])
            await _use(_manager(peer, well, cell), script, cell, well)

    virtual_time.run(main())
    assert not unhandled
    assert script.runs == cell.runs


def _manager(peer: Peer, well: Member, cell: Cell) -> Manager:
    return Manager(
        {"faulty": peer.target, "well": well},
        timeout=TIMEOUT,
        protocol_version=VERSIONS[cell.era],
        liveness=60,
        **peer.options,
    )


async def _use(manager: Manager, script: Script, cell: Cell, well: Member) -> None:
    async with manager:
        beside = asyncio.ensure_future(_go_on_calling(manager))
        expected = cell.expected.error
        if cell.step == "request":
            error = await _error_of(manager.call_tool("faulty__echo", {"text": "1", "fault": True}))
            assert type(error) is (expected or type(None)), error
        else:
            status = manager.servers["faulty"].status.value
            assert status == ("failed" if expected else "connected")
        assert script.struck, "the fault has not struck"
        client = manager["faulty"]
        assert (await client.call_tool("echo", {"text": "on"}, timeout=PATIENCE)).text == "on"
        assert manager.servers["faulty"].status.value == "connected"
        assert (await manager.call_tool("faulty__echo", {"text": "and on"})).text == "and on"
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
        assert beside.cancelled(), beside
        assert manager.servers["well"].status.value == "connected"
        assert (well.attempts, set(well.calls)) == (1, {"x"})


async def _go_on_calling(manager: Manager) -> None:
    while True:
        assert (await manager.call_tool("well__x", timeout=1)).text == "x"
        await asyncio.sleep(0.3)


async def _error_of(call: Any) -> McpError | None:
    try:
        assert (await call).text == "1"
    except McpError as error:
        return error
    return None
