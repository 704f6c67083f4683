"""Files that may be anything: read without waiting, replaced as a whole; private ones, and strings.

For private files of Windows see test_windows_rights.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mcpclient.net import files
from mcpclient.net.files import change_file, make_private, replace_content, save_text
from mcpclient.net.regular_files import read_file
from tests.support.subprocesses import run_python

posix = pytest.mark.skipif(os.name != "posix", reason="needs the files of POSIX")


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))


def reason_of(path: str | Path, *, limit: int = 10, private: bool = False) -> str:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - its text is returned
        read_file(path, limit=limit, private=private)
    return str(caught.value)


@posix
def test_a_private_file_that_others_may_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SAFE-8"""
    path = tmp_path / "file"
    path.write_bytes(b"x")
    path.chmod(0o644)
    assert read_file(path, limit=10, private=True) == b"x"
    for mode in (0o666, 0o664, 0o646):
        path.chmod(mode)
        assert "other users may change it" in reason_of(path, private=True)
    path.chmod(0o644)
    if os.geteuid() == 0:
        os.chown(path, 123_456, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 123_456)
    assert "belongs to another user" in reason_of(path, private=True)


@posix
def test_a_change_keeps_permissions_and_links(tmp_path: Path) -> None:
    """F-SAFE-8"""
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"a")
    real.chmod(0o640)
    link.symlink_to(real)
    change_file(link, lambda content: (content or b"") + b"b", limit=10)
    assert link.is_symlink()
    assert real.read_bytes() == b"ab"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_change_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SAFE-8: also one that makes it too large to be read again; no copy stays."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="larger than 10 bytes"):
        change_file(path, lambda content: b"x" * 11, limit=10)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        change_file(path, lambda content: b"new", limit=10)
    assert path.read_bytes() == b"old"
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".file")]


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    """F-AUTH-9: a copy that was not finished holds secrets, and would stay unnoticed."""
    path = tmp_path / "file"
    for name in (".file.abc.unfinished", ".file.2.unfinished"):
        (tmp_path / name).write_bytes(b"half")
    others = [".file.bak", ".filed.abc.unfinished", "file.damaged-1"]
    for name in others:
        (tmp_path / name).write_bytes(b"")
    replace_content(path, b"whole")
    assert sorted(os.listdir(tmp_path)) == sorted(["file", *others])
    assert path.read_bytes() == b"whole"


def test_a_process_killed_at_the_last_moment_leaves_what_the_next_one_removes(
    tmp_path: Path,
) -> None:
    """F-AUTH-9"""
    path = tmp_path / "file"
    run_python(
        f"""
        import os
        from pathlib import Path
        from mcpclient.net import files
        files.replace_file = lambda *paths: os._exit(0)  # as SIGKILL would
        files.replace_content(Path({str(path)!r}), b"never seen")
        """
    )
    (left,) = tmp_path.iterdir()
    assert left.read_bytes() == b"never seen"
    if os.name == "posix":
        assert stat.S_IMODE(left.stat().st_mode) == 0o600
    replace_content(path, b"whole")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_file_that_somebody_reads_is_replaced_a_little_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-MANY-7: on Windows, where it cannot be replaced meanwhile."""
    path, replace, refusals = tmp_path / "file", os.replace, [1, 2]

    def refusing(*names: str) -> None:
        if refusals:
            refusals.pop()
            raise PermissionError(errno.EACCES, "somebody reads it")
        replace(*names)

    monkeypatch.setattr(os, "replace", refusing)
    monkeypatch.setattr(files, "_LOCK_DELAY", 0)
    monkeypatch.setattr(files, "_REPLACE_LIMIT", 60)
    change_file(path, lambda content: b"new", limit=10)
    assert path.read_bytes() == b"new" and not refusals
    refusals.append(1)
    monkeypatch.setattr(files, "_REPLACE_LIMIT", 0)
    with pytest.raises(PermissionError, match="somebody reads it"):
        change_file(path, lambda content: b"newer", limit=10)
    assert [name for name in os.listdir(tmp_path) if "file" in name] == ["file"]


@pytest.mark.slow
@posix
def test_another_process_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-MANY-7: locked against another process."""
    path = tmp_path / "file"
    script = f"""
        from mcpclient.net import files
        files._LOCK_LIMIT = 0.02
        try:
            files.change_file({str(path)!r}, lambda content: b"theirs", limit=10)
        except OSError as error:
            print(error.strerror)
    """

    def edit(content: bytes | None) -> bytes:
        assert "another process is changing it" in run_python(script)
        return b"mine"

    change_file(path, edit, limit=10)
    assert path.read_bytes() == b"mine"
    run_python(script)
    assert path.read_bytes() == b"theirs"


@pytest.mark.needs_windows
def test_a_path_longer_than_windows_once_took(tmp_path: Path) -> None:
    """F-AUTH-9: with the prefix that asks Windows for it, which nothing here takes off."""
    path = Path("\\\\?\\" + str(tmp_path.joinpath(*["x" * 100] * 3, "file")))
    change_file(path, lambda content: b"new", limit=10, private=True)
    assert len(str(path)) > 300
    assert read_file(path, limit=10) == b"new"


@pytest.mark.needs_windows
def test_a_file_that_another_program_reads_is_replaced_when_it_is_done(tmp_path: Path) -> None:
    """F-AUTH-9: Windows refuses as long as it is open, and then the change is made all the same."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with ThreadPoolExecutor(1) as reader, path.open("rb") as file:
        with pytest.raises(PermissionError):
            os.replace(tmp_path / "file", path.with_name("other"))
        change = reader.submit(change_file, path, lambda content: b"new", limit=10)
        assert not change.done()
        file.close()
        change.result()
    assert path.read_bytes() == b"new"


def test_what_cannot_be_made_private_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-AUTH-5: neither a file nor a descriptor."""
    opened: list[int] = []
    make = tempfile.mkstemp

    def mkstemp(**options: Any) -> tuple[int, str]:
        descriptor, name = make(**options)
        opened.append(descriptor)
        return descriptor, name

    def refuse(path: str) -> None:
        raise OSError("not allowed")

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp)
    monkeypatch.setattr(files, "make_private", refuse)
    with pytest.raises(OSError, match="not allowed"):
        files.replace_content(tmp_path / "a", b"x")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match=r"descriptor|handle"):
        os.fstat(opened[0])


@posix
def test_a_file_that_others_could_read(tmp_path: Path) -> None:
    """F-AUTH-9, F-AUTH-12"""
    path = tmp_path / "file"
    path.touch(0o644)
    make_private(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix
def test_a_file_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-9: it is given a list of rights, since modes mean nothing there."""
    given: list[object] = []
    stand_ins = {"take_from_others": lambda *words: given.append(words), "windows_calls": str}
    for name, function in stand_ins.items():
        monkeypatch.setattr(files, name, function, raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    make_private(Path("a file"))
    monkeypatch.undo()
    assert given == [("a file", "")]


def test_each_text_gets_a_private_file_of_its_own() -> None:
    """F-TOOL-8: line ends stay as they are."""
    first, second = save_text("a\r\nb\n"), save_text("é")
    try:
        assert first != second
        assert Path(first).read_bytes() == b"a\r\nb\n"
        assert Path(second).read_bytes() == "é".encode()
        if os.name == "posix":
            assert Path(first).stat().st_mode & 0o777 == 0o600
    finally:
        Path(first).unlink()
        Path(second).unlink()
