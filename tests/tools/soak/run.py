"""A run: rounds of use, each of which leaves nothing behind, and their comparison at the end."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from .fronted_lane import FRONTED, FrontedLane
from .lanes import PATHS, Lane
from .ledger import Ledger
from .managed_lane import MANAGED, ManagedLane
from .resources import Holdings, Sample, check_flat, check_released, objects_held
from .watch import Violations

# Calls that leave an object behind are found by their number within one connection's life. What
# a connection keeps whatever happens, such as idle connections and caches, is allowed for.
_OBJECTS_PER_CALL = 0.3
_OBJECTS_PER_LANE = 300

_ROUND_SECONDS = 10.0
_FEWEST_ROUNDS = 10
_PROGRESS_EVERY = 5.0


class Run:
    """Every transport in every era, side by side. ``paths``: pairs of a transport and an era;
    ``managed``: those that are used through a manager as well; ``fronted``: what stands in front
    of a server of standard streams, and the era.
    """

    def __init__(
        self,
        seed: int,
        folder: Path,
        paths: Sequence[tuple[str, str]] = PATHS,
        managed: Sequence[tuple[str, str]] = MANAGED,
        fronted: Sequence[tuple[str, str]] = FRONTED,
    ) -> None:
        self.violations = Violations(seed)
        self.samples: list[Sample] = []
        self.executions = 0
        self.lanes = [
            *(Lane(kind, era, seed, self.violations) for kind, era in paths),
            *(ManagedLane(kind, era, seed, self.violations) for kind, era in managed),
            *(FrontedLane(kind, era, seed, self.violations) for kind, era in fronted),
        ]
        self._folder = folder

    async def last(self, seconds: float, workers: int, tell: Callable[[str], None]) -> None:
        """Run for so many seconds, with so many workers in each lane, telling how it goes."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        fewest = max(min(int(seconds), _FEWEST_ROUNDS), 1)
        rounds = max(round(seconds / _ROUND_SECONDS), fewest)
        telling = asyncio.ensure_future(self._tell(tell, time.monotonic()))
        try:
            for left in range(rounds, 0, -1):
                share = max(end - loop.time(), 0.0) / left
                if not share and len(self.samples) >= fewest:
                    break
                deadline = loop.time() + share

                async def use(lane: Lane, deadline: float = deadline, share: float = share) -> None:
                    # On a busy machine, all may be connected only after the deadline.
                    until = max(deadline, loop.time() + share / 2)
                    await lane.run(until, workers)

                await self.round(use)
        finally:
            telling.cancel()
        check_flat(self.samples, self.violations)

    async def round(self, use: Callable[[Lane], Awaitable[None]]) -> None:
        """Use every lane in some way, close it, and see that nothing is left."""
        with self.violations.watching(asyncio.get_running_loop()):
            ledger = Ledger(self._folder / "ledger")
            before = Holdings.now()
            for lane in self.lanes:
                lane.begin(ledger)
            await asyncio.gather(*(lane.rest() for lane in self.lanes))
            calls, objects = self.calls, await objects_held()
            await asyncio.gather(*(use(lane) for lane in self.lanes))
            await asyncio.gather(*(lane.rest() for lane in self.lanes))
            more = await objects_held()
            more.subtract(objects)
            self._check_objects(more, self.calls - calls)
            await asyncio.gather(*(lane.end() for lane in self.lanes))
            await check_released(before, self.violations, "a round")
            self.executions += ledger.check(self.violations)
        self.samples.append(await Sample.take())

    @property
    def calls(self) -> int:
        """The number of calls."""
        return sum(lane.calls for lane in self.lanes)

    def _check_objects(self, more: Counter[str], calls: int) -> None:
        allowed = _OBJECTS_PER_LANE * len(self.lanes) + _OBJECTS_PER_CALL * calls
        total = sum(more.values())
        if self.samples and total > allowed:
            most = dict(more.most_common(12))
            self.violations.add(f"{calls} calls left {total} objects behind, most of them {most}")

    async def _tell(self, tell: Callable[[str], None], began: float) -> None:
        while True:
            await asyncio.sleep(_PROGRESS_EVERY)
            rss = f"{self.samples[-1].rss >> 10} KiB" if self.samples else "not yet measured"
            tell(
                f"{time.monotonic() - began:6.0f} s  round {len(self.samples) + 1}  "
                f"{self.calls} calls  {sum(lane.kills for lane in self.lanes)} kills  "
                f"{sum(lane.reconnects for lane in self.lanes)} reconnects  rss {rss}  "
                f"{len(self.violations.found)} violations"
            )
