"""Stores of credentials: a file that only its owner may read, or memory.

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
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, TypeVar

from ...auth.effects import StoredItem
from ...errors import AuthError, UsageError
from ...framing.logs import logger_for
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
