"""Files of tools: pins, and a memory of servers from one run to the next.

A lock file holds the definition of every tool and its digest, so that a change is reported or
refused, and can be shown and reviewed (``mcpclient lock``). The memory is one file of mode 0600,
shared by all processes of its owner: a cache, so an invalid or unreadable file counts as empty.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..config.config import ServerConfig
from ..errors import UsageError, safe_str
from ..framing.escaping import escape, escape_in_json, escape_line
from ..framing.logs import logger_for
from ..framing.visible_texts import invisible_in
from ..jsonrpc.codec import parse_json
from ..net.files import change_file
from ..net.regular_files import read_file
from ..net.user_folders import state_folder
from ..protocol.types import Tool

_logger = logger_for("mcpclient.manager")

DEFAULT_FILE = "mcp.lock"
"""The lock file of the command line."""

_MAX_FILE_SIZE = 64 * 1024 * 1024
_VERSION = 1
_PINNED = (
    *("name", "title", "description", "inputSchema", "outputSchema", "annotations"),
    *("icons", "execution", "_meta"),
)

_SAID = {
    "duplicate": "the server lists it more than once; the first counts",
    "changed": "its definition is not the one that was locked",
    "added": "it is not in the lock file",
    "removed": "it is in the lock file, and the server does not offer it",
    "instructions": "the instructions of this server are not those that were locked",
    "server": "the configuration of this server is not the one that was locked",
}

Definition = Mapping[str, Any]


@dataclass(frozen=True)
class Mismatch:
    """A difference from the lock file.

    ``tool``: the server's own name of it, or "" for the server itself. ``kind``: ``"changed"``,
    ``"added"`` (not in the lock), ``"removed"``, ``"duplicate"`` (listed more than once, so that
    its name says nothing), ``"instructions"`` (the server's have changed), or ``"server"``: its
    entry in the configuration differs from the one that was locked. ``difference``: of the
    definitions or instructions, as escaped lines of text.
    """

    tool: str
    kind: Literal["changed", "added", "removed", "duplicate", "instructions", "server"]
    difference: str = ""

    @property
    def hint(self) -> str:
        """The next step."""
        if self.kind == "duplicate":
            return "ask its author for names that differ"
        return "look at the difference, and lock again if it is meant"

    @property
    def message(self) -> str:
        """The sentence about it, without the difference."""
        text = _SAID[self.kind]
        return f"tool '{escape_line(self.tool)}': {text}" if self.tool else text

    def __str__(self) -> str:
        return f"{self.message}\n{self.difference}" if self.difference else self.message


class ServerOffer(NamedTuple):
    """The present state of a server, from which a lock file is made and with which it is compared.

    ``fingerprint``: of the server's configuration. ``tools``: as the server lists them.
    ``sha256``: the digest of the bundle that it comes from.
    """

    fingerprint: str
    tools: Iterable[Tool]
    instructions: str = ""
    sha256: str = ""

    def unseen(self) -> Iterator[str]:
        """Yield where the definitions and the instructions have invisible characters."""
        for tool in self.tools:
            for each in invisible_in(definition_of(tool.raw)):
                yield f"{tool.name}: {each}"
        yield from invisible_in(self.instructions, "instructions")


class PinnedServer(NamedTuple):
    """The part of a lock file about one server: fingerprint, definitions of tools, instructions."""

    fingerprint: str
    tools: Mapping[str, Definition]
    instructions: str = ""
    sha256: str = ""


class Pins:
    """A lock file of tools; ``servers``: those that are locked, by name.

    ``path``: the file. ``mode``: ``"warn"``: a tool that differs is reported by an event, a problem
    and a log line; ``"refuse"``: it is not called either, nor is one that is not in the lock. Its
    new definition is not handed on: the locked one stays, which someone has reviewed, and whose
    refused calls tell the user why. A tool that is not in the lock is not offered, and instructions
    only if they were locked. If a server's configuration differs, or it is not in the lock, nothing
    of it is offered, called, read or got.

    Raises `UsageError` for a file that is there and is not a lock file.
    """

    def __init__(
        self, path: str | os.PathLike[str], mode: Literal["warn", "refuse"] = "warn"
    ) -> None:
        if mode not in ("warn", "refuse"):
            raise UsageError(f'mode is "warn" or "refuse", not {mode!r}')
        self.path = path
        self.mode = mode
        self.servers: Mapping[str, PinnedServer] = self._read()

    def knows(self, server: str, tool: str | None = None) -> bool:
        """Return whether a server, or a tool of it, is in the lock."""
        pinned = self.servers.get(server)
        return pinned is not None and (tool is None or tool in pinned.tools)

    def command(self, server: str) -> str:
        """Return the command line that shows the differences of a server."""
        file = [] if os.fspath(self.path) == DEFAULT_FILE else ["--file", os.fspath(self.path)]
        return shlex.join(["mcpclient", "lock", "--check", *file, server])

    def compare(
        self,
        server: str,
        fingerprint: str,
        tools: Iterable[Tool],
        instructions: str = "",
        sha256: str = "",
    ) -> list[Mismatch]:
        """Return the differences, in the order of the tools' names.

        A server that was not locked has only new tools.
        """
        steps = self._comparing(server, ServerOffer(fingerprint, tools, instructions, sha256))
        return [each for each in steps if each is not None]

    def _comparing(self, server: str, offer: ServerOffer) -> Iterator[Mismatch | None]:
        """Compare as `compare` does, in steps: yield each difference, None after other steps."""
        fingerprint, tools, instructions, sha256 = offer
        pinned = self.servers.get(server, PinnedServer(fingerprint, {}, "", sha256))
        if (fingerprint, sha256) != (pinned.fingerprint, pinned.sha256):
            yield Mismatch("", "server")
        if instructions != pinned.instructions:
            yield Mismatch("", "instructions", _compared(pinned.instructions, instructions))
        now: dict[str, Definition] = {}
        repeated: set[str] = set()
        for tool in tools:
            yield None
            name = safe_str(tool.raw.get("name", ""))
            if name in now:
                repeated.add(name)
            now.setdefault(name, definition_of(tool.raw))
        for name in sorted({*now, *pinned.tools}):
            if name in repeated:
                yield Mismatch(name, "duplicate")
            if name not in pinned.tools:
                yield Mismatch(name, "added")
            elif name not in now:
                yield Mismatch(name, "removed")
            elif digest_of(now[name]) != digest_of(pinned.tools[name]):
                texts = (
                    json.dumps(each[name], indent=2, sort_keys=True, ensure_ascii=False)
                    for each in (pinned.tools, now)
                )
                yield Mismatch(name, "changed", _compared(*texts))
            else:
                yield None

    def refused(self, mismatches: Sequence[Mismatch]) -> dict[str, str]:
        """Return the tools that are not to be called, each with the reason; "" stands for all.

        A reason is for models too, so it quotes nothing of the server.
        """
        if self.mode == "warn":
            return {}
        ignored = ("removed", "instructions")  # they are not handed on, and call nothing
        return {each.tool: _SAID[each.kind] for each in mismatches if each.kind not in ignored}

    def offered(
        self, server: str, mismatches: Sequence[Mismatch], tools: Sequence[Definition]
    ) -> Sequence[Definition]:
        """Return the definitions to hand on, of ``tools`` as a server lists them."""
        if self.mode == "warn":
            return tools
        pinned = self.servers.get(server)
        if pinned is None or "" in self.refused(mismatches):
            return []
        return [pinned.tools[name] for name in by_name(tools) if name in pinned.tools]

    def write(self, servers: Mapping[str, ServerOffer | tuple[str, Iterable[Tool]]]) -> None:
        """Lock the tools of ``servers``: by name, a fingerprint, the tools as listed, and the
        instructions.

        The file's other servers stay as they are, also those that another process has written
        meanwhile. Raises `OSError`, and `UsageError` for a file that is not a lock file.
        """
        new: dict[str, PinnedServer] = {}
        for name, given in servers.items():
            fingerprint, tools, *others = given
            listed = by_name(tool.raw for tool in tools)
            definitions = {tool: definition_of(raw) for tool, raw in listed.items()}
            new[name] = PinnedServer(fingerprint, definitions, *others)

        def edit(content: bytes | None) -> bytes:
            before = {} if content is None else self._parsed(content)
            self.servers = {**before, **new}
            return _written(self.servers)

        change_file(self.path, edit, limit=_MAX_FILE_SIZE)

    def _read(self) -> dict[str, PinnedServer]:
        try:
            content = read_file(self.path, limit=_MAX_FILE_SIZE)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._unreadable(f"cannot read the lock file {self.path}: {error}") from None
        return self._parsed(content)

    def _parsed(self, text: bytes) -> dict[str, PinnedServer]:
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._unreadable(f"cannot read the lock file {self.path}: {error}") from None
        try:
            if content["version"] != _VERSION:
                raise ValueError("another version")
            return {
                name: PinnedServer(
                    str(entry["fingerprint"]),
                    {tool: dict(each["definition"]) for tool, each in entry["tools"].items()},
                    str(entry.get("instructions", "")),
                    str(entry.get("sha256", "")),
                )
                for name, entry in content["servers"].items()
            }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._unreadable(f"{self.path} is not a lock file: {error!r}") from None

    def _unreadable(self, message: str) -> UsageError:
        return UsageError(message).advise(
            "Restore the file, or delete it and make another with mcpclient lock."
        )


def _written(servers: Mapping[str, PinnedServer]) -> bytes:
    content = {
        "version": _VERSION,
        "servers": {
            name: {
                "fingerprint": pinned.fingerprint,
                **({"sha256": pinned.sha256} if pinned.sha256 else {}),
                "instructions": pinned.instructions,
                "tools": {
                    tool: {"digest": digest_of(definition), "definition": definition}
                    for tool, definition in sorted(pinned.tools.items())
                },
            }
            for name, pinned in sorted(servers.items())
        },
    }
    # Reviewed as text, so it shows what would not be seen.
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    return escape_in_json(text).encode("utf-8")


def repeated_tools(tools: Iterable[Mapping[str, Any]]) -> Iterator[Mismatch | None]:
    """Yield the tools that a server lists more than once, which is a finding without a lock.

    In steps: None after any other tool.
    """
    counts: Counter[str] = Counter()
    for tool in tools:
        name = safe_str(tool.get("name", ""))
        counts[name] += 1
        yield Mismatch(name, "duplicate") if counts[name] == 2 else None


def by_name(tools: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return tools by their names; of two with one name, the first counts."""
    found: dict[str, Mapping[str, Any]] = {}
    for tool in tools:
        found.setdefault(safe_str(tool.get("name", "")), tool)
    return found


def definition_of(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a tool that a model acts upon, and that a lock file holds."""
    return {key: raw[key] for key in _PINNED if key in raw}


def digest_of(definition: Definition) -> str:
    """Return the SHA-256 of a definition as canonical JSON: sorted keys, no white space."""
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _compared(before: str, after: str) -> str:
    lines = before.splitlines(), after.splitlines()
    from difflib import unified_diff

    return escape("\n".join(unified_diff(*lines, "locked", "offered", lineterm="", n=1)))


# Memory

_MAX_SERVERS = 1000
_MAX_SERVER_SIZE = 8 * 1024 * 1024
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
    """Return the key of a server in the memory: a digest of its configuration and its user."""
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

    def save(self, names: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Write what was noted, waiting up to ten seconds for another process that does.

        ``names``: the full names of each server's tools. A file that cannot be written is a warning
        in the log.
        """
        noted, self._changes = self._changes, {}
        named = names or {}
        changes = {key: replace(each, names=named.get(key, {})) for key, each in noted.items()}
        if not changes:
            return

        def edit(content: bytes | None) -> bytes:
            kept = {key: each for key, each in _entries(content).items() if key not in changes}
            return _memory_of({**kept, **changes})

        try:
            change_file(self.file, edit, limit=_MAX_FILE_SIZE, private=True)
        except OSError as error:
            _logger.warning("the tools of servers are not remembered: %s: %s", self.file, error)


def _memory_of(entries: Mapping[str, Remembered]) -> bytes:
    """Return the file that remembers the latest of these servers: as many as it has room for."""
    pieces: list[str] = []
    size = len(_HEAD) + len(_TAIL)
    for key, each in list(entries.items())[: -_MAX_SERVERS - 1 : -1]:
        piece = f"{json.dumps(key)}: {json.dumps(vars(each))}"
        if len(piece) > _MAX_SERVER_SIZE:
            continue  # one server does not take the room of all others
        size += len(piece) + 1
        if size > _MAX_FILE_SIZE:
            break
        pieces.append(piece)
    return f"{_HEAD}{','.join(reversed(pieces))}{_TAIL}".encode("ascii")


def _entries(content: bytes | None) -> dict[str, Remembered]:
    stored = parse_json(content or b"{}")
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
