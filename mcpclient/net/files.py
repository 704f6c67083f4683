"""Files that users and other programs write: read without blocking, replaced as a whole, locked.

Only regular files are opened, see `regular_files`, and read up to a limit. A change is made under
a lock, so that no process undoes the change of another, and a crash or a full disk leaves the old
file.

Locks are empty files. Where the system can lock files, the lock of a killed process is released at
once. Elsewhere the existence of a file is the lock, and counts as left behind after a while.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import stat
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

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

from .regular_files import open_regular, read_file
from .shielded import TaskLocks
from .user_folders import state_folder

if sys.platform == "win32":
    from .windows import windows_calls
    from .windows_rights import take_from_others


def real_path(path: str | os.PathLike[str]) -> Path:
    """Return a path with its links followed. Raises `OSError` for one that no file can have."""
    try:
        encoded = os.fsencode(path)
    except ValueError:
        encoded = b"\0"
    if b"\0" in encoded:  # not every Python's realpath refuses it
        raise OSError(errno.EINVAL, "not the path of a file")
    return Path(os.path.realpath(path))


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace the content of a file opened by `open_regular`. Raises `OSError`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with open(open_regular(path, flags, 0o666), "wb") as file:
        file.write(content)


def make_private(path: str | os.PathLike[str], descriptor: int | None = None) -> None:
    """Give a file mode 0600: only its owner may read it. Raises `OSError` if it is another's.

    ``descriptor``: of the file, if it is open, since its path may be another file's by now.

    On Windows the administrators and the system keep their rights; where the file system has no
    permissions, such as on a memory stick, nothing happens.
    """
    if sys.platform == "win32":
        take_from_others(os.fspath(path), windows_calls())
    else:
        os.chmod(path if descriptor is None else descriptor, 0o600)


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents for the owner alone; existing ones stay unchanged."""
    if not folder.exists():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


# Reading and replacing

# Seconds that a change waits for another process, and between two attempts.
_LOCK_LIMIT = 10.0
_LOCK_DELAY = 0.01

# Seconds that a replacement waits for readers of the file.
_REPLACE_LIMIT = 2.0 if os.name == "nt" else 0.0


def change_file(
    path: str | os.PathLike[str],
    edit: Callable[[bytes | None], bytes],
    *,
    limit: int,
    private: bool = False,
    new_mode: int | None = None,
) -> None:
    """Replace a file by the result of ``edit`` for its content, which is None for a missing file.

    The file keeps its permissions, and a link stays one; a ``private`` file has mode 0600, in a
    folder of mode 0700, and what others could write into it, or is larger than ``limit``, counts as
    missing. ``new_mode``: the permissions of a file that was missing; by default those that the
    system gives new files.

    Raises `OSError` when it cannot be read, written or locked within ten seconds, or would be
    larger than ``limit`` bytes, and what ``edit`` raises; the file is then as before.
    """
    real = real_path(path)
    with _locked(real):
        content, mode = _present(real, limit, private)
        changed = edit(content)
        if len(changed) > limit:  # it could not be read again
            raise OSError(errno.EFBIG, f"larger than {limit} bytes")
        if changed != content:
            mode = new_mode if content is None and new_mode is not None else mode
            replace_content(real, changed, None if private else mode)


def _present(path: Path, limit: int, private: bool) -> tuple[bytes | None, int]:
    try:
        return read_file(path, limit=limit, private=private), stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None, 0o666 & ~_umask()
    except OSError as error:
        # Content that others may have written does not count, nor a size this library never writes.
        if private and (isinstance(error, PermissionError) or error.errno == errno.EFBIG):
            return None, 0o600
        raise


def replace_file(source: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Call `os.replace`, and retry for a while where an open file cannot be replaced.

    That is so on Windows, where virus scanners and indexers open new files.
    """
    deadline = time.monotonic() + _REPLACE_LIMIT
    while True:
        try:
            return os.replace(source, path)
        except PermissionError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_LOCK_DELAY)


def replace_content(path: Path, content: bytes, mode: int | None = None) -> None:
    """Replace the content of a file in one step, under a lock that the caller holds.

    ``mode``: its permissions, None for a private one. The unfinished files of killed processes
    are removed. Raises `OSError`; the file is then as before.
    """
    import tempfile

    make_private_folder(path.parent)
    prefix, suffix = f".{path.name}.", ".unfinished"
    for unfinished in path.parent.iterdir():
        if unfinished.name.startswith(prefix) and unfinished.name.endswith(suffix):
            with suppress(OSError):
                unfinished.unlink()
    descriptor, name = tempfile.mkstemp(prefix=prefix, suffix=suffix, dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            if mode is None:
                make_private(name)  # before anything is in it
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        if mode is not None and os.name == "posix":
            os.chmod(name, mode)
        replace_file(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep out other processes that change the same file; the lock stands in the state folder."""
    lock = state_folder(os.environ) / "locks" / f"file-{_digest(os.fsencode(path))}.lock"
    deadline = time.monotonic() + _LOCK_LIMIT
    release = _taken(lock)
    while release is None:
        if time.monotonic() > deadline:
            raise OSError(errno.ETIMEDOUT, f"another process is changing it (lock {lock})")
        time.sleep(_LOCK_DELAY)
        release = _taken(lock)
    try:
        yield
    finally:
        release()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def save_text(text: str) -> str:
    """Write ``text`` in UTF-8 to a new temporary file of mode 0600 and return its path.

    The file stays; the system clears its folder for temporary files. Raises `OSError`.
    """
    import tempfile

    descriptor, path = tempfile.mkstemp(prefix="mcpclient-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)
    return path


# Locks

# Seconds between two attempts at a lock that another process holds: short at first, since most are
# held for milliseconds, and longer later, since the others wait for a human.
_FIRST_DELAY = 0.005
_MAX_DELAY = 0.25

# The age in seconds from which a lock by existence counts as left behind: no login takes longer.
_LEFT_BEHIND_AFTER = 900.0

# Windows says EACCES, and Wine, which runs Windows programs elsewhere, gives no reason at all.
_HELD_BY_ANOTHER = {errno.EAGAIN, errno.EACCES, errno.EDEADLK, 0}


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
        return self._folder / f"{_digest(name.encode())}.lock"


def _taken(path: Path) -> Callable[[], None] | None:
    """Return a function that unlocks a file; None while another process holds the lock."""
    try:
        make_private_folder(path.parent)
        descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    except OSError:
        return lambda: None  # there is no other process that could share this folder
    try:
        lock_descriptor(descriptor)
    except OSError as error:
        os.close(descriptor)
        if error.errno in _HELD_BY_ANOTHER:
            return None
        return _created(path.with_suffix(".held"))  # as on some network file systems
    return lambda: unlock_descriptor(descriptor)


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
    return partial(path.unlink, missing_ok=True)


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


def _digest(name: bytes) -> str:
    return hashlib.sha256(name).hexdigest()[:32]
