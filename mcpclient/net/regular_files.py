"""Opening files that users and other programs write, without blocking.

A path may lead to anything: a pipe without a writer, an endless device, a link to itself. Opening
one in the usual way hangs the event loop or fills memory, so only regular files are opened.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

# Without waiting for the other end of a pipe, without becoming the owner of a terminal.
_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


def open_regular(
    path: str | os.PathLike[str],
    flags: int = os.O_RDONLY,
    mode: int = 0o600,
    *,
    limit: int | None = None,
) -> int:
    """Open a regular file and return its descriptor, which `open` makes a file object of.

    ``flags`` and ``mode``: as for `os.open`. ``limit``: the most bytes that the file may hold now.

    Raises `OSError` when the file cannot be opened, is larger, or is not a regular file; a path
    that is not one raises it too, and never `ValueError`.
    """
    try:
        with suppress(FileNotFoundError):  # `os.open` creates it, or says the same
            _check(os.stat(path), None)  # opening some devices has effects already
        descriptor = os.open(path, (flags & ~os.O_TRUNC) | _FLAGS, mode)
    except ValueError:  # a NUL character, or a character that no file name has
        raise OSError(errno.EINVAL, "not the path of a file") from None
    try:
        _check(os.fstat(descriptor), limit)  # the path may have been replaced since
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_file(path: str | os.PathLike[str], *, limit: int, private: bool = False) -> bytes:
    """Return the content of a regular file of at most ``limit`` bytes; never waits.

    Raises `OSError` when it is missing, larger, unreadable or not a regular file; with ``private``
    also when other users may change it.
    """
    with open(open_regular(path, limit=limit), "rb") as file:
        if private and os.name == "posix":  # on Windows a folder in the user's profile is private
            status = os.fstat(file.fileno())
            if status.st_uid not in (os.geteuid(), 0):
                raise OSError(errno.EPERM, "it belongs to another user")
            if status.st_mode & 0o022:
                raise OSError(errno.EPERM, "other users may change it")
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit} bytes")
    return content


def _check(status: os.stat_result, limit: int | None) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EINVAL, "it is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if limit is not None and status.st_size > limit:
        raise OSError(errno.EFBIG, f"larger than {limit} bytes")
