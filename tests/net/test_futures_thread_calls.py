"""Waiting in a thread that the end of a program does not wait for."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mcpclient.net.futures import call_in_thread
from tests.support.subprocesses import run_python


async def test_what_a_function_returns_and_raises() -> None:
    """F-SHOW-5"""
    thread = await call_in_thread(threading.current_thread)
    assert thread is not threading.current_thread()
    assert thread.daemon
    with pytest.raises(ZeroDivisionError):
        await call_in_thread(lambda: 1 // 0)


def test_a_cancelled_wait_leaves_the_thread_to_itself() -> None:
    """F-SHOW-5: what it does later is nobody's business, with the loop or without it."""
    goes_on = threading.Event()
    threads: list[threading.Thread] = []

    def work() -> None:
        threads.append(threading.current_thread())
        goes_on.wait()

    async def main() -> None:
        for _ in range(2):
            waiting = asyncio.ensure_future(call_in_thread(work))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait({waiting})
            assert waiting.cancelled()

    asyncio.run(main())
    goes_on.set()
    for thread in threads:
        thread.join()


def test_the_program_ends_without_it() -> None:
    """F-SHOW-5"""
    source = """
        import asyncio, threading
        from mcpclient.net.futures import call_in_thread

        async def main():
            waiting = asyncio.ensure_future(call_in_thread(threading.Event().wait))
            await asyncio.sleep(0)
            waiting.cancel()

        asyncio.run(main())
        print("over")
    """
    assert run_python(source) == "over\n"
