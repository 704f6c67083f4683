"""Ctrl-C for a program that consists of one task."""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from mcpclient.net.futures import cancel_on_ctrl_c, ctrl_c_calls

pytestmark = pytest.mark.needs_posix


def test_ctrl_c_cancels_the_task_and_then_its_cleaning_up() -> None:
    """F-SHOW-3: on every Python, and never in the middle of something."""
    seen: list[str] = []

    async def main() -> None:
        cancel_on_ctrl_c()
        for step in ("work", "cleaning up"):
            signal.raise_signal(signal.SIGINT)
            seen.append(step)
            with pytest.raises(asyncio.CancelledError):
                await asyncio.sleep(60)
        raise asyncio.CancelledError

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises((asyncio.CancelledError, KeyboardInterrupt)):
        asyncio.run(main())
    assert seen == ["work", "cleaning up"]
    assert signal.getsignal(signal.SIGINT) is handler


def test_another_thread_has_no_part_in_it() -> None:
    """F-SHOW-3"""
    done: list[bool] = []

    async def main() -> None:
        cancel_on_ctrl_c()
        done.append(True)

    handler = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    thread.join()
    assert done == [True]
    assert signal.getsignal(signal.SIGINT) is handler


async def test_ctrl_c_can_call_a_function_for_a_while() -> None:
    """F-SHOW-5: within the block it cancels nothing, and after it the task again."""
    pressed: list[int] = []
    cancel_on_ctrl_c()
    with ctrl_c_calls(lambda: pressed.append(1)):
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(0.01)
        assert pressed == [1]
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.sleep(60)


def test_another_thread_hears_no_ctrl_c() -> None:
    """F-SHOW-5"""
    done: list[bool] = []

    async def main() -> None:
        with ctrl_c_calls(done.clear):
            done.append(True)

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    thread.join()
    assert done == [True]
