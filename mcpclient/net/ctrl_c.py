"""Ctrl-C for a program that consists of one task."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


def cancel_on_ctrl_c() -> None:
    """Let Ctrl-C cancel the running task; a second Ctrl-C cancels its cleanup.

    Under `asyncio.run` alone, a second Ctrl-C (before Python 3.11 the first one already) raises
    KeyboardInterrupt wherever the program happens to be. That remains so on Windows, and outside of
    the main thread. Closing the loop restores the earlier handler of SIGINT.
    """
    task = asyncio.current_task()
    assert task is not None
    with suppress(NotImplementedError, RuntimeError, ValueError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)


@contextmanager
def ctrl_c_calls(function: Callable[[], None]) -> Iterator[None]:
    """Let Ctrl-C call a function, within the block, instead of cancelling the task.

    On Windows, and outside of the main thread, Ctrl-C works as before.
    """
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, function)
    except (NotImplementedError, RuntimeError, ValueError):
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        cancel_on_ctrl_c()
