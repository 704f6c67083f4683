"""The processes a server consists of, and the promise that none outlives this interpreter.

A server is often a tree of processes: ``npx`` starts a shell, the shell starts node. So signals go
to the whole group, never to its leader alone. Every group is registered as long as any of it may
be alive; one exit hook kills the rest. A forked child of this process forgets all groups, since
they are not its own. Only if this process is itself killed outright can it do nothing: on Windows
the system then ends the servers, elsewhere they see the end of their input.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from .launch import CREATE_NO_WINDOW, tree_kill_command

if TYPE_CHECKING:
    from ..windows import Job
if sys.platform == "win32":
    from ..windows import contain, windows_calls

_TREE_KILL_TIMEOUT = 3.0

_live: set[ProcessGroup] = set()


class ProcessGroup(ABC):
    """One server's processes. No method raises, and none signals a group known to be gone."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        #: Set in a forked copy of the program that started the group: it is the parent's.
        self.disowned = False
        #: Set when the interpreter ends: the end of the group is not reported any more.
        self.silenced = False
        self._gone = False
        _live.add(self)

    @abstractmethod
    def interrupt(self) -> None:
        """Ask every process to stop, as Ctrl-C does."""

    @abstractmethod
    def terminate(self) -> None:
        """Ask every process to end."""

    @abstractmethod
    def kill(self) -> None:
        """End every process, whether it wants to or not."""

    @abstractmethod
    def is_gone(self) -> bool:
        """Whether nothing of the group is left. To be asked only once its leader has ended."""

    def forget(self) -> None:
        """Drop the group from those killed at exit; from now on nothing signals it."""
        self._gone = True
        _live.discard(self)


class PosixGroup(ProcessGroup):
    """A process group whose leader was started with a session of its own."""

    def interrupt(self) -> None:
        self._signal(signal.SIGINT)

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def is_gone(self) -> bool:
        self._signal(0)
        if not self._gone and _only_zombies(self.process.pid):
            self._gone = True
        return self._gone

    def _signal(self, number: int) -> None:
        if self._gone:
            return
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            # Nobody left, or only processes that are not ours to signal: zombies (macOS), or
            # programs that changed their user. The id may go to other programs from now on.
            self._gone = self.process.returncode is not None


def _only_zombies(group: int) -> bool:
    """Whether the group holds only zombies: ended processes that were not collected.

    In a container whose first process does not reap, an orphan stays a zombie for ever and the
    group never empties. Only Linux tells (``/proc``); elsewhere the answer is no.
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
            continue  # it ended while we looked
        if int(member_of) == group and state not in (b"Z", b"X"):
            return False
    return bool(entries)


class WindowsTree(ProcessGroup):
    """A process and its descendants: those in its ``job``, or those ``taskkill`` finds.

    ``job``: None where the system granted none. ``taskkill`` finds descendants by their parents,
    and so nothing behind a process that has ended.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        job: Job | None = None,
        run: Callable[[Sequence[str]], object] | None = None,
    ) -> None:
        super().__init__(process)
        self._job = job
        self._run = run or _run_unseen

    def interrupt(self) -> None:
        """Do nothing: a server without our console cannot be sent Ctrl-C."""

    def terminate(self) -> None:
        self.kill()  # Windows has no way to ask a program without a window

    def kill(self) -> None:
        if self._gone:
            return
        if self._job is not None:
            self._job.kill()
        elif self.process.returncode is None:
            # This blocks for as long as taskkill runs.
            with suppress(OSError, subprocess.SubprocessError):
                self._run(tree_kill_command(self.process.pid))
            with suppress(OSError):
                self.process.kill()  # in case taskkill is missing or was refused

    def is_gone(self) -> bool:
        # Without a job, descendants of an ended process cannot be found any more.
        return self._gone or self._job is None or self._job.is_empty()

    def forget(self) -> None:
        super().forget()
        if self._job is not None:
            self._job.close()


def _run_unseen(command: Sequence[str]) -> None:
    subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=_TREE_KILL_TIMEOUT,
        creationflags=CREATE_NO_WINDOW,
        check=False,
    )


def process_group(process: subprocess.Popen[bytes]) -> ProcessGroup:
    """Return the group led by ``process``, registered to be killed at interpreter exit.

    On Windows ``process`` was started suspended, as `LaunchPlan` says, and runs from now on.
    """
    if sys.platform == "win32":
        return WindowsTree(process, contain(process.pid, windows_calls()))
    return PosixGroup(process)


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


def _kill_all() -> None:
    groups = list(_live)
    # A loop in a daemon thread runs on while the interpreter ends. It would see the servers die and
    # report that to calls which are not awaited any more.
    for group in groups:
        group.silenced = True
    for group in groups:
        group.kill()
        close_pipes(group.process)


def _disown_all() -> None:
    """In a forked child: leave the parent's servers alone, and do not hold their pipes open."""
    for group in list(_live):
        group.disowned = True
        group.process.returncode = 0  # else its finalizer would wait for a child it does not have
        group.forget()
        close_pipes(group.process)


atexit.register(_kill_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown_all)
