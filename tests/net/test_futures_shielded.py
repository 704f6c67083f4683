"""Work that outlives its caller: in every way in which a caller can end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mcpclient.net.futures import run_shielded


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    join_threads()
    assert threading.active_count() == len(threading.enumerate())


def join_threads() -> None:
    for thread in threading.enumerate():
        if thread.name == "mcpclient-shielded":
            thread.join(10)
            assert not thread.is_alive()


class Work:
    """Work that waits to be let go, and keeps what became of it."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.became: list[str] = []

    async def run(self) -> str:
        self.begun.set()
        try:
            await asyncio.get_running_loop().run_in_executor(None, self._wait)
        except asyncio.CancelledError:
            self.became.append("cancelled")
            raise
        self.became.append("done")
        return "result"

    def _wait(self) -> None:
        while not self.go_on.wait(0.01) and not self.became:
            pass

    async def has_begun(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.begun.wait, 10)


async def test_the_result_and_the_failure_reach_the_caller() -> None:
    """F-AUTH-5"""

    async def fail() -> None:
        raise ValueError("why")

    work = Work()
    work.go_on.set()
    assert await run_shielded(work.run()) == "result"
    with pytest.raises(ValueError, match="why"):
        await run_shielded(fail())


async def test_a_cancelled_caller_waits_for_the_end() -> None:
    """F-AUTH-5: so that what it holds is held until then; however often it is cancelled."""
    work = Work()
    task = asyncio.ensure_future(run_shielded(work.run()))
    await work.has_begun()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
    work.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.became == ["done"]


def test_ctrl_c_within_the_caller_waits_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-5: before Python 3.11 it is raised wherever the program is."""
    work = Work()
    home, wait = threading.current_thread(), asyncio.wait

    async def interrupted(tasks: Any, **options: Any) -> Any:
        if threading.current_thread() is home and not work.go_on.is_set():
            work.go_on.set()
            raise KeyboardInterrupt
        return await wait(tasks, **options)

    async def main() -> None:
        with pytest.raises(KeyboardInterrupt):
            await run_shielded(work.run())
        assert work.became == ["done"]

    monkeypatch.setattr(asyncio, "wait", interrupted)
    asyncio.run(main())


async def test_the_failure_of_work_nobody_waits_for_is_dropped() -> None:
    """F-AUTH-5: the cancelled caller hears of its cancelling only."""
    work = Work()

    async def fail() -> None:
        await work.run()
        raise ValueError

    task = asyncio.ensure_future(run_shielded(fail()))
    await work.has_begun()
    task.cancel()
    work.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_work_without_end_is_given_up() -> None:
    """F-AUTH-5: it has so many seconds and no more."""
    work = Work()
    task = asyncio.ensure_future(run_shielded(work.run(), grace=0.01))
    await work.has_begun()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.became == ["cancelled"]


def test_the_end_of_asyncio_run_waits_for_it() -> None:
    """F-AUTH-5: which cancels every task."""
    work = Work()
    kept = []

    async def main() -> None:
        kept.append(asyncio.ensure_future(run_shielded(work.run())))
        await work.has_begun()
        asyncio.get_running_loop().call_later(0.01, work.go_on.set)

    asyncio.run(main())
    assert work.became == ["done"]
    assert kept[0].cancelled()


def test_a_loop_that_is_closed_does_not_end_it() -> None:
    """F-AUTH-5: it goes on alone."""
    work = Work()
    loop = asyncio.new_event_loop()
    task = loop.create_task(run_shielded(work.run()))
    loop.run_until_complete(work.has_begun())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    work.go_on.set()
    join_threads()
    assert work.became == ["done"]
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    task.get_coro().close()


def test_what_a_caller_holds_that_is_dropped_with_its_loop_is_held_until_the_end() -> None:
    """F-AUTH-5: as after a second Ctrl-C, which waits for no task."""
    work = Work()

    async def hold() -> None:
        try:
            await run_shielded(work.run())
        finally:
            work.became.append("let go")

    loop = asyncio.new_event_loop()
    task = loop.create_task(hold())
    loop.run_until_complete(work.has_begun())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    work.go_on.set()
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    task.get_coro().close()
    assert work.became == ["done", "let go"]


def test_a_loop_that_is_closed_gives_it_so_many_seconds() -> None:
    """F-AUTH-5: nothing keeps a program from its end for ever."""
    work = Work()
    loop = asyncio.new_event_loop()
    task = loop.create_task(run_shielded(work.run(), grace=0.01))
    loop.run_until_complete(work.has_begun())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    join_threads()
    assert work.became == ["cancelled"]
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    task.get_coro().close()


async def test_without_threads_the_work_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-5: the error is the caller's, and nothing is left behind."""
    work = Work()

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="thread"):
        await run_shielded(work.run())
    assert not work.begun.is_set()
