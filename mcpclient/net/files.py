"""Files that users and other programs write: read without blocking, replaced as a whole.

A path may lead to anything: a pipe without a writer, an endless device, a link to itself. Only
regular files up to a limit are read. A change is made under a lock, so that no process undoes the
change of another, and a crash or a full disk leaves the old file.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .locks import take_lock
from .paths import state_folder
from .regular_files import make_private, make_private_folder, open_regular, real_path

# Seconds that a change waits for another process, and between two attempts.
_LOCK_LIMIT = 10.0
_LOCK_DELAY = 0.01

# Seconds that a replacement waits for readers of the file.
_REPLACE_LIMIT = 2.0 if os.name == "nt" else 0.0


def read_file(path: str | os.PathLike[str], *, limit: int, private: bool = False) -> bytes:
    """Return the content of a regular file of at most ``limit`` bytes; never waits.

    Raises `OSError` when it is missing, larger, unreadable or not a regular file; with ``private``
    also when other users may change it.
    """
    with open(open_regular(path, limit=limit), "rb") as file:
        if private:
            _check_private(os.fstat(file.fileno()))
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit} bytes")
    return content


def _check_private(status: os.stat_result) -> None:
    if os.name != "posix":
        return  # a folder in the user's profile is private on Windows
    if status.st_uid not in (os.geteuid(), 0):
        raise OSError(errno.EPERM, "it belongs to another user")
    if status.st_mode & 0o022:
        raise OSError(errno.EPERM, "other users may change it")


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
    make_private_folder(path.parent)
    _remove_unfinished(path)
    prefix, suffix = _around_unfinished(path)
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


def _around_unfinished(path: Path) -> tuple[str, str]:
    return f".{path.name}.", ".unfinished"


def _remove_unfinished(path: Path) -> None:
    prefix, suffix = _around_unfinished(path)
    for name in os.listdir(path.parent):
        if name.startswith(prefix) and name.endswith(suffix):
            with suppress(OSError):
                os.unlink(path.parent / name)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep out other processes that change the same file; the lock stands in the state folder."""
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    lock = state_folder(os.environ) / "locks" / f"file-{digest}.lock"
    release = _taken(lock)
    try:
        yield
    finally:
        release()


def _taken(lock: Path) -> Callable[[], None]:
    deadline = time.monotonic() + _LOCK_LIMIT
    while True:
        try:
            release = take_lock(lock)
        except OSError:  # no other process could share it, or the file system has no locks
            return lambda: None
        if release is not None:
            return release
        if time.monotonic() > deadline:
            raise OSError(errno.ETIMEDOUT, f"another process is changing it (lock {lock})")
        time.sleep(_LOCK_DELAY)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def save_text(text: str) -> str:
    """Write ``text`` in UTF-8 to a new temporary file of mode 0600 and return its path.

    The file stays; the system clears its folder for temporary files. Raises `OSError`.
    """
    descriptor, path = tempfile.mkstemp(prefix="mcpclient-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)
    return path
