"""The soak in small, so that it works when it is wanted, and planted faults, which it must find."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import socket
import warnings
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mcpclient import CallToolResult
from mcpclient.errors import CallTimeout, ClientClosed, PeerError, ProcessExited
from mcpclient.transports.stdio import StdioTransport

from . import lanes
from .__main__ import main
from .acts import ACTS
from .calls import Call, outcome_of, random_call
from .lanes import KINDS, Lane
from .latencies import Latencies
from .ledger import Ledger
from .report import summary
from .resources import Holdings, Sample, check_flat, check_released
from .run import Run
from .watch import Violations

pytestmark = pytest.mark.needs_posix


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
    and the same for a server that a manager keeps.
    """
    run = Run(11, tmp_path, SOME_PATHS, [("stdio", "handshake")])

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
    assert {lane.kind for lane in run.lanes} == {*KINDS}
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


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--seconds", "0.05", "--seed", "5", "--only", "socket", "--workers", "1"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("seed 5, Python 3.")
    assert "socket handshake" in shown and shown.endswith("no violations\n")


def test_the_seed_decides_what_is_called() -> None:
    first, again = Random("1"), Random("1")
    assert [random_call(first, "t") for _ in range(50)] == [
        random_call(again, "t") for _ in range(50)
    ]


# Planted violations


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


def call(act: str, **options: Any) -> Call:
    return Call("t1", act, 5.0, 5.0, **options)


async def test_a_call_that_is_repeated_is_found(violations: Violations, tmp_path: Path) -> None:
    """A client that sends a call again is seen as a server that executes it twice."""
    async with used_lane(violations, tmp_path) as lane:
        assert await lane.make(call("repeat")) == "result"
    assert violations.found == ["call t1 was executed 2 times"]


def test_a_result_without_execution_is_found(violations: Violations, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.succeeded("t1")
    assert ledger.check(violations) == 0
    assert violations.found == ["call t1 succeeded, but was never executed"]


async def test_executions_survive_the_server(violations: Violations, tmp_path: Path) -> None:
    """The ledger holds what a server did just before it died."""
    async with used_lane(violations, tmp_path) as lane:
        assert await lane.make(call("die after")) == "lost"
        assert (tmp_path / "ledger").read_text() == "t1\n"
    assert violations.found == []


async def test_a_call_without_an_outcome_is_found(
    violations: Violations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the client had lost its timer and the answer."""
    monkeypatch.setattr(lanes, "SLACK", 0.0)
    async with used_lane(violations, tmp_path) as lane:
        lost = Call("t1", "never", 1e6, 0.01)
        request = lane.client.request
        monkeypatch.setattr(
            lane.client, "request", lambda *names, **options: request(*names, timeout=None)
        )
        assert await lane.make(lost) == "none"
        await asyncio.sleep(0)
    assert len(violations.found) == 1 and "has no outcome in time" in violations.found[0]


async def test_a_descriptor_and_a_task_left_behind_are_found(
    violations: Violations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.tools.soak.resources._GRACE", 0.0)
    leaked: list[Any] = []
    async with used_lane(violations, tmp_path):
        leaked.append(socket.socket())
        leaked.append(asyncio.ensure_future(asyncio.sleep(60)))
    leaked[0].close()
    assert len(violations.found) == 1
    assert violations.found[0].startswith("the test left something behind: Holdings(")


async def test_a_server_left_behind_is_found(
    violations: Violations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-STD-2: as if closing did not stop the server."""
    monkeypatch.setattr("tests.tools.soak.resources._GRACE", 0.0)
    kept: list[StdioTransport] = []
    async with used_lane(violations, tmp_path):

        async def forgetful(transport: StdioTransport) -> None:
            kept.append(transport)

        monkeypatch.setattr(StdioTransport, "close", forgetful)
    for transport in kept:
        transport.abort()
    counted = re.findall(r"children=(\d+)", violations.found[0])
    assert len(violations.found) == 1
    assert int(counted[0]) == int(counted[1]) + 1  # of this process, which may have had some


async def test_what_happens_behind_everybodys_back_is_found(
    violations: Violations, tmp_path: Path
) -> None:
    class Failing:
        def __del__(self) -> None:
            raise LookupError("finalizer")

    async def fail() -> None:
        raise LookupError("task")

    async with used_lane(violations, tmp_path):
        task = asyncio.ensure_future(fail())
        await asyncio.wait({task})
        del task
        Failing()
        warnings.warn("careful", ResourceWarning, stacklevel=1)
        gc.collect()
    found = "\n".join(violations.found)
    assert len(violations.found) == 3
    assert "LookupError('task')" in found
    assert "LookupError('finalizer')" in found
    assert "ResourceWarning: careful" in found


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


def test_objects_left_by_calls_are_found(tmp_path: Path) -> None:
    run = Run(1, tmp_path, [("stdio", "handshake")], [])
    run.samples.append(Sample(1, 1, 1))
    run._check_objects(Counter(dict=400), 400)
    assert run.violations.found == []
    run._check_objects(Counter(dict=10_400), 10_000)
    expected = "10000 calls left 10400 objects behind, most of them {'dict': 10400}"
    assert run.violations.found == [expected]


def ended(outcome: BaseException | CallToolResult | None) -> asyncio.Future[Any]:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    if outcome is None:
        future.cancel()
    elif isinstance(outcome, BaseException):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
    return future


async def test_outcomes() -> None:
    """Each kind of end is one outcome; what does not belong to the call is wrong."""

    def text(text: str) -> CallToolResult:
        return CallToolResult({"content": [{"type": "text", "text": text}]})

    for given, asked, outcome, wrong in (
        (text("t1"), call("echo"), "result", ""),
        (text("t2"), call("echo"), "result", "has the result of t2"),
        (text("t1"), call("never"), "result", "has a result that the server never sent"),
        (text("t1:xx"), call("big", more={"size": 2}), "result", ""),
        (text("t1:x"), call("big", more={"size": 2}), "result", "has a result of 4"),
        (None, call("never", cancelled_after=0.1), "cancelled", ""),
        (None, call("echo"), "cancelled", "was cancelled by nobody"),
        (ClientClosed(), call("echo"), "closed", ""),
        (CallTimeout("tools/call", 1.0, "idle"), call("echo"), "timeout", ""),
        (ProcessExited(["x"], 1, ""), call("echo"), "lost", ""),
        (PeerError(-32000, "no"), call("echo"), "error", ""),
        (LookupError("bug"), call("echo"), "error", "ended with LookupError('bug')"),
    ):
        found = outcome_of(ended(given), asked)  # type: ignore[arg-type]
        assert found[0] == outcome
        assert found[1].startswith(wrong) and bool(found[1]) == bool(wrong)


def test_quantiles() -> None:
    latencies = Latencies()
    assert latencies.quantile(0.5) == 0
    for milliseconds in range(1, 101):
        latencies.add(milliseconds / 1000)
    assert latencies.quantile(0.5) == pytest.approx(0.05, rel=0.1)
    assert latencies.quantile(0.99) == pytest.approx(0.1, rel=0.1)


def test_a_port_is_free() -> None:
    assert os.name == "posix"
    assert lanes.free_port(Random(1)) in lanes._PORTS
