"""Signals to a program that consists of one task: Ctrl-C, and requests to end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from ..futures import cancel


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
    """Let Ctrl-C call a function, within the block, where it can cancel the task otherwise."""
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


class Termination:
    """Lets the first request to end this process (SIGTERM, SIGHUP) cancel the running task.

    Its cleanup, which stops the servers that it has started, runs to its end: some senders signal
    twice, or a process and its group. A signal that is ignored (nohup) or handled already is left
    alone. See `cancel_on_ctrl_c` for platforms.
    """

    requested: bool = False

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            with suppress(NotImplementedError, RuntimeError, ValueError):
                if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                    asyncio.get_running_loop().add_signal_handler(number, self._received)

    def _received(self) -> None:
        if not self.requested:
            self.requested = True
            cancel(self._task)
