"""A file of JSON lines chained by hashes, appended to by many processes at once.

Each line has a number, the hash of the line before it, and last its own hash: the SHA-256 of all
its bytes before ``,"hash":``. So a line cannot be changed, removed, inserted or moved without
breaking the chain. The last line can be removed, unless its hash was kept elsewhere.

A process that is killed may leave a part of a line. The next line holds the digest of that part,
and follows the last whole line. A full file is renamed (``calls.jsonl.1``), and the first line of
the next one follows its last.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from .locks import lock_descriptor, release_descriptor
from .regular_files import make_private, make_private_folder, open_regular, real_path

# Seconds that a line, and with it the event loop, waits for other processes; and between attempts.
_LOCK_LIMIT = 2.0
_LOCK_DELAY = 0.001

# Windows locks a byte, which must be beyond all lines.
_LOCKED_AT = 1 << 40

# Bytes that are read first to find the last line.
_TAIL = 4096
_LINE = re.compile(rb'\{"line":(\d{1,18}),.*"previous":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}')
_LENGTH_OF_HASH = len(',"hash":""}') + 64
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class Link(NamedTuple):
    """The place of a line in the chain: its number, from 1 on, and two hashes."""

    number: int
    previous: str
    hash: str


START = Link(0, "", "0" * 64)


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
        self._process_id = 0
        self._status: os.stat_result
        self._end: tuple[int, Link] | None = None  # the size of the file, and its last line

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def append(self, record: Mapping[str, Any]) -> None:
        """Append a record as the next line.

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
                    if os.path.samestat(status, self._status):
                        return self._append(record, status.st_size)
                except FileNotFoundError:
                    pass
                finally:
                    self._unlock()
                self._process_id = 0  # another process has rotated the file, or it was removed

    def _open(self) -> None:
        descriptor = open_log(self._path)
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._end = descriptor, None
        self._status, self._process_id = os.fstat(descriptor), os.getpid()

    def _lock(self, deadline: float) -> None:
        while True:
            try:
                os.lseek(self._descriptor, _LOCKED_AT, os.SEEK_SET)
                return lock_descriptor(self._descriptor)
            except OSError:
                if time.monotonic() > deadline:
                    raise OSError(errno.ETIMEDOUT, "another process has locked it") from None
            time.sleep(_LOCK_DELAY)

    def _unlock(self) -> None:
        os.lseek(self._descriptor, _LOCKED_AT, os.SEEK_SET)
        release_descriptor(self._descriptor)

    def _append(self, record: Mapping[str, Any], size: int) -> None:
        torn, is_ended = b"", True
        if self._end is not None and self._end[0] == size:
            last = self._end[1]
        elif size:
            last, torn = _end_of(self._descriptor, size)
            is_ended = _read(self._descriptor, size - 1, 1) == b"\n"
        else:
            last = START
        link, line = _line_after(last, {**record, "torn": _digest(torn)} if torn else record)
        is_full = size and size + len(line) > self._max_size
        if is_full and is_ended and not torn and os.name == "posix":  # else an open file stays
            with suppress(OSError):  # one that cannot be rotated grows
                _rotate(self._path, line)
                self._process_id = 0
                return
        if not is_ended:
            line = b"\n" + line
        try:
            if os.write(self._descriptor, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except BaseException:
            self._end = None
            with suppress(OSError):
                os.ftruncate(self._descriptor, size)
            raise
        self._end = size + len(line), link


_logs: WeakValueDictionary[tuple[str, int, int], ChainedLog] = WeakValueDictionary()


def log_at(path: str, max_size: int) -> ChainedLog:
    """Return the log at a path, the same one as long as anything in this process uses it."""
    key = path, max_size, os.getpid()  # a thread may have had the lock of a fork's log
    return _logs.setdefault(key, ChainedLog(path, max_size))


def open_log(path: str) -> int:
    """Open a log to append to, and return its descriptor. Raises `OSError`."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        make_private_folder(Path(path).absolute().parent)
    else:
        if stat.S_ISLNK(status.st_mode):
            _check_owner(status)
            path = os.fspath(real_path(path))
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = open_regular(path, flags)
    try:
        status = os.fstat(descriptor)
        _check_owner(status)
        if not status.st_size if os.name == "nt" else status.st_mode & 0o077:
            make_private(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_owner(status: os.stat_result) -> None:
    if os.name == "posix" and status.st_uid != os.geteuid():
        raise OSError(errno.EPERM, "it belongs to another user")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _line_after(last: Link, record: Mapping[str, Any]) -> tuple[Link, bytes]:
    # The time is taken under the lock, so that lines and times have one order.
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")[:-6]
    facts = {"line": last.number + 1, "time": f"{now}Z", **record, "previous": last.hash}
    begin = _encode(facts)[:-1].encode("utf-8", "backslashreplace")
    link = Link(last.number + 1, last.hash, _digest(begin))
    return link, b'%s,"hash":"%s"}\n' % (begin, link.hash.encode())


def _end_of(descriptor: int, size: int) -> tuple[Link, bytes]:
    """Return the last whole line, and what follows it without the end of its line."""
    length = min(_TAIL, size)
    while True:
        tail = _read(descriptor, size - length, length)
        lines = tail.split(b"\n")
        # What does not begin in the part that was read cannot be a whole line.
        for index in range(len(lines) - 1, -1 if length == size else 0, -1):
            found = _LINE.fullmatch(lines[index])
            if found is not None:
                return _link(found), b"\n".join(lines[index + 1 :]).removesuffix(b"\n")
        if length == size:
            torn = tail[:-1] if tail.endswith(b"\n") else tail
            if torn and not torn.startswith(b'{"line":1,'):
                raise OSError(errno.EINVAL, "it is not an audit log")
            return START, torn
        length = min(length * 8, size)


def _read(descriptor: int, position: int, length: int) -> bytes:
    os.lseek(descriptor, position, os.SEEK_SET)
    return os.read(descriptor, length)


def _link(found: re.Match[bytes]) -> Link:
    return Link(int(found[1]), found[2].decode(), found[3].decode())


def _rotate(path: str, line: bytes) -> None:
    """Rename a full log, under its lock, and begin the next with ``line``.

    At every moment there is a file at ``path`` that ends in the last line.
    """
    real = real_path(path)
    earlier = _rotated(real)
    descriptor, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(line)
        # A process that was killed between these two steps has left a link to the present file.
        if not earlier or not earlier[-1].samefile(real):
            number = int(earlier[-1].name.rpartition(".")[2]) if earlier else 0
            os.link(real, f"{real}.{number + 1}")
        os.replace(name, real)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _rotated(path: Path) -> list[Path]:
    """Return the files that a log was rotated to, the oldest first."""
    names = re.compile(re.escape(path.name) + r"\.([1-9][0-9]{0,8})")
    matches = filter(None, map(names.fullmatch, os.listdir(path.parent)))
    return [path.parent / match[0] for match in sorted(matches, key=lambda match: int(match[1]))]


# Verification


class Line(NamedTuple):
    """A line of a log: ``place`` is its file and position, ``link`` None where it is not whole."""

    place: str
    content: bytes
    is_ended: bool
    link: Link | None

    @property
    def is_as_written(self) -> bool:
        """Whether its hash is that of its content."""
        content = self.content[:-_LENGTH_OF_HASH]
        return self.link is not None and _digest(content) == self.link.hash

    @property
    def record(self) -> dict[str, Any]:
        """Its content; empty for a line that is not a JSON object."""
        try:
            value = json.loads(self.content)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}


class Verified(NamedTuple):
    """The state of a log. ``fault``: the first fault, "" for none; ``head``: its last line."""

    lines: int
    head: Link
    fault: str
    notes: Sequence[str]


def read_log(path: str | os.PathLike[str], *, rotated: bool = True) -> Iterator[Line]:
    """Yield the lines of a log, those of its rotated files first. Raises `OSError`."""
    real = real_path(path)
    # Opened before the folder is read: what is rotated meanwhile is this file, and not read twice.
    with open(open_regular(real), "rb") as last:
        status = os.fstat(last.fileno())
        for name in _rotated(real) if rotated else ():
            if not os.path.samestat(os.stat(name), status):
                with open(open_regular(name), "rb") as file:
                    yield from _lines(name.name, file)
        yield from _lines(real.name, last)


def _lines(name: str, file: Iterator[bytes]) -> Iterator[Line]:
    for position, written in enumerate(file, 1):
        is_ended = written.endswith(b"\n")
        content = written[:-1] if is_ended else written
        found = _LINE.fullmatch(content)
        yield Line(f"{name}:{position}", content, is_ended, _link(found) if found else None)


def verify_log(path: str | os.PathLike[str], head: str = "") -> Verified:
    """Verify a log and its rotated files. Raises `OSError`.

    ``head``: the hash of a line that was kept elsewhere, which must be in the log still.
    """
    lines = list(read_log(path))
    last, count, notes = START, 0, []
    torn: list[Line] = []
    for index, line in enumerate(lines):
        if line.link is None:
            torn.append(line)
            continue
        if not count and line.link.number > 1:
            notes.append(f"it begins with line {line.link.number}: the files before it are missing")
            last = Link(line.link.number - 1, "", line.link.previous)
        fault = _fault(line, last, torn, lines, index)
        if fault:
            return Verified(count, last, fault, notes)
        notes += [f"{each.place}: incomplete, its process was killed" for each in torn]
        last, count, torn = line.link, count + 1, []
    if len(torn) == 1 and not torn[0].is_ended:
        notes.append(f"{torn[0].place}: incomplete, its process was killed or is writing it")
    elif torn:
        return Verified(count, last, f"{torn[0].place}: it was inserted, or changed", notes)
    if head and not any(line.link is not None and line.link.hash == head for line in lines):
        gone = "no line has the hash that was kept: lines were removed, or all written anew"
        return Verified(count, last, gone, notes)
    return Verified(count, last, "", notes)


def _fault(line: Line, last: Link, torn: Sequence[Line], lines: Sequence[Line], index: int) -> str:
    """Return the fault of a line or of those just before it, or ""."""
    assert line.link is not None
    number, previous, _ = line.link
    follows = number == last.number + 1 and previous == last.hash
    rest = lines[index + 1 :] if not (follows and line.is_as_written) else ()
    if not line.is_as_written:
        after = next((each.link for each in rest if each.link is not None), None)
        is_extra = after is not None and after.previous == last.hash
        return f"{line.place}: this line was {'inserted' if is_extra else 'changed'}"
    if _digest_of(torn) != line.record.get("torn", ""):
        if not torn:
            return f"{line.place}: the incomplete line before this one was removed"
        return f"{torn[0].place}: this line was {'inserted' if follows else 'changed'}"
    if follows:
        return ""
    if number > last.number + 1:
        if any(each.link is not None and each.link.number == last.number + 1 for each in rest):
            return f"{line.place}: this line was moved, it is line {number} of the log"
        return f"{line.place}: lines {last.number + 1} to {number - 1} before this one were removed"
    if previous == last.previous:
        return f"{line.place}: this line or the one before it was inserted"
    if number <= last.number:
        return f"{line.place}: this line was inserted or moved, it is line {number} of the log"
    return f"{line.place}: the line before this one was changed, and its hash made anew"


def _digest_of(torn: Sequence[Line]) -> str:
    return _digest(b"\n".join(line.content for line in torn)) if torn else ""
