"""Stores of credentials: a file that only its owner may read, a keychain, or memory.

A keychain belongs to the system and is reached through a command line tool of the system. On macOS
that is ``security``, elsewhere ``secret-tool`` for a Secret Service (GNOME Keyring, KWallet,
KeePassXC). Secrets go through pipes, never through arguments, which every user of a machine may
read. Windows has no tool that gives a secret back; use `FileStore` there.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import secrets
import shutil
import stat
import subprocess
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
from ...jsonrpc.codec import parse_json
from ..clocks import seconds_since_epoch, steady_seconds
from ..files import LockFolder, real_path, replace_content, replace_file
from ..process import programs
from ..regular_files import open_regular
from ..shielded import TaskLocks, run_shielded
from ..user_folders import config_folder

# More than ten thousand servers' tokens: this module did not write a longer file.
_MAX_FILE_SIZE = 64 * 1024 * 1024

_logger = logger_for("mcpclient.auth")

T = TypeVar("T")


def credentials_path(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the file of this user's credentials, or the one in ``MCPCLIENT_CREDENTIALS``."""
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
    private, and a damaged one is renamed before the next change; both are logged as warnings.
    Raises UsageError for an invalid path.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        given = credentials_path(os.environ) if path is None else Path(path)
        # Replacing a symbolic link, as of a folder of dotfiles, would turn it into a file.
        try:
            self.path: Path = real_path(given.expanduser())
        except (OSError, RuntimeError, ValueError) as error:
            # It has a NUL character, or begins with a user who has no home.
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
        record = self._with_unwritten(self._read() or {}).get(key)
        return record if isinstance(record, dict) else None

    async def save(self, key: str, record: StoredItem | None) -> None:
        """Store ``record`` under ``key``; None removes it. Raises as `load` does."""
        # Shielded, because a rotated refresh token that is lost cannot be recovered.
        await asyncio.shield(self._save(key, None if record is None else dict(record)))

    def lock(self, name: str) -> AbstractAsyncContextManager[object]:
        return self._locks.lock(f"name {name}")

    async def keys(self) -> list[str]:
        records = self._with_unwritten(self._read() or {})
        return [key for key, record in records.items() if record is not None]

    def _with_unwritten(self, records: dict[str, Any]) -> dict[str, Any]:
        """Add the unwritten records, unless another process has stored a newer one since."""
        for key, (_, replaced) in list(self._unwritten.items()):
            if records.get(key) != replaced:
                del self._unwritten[key]
        return {**records, **{key: record for key, (record, _) in self._unwritten.items()}}

    async def _save(self, key: str, record: dict[str, object] | None) -> None:
        async with self._locks.lock("file"):
            records = self._read()
            if records is None:
                damaged = self.path.with_name(f"{self.path.name}.damaged-{int(time.time())}")
                with suppress(OSError):
                    replace_file(self.path, damaged)
                warning = "the credentials in %s are damaged; they are now in %s"
                _logger.warning(warning, self.path, damaged)
            records = self._with_unwritten(records or {})
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
        records = parse_json(content) if len(content) <= _MAX_FILE_SIZE else None
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


# Servers that need a login, remembered so that not every connection asks the user again


NEEDS_AUTH_SECONDS = 15 * 60


_KEY = "needs-auth"

# Seconds for which one read serves every server.
_FRESH_FOR = 1.0


class NeedsAuthMemory:
    """The servers remembered in one store, by their URLs; see `memory_of`.

    A server is remembered for 15 minutes after a login was needed and did not take place. For any
    number of servers the store is read for looking at most once in a second.
    """

    def __init__(self, store: CredentialStore) -> None:
        self._store = store
        # By the name of a server: when it needed a login, in seconds since the epoch.
        self._since: dict[str, object] = {}
        self._read_at: float | None = None
        self._turns = TaskLocks()

    async def remembered(self, server_urls: Iterable[str]) -> set[str]:
        """Return the ``server_urls`` that need a login, with one read for all of them."""
        recent = await self._recent()
        return {url for url in server_urls if store_name(url) in recent}

    async def mark(self, server_url: str) -> None:
        """Remember that a server needs a login; forget the servers marked long ago."""
        await self._change({store_name(server_url): seconds_since_epoch()})

    async def clear(self, server_url: str) -> None:
        if await self.remembered([server_url]):
            await self._change({store_name(server_url): None})

    async def _change(self, changes: Mapping[str, object]) -> None:
        async with self._store.lock(_KEY):
            self._read_at = None  # another process may have written just now
            recent = {**await self._recent(), **changes}
            self._since = {name: since for name, since in recent.items() if since is not None}
            await self._store.save(_KEY, self._since)

    async def _recent(self) -> dict[str, object]:
        async with self._turns.lock("read"):
            now = steady_seconds()
            if self._read_at is None or now - self._read_at > _FRESH_FOR:
                self._since = dict(await self._store.load(_KEY) or {})
                self._read_at = now
                # The timer keeps this memory while the read serves others.
                asyncio.get_running_loop().call_later(_FRESH_FOR, lambda: self)
        ends = seconds_since_epoch()
        # A damaged record is read as far as possible. After the clock was set back, a time may be
        # in the future, which does not count.
        return {
            server: since
            for server, since in self._since.items()
            if isinstance(since, (int, float)) and ends - NEEDS_AUTH_SECONDS < since <= ends
        }


# By the id of the store; a memory keeps its store alive, so no other object can have that id.
_memories: WeakValueDictionary[int, NeedsAuthMemory] = WeakValueDictionary()


def memory_of(provider: CredentialStore) -> NeedsAuthMemory:
    """Return the memory in the provider's store: one for all servers that share it."""
    store = getattr(provider, "store", provider)  # ours keep theirs under that name
    return _memories.setdefault(id(store), NeedsAuthMemory(store))


# Keychains


# An absolute path: another program of that name on PATH would get the secrets.
_MACOS_TOOL = "/usr/bin/security"

_SERVICE = "mcpclient"
_TOOL_TIMEOUT = 60.0  # a locked keychain asks its user first

# The longest line that `security` reads, less the rest of the command.
_MAX_SECRET_LENGTH = 2000
_NOT_FOUND = 44


class KeychainStore:
    """A store of credentials in the keychain of the system. Raises `UsageError` without one.

    `load` and `save` raise `AuthError` when it refuses, or is not unlocked within a minute.
    """

    def __init__(self) -> None:
        self._tool = _find_tool(sys.platform)
        self._locks = LockFolder(credentials_path(os.environ).parent / "locks")

    async def load(self, key: str) -> StoredItem | None:
        record = parse_json(await self._tool.read(key) or "null")
        return record if isinstance(record, dict) else None

    async def save(self, key: str, record: StoredItem | None) -> None:
        """Store ``record`` under ``key``; None removes it.

        When it is cancelled, the tool has five more seconds: a rotated refresh token that is lost
        cannot be recovered.
        """
        if record is None:
            await run_shielded(self._tool.remove(key))
        else:
            await run_shielded(self._tool.write(key, json.dumps(dict(record))))

    def lock(self, name: str) -> AbstractAsyncContextManager[object]:
        return self._locks.lock(f"keychain {name}")


def _find_tool(platform: str) -> _SecretTool | _Security:
    name = _MACOS_TOOL if platform == "darwin" else "secret-tool"
    program = None if platform == "win32" else shutil.which(name)
    if program is None:
        reason = "Windows has no tool for it" if platform == "win32" else f"it needs {name}"
        raise UsageError(f"there is no keychain that can be used here: {reason}")
    return _Security(program) if platform == "darwin" else _SecretTool(program)


class _Program:
    """A command line tool for secrets by name. Cancelling kills it, as it may wait for its user."""

    def __init__(self, program: str) -> None:
        self._program = program

    async def _run(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[bytes]:
        words = [self._program, *arguments]
        try:
            return await programs.run_program(words, given.encode(), subprocess.PIPE, _TOOL_TIMEOUT)
        except (UsageError, OSError, ValueError, subprocess.TimeoutExpired) as error:
            # The message would contain the command line, so only the type is shown.
            raise AuthError(f"the keychain did not answer: {type(error).__name__}") from None


class _SecretTool(_Program):
    async def read(self, name: str) -> str | None:
        return (await self._ask("lookup", name)).stdout.decode("utf-8", "replace") or None

    async def write(self, name: str, secret: str) -> None:
        await self._ask("store", name, f"--label={_SERVICE}: {name}", given=secret)

    async def remove(self, name: str) -> None:
        await self._ask("clear", name)

    async def _ask(
        self, action: str, name: str, *options: str, given: str = ""
    ) -> subprocess.CompletedProcess[bytes]:
        words = (action, *options, "service", _SERVICE, "key", name)
        finished = await self._run(*words, given=given)
        # Without a word, it has not found the name.
        if finished.returncode and (action == "store" or finished.stderr.strip()):
            raise _refusal(finished)
        return finished


class _Security(_Program):
    """``security`` of macOS. It reads short lines from a pipe, so a secret is stored in pieces."""

    async def read(self, name: str) -> str | None:
        pieces = [await self._read_piece(piece) for piece in await self._piece_names(name)]
        if not pieces or None in pieces:
            return None
        try:
            return base64.b64decode("".join(filter(None, pieces))).decode("utf-8")
        except ValueError:
            return None

    async def write(self, name: str, secret: str) -> None:
        old = await self._piece_names(name)
        encoded = base64.b64encode(secret.encode("utf-8")).decode("ascii")
        number = -(-len(encoded) // _MAX_SECRET_LENGTH)
        generation = secrets.token_hex(4)
        for index in range(number):
            piece = encoded[index * _MAX_SECRET_LENGTH : (index + 1) * _MAX_SECRET_LENGTH]
            await self._write_piece(f"{name} {generation}.{index}", piece)
        await self._write_piece(name, f"{generation}.{number}")
        for piece_name in old:
            await self._remove_piece(piece_name)

    async def remove(self, name: str) -> None:
        for piece in [*await self._piece_names(name), name]:
            await self._remove_piece(piece)

    async def _piece_names(self, name: str) -> list[str]:
        generation, _, number = (await self._read_piece(name) or "").partition(".")
        count = int(number) if number.isdecimal() else 0
        return [f"{name} {generation}.{index}" for index in range(min(count, 1000))]

    async def _read_piece(self, name: str) -> str | None:
        finished = await self._run("find-generic-password", "-s", _SERVICE, "-a", name, "-w")
        if finished.returncode not in (0, _NOT_FOUND):
            raise _refusal(finished)
        return finished.stdout.decode("utf-8", "replace").strip() or None

    async def _write_piece(self, name: str, piece: str) -> None:
        account = name.replace("\\", "\\\\").replace('"', '\\"')
        command = f'add-generic-password -U -s {_SERVICE} -a "{account}" -w "{piece}"\n'
        finished = await self._run("-i", given=command)
        # The exit code describes only the last command, and not in every version.
        if await self._read_piece(name) != piece:
            raise _refusal(finished)

    async def _remove_piece(self, name: str) -> None:
        await self._run("delete-generic-password", "-s", _SERVICE, "-a", name)


def _refusal(finished: subprocess.CompletedProcess[bytes]) -> AuthError:
    # A message about a command from the pipe could repeat it, secret included.
    said = finished.stderr.decode("utf-8", "replace").strip()[:200]
    shown = "" if "-i" in finished.args else said
    return AuthError(f"the keychain refused: {shown or f'exit code {finished.returncode}'}")
