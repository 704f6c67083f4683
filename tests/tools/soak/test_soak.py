"""The soak in small, so that it works when it is wanted, and planted faults, which it must find."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from .acts import ACTS
from .calls import Call
from .lanes import KINDS, Lane
from .ledger import Ledger
from .report import summary
from .resources import Holdings, Sample, check_flat, check_released
from .run import Run
from .watch import Violations

pytestmark = [pytest.mark.needs_posix, pytest.mark.slow]


@pytest.fixture
def violations(capsys: pytest.CaptureFixture[str]) -> Violations:
    return Violations(7)


# One path to a server for each transport, and both eras.
SOME_PATHS = [
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


def test_a_short_soak_finds_nothing(tmp_path: Path) -> None:
    """F-LIFE-5, F-API-8, F-API-19, F-MANY-5: every act over every transport, another end for each,
    and the same for a server that a manager keeps, and behind a bridge.
    """
    run = Run(11, tmp_path, SOME_PATHS, [("stdio", "handshake")], [("bridge", "handshake")])

    async def use(lane: Lane) -> None:
        await asyncio.gather(*(lane.make(quick(act, lane, None)) for act in HARMLESS))
        await asyncio.gather(*(lane.make(quick(act, lane, 0.0)) for act in HARMLESS))
        await lane.make(quick("forget", lane, None))
        end = DEADLY[run.lanes.index(lane) % len(DEADLY)]
        beside = asyncio.ensure_future(lane.make(quick("never", lane, 0.2)))
        if end == "kill":
            await lane.kill_server()
        else:
            await lane.make(quick(end, lane, None))
        await beside
        await lane.make(quick("echo", lane, None))

    asyncio.run(run.round(use))
    assert run.violations.found == []
    assert {lane.kind for lane in run.lanes} == {*KINDS, "bridge"}
    assert sum(lane.outcomes["result"] for lane in run.lanes) >= 8 * len(run.lanes)
    for lane in run.lanes:
        assert lane.calls == sum(lane.outcomes.values()) >= 2 * len(HARMLESS)
        assert lane.outcomes["result"], lane.name
        # Some are answered before they can be cancelled.
        assert lane.outcomes["cancelled"] >= len(HARMLESS) // 2
        assert lane.name in summary(run)


def quick(act: str, lane: Lane, cancelled_after: float | None) -> Call:
    """A call whose answer takes no time, unless there is none."""
    more = {"seconds": 0, "count": 2, "size": 70_000, "asks": "roots/list"}
    timeout = 0.1 if act == "never" else 10.0
    return Call(lane.token(), act, timeout, timeout, cancelled_after, more)


@asynccontextmanager
async def used_lane(violations: Violations, folder: Path) -> AsyncIterator[Lane]:
    """A lane to use, which is watched; its ledger is compared in the end."""
    with violations.watching(asyncio.get_running_loop()):
        before = Holdings.now()
        lane = Lane("stdio", "handshake", 1, violations)
        ledger = Ledger(folder / "ledger")
        lane.begin(ledger)
        await lane.rest()
        yield lane
        await lane.end()
        await check_released(before, violations, "the test")
        ledger.check(violations)


async def test_a_call_that_is_repeated_is_found(violations: Violations, tmp_path: Path) -> None:
    """A client that sends a call again is seen as a server that executes it twice."""
    async with used_lane(violations, tmp_path) as lane:
        assert await lane.make(Call("t1", "repeat", 5.0, 5.0)) == "result"
    assert violations.found == ["call t1 was executed 2 times"]


def test_growth_is_found_and_noise_is_not(violations: Violations) -> None:
    def samples(*objects: int) -> list[Sample]:
        return [Sample(50 << 20, number, 9) for number in objects]

    check_flat(samples(*range(0, 9000, 1000))[:7], violations)  # too few to judge by
    check_flat(samples(9000, *([5000, 5100, 4900] * 4)), violations)
    assert violations.found == []
    check_flat(samples(*range(5000, 9000, 250)), violations)
    assert len(violations.found) == 1 and violations.found[0].startswith("objects grew by ")
    leaking = [Sample((50 + round) << 20, 5000, 9 + round) for round in range(12)]
    check_flat(leaking, violations)
    assert [text.split()[0] for text in violations.found[1:]] == ["rss", "descriptors"]
