"""The entries of a JSON, TOML or YAML file, as written, each with its place."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Union

from ..entries.applications import (
    APPLICATIONS,
    Application,
    FileKind,
    Found,
    find_servers,
    kind_of,
    project_of,
)
from ..entries.entry import EntryError
from ..errors import UsageError
from ..formats.front_matter import FrontMatterError, parse_front_matter
from ..formats.jsonc import MAX_DEPTH, JsoncArray, JsoncError, JsoncObject, Lines, parse_jsonc
from ..jsonrpc.codec import is_deep
from ..net.paths import absolute_path, bundle_name, is_bundle
from ..net.regular_files import read_file
from ..protocol.wire_object import value_at
from .config import Problem, Severity
from .scopes import Place

if TYPE_CHECKING:
    from ..entries.bundles.manifest import OpenedEntry

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = None

MAX_FILE_SIZE = 32 * 1024 * 1024
"""The greatest size of a configuration file in bytes, for reading and writing."""

Path = Sequence[Union[str, int]]
"""The keys and indexes that lead to a part of a document."""

# Parts of dotted names that the parser of TOML may keep: about 80 MB.
_MAX_TOML_WORK = 10_000_000

_TOML_PLACE = re.compile(r"\(at line (\d+), column \d+\)$")
_YAML_PLACE = re.compile(r"^line (\d+): ")


class DocumentError(ValueError):
    """Content that cannot be parsed. ``line``: counted from 1, or None; ``hint``: the next step."""

    def __init__(self, reason: str, line: int | None = None, hint: str = "") -> None:
        super().__init__(reason)
        self.line = line
        self.hint = hint


@dataclass(eq=False, repr=False)
class Document:
    """The content of a file. ``value``: as JSON would have it; ``text``: as written."""

    text: str
    value: Any

    def line(self, path: Path) -> int | None:
        """Return the line of a part, or of the nearest enclosing part that exists."""
        knows_places = isinstance(self.value, (JsoncObject, JsoncArray))
        offset = _offset_in(self.value, path) if knows_places else self._search(path)
        return None if offset is None else self._lines.at(offset)

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.text)

    def _search(self, path: Path) -> int | None:
        """Find a part of TOML or YAML, whose parsers give no offsets: search its keys in turn."""
        position, found = 0, None
        for part in path:
            if isinstance(part, str):
                next_position = self.text.find(part, position)
                if next_position < 0:
                    break
                found, position = next_position, next_position + len(part)
        return found


def read_document(content: bytes, name: str) -> Document:
    """Parse a file in the format of its name's ending. Raises `DocumentError`."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DocumentError("it is not UTF-8", line, "save the file as UTF-8") from None
    ending = name.lower().rpartition(".")[2]
    return Document(text, _READERS.get(ending, _read_json)(text))


def _read_json(text: str) -> Any:
    try:
        return parse_jsonc(text)
    except JsoncError as error:
        column = error.offset - text.rfind("\n", 0, error.offset)
        raise DocumentError(f"it is not JSON: {error} (column {column})", error.line) from None


def _refuse_costly_toml(text: str) -> None:
    """Refuse names of so many parts that the parser would take quadratic time and memory.

    The parser keeps every prefix of a dotted name. The dots of a line limit the parts of its name;
    dots in values count too, but real files have far fewer.
    """
    header, work = 0, 0
    for number, line in enumerate(text.split("\n"), 1):  # the only end of a line in TOML
        dots = line.count(".")
        if line.lstrip().startswith("["):
            header = max(header, dots)  # a table's dots precede each name in it
        work += (header + dots) * (dots + 1)
        if work > _MAX_TOML_WORK:
            raise DocumentError("its dotted names have too many parts", number, "write tables")


def _read_toml(text: str) -> Any:
    if tomllib is None:
        raise DocumentError(
            "TOML can be read with Python 3.11 and newer only", 1, "use a newer Python"
        )
    _refuse_costly_toml(text)
    try:
        value = tomllib.loads(text.lstrip("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        line = int(place.group(1)) if place else text.count("\n") + 1
        reason = str(error).partition(" (at ")[0]
        raise DocumentError(f"it is not TOML: {reason}", line) from None
    except (RecursionError, ValueError):
        raise DocumentError("it is not TOML: a value is too deep or out of range", 1) from None
    if is_deep(value, MAX_DEPTH):
        raise DocumentError(f"it is nested more than {MAX_DEPTH} deep", 1)
    return value


def _read_yaml(text: str) -> Any:
    body = re.sub(r"\A\ufeff?(?:---[ \t]*\r?\n)?", "", text)
    skipped = text.count("\n") - body.count("\n")
    try:
        return parse_front_matter(body)
    except FrontMatterError as error:
        place = _YAML_PLACE.match(str(error))
        line = int(place.group(1)) + skipped if place else 1
        reason = _YAML_PLACE.sub("", str(error))
        raise DocumentError(f"unsupported YAML: {reason}", line) from None


_READERS: dict[str, Callable[[str], Any]] = {
    "toml": _read_toml,
    "yaml": _read_yaml,
    "yml": _read_yaml,
}


def _offset_in(value: Any, path: Path) -> int | None:
    offset = None
    for part in path:
        if isinstance(value, JsoncObject) and isinstance(part, str) and part in value:
            offset, value = value.last[part].start, value[part]
        elif isinstance(value, JsoncArray) and isinstance(part, int) and part < len(value):
            offset, value = value.offsets[part], value[part]
        else:
            break
    return offset


def repeated_keys(value: Any, *path: str | int) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each key that an object of JSON has twice."""
    if isinstance(value, JsoncObject):
        for member in value.repeated():
            yield (*path, member.key)
        for key, inner in value.items():
            yield from repeated_keys(inner, *path, key)
    elif isinstance(value, JsoncArray):
        for index, inner in enumerate(value):
            yield from repeated_keys(inner, *path, index)


_NO_SERVERS = "it configures no servers"
# Types of servers that run inside an application, out of reach for others.
_INSIDE = ("builtin", "platform", "frontend", "inline_python", "inMemory")


@dataclass(frozen=True, eq=False)
class WrittenServer:
    """One entry of a file; ``path`` leads to it in the document.

    ``opened``: the same as an ordinary entry, where it names a bundle or has inputs.
    """

    name: str
    raw: Any = field(repr=False)
    file: ConfigFile
    path: tuple[str | int, ...]
    opened: OpenedEntry | None = field(default=None, repr=False)

    @property
    def entry(self) -> Any:
        """The entry with the command of its bundle, if it has one."""
        return self.raw if self.opened is None else self.opened.raw

    def problem(
        self, severity: Severity, message: str, *path: str | int, hint: str = ""
    ) -> Problem:
        """Return a problem of this entry, at one of its fields."""
        named = ".".join(str(part) for part in path)[:200] or None
        place = (*self.path, *path)
        return self.file.problem(severity, message, place, server=self.name, field=named, hint=hint)


@dataclass(frozen=True, eq=False)
class ConfigFile:
    """A file that was read: its servers, and the settings beside them.

    ``place``: where it was found, to read it again.
    ``allowed``, ``excluded``: names of servers that settings of the file let through or keep out.
    ``tool_switches``: patterns of ``server_tool`` names that the file switches off.
    """

    path: str
    scope: str
    application: Application
    document: Document = field(repr=False)
    kind: FileKind
    place: Place
    servers: list[WrittenServer] = field(default_factory=list)
    inputs: Any = field(default=None, repr=False)
    allowed: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    tool_switches: tuple[str, ...] = ()

    @cached_property
    def project(self) -> str:
        """The folder of the project that it is about."""
        return project_of(self.path, self.kind)

    @cached_property
    def base(self) -> str:
        """The folder where its relative paths begin."""
        if self.place.project is None and self.scope in ("project", "file"):
            return self.project
        return self.place.project or os.path.dirname(os.path.realpath(self.path))

    def problem(self, severity: Severity, message: str, path: Path, **more: Any) -> Problem:
        """Return a problem at a place of the document."""
        return Problem(severity, message, self.path, self.document.line(path), **more)


class ConfigReader:
    """A reader of files, each once, that adds mistakes to ``problems``."""

    def __init__(self, problems: list[Problem]) -> None:
        self._problems = problems
        self._documents: dict[str, Document | None] = {}

    def read(self, place: Place, *, expected: bool = False) -> ConfigFile | None:
        """Return the servers and settings of a file for a scope, or None if it has none.

        A missing file is a problem only if it is ``expected``.
        """
        document = self.document(place.path, expected=expected)
        return None if document is None else self._of_document(place, document)

    def document(self, path: str, *, expected: bool = False) -> Document | None:
        """Return the object that a file holds, or None; it is read once."""
        if path not in self._documents:
            self._documents[path] = self._document(path, expected)
        return self._documents[path]

    def _document(self, path: str, expected: bool) -> Document | None:
        if is_bundle(path):
            entry = {"bundle": absolute_path(path)}
            return Document("", {"mcpServers": {bundle_name(path): entry}})
        try:
            document = read_document(read_file(path, limit=MAX_FILE_SIZE), path)
        except (FileNotFoundError, NotADirectoryError):
            if expected:
                self._wrong(path, "there is no such file", hint="check the path")
        except OSError as error:
            self._wrong(path, f"it cannot be read: {error.strerror or 'unknown reason'}")
        except DocumentError as error:
            self._wrong(path, str(error), error.line, error.hint)
        else:
            if isinstance(document.value, Mapping):
                return document
            self._wrong(path, "it does not hold an object", 1, "servers stand under mcpServers")
        return None

    def _wrong(self, path: str, message: str, line: int | None = None, hint: str = "") -> None:
        self._problems.append(Problem("error", message, path, line, hint=hint))

    def _of_document(self, place: Place, document: Document) -> ConfigFile | None:
        settings, kind = document.value, kind_of(place.path)
        if place.project:  # the servers that the user's own settings have for one project
            key = ("projects", place.project, "mcpServers")
            servers = value_at(settings, key)
            found = Found(key, servers, APPLICATIONS["claude-code"]) if servers else None
        else:
            found = find_servers(settings, kind)
        if found is None:
            if not (kind.settings or place.project):
                hint = f"they stand under {'.'.join(kind.key) or 'mcpServers'}"
                self._wrong(place.path, _NO_SERVERS, 1, hint)
            return None
        around = value_at(settings, found.key[:-1])
        application = found.application
        gemini = settings.get("mcp") if application.bare_dollar else None
        tools = settings.get("tools") if application.name == "opencode" else None
        switches = tools.items() if isinstance(tools, Mapping) else ()
        file = ConfigFile(
            place.path,
            place.scope,
            application,
            document,
            kind,
            place,
            inputs=settings.get("inputs") or around.get("inputs"),
            allowed=_names(gemini, "allowed"),
            excluded=_names(gemini, "excluded") or (),
            tool_switches=tuple(pattern for pattern, setting in switches if setting is False),
        )
        if not place.project:
            self._problems.extend(_misplaced(file, found))
        self._problems.extend(_repeated(file, found.key))
        if found.servers == [] and not kind.settings:
            self._problems.append(file.problem("warning", _NO_SERVERS, found.key))
        self._add_entries(file, found.servers, found.key)
        return file

    def _add_entries(self, file: ConfigFile, servers: Any, path: tuple[str, ...]) -> None:
        """Add the entries of an object by name, or of a list whose items have a ``name``."""
        if not isinstance(servers, (Mapping, list)):
            message = "servers are an object, each under its name"
            self._problems.append(file.problem("error", message, path))
            return
        pairs = servers.items() if isinstance(servers, Mapping) else enumerate(servers)
        for key, entry in pairs:
            about = entry if isinstance(entry, Mapping) else {}
            name = key if isinstance(servers, Mapping) else about.get("name")
            if not isinstance(name, str) or not name.strip() or re.search(r"[\x00-\x1f\x7f]", name):
                message = "a server needs a name in one line"
                self._problems.append(file.problem("error", message, (*path, key)))
                continue
            written = WrittenServer(name, entry, file, (*path, key))
            if about.get("type") in _INSIDE:
                continue
            if not about.keys().isdisjoint(("bundle", "inputs")):
                try:
                    from ..entries.bundles.manifest import open_entry

                    opened = open_entry(about, file.path, file.base, name)
                except UsageError as error:  # a copy without the part
                    self._problems.append(written.problem("error", str(error)))
                    continue
                except EntryError as error:
                    problem = written.problem("error", str(error), *error.path, hint=error.hint)
                    self._problems.append(problem)
                    continue
                written = replace(written, opened=opened)
            file.servers.append(written)


def _misplaced(file: ConfigFile, found: Found) -> Iterator[Problem]:
    kind, key = file.kind, ".".join(found.key)
    if kind.ending and kind.key and found.key not in ((), kind.key):
        message, hint = f"its servers stand under {key}", f"it usually has {'.'.join(kind.key)}"
        yield file.problem("warning", message, found.key, hint=hint)
    for other in found.others:
        message, hint = f"servers under {other} are not read", f"move them to {key or 'the top'}"
        yield file.problem("warning", message, other.split("."), hint=hint)


def _repeated(file: ConfigFile, key: tuple[str, ...]) -> Iterator[Problem]:
    for path in repeated_keys(file.document.value):
        if path[: len(key)] == key[: len(path)]:
            message = f"{path[-1]!r:.60} is there twice; the second counts"
            names = [str(part) for part in path[len(key) :]]
            named = {"server": names[0] if names else None, "field": ".".join(names[1:]) or None}
            yield file.problem("warning", message, path, **named, hint="remove one")


def _names(settings: Any, key: str) -> tuple[str, ...] | None:
    names = settings.get(key) if isinstance(settings, Mapping) else None
    if not isinstance(names, list):
        return None
    return tuple(name for name in names if isinstance(name, str))
