"""The storage of credentials, on good days and on bad ones."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest

from mcpclient.errors import AuthError
from mcpclient.net.files import LockFolder
from mcpclient.net.login.storage import FileStore, MemoryStore
from tests.support.tables import each_row

RECORD = {"tokens": {"access_token": "SECRET"}, "n": [1, None]}


def put(store: Any, key: str, record: Any) -> None:
    asyncio.run(store.save(key, record))


def get(store: Any, key: str) -> Any:
    return asyncio.run(store.load(key))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "credentials.json"


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, path: Path) -> MemoryStore | FileStore:
    return MemoryStore() if request.param == "memory" else FileStore(path)


async def test_a_change_waits_for_its_turn_and_survives_whoever_made_it(path: Path) -> None:
    """F-AUTH-9: a refresh token that has been replaced is written down, cancelled or not."""
    store = FileStore(path)
    async with LockFolder(path.parent / "locks").lock("file"):
        saving = asyncio.ensure_future(store.save("a", RECORD))
        for _ in range(20):
            await asyncio.sleep(0)
        saving.cancel()
        await asyncio.wait({saving})
        assert await FileStore(path).load("a") is None
    await store.save("b", RECORD)
    assert await FileStore(path).load("a") == RECORD


@pytest.mark.needs_posix
@pytest.mark.parametrize("mode", [0o604, 0o640, 0o610])
def test_a_file_that_others_may_read_is_made_private(
    path: Path, caplog: pytest.LogCaptureFixture, mode: int
) -> None:
    """F-AUTH-9: with a warning, since others may have read it."""
    put(FileStore(path), "a", RECORD)
    path.chmod(mode)
    assert get(FileStore(path), "a") == RECORD
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "other users could read" in caplog.text
    assert "SECRET" not in caplog.text


@pytest.mark.needs_posix
def test_a_link_stays_one_and_leads_to_a_private_file(tmp_path: Path) -> None:
    """F-AUTH-9: of mode 0600, in a folder of mode 0700."""
    real, link = tmp_path / "deep" / "real.json", tmp_path / "link.json"
    link.symlink_to(real)
    put(FileStore(link), "a", RECORD)
    assert link.is_symlink()
    assert json.loads(real.read_text()) == {"a": RECORD}
    assert [stat.S_IMODE(each.stat().st_mode) for each in (real, real.parent)] == [0o600, 0o700]


@each_row("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 200_000])
def test_a_damaged_file_is_put_aside(content: bytes) -> None:
    """F-AUTH-9: it is not lost, and not in the way."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "credentials.json"
        path.write_bytes(content)
        path.chmod(0o600)
        assert get(FileStore(path), "a") is None
        put(FileStore(path), "a", RECORD)
        (aside,) = path.parent.glob("*.damaged-*")
        assert aside.read_bytes() == content
        assert get(FileStore(path), "a") == RECORD


@pytest.mark.needs_posix
def test_a_file_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-9: its content was put there by another user."""
    put(FileStore(path), "a", RECORD)
    os.chown(path, 12345, -1) if os.geteuid() == 0 else None
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    if path.stat().st_uid == 0:
        pytest.skip("belongs to root, which may read everything anyway")
    with pytest.raises(AuthError, match="belong to another user"):
        get(FileStore(path), "a")


async def test_elsewhere_than_on_posix_modes_mean_nothing(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """F-AUTH-9"""
    store = FileStore(path)
    await store.save("a", RECORD)
    path.chmod(0o666)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "name", "nt")
        record = await store.load("a")
    assert record == RECORD
    assert not caplog.text


def full(descriptor: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_costs_only_the_memory_of_other_processes(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """F-AUTH-9: this process keeps its records in memory, and writes them when it can."""
    store = FileStore(path)
    put(store, "old", {"n": 1})

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        put(store, "a", RECORD)
        put(store, "old", None)
        assert get(store, "a") == RECORD
        assert get(store, "old") is None
        assert asyncio.run(store.keys()) == ["a"]
    assert "No space left on device" in caplog.text
    assert "SECRET" not in caplog.text
    assert json.loads(path.read_text()) == {"old": {"n": 1}}
    assert [name for name in os.listdir(path.parent) if name != "locks"] == [path.name]
    put(store, "b", {})
    assert json.loads(path.read_text()) == {"a": RECORD, "b": {}}
    put(FileStore(path), "a", {"n": 2})
    assert get(store, "a") == {"n": 2}, "what is written is the file's again"


def test_what_could_not_be_written_undoes_nothing_newer(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-AUTH-9: another process has logged in since, and its record counts."""
    store, other = FileStore(path), FileStore(path)
    put(store, "a", {"n": 1})

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        put(store, "a", {"n": 2})
        put(store, "a", {"n": 3})
        put(store, "mine", {"n": 4})
    put(other, "a", {"n": 5})
    put(store, "b", {})
    assert json.loads(path.read_text()) == {"a": {"n": 5}, "mine": {"n": 4}, "b": {}}
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        put(store, "a", {"n": 6})
    assert get(store, "a") == {"n": 6}
    put(other, "a", {"n": 7})
    assert get(store, "a") == {"n": 7}
