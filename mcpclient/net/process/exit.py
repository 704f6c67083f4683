"""Learning that a process has ended, and collecting its exit code, on any loop and platform.

asyncio's child watchers are not used: until Python 3.12 some of them need the main thread or
collect children that are not ours, and none can be closed once its loop is closed.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress

from ..futures import call_from_thread


class ExitWatch:
    """Calls ``exited`` once, from the loop, with the process's exit code.

    Linux makes a descriptor of a process, which costs no thread and so leaves programs that fork
    alone. Elsewhere, or with ``threads``, a daemon thread waits.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        process: subprocess.Popen[bytes],
        exited: Callable[[int], None],
        threads: bool,
    ) -> None:
        self._loop = loop
        self._process = process
        self._exited = exited
        self._descriptor = -1 if threads else _process_descriptor(process.pid)
        if self._descriptor >= 0:
            loop.add_reader(self._descriptor, self._ready)
        else:
            _wait_in_thread(process, self._report_from_thread)

    def close(self) -> None:
        """Watch no more. A process that is still ending is collected all the same. Idempotent."""
        if self._descriptor >= 0:
            self._let_go()
            if self._process.poll() is None:
                with suppress(RuntimeError):  # the interpreter ends; the system collects it
                    _wait_in_thread(self._process, lambda exit_code: None)

    def _ready(self) -> None:
        self._let_go()
        self._exited(self._process.wait())

    def _let_go(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        with suppress(RuntimeError):  # the loop is closed and watches nothing any more
            self._loop.remove_reader(descriptor)
        os.close(descriptor)

    def _report_from_thread(self, exit_code: int) -> None:
        call_from_thread(self._loop, self._exited, exit_code)


def _process_descriptor(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, Linux before 5.3, or a sandbox that forbids it
        return -1


def _wait_in_thread(process: subprocess.Popen[bytes], report: Callable[[int], None]) -> None:
    threading.Thread(
        target=lambda: report(process.wait()), name=f"mcpclient-wait-{process.pid}", daemon=True
    ).start()
