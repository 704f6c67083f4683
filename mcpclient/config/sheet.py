"""The sheet of an entry: everything that decides what runs and which data it gets.

The user sees the sheet and approves its digest. It has the entry as written, ``${BANK_API_KEY}``
and ``{file:~/.ssh/id_rsa}`` unexpanded, so it shows no values of variables. The contents of the
files that the entry names are part of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

from ..display import HIDDEN
from ..entries.entry import Entry
from ..entries.resolve import is_shell
from ..entries.variables import (
    Inputs,
    InputSpec,
    has_references,
    references,
    without_references,
)
from ..framing.escaping import escape_line
from ..recording.secrets import TOKEN, names_secret
from .named_files import NamedFile, uncompared

_DIGEST_SHOWN = 12
# A key: no option, path, host, URL or line for a shell. A / may only be in what can be nothing but
# base64, and the last dot is not before the ending of a host or a file.
_SCHEME = r"(?:(?:Basic|Bearer|Token) )?"
_KEY = re.compile(
    rf"{_SCHEME}(?:[A-Za-z0-9_][A-Za-z0-9_~+=-]{{7,}}"
    r"|(?=.*(?:\+|=$))(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9+][A-Za-z0-9+/]{19,}={0,2}"
    r"|(?:[A-Za-z0-9_-]+\.)+(?!xn--)(?=[^.]*[0-9])[A-Za-z0-9_-]{12,})"
)
_WORD = re.compile(r"\w+")
# Signs of code, which may look at any variable of its process; behind such an option, any words.
_CODE = re.compile(r"[(){}\[\]`$\n]|%\w+%")
_LONGEST = 256  # characters of a default that is looked at
_CODE_OPTION = re.compile(r"-[A-Za-z]*[ceEprx]|--(?:call|command|eval|exec|execute|print)")


class Shown(NamedTuple):
    """One line of a sheet: what it is about, such as ``env PATH``, and its value as written."""

    name: str
    value: str


@dataclass(frozen=True)
class Sheet:
    """The server that an entry would start or reach, and the data it would get.

    - ``name``, ``scope``, ``source``: as `ServerConfig` has them. ``rows``: each field as written,
      in the order in which it is shown; a secret that stands in the file itself is hidden.
    - ``restrictions``: what the entry forbids, by the names of its fields.

    Sheets of identical entries are equal, whatever their files contain.
    """

    name: str
    scope: str
    source: str
    rows: tuple[Shown, ...]
    restrictions: Mapping[str, Any] = field(default_factory=dict, hash=False)
    content: object = field(default=None, repr=False, hash=False)
    find: Callable[[], Iterator[NamedFile]] = field(
        default=lambda: iter(()), repr=False, hash=False, compare=False
    )

    @cached_property
    def files(self) -> tuple[NamedFile, ...]:
        """The files that the entry names, with the digests of their contents; read when needed."""
        return tuple(dict.fromkeys(self.find()))

    def digest(self, *, with_files: bool = True) -> str:
        """Return a digest of all of it, 64 hexadecimal digits; the order of keys does not count."""
        files = self.files if with_files else ()
        content = [os.path.realpath(self.source), self.name, self.content, files]
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def lines(self) -> list[str]:
        """Return the sheet as escaped lines for a terminal."""
        found = [
            Shown(f"file {each.path}", each.digest[:_DIGEST_SHOWN] or "cannot be read")
            for each in self.files
        ]
        return [escape_line(f"{row.name}: {row.value}") for row in (*self.rows, *found)]

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object: ``fields`` by name, and ``files`` with their digests."""
        return {
            "fields": dict(self.rows),
            "files": [{"path": each.path, "sha256": each.digest} for each in self.files],
            "sha256": self.digest(),
        }


def sheet_of(
    entry: Entry,
    written: Mapping[str, Any],
    file: tuple[str, str],
    inputs: Inputs,
    find: Callable[[], Iterator[NamedFile]],
) -> Sheet:
    """Return the sheet of an entry, ``written`` in a ``file`` of a scope and at a path."""
    used = inputs.used_in(written)
    specs = [inputs.specs[name] for name in used]
    secrets = _Secrets(entry, {spec.id: spec.default or "" for spec in specs})
    rows = (*_rows(entry, secrets), *(_input_row(spec, secrets) for spec in specs))
    return Sheet(entry.name, *file, rows, entry.restrictions, [written, used], find)


class _Secrets:
    """The values of an entry that may be hidden: those that nothing runs, or connects to.

    These are the values of headers and environment variables whose names say that each is a secret
    itself. A variable is shown where code of the command may use it, or another one refers to it.
    """

    def __init__(self, entry: Entry, defaults: Mapping[str, str]) -> None:
        shown = [getattr(entry, each.name) for each in fields(entry)]
        shown = [each for each in shown if each is not entry.env and each is not entry.headers]
        self._keys: set[tuple[str, str]] = set()
        mentioned = {word for text in entry.env.values() for word in _WORD.findall(text)}
        env = {} if _has_code(entry.command, defaults) else entry.env
        for kind, values, hideable in (
            ("env", entry.env, env),
            ("header", entry.headers, entry.headers),
        ):
            for name, text in values.items():
                shown.append(name)
                is_plain = re.fullmatch(_SCHEME, without_references(text)) or _is_key(text)
                if name in hideable and names_secret(name) and name not in mentioned and is_plain:
                    self._keys.add((kind, name))
                else:
                    shown.append(text)
        self._shown_inputs = frozenset(references(shown, "input") if defaults else ())

    def row(self, kind: str, name: str, text: str) -> Shown:
        """Return the row of a value, which is hidden if it is a secret in the file itself."""
        is_hidden = (kind, name) in self._keys and not has_references(text)
        return Shown(f"{kind} {name}", HIDDEN if is_hidden else text)

    def has_input(self, spec: InputSpec) -> bool:
        """Return whether an input is a secret, and is used for nothing else."""
        return spec.password and spec.id not in self._shown_inputs


def _has_code(command: Sequence[str], defaults: Mapping[str, str]) -> bool:
    """Return whether a command may hold code, or a shell reads it."""
    if any(len(defaults.get(name, "")) > _LONGEST for name in references(command, "input")):
        return True  # each mention of it would take as much memory again
    words = [without_references(word, defaults) for word in command]
    return any(
        is_shell(word)
        or _CODE.search(word) is not None
        or (_CODE_OPTION.fullmatch(before) is not None and " " in word)
        for before, word in zip(["", *words], words)
    )


def _is_key(text: str) -> bool:
    return _KEY.fullmatch(text) is not None or TOKEN.fullmatch(text) is not None


_PLAIN = (
    *("headers_helper", "env_file", "cwd", "bundle", "sha256", "transport"),
    *("timeout", "connect_timeout", "include", "exclude", "naming", "trusted", "lazy"),
)
_SECRET_VALUES = ("oauth.clientSecret", "oauth.client_secret", "oauth.CLIENT_SECRET")
_SPELLED = {"headers_helper": "headersHelper", "env_file": "envFile"}


def _rows(entry: Entry, secrets: _Secrets) -> Iterator[Shown]:
    if entry.command:
        yield Shown("command", shlex.join(entry.command))
    if entry.url is not None:
        yield Shown("url", entry.url)
    for kind, values in (("env", entry.env), ("header", entry.headers)):
        for name, text in values.items():
            yield secrets.row(kind, name, text)
    if entry.oauth is not None:
        yield from _value_rows("oauth", entry.oauth)
    for name in _PLAIN:
        value = getattr(entry, name)
        if value not in (None, "", (), False):
            text = value if isinstance(value, str) else json.dumps(value)
            yield Shown(_SPELLED.get(name, name), text)
    if not entry.enabled:
        yield Shown("disabled", "true")
    if entry.limits is not None:
        given = {name: value for name, value in vars(entry.limits).items() if value}
        yield Shown("limits", json.dumps(given))
    for name, value in entry.restrictions.items():
        yield from _value_rows(name, value)
    patterns = uncompared(entry)
    if patterns:
        yield Shown("not compared", f"the files that these name: {' '.join(patterns)}")


def _value_rows(name: str, value: Any) -> Iterator[Shown]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _value_rows(f"{name}.{key}", item)
        return
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    is_hidden = name in _SECRET_VALUES and _is_key(text) and not has_references(text)
    yield Shown(name, HIDDEN if is_hidden else text)


def _input_row(spec: InputSpec, secrets: _Secrets) -> Shown:
    default = "no default"
    if spec.default is not None:
        is_hidden = secrets.has_input(spec) and _is_key(spec.default)
        default = "default " + (HIDDEN if is_hidden else repr(spec.default))
    return Shown(f"input {spec.id}", ", ".join(filter(None, (default, spec.description))))
