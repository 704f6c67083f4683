"""The arguments of tools and prompts, as they are typed on a command line.

- ``key=value``: of the type that the tool has for it; where that is not known,
  a string, unless the value is JSON of another kind (``5``, ``true``, ``[1, 2]``)
- ``key:=json``: always JSON, so a string needs quotes: ``zip:='"01234"'``
- ``key=@file``, ``key:=@file``: the content of the file, as text or as JSON
- ``{"key": "value"}``, ``@file.json``, ``-``: all arguments as one JSON object,
  from the command line, from a file, or from stdin
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import UsageError
from ..net.regular_files import open_regular
from ..recording.secret_arguments import resolved
from .signature import kinds_of, type_of

# The largest file whose content is an argument, in bytes.
_MAX_FILE_SIZE = 64 * 1024 * 1024

_YES = ("true", "yes", "on", "1")
_NO = ("false", "no", "off", "0")


class Typed:
    """What was typed for one argument, and has no type yet."""

    def __init__(self, text: str) -> None:
        self.text = text


def parse_arguments(words: Sequence[str]) -> dict[str, Any | Typed]:
    """Return the arguments of a tool: values, and `Typed` for what its schema gives a type.

    Files and stdin are read. Raises `UsageError`.
    """
    if len(words) == 1 and _is_whole(words[0]):
        return _whole(words[0])
    arguments: dict[str, Any | Typed] = {}
    for key, text, forced in _pairs(words):
        value = _from_file(text[1:]) if text.startswith("@") else text
        if forced:
            arguments[key] = _json(value, key)
        else:
            arguments[key] = value if text.startswith("@") else Typed(value)
    return arguments


def typed_value(name: str, text: str, schema: Any, root: Any) -> Any:
    """Return what was typed for the argument ``name`` as a value of the type in its schema.

    ``root``: the whole schema, for references. A schema that names no type, or is not known (None),
    takes JSON that is not a string as what it is, and everything else as text. Raises `UsageError`
    for text that cannot be of the type.
    """
    kinds = kinds_of(schema, root)
    if not kinds:
        return _guessed(text)
    for kind in ("null", "boolean", "integer", "number", "object", "array"):
        value = _as_kind(text, kind) if kind in kinds else _NO_VALUE
        if value is not _NO_VALUE:
            return value
    if "string" in kinds:
        return text
    if "array" in kinds and not text.startswith(("[", "{")):
        items = resolved(schema, root).get("items")
        return [typed_value(name, part.strip(), items, root) for part in text.split(",") if part]
    raise UsageError(f"argument {name!r} is of type {type_of(schema, root)}, not {text!r}")


_NO_VALUE = object()


def _as_kind(text: str, kind: str) -> Any:
    """Return the text as a value of one type, or `_NO_VALUE`."""
    if kind == "boolean" and text.lower() in _YES + _NO:
        return text.lower() in _YES
    try:
        value = _strict_json(text)
    except (ValueError, RecursionError):
        return _NO_VALUE
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = {
        "null": value is None,
        "integer": is_number and isinstance(value, int),
        "number": is_number,
        "object": isinstance(value, dict),
        "array": isinstance(value, list),
    }
    return value if fits.get(kind) else _NO_VALUE


def parse_text_arguments(words: Sequence[str]) -> dict[str, str]:
    """Return the arguments of a prompt, which are strings. Raises `UsageError`."""
    if len(words) == 1 and _is_whole(words[0]):
        values = _whole(words[0])
    else:
        values = {
            key: _from_file(text[1:]) if text.startswith("@") else text
            for key, text, _ in _pairs(words)
        }
    for key, value in values.items():
        if not isinstance(value, str):
            raise UsageError(f"argument {key!r} has to be a string, not {json.dumps(value)}")
    return values


def _is_whole(word: str) -> bool:
    return word == "-" or word.startswith(("{", "@"))


def _whole(word: str) -> dict[str, Any]:
    """Read all arguments from one word."""
    if word == "-":
        text, source = _from_stdin(), "stdin"
    elif word.startswith("@"):
        text, source = _from_file(word[1:]), word[1:]
    else:
        text, source = _as_typed(word), "the arguments"
    value = _json(text, source)
    if not isinstance(value, dict):
        raise UsageError(f"{source}: a JSON object is needed")
    return value


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Yield key, text, and whether the text has to be JSON."""
    seen = set()
    for word in words:
        key, separator, text = word.partition("=")
        forced = key.endswith(":")
        key = key[:-1] if forced else key
        if not separator or not key:
            raise UsageError(f"not an argument: {word!r}; write key=value, or key:=json")
        if key in seen:
            raise UsageError(f"argument {key!r} is given twice")
        seen.add(key)
        yield _as_typed(key), text if text.startswith("@") else _as_typed(text), forced


def _as_typed(text: str) -> str:
    """Return a word as UTF-8 has it, where the locale is one without most characters."""
    if not any("\udc80" <= character <= "\udcff" for character in text):
        return text
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeError:
        raise UsageError(f"this argument is not valid UTF-8: {text!a}") from None


def _guessed(text: str) -> Any:
    """Return the JSON value that a text is; what is not JSON, or a string, stays as it is."""
    try:
        value = _strict_json(text)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(value, str) else value


def _json(text: str, what: str) -> Any:
    try:
        return _strict_json(text)
    except RecursionError:
        raise UsageError(f"{what}: JSON nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"{what}: not JSON: {error}") from None


def _strict_json(text: str) -> Any:
    """Read JSON without the numbers that Python knows and JSON does not, such as ``NaN``."""
    return json.loads(text, parse_constant=_no_number, parse_float=_finite)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _from_stdin() -> str:
    try:
        return sys.stdin.read()
    except ValueError as error:
        raise UsageError(f"cannot read stdin: {error}") from None


def _from_file(path: str) -> str:
    try:
        with open(open_regular(path, limit=_MAX_FILE_SIZE), encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeError) as error:
        reason = str((isinstance(error, OSError) and error.strerror) or error)
        raise UsageError(f"cannot read {path!r}: {reason}") from None
