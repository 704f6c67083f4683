"""F-LIFE-6, F-LIFE-7, F-API-8: plays the fault matrix, cell by cell."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Callable

import pytest

from mcpclient.client.connection.options import EraMemory
from mcpclient.errors import ClientClosed
from tests.faults.faulty_peers import PEERS
from tests.faults.faulty_peers.faults import FAULTS
from tests.faults.faulty_peers.peer import Peer
from tests.faults.faulty_peers.script import Script
from tests.faults.matrix import GRIDS, Cell, cells
from tests.faults.plays import Outcome, play
from tests.support import virtual_time
from tests.support.tables import check_each

CELLS = list(cells())
POSIX_ONLY = ("stdio", "unix")

# Turns of the loop in which the server's end of a closed connection closes, too.
_LAST_TURNS = 100


Play = Callable[[Cell], None]


@pytest.fixture
def playing(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Callable[[Play], Play]:
    """The surroundings of each cell's play.

    It fails a cell that leaves a temporary file, or one of the servers' own, and one in which the
    library logs an error, or a traceback.
    """

    def surrounded(play: Play) -> Play:
        def check(cell: Cell) -> None:
            caplog.clear()
            with monkeypatch.context() as patched:
                patched.setattr(tempfile, "tempdir", str(workplace))
                patched.setattr("mcpclient.client.client.Client._eras", EraMemory())
                play(cell)
            assert list(workplace.iterdir()) == []
            for record in caplog.records:
                assert record.levelno < logging.ERROR, record
                assert record.exc_info is None, record

        return check

    return surrounded


def rows(cells: Iterable[Cell], quick: Collection[str]) -> Iterator[Any]:
    """The cells of one transport, era and step, one test for all their faults.

    `make test` leaves out the steps that are not ``quick``.
    """
    for (transport, era, step), row in groupby(
        sorted(cells, key=str), lambda cell: (cell.transport, cell.era, cell.step)
    ):
        marks = [pytest.mark.needs_posix] if transport in POSIX_ONLY else []
        if step not in quick:
            marks.append(pytest.mark.slow)
        yield pytest.param(list(row), id=f"{transport}-{era}-{step}", marks=marks)


@pytest.mark.parametrize("row", rows(CELLS, ("connect", "request")))
def test_each_fault_ends_as_the_matrix_says(
    row: list[Cell], playing: Callable[[Play], Play], workplace: Path
) -> None:
    """F-LIFE-6, F-LIFE-7, F-WIRE-3, F-WIRE-5, F-WIRE-7, F-HTTP-3, F-HTTP-4, F-HTTP-5, F-API-7,
    F-API-14, F-API-19: what the matrix says, in time, and nothing is left.
    """
    check_each(row, playing(lambda cell: play_cell(cell, workplace)))


def play_cell(cell: Cell, workplace: Path) -> None:
    script = Script(cell.era, cell.step, cell.fault)
    unhandled: list[dict[str, Any]] = []

    async def main() -> Outcome:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: unhandled.append(what))
        async with PEERS[cell.transport](script, workplace) as peer:
            outcome = await play(peer, cell.step, cell.era)
            await _until_alone(peer)
        return outcome

    outcome = virtual_time.run(main())
    assert not unhandled
    _check(outcome, cell)
    assert script.runs == cell.runs
    assert outcome.asked <= (cell.step in ("ask", "answer"))


async def _until_alone(peer: Peer) -> None:
    """Wait until the server has no connection any more, in no time."""
    for _ in range(_LAST_TURNS):
        if not peer.held:
            return
        await asyncio.sleep(0)
    raise AssertionError(f"{peer.held} connections of the client are still open")


def _check(outcome: Outcome, cell: Cell) -> None:
    expected = cell.expected
    assert type(outcome.error) is (expected.error or type(None)), repr(outcome.error)
    assert outcome.error is None or str(outcome.error)
    for name, value in expected.fields.items():
        assert getattr(outcome.error, name) == value
    first, last = expected.seconds
    assert first <= round(outcome.seconds, 6) <= last
    assert (outcome.missed, outcome.silent) == (expected.missed, expected.silent)
    assert bool(outcome.reported) == cell.heard, outcome.reported
    assert outcome.connected == cell.lives
    if cell.step == "close":
        assert isinstance(outcome.beside, ClientClosed)
    elif cell.step == "request":
        assert type(outcome.beside) is (type(None) if cell.lives else expected.error)


def test_the_matrix_is_whole() -> None:
    """F-LIFE-7: every transport has a grid and every grid a transport, with all of the faults."""
    assert set(GRIDS) == set(PEERS)
    for transport in GRIDS:
        played = {cell.fault for cell in CELLS if cell.transport == transport}
        assert played <= set(FAULTS)
    assert {cell.fault for cell in CELLS} == set(FAULTS)
    assert len({str(cell) for cell in CELLS}) == len(CELLS) > 1000
