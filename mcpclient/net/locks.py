"""Locks that keep out other tasks and other processes, by means of empty files.

Where the system can lock files, the lock of a killed process is released at once. Elsewhere the
existence of a file is the lock; its owner touches it regularly, and it counts as stale when it has
not been touched for a while.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Callable
from weakref import WeakKeyDictionary

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt as _msvcrt
except ImportError:  # everything else
    msvcrt: Any = None
else:
    msvcrt = _msvcrt

from .regular_files import make_private_folder, open_regular

# Seconds between two attempts at a lock that another process holds: short at first, since most are
# held for milliseconds, and longer later, since the others wait for a human.
_FIRST_DELAY = 0.005
_MAX_DELAY = 0.25

# Seconds between two touches of a lock by existence, and the age from which it counts as stale.
_TOUCH_EVERY = 5.0
_LEFT_BEHIND_AFTER = 30.0

# Windows says EACCES, and Wine, which runs Windows programs elsewhere, gives no reason at all.
_HELD_BY_ANOTHER = {errno.EAGAIN, errno.EACCES, errno.EDEADLK, 0}


class TaskLocks:
    """Locks by name that keep out the other tasks of the same event loop."""

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = (
            WeakKeyDictionary()
        )

    def lock(self, name: str) -> asyncio.Lock:
        """Return the lock called ``name`` of the running event loop."""
        locks = self._locks.setdefault(asyncio.get_running_loop(), {})
        return locks.setdefault(name, asyncio.Lock())


class LockFolder:
    """Locks by name that keep out tasks and processes that use the same folder.

    If the folder cannot be written to, they keep out only the tasks of this event loop.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tasks = TaskLocks()

    @asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[None]:
        """Hold the lock called ``name`` within a block. Cancelling the wait is safe."""
        path, delay = self.path_of(name), _FIRST_DELAY
        async with self._tasks.lock(name):
            release = _taken(path)
            while release is None:
                await asyncio.sleep(delay)
                delay = min(delay * 2, _MAX_DELAY)
                release = _taken(path)
            try:
                yield
            finally:
                release()

    def path_of(self, name: str) -> Path:
        """Return the file of the lock called ``name``."""
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.lock"


def _taken(path: Path) -> Callable[[], None] | None:
    """Return a function that unlocks a file; None while another process holds the lock."""
    try:
        descriptor = _open_private(path)
    except OSError:
        return lambda: None  # there is no other process that could share this folder
    try:
        return _lock_opened(descriptor)
    except OSError:  # some network file systems do not support locks
        return _created(path.with_suffix(".held"))


def _created(path: Path) -> Callable[[], None] | None:
    """Acquire a lock by existence; return as `_taken` does."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _LEFT_BEHIND_AFTER:
                path.unlink()
        return None
    except OSError:
        return lambda: None
    return _Touching(path).stop


class _Touching:
    """Touches a lock by existence regularly, to show that its owner is alive."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(_TOUCH_EVERY, self._touch)

    def _touch(self) -> None:
        with suppress(OSError):
            os.utime(self._path)
        self._timer = self._loop.call_later(_TOUCH_EVERY, self._touch)

    def stop(self) -> None:
        self._timer.cancel()
        with suppress(OSError):
            self._path.unlink()


def take_lock(path: Path) -> Callable[[], None] | None:
    """Lock an empty file without waiting; return a function that unlocks it, None if it is locked.

    Raises `OSError` where no other process could share its folder, and where the file system does
    not support locks, as some network file systems.
    """
    return _lock_opened(_open_private(path))


def _open_private(path: Path) -> int:
    make_private_folder(path.parent)
    return open_regular(path, os.O_RDWR | os.O_CREAT)


def _lock_opened(descriptor: int) -> Callable[[], None] | None:
    try:
        lock_descriptor(descriptor)
    except OSError as error:
        os.close(descriptor)
        if error.errno in _HELD_BY_ANOTHER:
            return None
        raise
    return lambda: unlock_descriptor(descriptor)


def lock_descriptor(descriptor: int) -> None:
    """Lock without waiting. Raises `OSError` when that fails, for any reason."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif msvcrt is not None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        raise OSError(errno.ENOSYS, "no locks on files")


def unlock_descriptor(descriptor: int) -> None:
    """Unlock and close."""
    # Closing is not enough: a forked child may hold the same descriptor open, and with it the lock;
    # and Windows unlocks a closed file only at some later time.
    release_descriptor(descriptor)
    os.close(descriptor)


def release_descriptor(descriptor: int) -> None:
    """Unlock, and leave it open."""
    with suppress(OSError):
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        elif msvcrt is not None:
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
