"""Ctrl-C, for a program that consists of one task."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

__all__ = ["cancel_on_ctrl_c"]


def cancel_on_ctrl_c() -> None:
    """Let Ctrl-C cancel the running task; pressed again, it cancels its cleaning up.

    `asyncio.run` would raise KeyboardInterrupt wherever the program happens to be: the second time,
    and before Python 3.11 the first time already. It still does on Windows, and where SIGINT is the
    business of another thread. The loop gives SIGINT back when it closes.
    """
    task = asyncio.current_task()
    assert task is not None
    with suppress(NotImplementedError, RuntimeError, ValueError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
