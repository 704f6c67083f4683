"""Regular files are opened at once; everything else is refused, and not changed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from mcpclient import UsageError
from mcpclient.net.files import LockFolder, change_file
from mcpclient.net.login.storage import FileStore
from mcpclient.net.regular_files import open_regular
from mcpclient.sandbox.files import program_files
from mcpclient.vendoring import manifest

posix = pytest.mark.skipif(os.name != "posix", reason="needs the files of POSIX")


def reason_of(path: str | Path, flags: int = os.O_RDONLY, **options: Any) -> str:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - its text is returned
        os.close(open_regular(path, flags, **options))
    return caught.value.strerror or ""


@pytest.mark.parametrize("path", ["a\0b", "a\ud800b" if os.name == "posix" else "a\0"])
def test_a_path_that_no_file_has(path: str) -> None:
    """F-SAFE-8"""
    assert "not the path of a file" in reason_of(path)
    with pytest.raises(OSError, match="not the path of a file"):
        change_file(path, lambda content: b"", limit=10)
    with pytest.raises(UsageError, match="not the path of a file"):
        FileStore(path)


async def lock(path: Path) -> None:
    async with LockFolder(path.parent).lock("x"):
        pass


@posix
def test_a_lock_that_is_a_pipe_does_not_hold_anything_up(tmp_path: Path) -> None:
    """F-SAFE-8"""
    asyncio.run(lock(tmp_path / "x"))
    (name,) = [name for name in os.listdir(tmp_path) if name.endswith(".lock")]
    os.unlink(tmp_path / name)
    os.mkfifo(tmp_path / name)
    asyncio.run(lock(tmp_path / "x"))


@posix
def test_a_path_that_changes_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SAFE-8: the open file is checked once more; a pipe is not even opened otherwise."""
    path = tmp_path / "file"
    path.write_bytes(b"content")
    real = os.open

    def swap(name: Any, flags: int, mode: int) -> int:
        path.unlink()
        os.mkfifo(path)
        return real(name, flags, mode)

    monkeypatch.setattr(os, "open", swap)
    assert "not a regular file" in reason_of(path)
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("opened"))
    assert "not a regular file" in reason_of(path)


@posix
def test_a_pipe_in_the_place_of_a_program_or_of_a_copied_file(tmp_path: Path) -> None:
    """F-SAFE-8: what a sandbox and a vendored copy look into is not waited for either."""
    for name in ("program", "pyvenv.cfg", manifest.MANIFEST):
        os.mkfifo(tmp_path / name)
    (tmp_path / "bin").mkdir()
    for program in ("program", "bin/python"):
        assert program_files([program], {}, str(tmp_path), str(tmp_path / program))
    with pytest.raises(ValueError, match="not a regular file"):
        manifest.read_manifest(tmp_path)
    (tmp_path / manifest.MANIFEST).unlink()
    (tmp_path / manifest.MANIFEST).write_text("0  program\n")
    assert manifest.verify(tmp_path).changed == ("program",)
