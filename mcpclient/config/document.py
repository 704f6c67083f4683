"""The text of a configuration file as a value that knows its lines: JSON, TOML or YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Union

from ..formats.front_matter import parse_front_matter
from ..formats.jsonc import MAX_DEPTH, JsoncArray, JsoncError, JsoncObject, Lines, parse_jsonc
from ..formats.yaml_flow import FrontMatterError
from ..jsonrpc.codec import is_deep

try:
    import tomllib  # type: ignore[import-not-found]
except ImportError:  # Python 3.10 and older
    tomllib = None

MAX_FILE_SIZE = 32 * 1024 * 1024
"""How many bytes of a configuration file are read, and changed."""

Path = Sequence[Union[str, int]]
"""The keys and indexes that lead to a part of a document."""

# Parts of dotted names that the parser of TOML may keep: about 80 MB.
_MAX_TOML_WORK = 10_000_000

_TOML_PLACE = re.compile(r"\(at line (\d+), column \d+\)$")
_YAML_PLACE = re.compile(r"^line (\d+): ")


class DocumentError(ValueError):
    """A text that cannot be read. ``line``: where, from 1, or None; ``hint``: what to do."""

    def __init__(self, reason: str, line: int | None = None, hint: str = "") -> None:
        super().__init__(reason)
        self.line = line
        self.hint = hint


class Document:
    """What a file holds. ``value``: as JSON would have it; ``text``: as it stands in the file."""

    def __init__(self, text: str, value: Any) -> None:
        self.text = text
        self.value = value
        self._lines: Lines | None = None

    def line(self, path: Path) -> int | None:
        """Return the line of a part, or of the nearest part around it that is there."""
        knows_places = isinstance(self.value, (JsoncObject, JsoncArray))
        offset = _offset_in(self.value, path) if knows_places else self._search(path)
        return self._line_of(offset)

    def repeated(self) -> Iterator[tuple[list[str | int], int | None]]:
        """Yield the keys that are there twice: the path of the second one, and its line."""
        for path, offset in _repeated(self.value, []):
            yield path, self._line_of(offset)

    def _line_of(self, offset: int | None) -> int | None:
        if offset is None:
            return None
        if self._lines is None:
            self._lines = Lines(self.text)
        return self._lines.at(offset)

    def _search(self, path: Path) -> int | None:
        """Find a part of a text whose reader tells no places: its names, one after another."""
        position, found = 0, None
        for part in path:
            if isinstance(part, str):
                next_position = self.text.find(part, position)
                if next_position < 0:
                    break
                found, position = next_position, next_position + len(part)
        return found


def read_document(content: bytes, name: str) -> Document:
    """Return what a file holds; the ending of its ``name`` says how. Raises `DocumentError`."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DocumentError("it is not text in UTF-8", line, "save the file as UTF-8") from None
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

    It keeps every beginning of a dotted name. A name ends with its line, and has no more parts than
    the line has dots; dots in values count as well, of which no file has that many.
    """
    header, work = 0, 0
    for number, line in enumerate(text.splitlines(), 1):
        dots = line.count(".")
        if line.lstrip().startswith("["):
            header = max(header, dots)  # those of a table stand before each name in it
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
            offset, value = value.offset_of(part), value[part]
        elif isinstance(value, JsoncArray) and isinstance(part, int) and part < len(value):
            offset, value = value.offsets[part], value[part]
        else:
            break
    return offset


def _repeated(value: Any, path: list[str | int]) -> Iterator[tuple[list[str | int], int]]:
    if isinstance(value, JsoncObject):
        for member in value.repeated():
            yield [*path, member.key], member.start
        for key, inner in value.items():
            yield from _repeated(inner, [*path, key])
    elif isinstance(value, JsoncArray):
        for index, inner in enumerate(value):
            yield from _repeated(inner, [*path, index])
