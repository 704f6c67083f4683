"""Stores of credentials, a file that only its owner may read or memory, and who needs a login.

The file, one JSON object, is always replaced as a whole, so that a crash or a full disk leaves the
old one, and changed under a lock, so that no process undoes the change of another.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
import time
from collections.abc import Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from ...auth.effects import CredentialStore, StoredItem
from ...auth.grants import store_name
from ...errors import AuthError, UsageError
from ...framing.logs import logger_for
from ..clocks import seconds_since_epoch, steady_seconds
from ..files import LockFolder, open_regular, real_path, replace_content, replace_file
from ..futures import TaskLocks
from ..paths import config_folder

# More than ten thousand servers' tokens: this module did not write a longer file.
_MAX_FILE_SIZE = 64 * 1024 * 1024

_logger = logger_for("mcpclient.auth")

T = TypeVar("T")


def credentials_path(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the file of this user's credentials, or that of ``MCPCLIENT_CREDENTIALS``."""
    named = environ.get("MCPCLIENT_CREDENTIALS")
    if named:
        return Path(named)
    return config_folder(environ, platform) / "credentials.json"


def kept_answer(key: str) -> str | None:
    """Return an answer that `keep_answer` has stored under a key, or None."""
    try:
        record = _run(FileStore().load(key))
    except AuthError:
        return None
    answer = None if record is None else record.get("answer")
    return answer if isinstance(answer, str) else None


def keep_answer(key: str, answer: str) -> None:
    """Store the answer to an input among the credentials. Raises `AuthError`."""
    _run(FileStore().save(key, {"answer": answer}))


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread of its own, since the caller may be in an event loop."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, work).result()


class MemoryStore:
    """A store of credentials in memory, for the lifetime of this object."""

    def __init__(self) -> None:
        self._records: dict[str, str] = {}
        self._locks = TaskLocks()

    async def load(self, key: str) -> StoredItem | None:
        text = self._records.get(key)
        record: StoredItem | None = None if text is None else json.loads(text)
        return record

    async def save(self, key: str, record: StoredItem | None) -> None:
        if record is None:
            self._records.pop(key, None)
        else:
            self._records[key] = json.dumps(dict(record))

    def lock(self, name: str) -> AbstractAsyncContextManager[object]:
        return self._locks.lock(name)


class FileStore:
    """A store of credentials in a file of mode 0600, shared by all processes of its owner.

    ``path``: the file (default: ``credentials.json`` in the user's configuration folder). If the
    file cannot be written, because the disk is full or the folder is read-only, a warning is
    logged, and this process keeps the records in memory. A file that other users may read is made
    private, and a damaged one is renamed; both are logged as warnings. Raises UsageError for an
    invalid path.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        given = credentials_path(os.environ) if path is None else Path(path)
        # Replacing a symbolic link, as of a folder of dotfiles, would turn it into a file.
        try:
            self.path: Path = real_path(given.expanduser())
        except (OSError, RuntimeError) as error:  # a NUL character, a user without a home
            raise UsageError(f"{str(given)!r} is not the path of a file: {error}") from None
        self._locks = LockFolder(self.path.parent / "locks")
        # By key: the record that could not be written, and the record in the file at that time.
        self._unwritten: dict[str, tuple[Any, Any]] = {}

    def __repr__(self) -> str:
        return f"FileStore({str(self.path)!r})"

    async def load(self, key: str) -> StoredItem | None:
        """Return the record under ``key``, or None.

        Raises AuthError for a file that cannot be read, or that belongs to another user.
        """
        record = (await self._records()).get(key)
        return record if isinstance(record, dict) else None

    async def save(self, key: str, record: StoredItem | None) -> None:
        """Store ``record`` under ``key``; None removes it. Raises as `load` does."""
        # Shielded, because a rotated refresh token that is lost cannot be recovered.
        await asyncio.shield(self._save(key, None if record is None else dict(record)))

    def lock(self, name: str) -> AbstractAsyncContextManager[object]:
        return self._locks.lock(f"name {name}")

    async def keys(self) -> list[str]:
        return [key for key, record in (await self._records()).items() if record is not None]

    async def _records(self) -> dict[str, Any]:
        records = self._read()
        if records is not None:
            return self._with_unwritten(records)
        async with self._locks.lock("file"):
            return self._read_or_put_aside()

    def _with_unwritten(self, records: dict[str, Any]) -> dict[str, Any]:
        """Add the unwritten records, unless another process has stored a newer one since."""
        for key, (_, replaced) in list(self._unwritten.items()):
            if records.get(key) != replaced:
                del self._unwritten[key]
        return {**records, **{key: record for key, (record, _) in self._unwritten.items()}}

    async def _save(self, key: str, record: dict[str, object] | None) -> None:
        async with self._locks.lock("file"):
            records = self._read_or_put_aside()
            replaced = self._unwritten.get(key, (None, records.get(key)))[1]
            records[key] = record
            kept = {name: value for name, value in records.items() if value is not None}
            try:
                replace_content(self.path, json.dumps(kept, indent=1).encode())
            except OSError as error:
                _logger.warning(
                    "the credentials cannot be written to %s, so only this process knows them: %s",
                    self.path,
                    error.strerror or error,
                )
                self._unwritten[key] = (record, replaced)
            else:
                self._unwritten.clear()

    def _read_or_put_aside(self) -> dict[str, Any]:
        records = self._read()
        if records is not None:
            return self._with_unwritten(records)
        self._put_aside()
        # The records that these were to replace are gone with the damaged file.
        self._unwritten = {key: (record, None) for key, (record, _) in self._unwritten.items()}
        return self._with_unwritten({})

    def _read(self) -> dict[str, Any] | None:
        """Return all records; None when the file is damaged."""
        try:
            with open(open_regular(self.path), "rb") as file:
                self._check(file.fileno())
                content = file.read(_MAX_FILE_SIZE + 1)
        except FileNotFoundError:
            return {}
        except OSError as error:
            reason = error.strerror or error
            raise AuthError(f"the credentials in {self.path} cannot be read: {reason}") from None
        try:
            records = json.loads(content) if len(content) <= _MAX_FILE_SIZE else None
        except (ValueError, RecursionError):
            records = None
        return records if isinstance(records, dict) else None

    def _check(self, descriptor: int) -> None:
        """Make sure that only the owner may read the file."""
        if os.name != "posix":
            return  # on Windows a folder in the user's profile is private
        status = os.fstat(descriptor)
        if status.st_uid not in (os.geteuid(), 0):
            raise AuthError(f"the credentials in {self.path} belong to another user")
        if stat.S_IMODE(status.st_mode) & 0o077:
            _logger.warning(
                "other users could read the credentials in %s; now only you can; consider logging "
                "out and in again",
                self.path,
            )
            with suppress(OSError):
                os.fchmod(descriptor, 0o600)

    def _put_aside(self) -> None:
        damaged = self.path.with_name(f"{self.path.name}.damaged-{int(time.time())}")
        with suppress(OSError):
            replace_file(self.path, damaged)
        _logger.warning("the credentials in %s are damaged; they are now in %s", self.path, damaged)


# Servers that need a login, remembered so that not every connection asks the user again


NEEDS_AUTH_SECONDS = 15 * 60


_KEY = "needs-auth"

# Seconds for which one read serves every server, and every write. A write of another process in the
# same second may be undone, at the cost of one more question to the user.
_FRESH_FOR = 1.0


class NeedsAuthMemory:
    """The servers remembered in one store, by their URLs; see `memory_of`.

    A server is remembered for 15 minutes after a login was needed and did not take place. For any
    number of servers the store is read at most once in a second, and written by one at a time.
    """

    def __init__(self, store: CredentialStore) -> None:
        self._store = store
        # By the name of a server: when it needed a login, in seconds since the epoch.
        self._since: dict[str, float] = {}
        self._read_at: float | None = None
        self._turns = TaskLocks()

    async def remembered(self, server_urls: Iterable[str]) -> set[str]:
        """Return those of ``server_urls`` that need a login, with one read for all of them."""
        await self._read()
        now = seconds_since_epoch()
        # After the clock was set back, the time may be in the future; such entries do not count.
        recent = {name for name, at in self._since.items() if 0 <= now - at < NEEDS_AUTH_SECONDS}
        return {url for url in server_urls if store_name(url) in recent}

    async def mark(self, server_url: str) -> None:
        """Remember that a server needs a login; forget the servers marked long ago."""
        async with self._store.lock(_KEY):
            await self._read()
            now = seconds_since_epoch()
            recent = {name: at for name, at in self._since.items() if now - at < NEEDS_AUTH_SECONDS}
            self._since = {**recent, store_name(server_url): now}
            await self._store.save(_KEY, dict(self._since))

    async def clear(self, server_url: str) -> None:
        if not await self.remembered([server_url]):
            return
        async with self._store.lock(_KEY):
            await self._read()
            self._since.pop(store_name(server_url), None)
            await self._store.save(_KEY, dict(self._since))

    async def _read(self) -> None:
        async with self._turns.lock("read"):
            now = steady_seconds()
            if self._read_at is None or now - self._read_at > _FRESH_FOR:
                record = await self._store.load(_KEY) or {}
                # A damaged record is read as far as possible; no clock shows a larger number.
                self._since = {
                    server: float(since)
                    for server, since in record.items()
                    if isinstance(since, (int, float)) and not isinstance(since, bool)
                    if abs(since) < 1e15
                }
                self._read_at = now


# By the id of the store; a memory keeps its store alive, so no other object can have that id.
_memories: WeakValueDictionary[int, NeedsAuthMemory] = WeakValueDictionary()


def memory_of(provider: CredentialStore) -> NeedsAuthMemory:
    """Return the memory in the provider's store: one for all servers that share it."""
    store = getattr(provider, "store", provider)  # ours keep theirs under that name
    return _memories.setdefault(id(store), NeedsAuthMemory(store))
