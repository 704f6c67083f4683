"""See what a test leaves behind: threads, child processes, sockets and pipes."""

from __future__ import annotations

import gc
import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Real seconds for a thread that is ending, or a process that is being reaped, to be gone.
GRACE = 2.0


@dataclass(frozen=True)
class Resources:
    """What this process holds. Children and descriptors are known on Linux only."""

    threads: frozenset[threading.Thread]
    children: frozenset[int]
    descriptors: frozenset[str]

    @classmethod
    def held_now(cls) -> Resources:
        return cls(frozenset(threading.enumerate()), _children(), _descriptors())

    def new_since(self, before: Resources) -> list[str]:
        """Name everything that was not there before."""
        threads = [f"thread {thread.name}" for thread in self.threads - before.threads]
        children = [_describe_process(pid) for pid in self.children - before.children]
        return sorted([*threads, *children, *(self.descriptors - before.descriptors)])


def left_behind(before: Resources) -> list[str]:
    """Name what exists now and did not before, after giving it `GRACE` to go away."""
    leaked = Resources.held_now().new_since(before)
    if not leaked:
        return []
    gc.collect()
    deadline = time.monotonic() + GRACE
    while True:
        leaked = Resources.held_now().new_since(before)
        if not leaked or time.monotonic() > deadline:
            return leaked
        time.sleep(0.01)


def _children() -> frozenset[int]:
    found: set[int] = set()
    for thread in _names_in("/proc/self/task"):
        path = f"/proc/self/task/{thread}/children"
        with suppress(OSError), open(path, "rb") as file:  # or the thread has just ended
            found.update(map(int, file.read().split()))
    return frozenset(found)


def _descriptors() -> frozenset[str]:
    found: set[str] = set()
    for number in _names_in("/proc/self/fd"):
        with suppress(
            OSError
        ):  # closed since it was listed; the listing's own is always such a one
            target = os.readlink(f"/proc/self/fd/{number}")
            if target.startswith(("socket:", "pipe:")):
                found.add(f"descriptor {number} ({target})")
    return frozenset(found)


def _names_in(folder: str) -> list[str]:
    # Of os rather than pathlib, since every test comes here twice.
    with suppress(OSError):  # only Linux has it
        return os.listdir(folder)
    return []


def _describe_process(pid: int) -> str:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        command = ""
    return f"process {pid} ({command.strip() or 'ended, but never waited for'})"
