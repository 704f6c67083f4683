"""Work that outlives its caller: in every way in which a caller can end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from mcpclient.net.shielded import run_shielded


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


async def test_work_without_end_is_given_up() -> None:
    """F-AUTH-5: it has so many seconds and no more."""
    work = Work()
    task = asyncio.ensure_future(run_shielded(work.run(), grace=0.01))
    await work.has_begun()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.became == ["cancelled"]


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
