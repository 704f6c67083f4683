"""Credentials in the keychain of the system, through a command line tool of the system.

On macOS that is ``security``, elsewhere ``secret-tool`` for a Secret Service (GNOME Keyring,
KWallet, KeePassXC). Secrets go through pipes, never through arguments, which every user of a
machine may read. Windows has no tool that gives a secret back; use `FileStore` there.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import subprocess
import sys
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import Callable

from ...auth.effects import StoredItem
from ...errors import AuthError, UsageError
from ..files import LockFolder
from ..futures import call_in_thread
from .storage import credentials_path

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
        self._new_tool = _find_tool(sys.platform)
        self._locks = LockFolder(credentials_path(os.environ).parent / "locks")

    async def load(self, key: str) -> StoredItem | None:
        tool = self._new_tool()
        try:
            text = await call_in_thread(lambda: tool.read(key))
        finally:
            tool.stop()  # when this is cancelled, the program must not wait for its user
        try:
            record = json.loads(text or "null")
        except (ValueError, RecursionError):
            return None
        return record if isinstance(record, dict) else None

    async def save(self, key: str, record: StoredItem | None) -> None:
        """Store ``record`` under ``key``; None removes it.

        Cancelling does not stop the tool: a rotated refresh token that is lost cannot be recovered.
        """
        tool = self._new_tool()
        if record is None:
            await call_in_thread(lambda: tool.remove(key))
        else:
            secret = json.dumps(dict(record))
            await call_in_thread(lambda: tool.write(key, secret))

    def lock(self, name: str) -> AbstractAsyncContextManager[object]:
        return self._locks.lock(f"keychain {name}")


def _find_tool(platform: str) -> Callable[[], _SecretTool | _Security]:
    name = _MACOS_TOOL if platform == "darwin" else "secret-tool"
    program = None if platform == "win32" else shutil.which(name)
    if program is None:
        reason = "Windows has no tool for it" if platform == "win32" else f"it needs {name}"
        raise UsageError(f"there is no keychain that can be used here: {reason}")
    return partial(_Security if platform == "darwin" else _SecretTool, program)


class _Program:
    """A command line tool, run from one thread and stopped from another.

    Its subclasses read, write and remove secrets by name; they block, and take no line breaks.
    """

    def __init__(self, program: str) -> None:
        self._program = program
        self._process: subprocess.Popen[str] | None = None
        self._is_stopped = False

    def stop(self) -> None:
        """Kill the program that is running, and start no other."""
        self._is_stopped = True
        if self._process is not None:
            with suppress(OSError):
                self._process.kill()

    def _run(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        pipe = subprocess.PIPE
        try:
            self._process = process = subprocess.Popen(
                [self._program, *arguments],
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                encoding="utf-8",
                errors="replace",
            )
            with process:
                try:
                    if self._is_stopped:  # while it was being started
                        process.kill()
                    output, errors = process.communicate(given, _TOOL_TIMEOUT)
                except BaseException:
                    process.kill()
                    raise
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            # The message would contain the command line, so only the type is shown.
            raise AuthError(f"the keychain did not answer: {type(error).__name__}") from None
        return subprocess.CompletedProcess(arguments, process.returncode, output, errors)


class _SecretTool(_Program):
    """``secret-tool`` of libsecret."""

    def read(self, name: str) -> str | None:
        finished = self._run("lookup", *self._attributes(name))
        if finished.returncode and finished.stderr.strip():
            raise _refusal(finished)
        return finished.stdout or None

    def write(self, name: str, secret: str) -> None:
        label = f"--label={_SERVICE}: {name}"
        finished = self._run("store", label, *self._attributes(name), given=secret)
        if finished.returncode:
            raise _refusal(finished)

    def remove(self, name: str) -> None:
        finished = self._run("clear", *self._attributes(name))
        if finished.returncode and finished.stderr.strip():
            raise _refusal(finished)

    def _attributes(self, name: str) -> list[str]:
        return ["service", _SERVICE, "key", name]


class _Security(_Program):
    """``security`` of macOS. It reads commands from a pipe in lines of limited length.

    So a secret is stored in pieces, and then the list of these under its own name.
    """

    def read(self, name: str) -> str | None:
        pieces = [self._read_piece(piece) for piece in self._piece_names(name)]
        if not pieces or None in pieces:
            return None
        try:
            return base64.b64decode("".join(filter(None, pieces))).decode("utf-8")
        except ValueError:
            return None

    def write(self, name: str, secret: str) -> None:
        old = self._piece_names(name)
        encoded = base64.b64encode(secret.encode("utf-8")).decode("ascii")
        number = -(-len(encoded) // _MAX_SECRET_LENGTH)
        generation = secrets.token_hex(4)
        for index in range(number):
            piece = encoded[index * _MAX_SECRET_LENGTH : (index + 1) * _MAX_SECRET_LENGTH]
            self._write_piece(f"{name} {generation}.{index}", piece)
        self._write_piece(name, f"{generation}.{number}")
        for piece_name in old:
            self._remove_piece(piece_name)

    def remove(self, name: str) -> None:
        for piece in [*self._piece_names(name), name]:
            self._remove_piece(piece)

    def _piece_names(self, name: str) -> list[str]:
        generation, _, number = (self._read_piece(name) or "").partition(".")
        count = int(number) if number.isdecimal() else 0
        return [f"{name} {generation}.{index}" for index in range(min(count, 1000))]

    def _read_piece(self, name: str) -> str | None:
        finished = self._run("find-generic-password", "-s", _SERVICE, "-a", name, "-w")
        if finished.returncode not in (0, _NOT_FOUND):
            raise _refusal(finished)
        return finished.stdout.strip() or None

    def _write_piece(self, name: str, piece: str) -> None:
        account = name.replace("\\", "\\\\").replace('"', '\\"')
        command = f'add-generic-password -U -s {_SERVICE} -a "{account}" -w "{piece}"\n'
        finished = self._run("-i", given=command)
        # The exit code is that of the last command only, and not in every version.
        if self._read_piece(name) != piece:
            raise _refusal(finished)

    def _remove_piece(self, name: str) -> None:
        self._run("delete-generic-password", "-s", _SERVICE, "-a", name)


def _refusal(finished: subprocess.CompletedProcess[str]) -> AuthError:
    # A message about a command from the pipe could repeat it, secret included.
    shown = "" if "-i" in finished.args else finished.stderr.strip()[:200]
    return AuthError(f"the keychain refused: {shown or f'exit code {finished.returncode}'}")
