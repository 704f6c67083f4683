"""The end of a server process: noticing it, and bringing it about step by step.

asyncio's child watchers are not used: until Python 3.12 some of them need the main thread or
collect children that are not ours, and none can be closed once its loop is closed.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from ...framing.logs import logger_for
from ..futures import call_from_thread
from .groups import ProcessGroup

_logger = logger_for("mcpclient.process")

# Between two looks whether the rest of a group is gone: soon at first, then less eagerly.
_FIRST_LOOK = 0.005
_SLOWEST_LOOK = 0.1


class StopLadder(NamedTuple):
    """The seconds that each step of stopping a server may take.

    The order is that of the specification (2025-11-25, basic/lifecycle, "Shutdown"): close its
    input, then SIGTERM, then SIGKILL. ``interrupt`` adds a SIGINT before all of them; None leaves
    it out. Every wait ends as soon as the server and all it started are gone. With the defaults,
    stopping takes at most four seconds.

    Half a second is short for a server that has much to save when its input ends. It is not longer
    because the caller waits for it, and many servers never end by themselves. A server that handles
    SIGTERM has the 2.5 seconds after it as well; for one that does not, give it more:
    ``StopLadder(close_input=5)``.
    """

    interrupt: float | None = None
    close_input: float = 0.5
    terminate: float = 2.5
    kill: float = 1.0


class Stopping:
    """Stops one group, step by step, by timers of the loop, without a task.

    It starts with the first step when `begin` is called, and with SIGTERM when the leader ends and
    leaves others behind. ``gone`` is called once: when nothing is left, or nothing more can be
    done.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        ladder: StopLadder,
        group: ProcessGroup,
        close_input: Callable[[], None],
        gone: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._group = group
        self._gone = gone
        self._begun = self._terminating = self._over = False
        self._look_delay = _FIRST_LOOK
        self._timers: dict[Callable[[], None], asyncio.TimerHandle] = {}
        self._last_steps = [(self._terminate, ladder.terminate), (group.kill, ladder.kill)]
        self._all_steps = [(close_input, ladder.close_input), *self._last_steps]
        if ladder.interrupt is not None:
            self._all_steps.insert(0, (group.interrupt, ladder.interrupt))
        self._steps: Iterator[tuple[Callable[[], None], float]] = iter(())

    def begin(self) -> None:
        """Begin with the first step. Further calls change nothing."""
        if not (self._begun or self._terminating or self._over):
            self._begun = True
            self._steps = iter(self._all_steps)
            self._step()

    def leader_ended(self) -> None:
        """Stop the processes that the leader left behind, if there are any."""
        if self._over:
            return
        if not self._group.is_gone() and not self._terminating:
            self._steps = iter(self._last_steps)
            self._step()
        self._look()

    def cancel(self) -> None:
        """Cancel every further step; ``gone`` is not called any more."""
        self._over = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _step(self) -> None:
        step = next(self._steps, None)
        if step is None:
            _logger.warning("server process %d survived SIGKILL", self._group.process.pid)
            self._finish()
            return
        action, wait = step
        action()
        self._later(wait, self._step)

    def _terminate(self) -> None:
        self._terminating = True
        self._group.terminate()

    def _look(self) -> None:
        if self._group.is_gone():
            self._finish()
        else:
            self._later(self._look_delay, self._look)
            self._look_delay = min(self._look_delay * 2, _SLOWEST_LOOK)

    def _later(self, delay: float, callback: Callable[[], None]) -> None:
        earlier = self._timers.pop(callback, None)
        if earlier is not None:
            earlier.cancel()
        self._timers[callback] = self._loop.call_later(delay, callback)

    def _finish(self) -> None:
        self.cancel()
        self._gone()


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
