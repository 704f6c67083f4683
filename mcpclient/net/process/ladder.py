"""How a server is stopped: its input is closed, then comes SIGTERM, then SIGKILL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...framing.logs import logger_for
from .groups import ProcessGroup

_logger = logger_for("mcpclient.process")

# Between two looks whether the rest of a group is gone: soon at first, then less eagerly.
_FIRST_LOOK = 0.005
_SLOWEST_LOOK = 0.1


class StopLadder(NamedTuple):
    """How long each step of stopping a server may take, in seconds.

    The order is that of the specification (2025-11-25, basic/lifecycle, "Shutdown"): close its
    input, then SIGTERM, then SIGKILL. ``interrupt`` adds a SIGINT before all of them; None leaves
    it out. Every wait ends as soon as the server and all it started are gone. With the defaults,
    stopping takes at most four seconds.

    Half a second is short for a server that has much to save when its input ends. It is not longer
    because whoever closes a client waits for it, and many servers never end by themselves: each of
    these would take as long. A server that handles SIGTERM has the 2.5 seconds after it as well;
    for one that does not, give it more: ``StopLadder(close_input=5)``.
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
        self._begun = self._insisting = self._over = False
        self._look_delay = _FIRST_LOOK
        self._timers: dict[Callable[[], None], asyncio.TimerHandle] = {}
        self._last_steps = [(self._insist, ladder.terminate), (group.kill, ladder.kill)]
        self._all_steps = [(close_input, ladder.close_input), *self._last_steps]
        if ladder.interrupt is not None:
            self._all_steps.insert(0, (group.interrupt, ladder.interrupt))
        self._steps: Iterator[tuple[Callable[[], None], float]] = iter(())

    def begin(self) -> None:
        """Take the first step. Further calls, also while it is being stopped, change nothing."""
        if not (self._begun or self._insisting or self._over):
            self._begun = True
            self._steps = iter(self._all_steps)
            self._step()

    def leader_ended(self) -> None:
        """Look after what the leader left behind."""
        if self._over:
            return
        if not self._group.is_gone() and not self._insisting:
            self._steps = iter(self._last_steps)
            self._step()
        self._look()

    def cancel(self) -> None:
        """Take no further step; ``gone`` will not be called any more."""
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

    def _insist(self) -> None:
        self._insisting = True
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
