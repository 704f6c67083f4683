"""Where credentials are kept, on good days and on bad ones."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import stat
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from mcpclient.errors import AuthError
from mcpclient.net.login import storage
from mcpclient.net.login.storage import FileStore, MemoryStore, credentials_path
from tests.support.subprocesses import run_python

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


def test_a_record_is_kept_and_removed(store: MemoryStore | FileStore) -> None:
    """F-AUTH-9: any mapping is one."""
    assert get(store, "a") is None
    put(store, "a", RECORD)
    put(store, "b", MappingProxyType({"x": 1}))
    assert (get(store, "a"), get(store, "b")) == (RECORD, {"x": 1})
    put(store, "a", None)
    put(store, "a", None)
    assert (get(store, "a"), get(store, "b")) == (None, {"x": 1})


def test_memory_is_a_copy() -> None:
    """F-AUTH-9"""
    store = MemoryStore()
    record: dict[str, Any] = {"list": []}
    put(store, "a", record)
    record["list"].append(1)
    assert get(store, "a") == {"list": []}


async def test_locks(store: MemoryStore | FileStore) -> None:
    """F-AUTH-9: a lock of a store keeps other tasks out."""
    inside: list[int] = []

    async def work() -> None:
        async with store.lock("name"):
            inside.append(1)
            assert len(inside) == 1
            await asyncio.sleep(0)
            inside.pop()

    await asyncio.gather(*(work() for _ in range(5)))


def test_the_file_is_the_owners_alone(path: Path) -> None:
    """F-AUTH-9: mode 0600, in a folder of mode 0700."""
    put(FileStore(path), "a", RECORD)
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert json.loads(path.read_text()) == {"a": RECORD}
    assert "SECRET" not in repr(FileStore(path))


def test_another_object_and_another_process_see_it(path: Path) -> None:
    """F-AUTH-5"""
    put(FileStore(path), "a", RECORD)
    assert get(FileStore(path), "a") == RECORD
    printed = run_python(
        f"""
        import asyncio
        from mcpclient.net.login.storage import FileStore
        print(asyncio.run(FileStore({str(path)!r}).load("a"))["n"])
        """
    )
    assert printed.strip() == "[1, None]"


async def test_many_writers_undo_nothing(path: Path) -> None:
    """F-AUTH-9: each change is made under a lock, to what is there then."""
    stores = [FileStore(path) for _ in range(4)]
    await asyncio.gather(
        *(stores[n % 4].save(f"key {n}", {"n": n}) for n in range(20)),
    )
    assert sorted(await stores[0].keys()) == sorted(f"key {n}" for n in range(20))
    assert [name for name in os.listdir(path.parent) if name.startswith(path.name)] == [path.name]


async def test_a_change_waits_for_its_turn_and_survives_whoever_made_it(path: Path) -> None:
    """F-AUTH-9: a refresh token that has been replaced is written down, cancelled or not."""
    store = FileStore(path)
    async with store._locks.lock("file"):
        saving = asyncio.ensure_future(store.save("a", RECORD))
        for _ in range(20):
            await asyncio.sleep(0)
        assert await FileStore(path).load("a") is None
        saving.cancel()
        await asyncio.wait({saving})
        assert await FileStore(path).load("a") is None
    async with store._locks.lock("file"):
        assert await FileStore(path).load("a") == RECORD


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'"text"', b"\xff\xfe", b"[" * 200_000, b'{"a": ' * 50_000]
)
def test_a_damaged_file_is_put_aside(
    path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """F-AUTH-9: with a warning; it is not lost, and not in the way."""
    path.parent.mkdir()
    path.write_bytes(content)
    path.chmod(0o600)
    store = FileStore(path)
    assert get(store, "a") is None
    put(store, "a", RECORD)
    assert "damaged" in caplog.text
    (aside,) = path.parent.glob("*.damaged-*")
    assert aside.read_bytes() == content
    assert get(store, "a") == RECORD


@pytest.mark.parametrize(("content", "limit"), [('{"a": {"b": "c"}}', 10), ('{"a": 5}', 100)])
def test_a_file_far_too_large_and_a_record_that_is_none(
    path: Path, monkeypatch: pytest.MonkeyPatch, content: str, limit: int
) -> None:
    """F-AUTH-9"""
    monkeypatch.setattr(storage, "_MAX_FILE_SIZE", limit)
    path.parent.mkdir()
    path.write_text(content)
    path.chmod(0o600)
    assert get(FileStore(path), "a") is None


@pytest.mark.needs_posix
@pytest.mark.parametrize("mode", [0o604, 0o640, 0o610])
def test_a_file_that_others_may_read_is_made_private(
    path: Path, caplog: pytest.LogCaptureFixture, mode: int
) -> None:
    """F-AUTH-9: with a warning, since somebody may have read it."""
    put(FileStore(path), "a", RECORD)
    path.chmod(mode)
    assert get(FileStore(path), "a") == RECORD
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "other users could read" in caplog.text
    assert "SECRET" not in caplog.text


@pytest.mark.needs_posix
def test_a_file_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-9: what it holds was put there by somebody else."""
    put(FileStore(path), "a", RECORD)
    os.chown(path, 12345, -1) if os.geteuid() == 0 else None
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    if path.stat().st_uid == 0:
        pytest.skip("belongs to root, which may read everything anyway")
    with pytest.raises(AuthError, match="belong to another user"):
        get(FileStore(path), "a")


def test_elsewhere_than_on_posix_modes_mean_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """F-AUTH-9"""
    put(FileStore(path), "a", RECORD)
    store = FileStore(path)
    path.chmod(0o666)
    monkeypatch.setattr(os, "name", "nt")
    records = store._read()
    monkeypatch.undo()
    assert records == {"a": RECORD}
    assert not caplog.text


def test_a_file_that_cannot_be_read_is_a_clear_error(path: Path) -> None:
    """F-AUTH-9: and is not overwritten."""
    path.mkdir(parents=True)
    with pytest.raises(AuthError, match="cannot be read"):
        get(FileStore(path), "a")
    with pytest.raises(AuthError, match="cannot be read"):
        put(FileStore(path), "a", RECORD)


def full(descriptor: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_costs_only_the_memory_of_other_processes(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """F-AUTH-9: this process goes on with what it has got, and writes it when it can."""
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


def test_the_file_is_replaced_by_a_whole_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-9: on the disk already, and in the same folder: only there is it one step."""
    replace = os.replace
    steps: list[object] = []

    def note_and_replace(source: str, target: Path) -> None:
        steps.append((Path(source).parent, target))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", lambda file: steps.append(os.fstat(file).st_size))
    monkeypatch.setattr(os, "replace", note_and_replace)
    put(FileStore(path), "a", RECORD)
    assert steps == [path.stat().st_size, (path.parent, path)]


@pytest.mark.needs_posix  # Windows says that there is no such file
def test_a_folder_that_cannot_be_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """F-AUTH-9"""
    (tmp_path / "file").write_text("")
    store = FileStore(tmp_path / "file" / "credentials.json")
    with pytest.raises(AuthError, match="cannot be read"):
        get(store, "a")


@pytest.mark.needs_posix
def test_a_link_stays_one(tmp_path: Path) -> None:
    """F-AUTH-9: as people make who keep their settings elsewhere."""
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    link.symlink_to(real)
    put(FileStore(link), "a", RECORD)
    assert link.is_symlink()
    assert get(FileStore(real), "a") == RECORD


def test_where_the_file_is() -> None:
    """F-AUTH-9: one place for each system, and a variable for another one."""
    home = Path.home()
    assert credentials_path({"MCPCLIENT_CREDENTIALS": "/x/y"}) == Path("/x/y")
    assert credentials_path({}, "linux") == home / ".config/mcpclient/credentials.json"
    assert credentials_path({"XDG_CONFIG_HOME": "/c"}, "linux") == Path(
        "/c/mcpclient/credentials.json"
    )
    assert credentials_path({}, "darwin") == (
        home / "Library/Application Support/mcpclient/credentials.json"
    )
    assert credentials_path({"LOCALAPPDATA": "/l"}, "win32") == Path(
        "/l/mcpclient/credentials.json"
    )
    assert credentials_path({}, "win32") == home / "AppData/Local/mcpclient/credentials.json"


def test_the_default_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """F-AUTH-9"""
    monkeypatch.setenv("MCPCLIENT_CREDENTIALS", str(tmp_path / "c.json"))
    assert FileStore().path == (tmp_path / "c.json").resolve()
