"""A log whose lines are chained, written by many processes and killed ones: F-AUDIT-1."""

from __future__ import annotations

import errno
import hashlib
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpclient.net import chained_log
from mcpclient.net.chained_log import ChainedLog, open_log, read_log, verify_log
from mcpclient.net.files import make_private

LARGE = 1 << 30
TOP = str(Path(chained_log.__file__).parents[2])


def filled(path: Path, count: int = 6, max_size: int = LARGE) -> Path:
    log = ChainedLog(str(path), max_size)
    for number in range(count):
        log.append({"kind": "call", "name": f"tool-{number}"})
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "calls.jsonl"


def names(path: Path) -> list[str]:
    return [line.record["name"] for line in read_log(path)]


Lines = list[bytes]


def rewritten(line: bytes) -> bytes:
    """Change a line, and give it the hash of its new content."""
    content = line.rpartition(b',"hash":"')[0].replace(b"tool", b"forged")
    return b'%s,"hash":"%s"}\n' % (content, hashlib.sha256(content).hexdigest().encode())


def swapped(lines: Lines) -> Lines:
    return [*lines[:2], lines[3], lines[2], *lines[4:]]


def garbled(lines: Lines) -> Lines:
    return [*lines[:2], b"x\n", *lines[3:]]


FAULTS: dict[str, tuple[Callable[[Lines], Lines], str]] = {
    "changed": (
        lambda lines: [*lines[:2], lines[2].replace(b"tool", b"t00l"), *lines[3:]],
        "calls.jsonl:3: this line was changed or inserted",
    ),
    "changed and hashed anew": (
        lambda lines: [*lines[:2], rewritten(lines[2]), *lines[3:]],
        "calls.jsonl:4: the line before this one was changed, and its hash made anew",
    ),
    "removed": (
        lambda lines: [*lines[:1], *lines[3:]],
        "calls.jsonl:2: lines 2 to 3 before this one were removed, or this line was moved",
    ),
    "moved": (
        swapped,
        "calls.jsonl:3: lines 3 to 3 before this one were removed, or this line was moved",
    ),
    "moved back": (
        lambda lines: [*lines[:4], lines[1], *lines[4:]],
        "calls.jsonl:5: this line was inserted or moved, it is line 2 of the log",
    ),
    "inserted": (
        lambda lines: [*lines[:2], rewritten(lines[2]), *lines[2:]],
        "calls.jsonl:4: this line was inserted or moved, it is line 3 of the log",
    ),
    "inserted with a wrong hash": (
        lambda lines: [*lines[:2], lines[2].replace(b"tool", b"t00l"), *lines[2:]],
        "calls.jsonl:3: this line was changed or inserted",
    ),
    "replaced by another text": (garbled, "calls.jsonl:3: this line was changed or inserted"),
    "another text inserted": (
        lambda lines: [*lines[:2], b"x\n", *lines[2:]],
        "calls.jsonl:3: this line was changed or inserted",
    ),
    "another text at the end": (
        lambda lines: [*lines, b"x\n"],
        "calls.jsonl:7: this line was changed or inserted",
    ),
    "begun elsewhere": (
        lambda lines: [lines[0].replace(b'"previous":"0', b'"previous":"1'), *lines[1:]],
        "calls.jsonl:1: this line was changed or inserted",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_first_line_that_is_not_as_written_is_named(path: Path, name: str) -> None:
    """F-AUDIT-1"""
    edit, fault = FAULTS[name]
    lines = filled(path).read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(edit(lines)))
    assert verify_log(path).fault == fault


def test_a_line_that_is_incomplete_at_the_end_is_noted(path: Path) -> None:
    """F-AUDIT-1: its process may be writing it."""
    filled(path).write_bytes(path.read_bytes()[:-10])
    found = verify_log(path)
    assert (found.lines, found.fault) == (5, "")
    assert "calls.jsonl:6: incomplete" in found.notes[0]


def test_a_long_last_line_is_found(path: Path) -> None:
    log = ChainedLog(str(path), LARGE)
    log.append({"text": "x" * 50_000})
    filled(path, 1)
    assert verify_log(path).fault == ""
    path.write_bytes(
        path.read_bytes()[:-2] + b"y" * 50_000
    )  # nor is it missed behind a part of one
    filled(path, 1)
    assert (verify_log(path).lines, verify_log(path).fault) == (2, "")


@pytest.mark.needs_posix
def test_rotated_files_are_verified_with_the_log(path: Path) -> None:
    """F-AUDIT-1: a tail removed from one of them is seen, and files that are gone."""
    filled(path, 20, 900)
    rotated = path.with_name("calls.jsonl.2")
    whole = rotated.read_bytes()
    rotated.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    assert "before this one were removed" in verify_log(path).fault
    rotated.write_bytes(whole)
    path.with_name("calls.jsonl.1").unlink()
    for head in ("", verify_log(path).head.hash):
        assert (
            "begins with line 4: the lines before it were removed" in verify_log(path, head).fault
        )


@pytest.mark.needs_posix
def test_a_log_that_is_rotated_as_it_is_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUDIT-1: by another process; no line fails."""
    filled(path, 1)

    def rotated(*arguments: Any) -> None:
        monkeypatch.undo()
        os.rename(path, f"{path}.1")
        make_private(*arguments)

    monkeypatch.setattr(chained_log, "make_private", rotated)
    filled(path, 1)
    assert (verify_log(path).lines, verify_log(path).fault) == (2, "")


MANY = """
import os, sys
sys.path.insert(0, sys.argv[2])
from mcpclient.net import chained_log
chained_log._LOCK_LIMIT = 60.0
log = chained_log.ChainedLog(sys.argv[1], int(sys.argv[3]))
for number in range(40):
    log.append({"name": f"{os.getpid()}-{number}"})
"""


@pytest.mark.slow
@pytest.mark.parametrize("max_size", [LARGE, 600])
def test_many_processes_write_one_chain(path: Path, max_size: int) -> None:
    """F-AUDIT-1: no line is lost, and each process's lines have their order."""
    command = [sys.executable, "-c", MANY, str(path), TOP, str(max_size)]
    workers = [subprocess.Popen(command) for _ in range(4)]
    for worker in workers:
        assert worker.wait(60) == 0
    found = verify_log(path)
    assert (found.lines, found.fault, found.notes) == (160, "", [])
    for worker in workers:
        own = [name for name in names(path) if name.startswith(f"{worker.pid}-")]
        assert own == [f"{worker.pid}-{number}" for number in range(40)]


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
from mcpclient.net.chained_log import ChainedLog
log = ChainedLog(sys.argv[1], 1 << 30)
print("begins", flush=True)
while True:
    log.append({"text": "x" * 3000})
"""


@pytest.mark.needs_posix
def test_a_log_outlives_processes_that_are_killed(path: Path) -> None:
    """F-AUDIT-1: kill -9 at any moment; nothing that was appended before is lost."""
    for _ in range(2):
        writer = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path), TOP], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        assert writer.stdout.readline()
        ChainedLog(str(path), LARGE).append({"name": "beside it"})
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
    filled(path, 1)
    found = verify_log(path)
    assert found.fault == ""
    assert [line.record.get("name") for line in read_log(path)].count("beside it") == 2


@pytest.mark.needs_posix
def test_a_fork_writes_with_a_lock_of_its_own(path: Path) -> None:
    """F-AUDIT-1: a descriptor that was inherited would share the lock of the parent."""
    log = ChainedLog(str(path), LARGE)
    log.append({"name": "before the fork"})

    def write() -> None:
        for number in range(200):
            log.append({"name": f"{number}"})

    child = multiprocessing.get_context("fork").Process(target=write)
    child.start()
    write()
    child.join(30)
    assert (verify_log(path).lines, verify_log(path).fault) == (401, "")


def test_a_log_that_stays_locked_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUDIT-1: a process that was stopped holds nothing up for long."""
    monkeypatch.setattr(chained_log, "_LOCK_LIMIT", 0.0)
    one, other = (ChainedLog(str(path), LARGE) for _ in range(2))
    write = os.write

    def write_locked(descriptor: int, line: bytes) -> int:
        with pytest.raises(OSError, match="another process has locked it"):
            other.append({})
        return write(descriptor, line)

    monkeypatch.setattr(os, "write", write_locked)
    one.append({})
    monkeypatch.setattr(os, "write", write)
    other.append({})
    assert verify_log(path).lines == 2


@pytest.mark.needs_posix
def test_a_full_disk_leaves_no_part_of_a_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUDIT-1"""
    log, write = ChainedLog(str(path), LARGE), os.write
    log.append({})
    monkeypatch.setattr(os, "write", lambda where, line: write(where, line[:20]))
    with pytest.raises(OSError, match="No space left"):
        log.append({})
    monkeypatch.undo()
    log.append({})
    found = verify_log(path)
    assert (found.lines, found.fault, found.notes) == (2, "", [])


@pytest.mark.needs_posix
def test_links_and_devices(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUDIT-1: the user's own link is followed; another user's link or file is refused."""
    path.parent.mkdir()
    link = path.with_name("link.jsonl")
    link.symlink_to(path)
    filled(link, 900 // 100, 900)
    assert link.is_symlink()
    assert verify_log(link).lines == 9
    with pytest.raises(OSError, match="not a regular file"):
        open_log("/dev/null")
    if os.geteuid() == 0:  # who may give a link away
        os.chown(link, 12345, -1, follow_symlinks=False)
        with pytest.raises(OSError, match="belongs to another user"):
            open_log(str(link))
        os.chown(path, 12345, -1)
        with monkeypatch.context() as patch:  # it was put there just now
            patch.setattr(os, "lstat", lambda _: path.with_name("none").stat())
            with pytest.raises(OSError, match="belongs to another user"):
                open_log(str(path))
    with monkeypatch.context() as patch:
        patch.setattr(chained_log, "real_path", lambda _: link)
        with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
            open_log(str(path.with_name("new")))
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    for each in (link, path):
        with pytest.raises(OSError, match="belongs to another user"):
            open_log(str(each))
