"""The stop ladder, step by step in virtual time, on a group that only writes down its signals."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from mcpclient.net.process.stopping import ProcessGroup, StopLadder, Stopping
from tests.support import virtual_time


class _Process:
    pid = 4711


class ScriptedGroup(ProcessGroup):
    """Notes its signals and their times; its members end at chosen signals."""

    def __init__(self, ends_at: str = "") -> None:
        super().__init__(cast("subprocess.Popen[bytes]", _Process()))
        self.forget()
        self.events: list[tuple[float, str]] = []
        self.ends_at = ends_at
        self.empty = False
        self.on_end: Callable[[], None] = lambda: None

    def note(self, event: str) -> None:
        self.events.append((round(asyncio.get_running_loop().time(), 3), event))
        if event == self.ends_at:
            self.empty = True
            self.on_end()

    def close_input(self) -> None:
        self.note("close input")

    def signal(self, number: int) -> None:
        self.note({signal.SIGINT: "interrupt", signal.SIGTERM: "terminate"}[signal.Signals(number)])

    def kill(self) -> None:
        self.note("kill")

    def is_gone(self) -> bool:
        return self.empty


def leave_soon(stopping: Stopping) -> None:
    asyncio.get_running_loop().call_later(0.1, stopping.leader_ended)


def stop(
    group: ScriptedGroup,
    ladder: StopLadder = StopLadder(),  # noqa: B008 - a frozen value
    *,
    script: Callable[[Stopping], Coroutine[Any, Any, None]] | None = None,
) -> list[tuple[float, str]]:
    """Return what happened; "gone" comes last."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        over = asyncio.Event()

        def gone() -> None:
            group.note("gone")
            over.set()

        stopping = Stopping(loop, ladder, group, group.close_input, gone)
        group.on_end = lambda: leave_soon(stopping)
        if script is None:
            stopping.begin()
            stopping.begin()
        else:
            await script(stopping)
        await over.wait()

    virtual_time.run(main())
    return group.events


def test_the_waits_are_configurable_and_sigint_may_come_first() -> None:
    """F-STD-3"""
    ladder = StopLadder(interrupt=1.0, close_input=2.0, terminate=3.0, kill=4.0)
    assert stop(ScriptedGroup("kill"), ladder) == [
        (0.0, "interrupt"),
        (1.0, "close input"),
        (3.0, "terminate"),
        (6.0, "kill"),
        (6.1, "gone"),
    ]


def test_a_leader_that_ends_on_the_way_cuts_the_waits_short() -> None:
    """F-STD-2 F-STD-3"""
    group = ScriptedGroup()

    async def script(stopping: Stopping) -> None:
        stopping.begin()
        await asyncio.sleep(0.2)
        stopping.leader_ended()
        await asyncio.sleep(1)
        group.empty = True

    events = stop(group, script=script)
    assert events[:-1] == [(0.0, "close input"), (0.2, "terminate")]
    assert 1.2 <= events[-1][0] <= 1.31


def test_a_leader_that_ends_after_sigterm_gives_the_others_their_time() -> None:
    """F-STD-3"""
    group = ScriptedGroup()

    async def script(stopping: Stopping) -> None:
        stopping.begin()
        await asyncio.sleep(1)
        stopping.leader_ended()

    assert stop(group, script=script) == [
        (0.0, "close input"),
        (0.5, "terminate"),
        (3.0, "kill"),
        (4.0, "gone"),
    ]


@pytest.mark.virtual_time
async def test_after_cancel_nothing_happens_any_more() -> None:
    """F-LIFE-5"""
    group = ScriptedGroup()
    loop = asyncio.get_running_loop()
    stopping = Stopping(loop, StopLadder(), group, group.close_input, lambda: group.note("gone"))
    stopping.begin()
    stopping.cancel()
    stopping.leader_ended()
    stopping.begin()
    await asyncio.sleep(10)
    assert group.events == [(0.0, "close input")]
