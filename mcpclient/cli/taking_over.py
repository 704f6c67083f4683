"""Servers that the user already has, in files of other applications, as entries of our own."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..config.config import ServerConfig
from ..config.reading import ConfigReader, WrittenServer
from ..config.scopes import Place
from ..entries.entry import EntryError, read_entry
from ..entries.variables import references
from ..errors import UsageError
from ..recording.secrets import is_secret_name
from ..suggestions import there_are, there_is_no
from .configured import OURS, load, paths_of, split_application

_ENDINGS = (".json", ".jsonc", ".toml", ".yaml", ".yml")
_DOLLAR = re.compile(r"(?<![$\\])\$([A-Za-z_][A-Za-z0-9_]*)")
_RELATIVE = re.compile(r"\.{1,2}[/\\]")
_OF_REGISTRIES = {"packages", "remotes", "server"}


class Taken(NamedTuple):
    """A server of another application's file. ``server``: as it is judged there."""

    name: str
    entry: dict[str, Any]
    server: ServerConfig

    def secrets(self) -> list[str]:
        """Return the fields with values that seem to be secret, and are written out."""
        given = [
            (f"{field} {name}", text)
            for field in ("env", "headers")
            for name, text in self.entry.get(field, {}).items()
            if is_secret_name(name)
        ]
        return [place for place, text in given if "${" not in text]


def taken_from(word: str) -> list[Taken] | None:
    """Return the servers that a word stands for; None for a word that is none of these.

    ``NAME@APPLICATION``, ``@APPLICATION`` for all of its servers, or the path of a file with
    servers. Raises `UsageError` where there are none, and for an entry that cannot be used.
    """
    name, application = split_application(word)
    if application:
        places = paths_of(application)
        if not places:
            raise UsageError(f"there is no file of {application} on this machine").advise(
                "List the servers of other applications with: mcpclient servers --found"
            )
    elif word.lower().endswith(_ENDINGS) and os.path.isfile(os.path.expanduser(word)):
        name, places = "", [os.path.abspath(os.path.expanduser(word))]
        if word.lower().endswith(".json") and _is_of_registry(places[0]):
            return None
    else:
        return None
    found = {each.name: each for path in places for each in _servers_in(path, name)}
    if not found:
        known = sorted({name for path in places for name in load(path, foreign=True).servers})
        said = there_is_no("server", name, known, otherwise=there_are(known)) if name else ""
        raise UsageError(said or f"there is no server that can be used in {' and '.join(places)}")
    return list(found.values())


def _is_of_registry(path: str) -> bool:
    document = ConfigReader([]).document(path)
    value = None if document is None else document.value
    return not isinstance(value, Mapping) or not _OF_REGISTRIES.isdisjoint(value)


def _servers_in(path: str, name: str) -> Iterator[Taken]:
    file = ConfigReader([]).read(Place(path, "file"))
    config = load(path, enabled=None, foreign=True)
    for written in file.servers if file is not None else ():
        if name not in ("", written.name):
            continue
        server = config.servers.get(written.name)
        if server is not None:
            yield Taken(written.name, _entry_of(written), server)
        elif name:
            about = [str(each) for each in config.problems if each.server == name]
            raise UsageError("\n".join(about) or f"{path}: {name!r} cannot be used")


def _entry_of(written: WrittenServer) -> dict[str, Any]:
    """Return an entry as this library's files have it, for a file in another folder."""
    file = written.file
    if file.application.name in OURS and isinstance(written.raw, Mapping):
        entry = dict(written.raw)
    else:
        try:
            read = read_entry(written.name, written.raw, file.application, lambda *p, **h: None)
        except EntryError as error:
            raise UsageError(f"{file.path}: {written.name}: {error}") from None
        entry = {
            **({"type": read.transport} if read.transport else {}),
            **({"url": read.url} if read.url else {}),
            **({"command": read.command[0], "args": [*read.command[1:]]} if read.command else {}),
            "env": dict(read.env),
            "envFile": read.env_file,
            "cwd": read.cwd,
            "headers": dict(read.headers),
            "headersHelper": read.headers_helper,
            "oauth": read.oauth,
            "tool_timeout_sec": read.timeout,
            "startup_timeout_sec": read.connect_timeout,
            "include": [*read.include],
            "exclude": [*read.exclude],
            "disabled": not read.enabled,
            **read.restrictions,
        }
    used = references(entry, "input")
    asked = file.inputs if isinstance(file.inputs, list) else []
    inputs = [each for each in asked if isinstance(each, Mapping) and each.get("id") in used]
    if inputs and "inputs" not in entry:
        entry["inputs"] = inputs
    for key in ("command", "cwd", "envFile", "bundle"):
        if isinstance(entry.get(key), str):
            entry[key] = _placed(entry[key], file.base, is_file=key != "command")
    if isinstance(entry.get("args"), list):
        entry["args"] = [_placed(word, file.base) for word in entry["args"]]
    empty: tuple[object, ...] = (None, {}, [], "")
    kept = {key: each for key, each in entry.items() if each is not False and each not in empty}
    if file.application.bare_dollar:  # $NAME is spelled ${NAME}, as all files have it
        kept = json.loads(_DOLLAR.sub(r"${\1}", json.dumps(kept)))
    return kept


def _placed(word: Any, base: str, *, is_file: bool = False) -> Any:
    """Return a word of a command; a relative path begins in the folder of its file."""
    if not isinstance(word, str) or os.path.isabs(word) or word[:1] in ("$", "~", ""):
        return word
    return os.path.normpath(os.path.join(base, word)) if is_file or _RELATIVE.match(word) else word
