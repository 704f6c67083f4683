"""Pins: tools that change after someone has looked at them are noticed, or refused.

A lock file holds the definition of every tool and its digest, so that a change can be shown, and
reviewed like any other change of a project (``mcpclient lock``).
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import UsageError
from ..net.files import change_file, read_file
from ..protocol.types import Tool

__all__ = ["Mismatch", "PinnedServer", "Pins", "definition_of", "digest_of"]

_MAX_FILE_SIZE = 64 * 1024 * 1024
_VERSION = 1
_PINNED = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")

Definition = Mapping[str, Any]


@dataclass(frozen=True)
class Mismatch:
    """What is not as the lock file says.

    ``tool``: the server's own name of it, or "" for the server itself. ``kind``: ``"changed"``,
    ``"added"`` (not in the lock), ``"removed"``, or ``"server"``: its entry in the configuration is
    another one than that which was locked. ``difference``: of the definitions, as lines of text.
    """

    tool: str
    kind: Literal["changed", "added", "removed", "server"]
    difference: str = ""

    def __str__(self) -> str:
        if self.kind == "server":
            return "the configuration of this server is not the one that was locked"
        said = {
            "changed": "its definition is not the one that was locked",
            "added": "it is not in the lock file",
            "removed": "it is in the lock file, and the server does not offer it",
        }
        text = f"tool {self.tool!r}: {said[self.kind]}"
        return f"{text}\n{self.difference}" if self.difference else text


@dataclass(frozen=True)
class PinnedServer:
    """What the lock file says of one server: its fingerprint, and its tools' definitions."""

    fingerprint: str
    tools: Mapping[str, Definition]

    def compare(self, fingerprint: str, tools: Iterable[Tool]) -> list[Mismatch]:
        """Return what is not as it was locked, in the order of the tools' names."""
        found: list[Mismatch] = []
        if fingerprint != self.fingerprint:
            found.append(Mismatch("", "server"))
        now = {str(tool.raw.get("name", "")): definition_of(tool.raw) for tool in tools}
        for name in sorted({*now, *self.tools}):
            if name not in self.tools:
                found.append(Mismatch(name, "added"))
            elif name not in now:
                found.append(Mismatch(name, "removed"))
            elif digest_of(now[name]) != digest_of(self.tools[name]):
                found.append(Mismatch(name, "changed", _lines(self.tools[name], now[name])))
        return found


class Pins:
    """A lock file of tools.

    ``path``: the file. ``mode``: ``"warn"``: a tool that differs is told of, as an event, a problem
    and a log line; ``"refuse"``: it is not called either, and neither is one that is not in the
    lock, nor any tool of a server whose configuration is another one.

    Raises `UsageError` for a file that is there and is not a lock file.
    """

    def __init__(
        self, path: str | os.PathLike[str], mode: Literal["warn", "refuse"] = "warn"
    ) -> None:
        if mode not in ("warn", "refuse"):
            raise UsageError(f'mode is "warn" or "refuse", not {mode!r}')
        self.path = path
        self.mode = mode
        self._servers = self._read()

    def compare(self, server: str, fingerprint: str, tools: Iterable[Tool]) -> list[Mismatch]:
        """Return what is not as it was locked; a server that was not locked has only new tools."""
        pinned = self._servers.get(server, PinnedServer(fingerprint, {}))
        return pinned.compare(fingerprint, tools)

    def refused(self, mismatches: Sequence[Mismatch]) -> dict[str, str]:
        """Return the tools that are not to be called, each with the reason; "" stands for all."""
        if self.mode == "warn":
            return {}
        return {each.tool: str(each) for each in mismatches if each.kind != "removed"}

    def write(self, servers: Mapping[str, tuple[str, Iterable[Tool]]]) -> None:
        """Lock the tools of ``servers``: by name, a fingerprint and the tools as listed.

        What the file says of other servers stays. Raises `OSError`.
        """
        for name, (fingerprint, tools) in servers.items():
            definitions = {str(t.raw.get("name", "")): definition_of(t.raw) for t in tools}
            self._servers[name] = PinnedServer(fingerprint, definitions)
        content = {
            "version": _VERSION,
            "servers": {
                name: {
                    "fingerprint": pinned.fingerprint,
                    "tools": {
                        tool: {"digest": digest_of(definition), "definition": definition}
                        for tool, definition in sorted(pinned.tools.items())
                    },
                }
                for name, pinned in sorted(self._servers.items())
            },
        }
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        encoded = text.encode("utf-8", "surrogatepass")
        change_file(self.path, lambda _: encoded, limit=_MAX_FILE_SIZE)

    def _read(self) -> dict[str, PinnedServer]:
        try:
            content = json.loads(read_file(self.path, limit=_MAX_FILE_SIZE))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise UsageError(f"cannot read the lock file {self.path}: {error}") from None
        try:
            if content["version"] != _VERSION:
                raise ValueError("another version")
            return {
                name: PinnedServer(
                    str(entry["fingerprint"]),
                    {tool: dict(each["definition"]) for tool, each in entry["tools"].items()},
                )
                for name, entry in content["servers"].items()
            }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"{self.path} is not a lock file: {error!r}") from None


def definition_of(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a tool that a model acts upon, and that a lock file holds."""
    return {key: raw[key] for key in _PINNED if key in raw}


def digest_of(definition: Definition) -> str:
    """Return the SHA-256 of a definition as canonical JSON: sorted keys, no white space."""
    text = json.dumps(definition, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _lines(before: Definition, after: Definition) -> str:
    texts = [
        json.dumps(each, indent=2, sort_keys=True, ensure_ascii=False).splitlines()
        for each in (before, after)
    ]
    compared = difflib.unified_diff(texts[0], texts[1], "locked", "offered", lineterm="", n=1)
    return "\n".join(compared)
