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
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ..display import HIDDEN
from ..entries.entry import Entry, EntryError
from ..entries.variables import Inputs, InputSpec, Variables, has_references, references
from ..framing.escaping import escape_line
from ..net.files import read_file
from ..net.paths import bundle_folder
from ..recording.secrets import TOKEN, is_secret_name

# Larger files are identified by size and time: reading them would delay every start.
_MAX_READ_SIZE = 64 * 1024 * 1024
_MAX_READ_IN_ALL = 512 * 1024 * 1024
_DIGEST_SHOWN = 12
# Each may name a file, which is looked up and digested before the user is asked.
_MAX_WORDS = 10_000
# What may be a secret, and is not code: a variable called TOKEN can also hold a line for a shell.
_KEY = re.compile(r"(?:(?:Basic|Bearer|Token) )?[A-Za-z0-9_~+/=:.-]{8,}")
# Where a word of a command, or a line for a shell, may have the path of a file inside it.
_AROUND_PATHS = re.compile(rf"[\s;|&<>()'\"=,@{os.pathsep}]+")


class Shown(NamedTuple):
    """One line of a sheet: what it is about, such as ``env PATH``, and its value as written."""

    name: str
    value: str


class NamedFile(NamedTuple):
    """A file that an entry names, and the digest of its content; "" where there is none."""

    path: str
    digest: str


def _real(path: str) -> str:
    with suppress(ValueError):  # for a NUL, which the reader of files refuses
        path = os.path.realpath(path)
    return path


class NamedFiles:
    """The files that an entry names, each read once: the judged content is the one used."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes | OSError] = {}
        self._digests: dict[str, str] = {}
        self._size = 0

    def read(self, path: str) -> bytes:
        """Return a file's content. Raises as `read_file`, and `EntryError` for too much in all."""
        real = _real(path)
        if real not in self._contents:
            try:
                read = self._contents[real] = read_file(path, limit=_MAX_READ_SIZE)
                self._size += len(read)
            except OSError as error:
                self._contents[real] = error
            if self._size > _MAX_READ_IN_ALL:
                text = f"the files that it names are larger than {_MAX_READ_IN_ALL} bytes together"
                raise EntryError(text)
        content = self._contents[real]
        if isinstance(content, OSError):
            raise content
        return content

    def digest(self, path: str, *, is_used: bool = True) -> str:
        """Return the digest of a file's content, "" where there is none.

        A file that is too large or not readable is identified by its size and time. ``is_used``:
        the content is kept for `read`. Raises `EntryError` as `read` does.
        """
        real = _real(path)
        if real not in self._digests:
            self._digests[real] = self._digest(path)
            if not is_used:
                self._contents.pop(real, None)
        return self._digests[real]

    def _digest(self, path: str) -> str:
        try:
            return hashlib.sha256(self.read(path)).hexdigest()
        except OSError:
            pass
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return ""
        return hashlib.sha256(f"{status.st_size} {status.st_mtime_ns}".encode()).hexdigest()


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
    rows = (*_rows(entry), *(_input_row(inputs.specs[name]) for name in used))
    return Sheet(entry.name, *file, rows, entry.restrictions, [written, used], find)


def named_files(
    entry: Entry,
    written: Mapping[str, Any],
    variables: Variables,
    base: str,
    around: str,
    files: NamedFiles,
) -> Iterator[NamedFile]:
    """Yield the files that an entry names: by ``envFile``, ``{file:…}``, in its command and env.

    ``base``: where relative paths begin; ``around``: where those of ``{file:…}`` do. ``variables``:
    their values, without asking for any. Raises `EntryError` for too many words or values.
    """

    def path_of(text: str, folder: str) -> str:
        # As it is opened: ".." behind a link leads elsewhere than the text of the path says.
        return os.path.join(folder, variables.expand(text, is_path=True, keep_missing=True).text)

    cwd = os.path.normpath(path_of(entry.cwd or "", base))
    if entry.env_file:
        path = path_of(entry.env_file, base)
        yield NamedFile(path, files.digest(path))
    for kind in ("file", "content"):
        for name in references(written, kind):
            path = path_of(name, around)
            yield NamedFile(path, files.digest(path))
    # Its digest stands for all that is in a bundle, which may not be unpacked yet.
    folder = str(bundle_folder(os.environ, entry.sha256)) + os.sep if entry.sha256 else ""
    as_written = dict.fromkeys((*entry.command, *entry.env.values(), entry.headers_helper or ""))
    # As they are used, too: a value may hold a path, and a missing one is empty, or a shell's.
    texts = [*as_written]
    for keep in (True, False):
        texts += [variables.expand(text, keep_missing=keep).text for text in as_written]
    words = dict.fromkeys(word for text in texts for word in _words_in(text) if word)
    if len(words) > _MAX_WORDS:
        raise EntryError(
            f"its command and env have more than {_MAX_WORDS} words, each of which may name a file "
            "that the user would agree to",
            hint="write the long value into a file, and name that",
        )
    for path in dict.fromkeys(path_of(word, cwd) for word in words):
        is_inside = folder and path.startswith(folder) and ".." not in re.split(r"[/\\]", path)
        if not is_inside and os.path.isfile(path):
            yield NamedFile(path, files.digest(path, is_used=False))


def _words_in(text: str) -> Iterator[str]:
    """Yield the possible paths in a word of a command: the whole word, and its parts."""
    yield text
    for part in _AROUND_PATHS.split(text):
        yield part
        if part[:1] == "-" and part[:2] != "--":
            yield part[2:]  # as in -r./hook.js


_PLAIN = (
    *("headers_helper", "env_file", "cwd", "bundle", "sha256", "transport"),
    *("timeout", "connect_timeout", "include", "exclude", "naming", "trusted", "lazy"),
)
_SPELLED = {"headers_helper": "headersHelper", "env_file": "envFile"}


def _rows(entry: Entry) -> Iterator[Shown]:
    if entry.command:
        yield Shown("command", shlex.join(entry.command))
    if entry.url is not None:
        yield Shown("url", entry.url)
    for name, text in entry.env.items():
        yield Shown(f"env {name}", _unless_secret(name, text))
    for name, text in entry.headers.items():
        yield Shown(f"header {name}", _unless_secret(name, text))
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


def _value_rows(name: str, value: Any) -> Iterator[Shown]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _value_rows(f"{name}.{key}", item)
        return
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    yield Shown(name, _unless_secret(name.rpartition(".")[2], text))


def _input_row(spec: InputSpec) -> Shown:
    default = "no default"
    if spec.default is not None:
        is_hidden = spec.password and _KEY.fullmatch(spec.default)
        default = "default " + (HIDDEN if is_hidden else repr(spec.default))
    return Shown(f"input {spec.id}", ", ".join(filter(None, (spec.description, default))))


def _unless_secret(name: str, text: str) -> str:
    """Return a value as written, or `HIDDEN` for a secret that stands in the file itself."""
    is_secret = is_secret_name(name) and _KEY.fullmatch(text) and not has_references(text)
    return HIDDEN if is_secret else TOKEN.sub(HIDDEN, text)
