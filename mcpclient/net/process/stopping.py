"""The end of a server: its process group, its exit, and the steps that stop it.

A server is often a tree of processes: ``npx`` starts a shell, the shell starts node. So signals go
to the whole group, never to its leader alone. Every group is registered as long as any of it may
be alive; one exit hook kills the rest. A forked child of this process forgets all groups, since
they are not its own. If this process is itself killed by SIGKILL, it can do nothing: on Windows
the system then ends the servers, elsewhere they see the end of their input.

asyncio's child watchers are not used: until Python 3.12 some of them need the main thread or
collect children that are not ours, and none can be closed once its loop is closed.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ...framing.logs import logger_for
from ..futures import call_from_thread
from .launch import CREATE_NO_WINDOW

if TYPE_CHECKING:
    from ..windows import Job
if sys.platform == "win32":
    from ..windows import contain, windows_calls

_logger = logger_for("mcpclient.process")

_TREE_KILL_TIMEOUT = 3.0

_live: set[ProcessGroup] = set()


class ProcessGroup:
    """One server's processes: the session that its leader was started with.

    No method raises, and none signals a group known to be gone.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        #: Set in a forked copy of the program that started the group: it is the parent's.
        self.disowned = False
        #: Set at interpreter exit: the end of the group is then no longer reported.
        self.silenced = False
        self._gone = False
        _live.add(self)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)

    def is_gone(self) -> bool:
        """Whether no process of the group is left. Valid only once its leader has ended."""
        self.signal(0)
        if not self._gone and _only_zombies(self.process.pid):
            self._gone = True
        return self._gone

    def forget(self) -> None:
        """Remove the group from those killed at exit; it gets no more signals."""
        self._gone = True
        _live.discard(self)

    def signal(self, number: int) -> None:
        if self._gone:
            return
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            # No process is left, or only some that we may not signal: zombies (macOS), or
            # programs that changed their user. The system may now reuse the group's id.
            self._gone = self.process.returncode is not None


def _only_zombies(group: int) -> bool:
    """Whether the group holds only zombies: ended processes that were not collected.

    In a container whose first process does not reap, an orphan stays a zombie for ever and the
    group never empties. Only Linux tells (``/proc``); elsewhere this is False.
    """
    try:
        entries = [entry for entry in os.listdir("/proc") if entry.isdigit()]
    except OSError:
        return False
    for entry in entries:
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                # pid (name) state parent group …; the name may hold spaces and parentheses.
                state, _, member_of = file.read().rpartition(b")")[2].split()[:3]
        except (OSError, ValueError):
            continue  # it ended in the meantime
        if int(member_of) == group and state not in (b"Z", b"X"):
            return False
    return bool(entries)


class WindowsTree(ProcessGroup):
    """A process and its descendants: those in its ``job``, or those ``taskkill`` finds.

    ``job``: None where the system granted none. ``taskkill`` finds descendants by their parents,
    and so nothing behind a process that has ended.
    """

    def __init__(self, process: subprocess.Popen[bytes], job: Job | None = None) -> None:
        super().__init__(process)
        self._job = job

    def signal(self, number: int) -> None:
        if number == signal.SIGTERM:  # Windows has no way to ask a program without a window
            self.kill()

    def kill(self) -> None:
        if self._gone:
            return
        if self._job is not None:
            self._job.kill()
        elif self.process.returncode is None:
            with suppress(OSError, subprocess.SubprocessError):  # this blocks as long as it runs
                subprocess.run(
                    ["taskkill", "/PID", str(self.process.pid), "/T", "/F"],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    timeout=_TREE_KILL_TIMEOUT,
                    creationflags=CREATE_NO_WINDOW,
                )
            with suppress(OSError):
                self.process.kill()  # in case taskkill is missing or failed

    def is_gone(self) -> bool:
        # Without a job, descendants of an ended process cannot be found any more.
        return self._gone or self._job is None or self._job.is_empty()

    def forget(self) -> None:
        super().forget()
        if self._job is not None:
            self._job.close()


def process_group(process: subprocess.Popen[bytes]) -> ProcessGroup:
    """Return the group led by ``process``, killed at exit; on Windows it runs from now on."""
    if sys.platform == "win32":
        return WindowsTree(process, contain(process.pid, windows_calls()))
    return ProcessGroup(process)


def give_up(process: subprocess.Popen[bytes]) -> None:
    """End a process that was just started, whether or not it leads a group by now."""
    for group in [group for group in _live if group.process is process]:
        group.kill()
        group.forget()
    process.kill()
    process.wait()
    close_pipes(process)


def close_pipes(process: subprocess.Popen[bytes]) -> None:
    """Close this side's ends of the three pipes."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def kill_all() -> None:
    """At interpreter exit: kill the groups that are left, and report nothing of it."""
    groups = list(_live)
    # A loop in a daemon thread keeps running while the interpreter exits. It would see the servers
    # die, and report that to calls which no task awaits any more.
    for group in groups:
        group.silenced = True
    for group in groups:
        group.kill()
        close_pipes(group.process)


def disown_all() -> None:
    """In a forked child: leave the parent's servers alone, and do not hold their pipes open."""
    for group in list(_live):
        group.disowned = True
        group.process.returncode = 0  # else its finalizer would wait for a child of the parent
        group.forget()
        close_pipes(group.process)


atexit.register(kill_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=disown_all)


_TERMINATE = 2  # the number of steps before that which ends processes

# Seconds between two checks whether the rest of a group is gone: short at first, then longer.
_FIRST_LOOK = 0.005
_SLOWEST_LOOK = 0.1


class StopLadder(NamedTuple):
    """The seconds that each step of stopping a server may take.

    The order follows the specification (2025-11-25, basic/lifecycle, "Shutdown"): close its
    input, then SIGTERM, then SIGKILL. ``interrupt`` adds a SIGINT before all of them; None leaves
    it out. Every wait ends as soon as the server and all it started are gone. With the defaults,
    stopping takes at most four seconds.

    Half a second is short for a server that has much to save when its input ends, but the caller
    waits for it, and many servers never end by themselves. A server that handles SIGTERM has 2.5
    more seconds after it; for one that does not, allow more:
    ``StopLadder(close_input=5)``.
    """

    interrupt: float | None = None
    close_input: float = 0.5
    terminate: float = 2.5
    kill: float = 1.0


class Stopping:
    """Stops one group, step by step, by timers of the loop, without a task.

    `begin` starts with the first step; a leader that exits and leaves other processes behind starts
    with SIGTERM. ``gone`` is called once: when no process is left, or nothing more can be done.
    ``is_forced``: whether a signal was needed that ends processes.
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
        self._over = False
        self._look_delay = _FIRST_LOOK
        self._timers: dict[Callable[[], None], asyncio.TimerHandle] = {}
        self._steps: list[tuple[Callable[[], object], float | None]] = [
            (partial(group.signal, signal.SIGINT), ladder.interrupt),
            (close_input, ladder.close_input),
            (partial(group.signal, signal.SIGTERM), ladder.terminate),
            (group.kill, ladder.kill),
        ]
        self._taken = 0  # how many of them
        self.is_forced: bool = False

    def begin(self) -> None:
        """Start with the first step. Further calls do nothing."""
        if not (self._taken or self._over):
            self._step()

    def leader_ended(self) -> None:
        """Stop the processes that the leader left behind, if there are any."""
        if self._over:
            return
        if self._taken <= _TERMINATE and not self._group.is_gone():
            self._taken = _TERMINATE
            self._step()
        self._look()

    def cancel(self) -> None:
        """Cancel every further step; ``gone`` is not called any more."""
        self._over = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _step(self) -> None:
        if self._taken == len(self._steps):
            _logger.warning("server process %d survived SIGKILL", self._group.process.pid)
            self._finish()
            return
        action, wait = self._steps[self._taken]
        self.is_forced = self._taken >= _TERMINATE
        self._taken += 1
        if wait is None:
            self._step()
        else:
            action()
            self._later(wait, self._step)

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

    On Linux it watches a pidfd, which needs no thread, so that programs can still fork safely.
    Elsewhere, or with ``threads``, a daemon thread waits.
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
        self._descriptor = -1
        # Not Linux, Linux before 5.3, or a sandbox that forbids it.
        with suppress(AttributeError, OSError):
            self._descriptor = -1 if threads else os.pidfd_open(process.pid)
        if self._descriptor >= 0:
            loop.add_reader(self._descriptor, self._ready)
        else:
            _wait_in_thread(process, partial(call_from_thread, loop, exited))

    def close(self) -> None:
        """Stop watching. A process that is still exiting is reaped nevertheless. Idempotent."""
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


def _wait_in_thread(process: subprocess.Popen[bytes], report: Callable[[int], object]) -> None:
    threading.Thread(
        target=lambda: report(process.wait()), name=f"mcpclient-wait-{process.pid}", daemon=True
    ).start()
