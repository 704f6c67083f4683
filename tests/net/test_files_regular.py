"""Regular files are opened at once; everything else is refused, and stays what it is."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from pathlib import Path
from typing import Any, Callable

import pytest

from mcpclient import UsageError
from mcpclient.cli.arguments import parse_arguments, parse_text_arguments
from mcpclient.cli.parsing import check_logs
from mcpclient.config.config import Problem
from mcpclient.errors import AuthError
from mcpclient.gate.gate import Approvals
from mcpclient.gate.load import load_config
from mcpclient.manager.pins import Memory, Pins, Remembered
from mcpclient.net.files import LockFolder, change_file, open_regular, write_file
from mcpclient.net.login.storage import FileStore
from mcpclient.net.network_options import NetworkOptions
from mcpclient.net.recorder import Recorder
from mcpclient.net.tls import TlsContexts
from mcpclient.sandbox import files
from mcpclient.testing import cassette, check_tools
from mcpclient.transports.replaying import read_recording
from mcpclient.vendoring import manifest

posix = pytest.mark.skipif(os.name != "posix", reason="needs the files of POSIX")


def reason_of(path: str | Path, flags: int = os.O_RDONLY, **options: Any) -> str:
    with pytest.raises(OSError) as caught:  # noqa: PT011 - its text is what is returned
        os.close(open_regular(path, flags, **options))
    return caught.value.strerror or ""


def test_a_regular_file_is_opened(tmp_path: Path) -> None:
    """F-SAFE-8: for reading, and for writing in place of what it held."""
    path = tmp_path / "file"
    write_file(path, b"longer than the next")
    write_file(path, b"next")
    with open(open_regular(path), "rb") as file:
        assert file.read() == b"next"
    assert "larger than 3 bytes" in reason_of(path, limit=3)
    assert reason_of(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL) == os.strerror(errno.EEXIST)
    assert reason_of(tmp_path / "missing") == os.strerror(errno.ENOENT)


@pytest.mark.parametrize("path", ["a\0b", "a\ud800b" if os.name == "posix" else "a\0"])
def test_a_path_that_no_file_has(path: str) -> None:
    """F-SAFE-8"""
    assert "not the path of a file" in reason_of(path)
    with pytest.raises(OSError, match="not the path of a file"):
        change_file(path, lambda content: b"", limit=10)
    with pytest.raises(UsageError, match="not the path of a file"):
        FileStore(path)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def pipe_with_a_reader(path: Path) -> int:
    """The system itself refuses to open for writing what nobody reads."""
    os.mkfifo(path)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # like /dev/zero
    except OSError:
        pytest.skip("only root may make a device")


def device_that_swallows(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))  # like /dev/null
    except OSError:
        pytest.skip("only root may make a device")


def folder(path: Path) -> None:
    path.mkdir()


async def lock(path: Path) -> None:
    async with LockFolder(path.parent).lock("x"):
        pass


def trace(path: Path) -> None:
    recorder = Recorder(path)
    recorder.begin("stdio", "x")
    check_logs(str(path))


def remember(path: Path) -> None:
    memory = Memory(path)
    memory.note("key", Remembered())
    memory.save()
    memory.recall()
    raise UsageError("a warning is logged")


def approve(path: Path) -> None:
    assert not Approvals(store=path)._approved()
    change_file(path, lambda content: b"", limit=10, private=True)


def refuse(problems: list[Problem]) -> None:
    assert "it is not a regular file" in str(problems[0]) or "it is a folder" in str(problems[0])
    raise UsageError("that is what it should be")


USES: dict[str, Callable[[Path], Any]] = {
    "credentials are read": lambda path: asyncio.run(FileStore(path).load("key")),
    "credentials are saved": lambda path: asyncio.run(FileStore(path).save("key", {})),
    "a recording": read_recording,
    "a trace": trace,
    "a cassette is replayed": lambda path: cassette(path, mode="none"),
    "a cassette is recorded anew": lambda path: cassette(path, mode="all"),
    "tools are compared": lambda path: check_tools([], path),
    "tools are written": lambda path: check_tools([], path, update=True),
    "a lock file is read": Pins,
    "memory": remember,
    "approvals": approve,
    "a configuration": lambda path: refuse(load_config(path).problems),
    "an argument": lambda path: parse_arguments([f"key=@{path}"]),
    "arguments": lambda path: parse_arguments([f"@{path}"]),
    "an argument of a prompt": lambda path: parse_text_arguments([f"key=@{path}"]),
    "certificates to trust": lambda path: TlsContexts(NetworkOptions(ca_file=path)).for_server,
    "a certificate of ours": lambda path: TlsContexts(NetworkOptions(client_cert=path)).for_server,
}


@posix
@pytest.mark.parametrize("make", [pipe, pipe_with_a_reader, device, device_that_swallows, folder])
@pytest.mark.parametrize("use", USES)
def test_what_is_not_a_file_is_refused_wherever_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], int | None], use: str
) -> None:
    """F-SAFE-8: nothing waits, nothing is destroyed or renamed, no mode is changed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "named"
    reader = make(path)
    before = path.lstat()
    with pytest.raises((UsageError, AuthError, OSError)):
        USES[use](path)
    if reader is not None:
        os.close(reader)
    after = path.lstat()
    assert (after.st_mode, after.st_ino, after.st_rdev) == (
        before.st_mode,
        before.st_ino,
        before.st_rdev,
    )
    assert [name for name in os.listdir(tmp_path) if "named" in name] == ["named"]


@posix
def test_a_lock_that_is_a_pipe_does_not_hold_anything_up(tmp_path: Path) -> None:
    """F-SAFE-8"""
    asyncio.run(lock(tmp_path / "x"))
    (name,) = [name for name in os.listdir(tmp_path) if name.endswith(".lock")]
    os.unlink(tmp_path / name)
    os.mkfifo(tmp_path / name)
    asyncio.run(lock(tmp_path / "x"))


@posix
def test_what_is_not_a_file_is_not_even_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SAFE-8: opening some devices has effects already, such as on a modem or a tape."""
    pipe(tmp_path / "pipe")
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("opened"))
    assert "not a regular file" in reason_of(tmp_path / "pipe")


@posix
def test_a_path_that_changes_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-SAFE-8: the descriptor is looked at once more, and closed."""
    path = tmp_path / "file"
    path.write_bytes(b"content")
    real = os.open

    def swap(name: Any, flags: int, mode: int) -> int:
        path.unlink()
        os.mkfifo(path)
        return real(name, flags, mode)

    monkeypatch.setattr(os, "open", swap)
    assert "not a regular file" in reason_of(path)


@posix
def test_a_pipe_in_the_place_of_a_program_or_of_a_copied_file(tmp_path: Path) -> None:
    """F-SAFE-8: what a sandbox and a vendored copy look into is not waited for either."""
    for name in ("program", "pyvenv.cfg", manifest.MANIFEST):
        os.mkfifo(tmp_path / name)
    (tmp_path / "bin").mkdir()
    assert files._interpreter_of(str(tmp_path / "program"), {}) is None
    assert files._prefix_files(str(tmp_path / "bin" / "python"), "/nowhere")
    assert manifest._digest(tmp_path / "program") == ""
    with pytest.raises(UsageError, match="not a regular file"):
        manifest.read_manifest(tmp_path)
