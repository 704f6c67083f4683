"""A file of JSON lines chained by hashes, appended to by many processes at once.

Each line has a number, the hash of the line before it, and last its own hash: the SHA-256 of all
its bytes before ``,"hash":``. So a line cannot be changed, removed, inserted or moved without
breaking the chain. The last line can be removed, unless its hash was kept elsewhere.

A process that is killed may leave a part of a line, which the next line replaces. A full file is
renamed (``calls.jsonl.1``), and the first line of the next one follows its last.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from ..jsonrpc.codec import json_encoder, parse_json
from .files import lock_descriptor, make_private, make_private_folder, real_path, release_descriptor
from .regular_files import open_regular

# Seconds that a line, and with it the event loop, waits for other processes; and between attempts.
_LOCK_LIMIT = 2.0
_LOCK_DELAY = 0.001

# Windows locks a byte, which must be beyond all lines.
_LOCKED_AT = 1 << 40

# Bytes that are read first to find the last line.
_TAIL = 4096
_WHOLE = re.compile(
    rb'^\{"line":(\d{1,18}),.*"previous":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}\n', re.MULTILINE
)
_encode = json_encoder()


class Line(NamedTuple):
    """A line: its number, from 1 on, and two hashes; number 0 for one that is not whole.

    ``written``: its bytes; ``place``: its file and its position there.
    """

    number: int
    previous: str
    hash: str
    written: bytes = b""
    place: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """Its content; empty for a line that is not a JSON object."""
        value = parse_json(self.written)
        return value if isinstance(value, dict) else {}

    @property
    def is_sound(self) -> bool:
        """Whether it is whole, and its bytes are those that its hash is of."""
        return _digest(self.written.rpartition(b',"hash":"')[0]) == self.hash


START = Line(0, "", "0" * 64)


class ChainedLog:
    """A log to append to, for all threads and forks of this process.

    A file that would exceed ``max_size`` bytes is rotated. Missing folders are created, and the
    file is private. It stays open, since opening and checking it costs more than a line.
    """

    def __init__(self, path: str, max_size: int) -> None:
        self._path = path
        self._max_size = max_size
        self._thread_lock = threading.Lock()
        self._descriptor = -1
        self._process_id = 0  # of the process that has opened it; 0: it must be opened
        self._status: os.stat_result
        self._size = -1  # after the last line that was appended here
        self._last = START

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def append(self, record: Mapping[str, Any]) -> None:
        """Append a record, which has members, as the next line.

        Raises `OSError` for a file that is not a log, belongs to another user, cannot be written,
        or stays locked for two seconds; then it has no part of the line.
        """
        with self._thread_lock:
            deadline = time.monotonic() + _LOCK_LIMIT
            while True:
                if self._process_id != os.getpid():  # a fork shares the lock of its parent
                    self._open()
                self._lock(deadline)
                try:
                    status = os.stat(self._path)
                    is_same = os.path.samestat(status, self._status)
                    if is_same and self._append(record, status.st_size):
                        return
                except FileNotFoundError:
                    pass
                finally:
                    self._unlock()
                self._process_id = 0  # the file was rotated, or removed

    def _open(self) -> None:
        descriptor = open_log(self._path)
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._size = descriptor, -1
        self._status, self._process_id = os.fstat(descriptor), os.getpid()

    def _lock(self, deadline: float) -> None:
        while True:
            try:
                if os.name == "nt":
                    os.lseek(self._descriptor, _LOCKED_AT, os.SEEK_SET)
                return lock_descriptor(self._descriptor)
            except OSError:
                if time.monotonic() > deadline:
                    raise OSError(errno.ETIMEDOUT, "another process has locked it") from None
            time.sleep(_LOCK_DELAY)

    def _unlock(self) -> None:
        if os.name == "nt":
            os.lseek(self._descriptor, _LOCKED_AT, os.SEEK_SET)
        release_descriptor(self._descriptor)

    def _append(self, record: Mapping[str, Any], size: int) -> bool:
        """Append a line under the lock; return False after a rotation instead."""
        last = self._last
        if size != self._size:
            last, end = _end_of(self._descriptor, size)
            if end < size:
                os.ftruncate(self._descriptor, end)
                size = end
            earlier = _rotated(real_path(self._path)) if last is START else {}
            if earlier:  # this file goes on where the last of them ends
                with open(open_log(os.fspath(earlier[max(earlier)])), "rb") as file:
                    last = _end_of(file.fileno(), os.fstat(file.fileno()).st_size)[0]
        line = _line_after(last, record)
        is_full = size and size + len(line.written) > self._max_size
        if is_full and os.name == "posix":  # elsewhere an open file stays
            real = real_path(self._path)
            with suppress(OSError):  # one that cannot be renamed grows
                os.rename(real, f"{real}.{max(_rotated(real), default=0) + 1}")
                return False
        try:
            if os.write(self._descriptor, line.written) != len(line.written):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except BaseException:
            self._size = -1
            with suppress(OSError):
                os.ftruncate(self._descriptor, size)
            raise
        self._size, self._last = size + len(line.written), line
        return True


_logs: WeakValueDictionary[tuple[str, int, int], ChainedLog] = WeakValueDictionary()


def log_at(path: str, max_size: int) -> ChainedLog:
    """Return the log at a path, the same one as long as anything in this process uses it."""
    key = path, max_size, os.getpid()  # a thread may have had the lock of a fork's log
    return _logs.setdefault(key, ChainedLog(path, max_size))


def open_log(path: str) -> int:
    """Open a log to append to, and return its descriptor. Raises `OSError`."""
    with suppress(FileNotFoundError):
        _check_owner(os.lstat(path))  # who owns a link chooses the file
    make_private_folder(Path(path).absolute().parent)
    real = real_path(path)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = open_regular(real, flags)
    try:
        _check_owner(os.fstat(descriptor))
        make_private(real, descriptor)  # another process may have rotated it
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_owner(status: os.stat_result) -> None:
    if os.name == "posix" and status.st_uid != os.geteuid():
        raise OSError(errno.EPERM, "it belongs to another user")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@lru_cache(maxsize=1)  # there may be many lines in a second
def _shown_seconds(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def _line_after(last: Line, record: Mapping[str, Any]) -> Line:
    # The time is taken under the lock, so that lines and times have one order.
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
    now = f"{_shown_seconds(seconds)}.{milliseconds:03}Z"
    facts = _encode(record)[1:-1]
    line = f'{{"line":{last.number + 1},"time":"{now}",{facts},"previous":"{last.hash}"'
    begin = line.encode("utf-8", "backslashreplace")
    own = _digest(begin)
    return Line(last.number + 1, last.hash, own, b'%s,"hash":"%s"}\n' % (begin, own.encode()))


def _end_of(descriptor: int, size: int) -> tuple[Line, int]:
    """Return the last whole line, and the position behind the last line end."""
    length = _TAIL
    while True:
        begin = max(size - length, 0)
        os.lseek(descriptor, begin, os.SEEK_SET)
        read = os.read(descriptor, size - begin)
        # The first line of a part of the file may not be whole.
        first = (read.find(b"\n") + 1 or len(read)) if begin else 0
        whole = [*_WHOLE.finditer(read, first)]
        if whole:
            return _line(whole[-1][0], ""), begin + read.rindex(b"\n") + 1
        if not begin:
            break
        length *= 8
    if b"\n" in read or not b'{"line":'.startswith(read[:8]):
        raise OSError(errno.EINVAL, "it is not an audit log")
    return START, 0


def _line(written: bytes, place: str) -> Line:
    found = _WHOLE.match(written)
    if found is None:
        return Line(0, "", "", written, place)
    return Line(int(found[1]), found[2].decode(), found[3].decode(), written, place)


def _rotated(path: Path) -> dict[int, Path]:
    """Return the files that a log was rotated to by their numbers, the oldest first."""
    names = re.compile(re.escape(path.name) + r"\.([1-9][0-9]{0,8})")
    matches = filter(None, map(names.fullmatch, os.listdir(path.parent)))
    return {number: Path(f"{path}.{number}") for number in sorted(int(each[1]) for each in matches)}


# Verification


class Verified(NamedTuple):
    """The state of a log. ``fault``: what is wrong, "" for nothing; ``head``: its last line."""

    lines: int
    head: Line
    fault: str
    notes: Sequence[str]


def read_log(path: str | os.PathLike[str], *, rotated: bool = True) -> Iterator[Line]:
    """Yield the lines of a log, rotated files first. Raises `OSError`."""
    real = real_path(path)
    # Opened before the folder is read: what is rotated meanwhile is this file, and not read twice.
    with open(open_regular(real), "rb") as last:
        status = os.fstat(last.fileno())
        for name in (*_rotated(real).values(), real) if rotated else (real,):
            if name is not real and os.path.samestat(os.stat(name), status):
                continue
            with last if name is real else open(open_regular(name), "rb") as file:
                for position, written in enumerate(file, 1):
                    yield _line(written, f"{name.name}:{position}")


def verify_log(path: str | os.PathLike[str], head: str = "") -> Verified:
    """Verify a log and its rotated files. Raises `OSError`.

    ``head``: the hash of a line that was kept elsewhere, which must be in the log still.
    """
    lines = list(read_log(path))
    last, count, fault, cut = START, 0, "", ""
    notes: list[str] = []
    for line in lines:
        if line is lines[-1] and not line.written.endswith(b"\n"):
            notes.append(f"{line.place}: incomplete, its process was killed or is writing it")
            break
        if not count and line.number > 1:
            cut = f"it begins with line {line.number}: the lines before it were removed"
            last = Line(line.number - 1, "", line.previous)
        fault = _fault(line, last)
        if fault:
            break
        last, count = line, count + 1
    fault = fault or cut
    if head and not fault and all(line.hash != head for line in lines):
        fault = "no line has the hash that was kept: lines were removed, or all written anew"
    return Verified(count, last, fault, notes)


def _fault(line: Line, last: Line) -> str:
    missing = range(last.number + 1, line.number)
    if not line.is_sound:
        return f"{line.place}: this line was changed or inserted"
    if missing:
        lost = f"lines {missing[0]} to {missing[-1]} before this one were removed"
        return f"{line.place}: {lost}, or this line was moved"
    if line.number < missing.start:
        return f"{line.place}: this line was inserted or moved, it is line {line.number} of the log"
    if line.previous != last.hash:
        return f"{line.place}: the line before this one was changed, and its hash made anew"
    return ""
