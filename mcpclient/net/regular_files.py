"""Files that a user names: opened only when they are regular, and made private.

A path may lead to a pipe without a writer, an endless device, or a folder. Opening such a path in
the usual way hangs the event loop, fills memory, or replaces a device by a file.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

if sys.platform == "win32":
    from .windows import take_from_others, windows_calls

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


def real_path(path: str | os.PathLike[str]) -> Path:
    """Return a path with its links followed. Raises `OSError` for one that no file can have."""
    try:
        encoded = os.fsencode(path)
    except ValueError:
        encoded = b"\0"
    if b"\0" in encoded:  # which not every Python's realpath refuses
        raise OSError(errno.EINVAL, "not the path of a file")
    return Path(os.path.realpath(path))


def _check(status: os.stat_result, limit: int | None) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EINVAL, "it is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if limit is not None and status.st_size > limit:
        raise OSError(errno.EFBIG, f"larger than {limit} bytes")


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace the content of a file opened by `open_regular`. Raises `OSError`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with open(open_regular(path, flags, 0o666), "wb") as file:
        file.write(content)


def make_private(path: str | os.PathLike[str]) -> None:
    """Give a file mode 0600: only its owner may read it. Raises `OSError` if it is another's.

    On Windows the administrators and the system keep their rights; where the file system has no
    permissions, such as on a memory stick, nothing happens.
    """
    if sys.platform == "win32":
        take_from_others(os.fspath(path), windows_calls())
    else:
        os.chmod(path, 0o600)


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents for the owner alone; existing ones stay unchanged."""
    if not folder.exists():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
