"""The soak in small, so that it works when it is wanted, and planted faults, which it must find."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from .acts import ACTS
from .calls import Call
from .lanes import KINDS, Lane
from .ledger import Ledger
from .resources import Holdings, Sample, check_flat, check_released
from .run import Run
from .watch import Violations

pytestmark = [pytest.mark.needs_posix, pytest.mark.slow]

# One path to a server for each transport.
PATHS = [
    ("stdio", "handshake"),
    ("http json", "stateless"),
    ("http sse", "handshake"),
    ("legacy sse", "handshake"),
    ("websocket", "stateless"),
    ("socket", "handshake"),
]
DEADLY = ("die", "die after", "drop", "drop after", "half", "kill")
# A server that forgets its session answers no call that waits for an answer of the client's.
HARMLESS = tuple(act for act in ACTS if act not in {*DEADLY, "forget", "hang", "block", "repeat"})


def quick(act: str, lane: Lane, cancelled_after: float | None) -> Call:
    """A call whose answer takes no time, unless there is none."""
    more = {"seconds": 0, "count": 2, "size": 70_000, "asks": "roots/list"}
    timeout = 0.1 if act == "never" else 10.0
    return Call(lane.token(), act, timeout, timeout, cancelled_after, more)


def test_a_short_soak_finds_nothing(tmp_path: Path) -> None:
    """F-LIFE-5, F-API-8, F-API-19, F-MANY-5: every act over every transport, another end for each,
    and the same for a server that a manager keeps, and behind a bridge.
    """
    run = Run(11, tmp_path, PATHS, [("stdio", "handshake")], [("bridge", "handshake")])

    async def use(lane: Lane) -> None:
        await asyncio.gather(*(lane.make(quick(act, lane, None)) for act in HARMLESS))
        await asyncio.gather(*(lane.make(quick(act, lane, 0.0)) for act in HARMLESS))
        await lane.make(quick("forget", lane, None))
        end = DEADLY[run.lanes.index(lane) % len(DEADLY)]
        beside = asyncio.ensure_future(lane.make(quick("never", lane, 0.2)))
        await (lane.kill_server() if end == "kill" else lane.make(quick(end, lane, None)))
        await beside
        await lane.make(quick("echo", lane, None))

    asyncio.run(run.round(use))
    assert run.violations.found == []
    assert {lane.kind for lane in run.lanes} == {*KINDS, "bridge"}
    for lane in run.lanes:
        assert lane.calls == sum(lane.outcomes.values()) >= 2 * len(HARMLESS), lane.name
        assert lane.outcomes["result"] >= 2, lane.name
        # Some are answered before they can be cancelled.
        assert lane.outcomes["cancelled"] >= len(HARMLESS) // 2, lane.name


async def test_a_call_that_is_executed_twice_is_found(tmp_path: Path) -> None:
    violations = Violations(7)
    with violations.watching(asyncio.get_running_loop()):
        before, ledger = Holdings.now(), Ledger(tmp_path / "ledger")
        lane = Lane("stdio", "handshake", 1, violations)
        lane.begin(ledger)
        assert await lane.make(Call("t1", "repeat", 5.0, 5.0)) == "result"
        await lane.end()
        await check_released(before, violations, "the test")
        ledger.check(violations)
    assert violations.found == ["call t1 was executed 2 times"]


def test_growth_is_found_and_noise_is_not() -> None:
    violations = Violations(7)
    noise = [9000, *([5000, 5100, 4900] * 4)]
    check_flat([Sample(50 << 20, objects, 9) for objects in noise], violations)
    assert violations.found == []
    leaking = [Sample((50 + n) << 20, 5000 + 250 * n, 9 + n) for n in range(16)]
    check_flat(leaking, violations)
    assert {text.split()[0] for text in violations.found} == {"objects", "rss", "descriptors"}
