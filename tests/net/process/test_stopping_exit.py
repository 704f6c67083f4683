"""Learning that a process has ended: by a descriptor, by a thread, and without a listener."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading

import pytest

from mcpclient.net.process.stopping import ExitWatch
from tests.net.process_helpers import python, until, wait_until

pytestmark = pytest.mark.needs_posix

BothWays = pytest.mark.parametrize("threads", [False, True], ids=["descriptor", "thread"])

WAITS = python("import os; os.read(0, 1); os._exit(5)")


def start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(WAITS, stdin=subprocess.PIPE)


def let_end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()


@BothWays
async def test_the_exit_code_is_told_once(threads: bool) -> None:
    """F-LIFE-7"""
    codes: list[int] = []
    process = start()
    watch = ExitWatch(asyncio.get_running_loop(), process, codes.append, threads)
    await asyncio.sleep(0)
    assert not codes
    let_end(process)
    await until(lambda: bool(codes), "the exit code")
    watch.close()
    watch.close()
    assert codes == [5]


@BothWays
def test_a_process_is_collected_when_nobody_watches_any_more(threads: bool) -> None:
    """F-LIFE-5: also after the loop is closed; no zombie stays."""
    codes: list[int] = []

    async def main() -> ExitWatch:
        return ExitWatch(asyncio.get_running_loop(), process, codes.append, threads)

    process = start()
    watch = asyncio.run(main())
    watch.close()
    let_end(process)
    wait_until(lambda: process.returncode == 5, "the process is collected")
    assert not codes


async def test_closing_while_the_interpreter_ends_does_not_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-LIFE-5: no thread can be started then."""

    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    process = start()
    watch = ExitWatch(asyncio.get_running_loop(), process, lambda code: None, False)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        watch.close()
    let_end(process)
    process.wait()


async def test_without_a_process_descriptor_a_thread_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-LIFE-7: as on macOS, or in a sandbox that forbids the system call."""
    codes: list[int] = []

    def refused(pid: int, flags: int = 0) -> int:
        raise PermissionError(pid)

    monkeypatch.setattr(os, "pidfd_open", refused, raising=False)
    process = start()
    ExitWatch(asyncio.get_running_loop(), process, codes.append, False)
    let_end(process)
    await until(lambda: bool(codes), "the exit code")
    assert codes == [5]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs process descriptors")
async def test_a_process_descriptor_costs_no_thread() -> None:
    """F-STD-2: Python warns programs that fork beside a thread."""
    process = start()
    before = threading.active_count()
    codes: list[int] = []
    ExitWatch(asyncio.get_running_loop(), process, codes.append, False)
    assert threading.active_count() == before
    let_end(process)
    await until(lambda: bool(codes), "the exit code")


async def test_closing_after_the_process_has_been_collected_starts_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-LIFE-5"""
    process = start()
    watch = ExitWatch(asyncio.get_running_loop(), process, lambda code: None, False)
    let_end(process)
    process.wait()
    monkeypatch.setattr(threading.Thread, "start", pytest.fail)
    watch.close()
