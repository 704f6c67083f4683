"""Locks between tasks and between processes, on every kind of system."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from mcpclient.net import files
from mcpclient.net.files import LockFolder
from tests.support.subprocesses import run_python


async def hold(lock: AbstractAsyncContextManager[None], events: list[str], name: str) -> None:
    async with lock:
        events.append(f"{name} in")
        await asyncio.sleep(0.01)
        events.append(f"{name} out")


def test_tasks_take_turns(tmp_path: Path) -> None:
    """F-AUTH-9: whether they share the folder object or not."""
    events: list[str] = []

    async def main() -> None:
        one, other = LockFolder(tmp_path), LockFolder(tmp_path)
        await asyncio.gather(
            hold(one.lock("name"), events, "a"),
            hold(one.lock("name"), events, "b"),
            hold(other.lock("name"), events, "c"),
        )

    asyncio.run(main())
    assert sorted(events[::2]) == ["a in", "b in", "c in"]
    assert [event[:1] for event in events[::2]] == [event[:1] for event in events[1::2]]


async def test_processes_take_turns(tmp_path: Path) -> None:
    """F-AUTH-9: a lock held here keeps another process out, and is free again afterwards."""
    code = f"""
        import asyncio
        from pathlib import Path
        from mcpclient.net.files import LockFolder

        async def main():
            try:
                async with LockFolder(Path({str(tmp_path)!r})).lock("name"):
                    print("locked")
            except asyncio.CancelledError:
                print("kept out")

        async def hurry():
            task = asyncio.ensure_future(main())
            await asyncio.wait({{task}}, timeout=0.1)
            task.cancel()
            await asyncio.wait({{task}})

        asyncio.run(hurry())
        """
    async with LockFolder(tmp_path).lock("name"):
        assert run_python(code).strip() == "kept out"
    assert run_python(code).strip() == "locked"


class Unsupported:
    """`fcntl` on a file system that knows no locks."""

    LOCK_EX = LOCK_NB = LOCK_UN = 0

    def flock(self, descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")


class Msvcrt:
    """`msvcrt`, with `fcntl` underneath."""

    LK_NBLCK, LK_UNLCK = 1, 0

    def __init__(self) -> None:
        self.held: set[tuple[int, int]] = set()

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        region = (os.fstat(descriptor).st_ino, count)
        if mode == self.LK_UNLCK:
            self.held.discard(region)
        elif region in self.held:
            raise OSError(errno.EACCES, "permission denied")
        else:
            self.held.add(region)


def test_windows_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-9: unlocked explicitly, since closing the file may unlock it only later."""
    windows = Msvcrt()
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(files, "msvcrt", windows)
    test_tasks_take_turns(tmp_path)
    assert not windows.held


@pytest.mark.parametrize("neither", [False, True])
def test_locks_by_existence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, neither: bool) -> None:
    """F-AUTH-9: where the system has no locks on files, or the file system has not."""
    monkeypatch.setattr(files, "fcntl", None if neither else Unsupported())
    monkeypatch.setattr(files, "msvcrt", None)
    test_tasks_take_turns(tmp_path)
    assert not list(tmp_path.glob("*.held"))


async def test_a_lock_by_existence_that_was_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-AUTH-9: its owner was killed."""
    monkeypatch.setattr(files, "fcntl", Unsupported())
    folder = LockFolder(tmp_path)
    held = folder.path_of("name").with_suffix(".held")
    held.write_text("")
    os.utime(held, (time.time() - 3600,) * 2)
    async with folder.lock("name"):
        assert time.time() - held.stat().st_mtime < 60


async def test_a_lock_by_existence_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-AUTH-9"""
    monkeypatch.setattr(files, "fcntl", Unsupported())
    lock = LockFolder(tmp_path).lock("name")
    monkeypatch.setattr(os, "open", refusing_to_create(os.open))
    async with lock:
        assert not held_in(tmp_path)


def held_in(folder: Path) -> list[Path]:
    return list(folder.glob("*.held"))


def refusing_to_create(real: object) -> object:
    def opening(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_EXCL:
            raise OSError(errno.EACCES, "permission denied")
        return real(path, flags, mode)  # type: ignore[operator, no-any-return]

    return opening
