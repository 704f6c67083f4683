"""Find the leftovers of a test: threads, child processes, sockets, pipes and files."""

from __future__ import annotations

import gc
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import psutil

# Real seconds for a thread that is ending, or a process that is being reaped, to be gone.
GRACE = 2.0


@dataclass(frozen=True)
class Resources:
    """The resources that this process holds."""

    threads: frozenset[threading.Thread]
    children: frozenset[psutil.Process]
    descriptors: int

    @classmethod
    def held_now(cls) -> Resources:
        return cls(frozenset(threading.enumerate()), children(), open_descriptors())

    def new_since(self, before: Resources) -> list[str]:
        """Name everything that was not there before."""
        threads = [f"thread {thread.name}" for thread in self.threads - before.threads]
        processes = [_described(process) for process in self.children - before.children]
        more = self.descriptors - before.descriptors
        opened = [f"{more} more open: {', '.join(_open_things())}"] if more > 0 else []
        return sorted([*threads, *processes, *opened])


def left_behind(before: Resources) -> list[str]:
    """Name what exists now and did not before, after giving it `GRACE` to go away."""
    if not Resources.held_now().new_since(before):
        return []
    gc.collect()
    deadline = time.monotonic() + GRACE
    while True:
        leaked = Resources.held_now().new_since(before)
        if not leaked or time.monotonic() > deadline:
            return leaked
        time.sleep(0.01)


def children() -> frozenset[psutil.Process]:
    """Return the child processes, with those that have ended and were never waited for."""
    # Looking for them takes a millisecond, and every test comes here twice: the system is asked
    # first whether there are any at all.
    if hasattr(os, "waitid"):
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return frozenset()
    return frozenset(_this_process().children())


def open_descriptors() -> int:
    """Count the files, sockets and pipes that are open; on Windows only Python's sockets.

    Windows counts handles, and it has handles for threads, events and much that Python keeps. Its
    table of connections covers the whole machine, which takes too long for every test.
    """
    if os.name == "posix":
        return _this_process().num_fds()
    return len(_open_sockets())


def _open_sockets() -> list[socket.socket]:
    """Return the sockets of Python's."""
    things = gc.get_objects()
    sockets = (each for each in things if issubclass(type(each), socket.socket))
    return [each for each in sockets if each.fileno() >= 0]


@cache
def _this_process() -> psutil.Process:
    return psutil.Process()


def _open_things() -> Iterator[str]:
    """Name the sockets and files that are open now; a pipe has nothing to be told by."""
    if os.name != "posix":
        yield from (f"socket {each!r}" for each in _open_sockets())
        return
    for connection in _this_process().net_connections("all"):
        yield f"socket {connection.fd} {connection.laddr} {connection.raddr}"
    for file in _this_process().open_files():
        yield f"file {file.fd} {file.path}"


def _described(process: psutil.Process) -> str:
    try:
        command = " ".join(process.cmdline())
    except psutil.Error:
        command = ""
    return f"process {process.pid} ({command or 'ended, but never waited for'})"
