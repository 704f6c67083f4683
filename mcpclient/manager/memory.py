"""A memory of servers from one run to the next: their tools, and their revision.

One file of mode 0600, shared by all processes of its owner. It is only a cache: a file that is
invalid or cannot be read counts as empty.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..config.config import ServerConfig
from ..framing.logs import logger_for
from ..net.files import change_file, read_file
from ..net.paths import state_folder

_logger = logger_for("mcpclient.manager")

_MAX_FILE_SIZE = 64 * 1024 * 1024
_MAX_SERVERS = 1000
_MAX_SERVER_SIZE = 8 * 1024 * 1024
_VERSION = 1
_HEAD, _TAIL = f'{{"version": {_VERSION}, "servers": {{', "}}"

# The options that tell one user of a server from another.
_IDENTITY = ("auth", "headers", "env")


@dataclass(frozen=True)
class Remembered:
    """The tools of a server at its last connection, and the revision agreed on.

    ``names``: those that its tools had, see `ToolNames.to_record`.
    """

    tools: Sequence[Mapping[str, Any]] = ()
    instructions: str = ""
    version: str = ""
    names: Mapping[str, Any] = field(default_factory=dict)


def memory_key(server: ServerConfig) -> str:
    """Return the key of a server in the memory: its configuration, and who its user is.

    A digest, so that neither can be read from it.
    """
    identity = [repr(server.options.get(name)) for name in _IDENTITY]
    text = "\0".join([server.name, server.fingerprint(), *identity])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class Memory:
    """The file. ``path``: by default ``tools.json`` in the state folder of this user."""

    path: str | os.PathLike[str] | None = None
    _changes: dict[str, Remembered] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        """The file that remembers."""
        if self.path is not None:
            return Path(self.path)
        return state_folder(os.environ) / "tools.json"

    def recall(self) -> dict[str, Remembered]:
        """Read the file, and return the remembered servers by `memory_key`."""
        try:
            return _entries(read_file(self.file, limit=_MAX_FILE_SIZE, private=True))
        except OSError:
            return {}

    def note(self, key: str, remembered: Remembered) -> None:
        """Remember the tools of a server; `save` writes them."""
        self._changes.pop(key, None)
        self._changes[key] = remembered

    def note_names(self, key: str, names: Mapping[str, Any]) -> None:
        """Remember the full names of a server's tools, if its tools are remembered."""
        if key in self._changes:
            self._changes[key] = replace(self._changes[key], names=names)

    def save(self) -> None:
        """Write what was noted, waiting up to ten seconds for another process that does.

        A file that cannot be written is a warning in the log.
        """
        changes, self._changes = self._changes, {}
        if not changes:
            return

        def edit(content: bytes | None) -> bytes:
            kept = {key: each for key, each in _entries(content).items() if key not in changes}
            return _written({**kept, **changes})

        try:
            change_file(self.file, edit, limit=_MAX_FILE_SIZE, private=True)
        except OSError as error:
            _logger.warning("the tools of servers are not remembered: %s: %s", self.file, error)


def _written(entries: Mapping[str, Remembered]) -> bytes:
    """Return the file that remembers the latest of these servers: as many as it has room for."""
    pieces: list[str] = []
    size = len(_HEAD) + len(_TAIL)
    for key, each in list(entries.items())[: -_MAX_SERVERS - 1 : -1]:
        value = {
            "tools": list(each.tools),
            "instructions": each.instructions,
            "version": each.version,
            "names": each.names,
        }
        piece = f"{json.dumps(key)}: {json.dumps(value)}"
        if len(piece) > _MAX_SERVER_SIZE:
            continue  # one server does not take the room of all others
        size += len(piece) + 1
        if size > _MAX_FILE_SIZE:
            break
        pieces.append(piece)
    return f"{_HEAD}{','.join(reversed(pieces))}{_TAIL}".encode("ascii")


def _entries(content: bytes | None) -> dict[str, Remembered]:
    try:
        stored = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return {}
    servers = stored.get("servers") if isinstance(stored, dict) else None
    if not isinstance(servers, dict) or stored.get("version") != _VERSION:
        return {}
    return {
        key: Remembered(
            [tool for tool in entry["tools"] if isinstance(tool, dict)],
            str(entry.get("instructions") or ""),
            str(entry.get("version") or ""),
            entry["names"] if isinstance(entry.get("names"), dict) else {},
        )
        for key, entry in servers.items()
        if isinstance(entry, dict) and isinstance(entry.get("tools"), list)
    }
