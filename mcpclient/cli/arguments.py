"""The arguments of tools and prompts, as they are typed on a command line.

- ``key=value``: a string, unless the value is JSON of another kind (``5``, ``true``, ``null``,
  ``[1, 2]``, ``{"a": 1}``)
- ``key:=json``: always JSON, so a string needs quotes: ``zip:='"01234"'``
- ``key=@file``, ``key:=@file``: the content of the file, as text or as JSON
- ``{"key": "value"}``, ``@file.json``, ``-``: all arguments as one JSON object, from the command
  line, from a file, or from stdin
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import UsageError

__all__ = ["parse_arguments", "parse_text_arguments"]


def parse_arguments(words: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of a tool. Raises `UsageError`."""
    if len(words) == 1 and _is_whole(words[0]):
        return _whole(words[0])
    arguments = {}
    for key, text, forced in _pairs(words):
        value = _from_file(text[1:]) if text.startswith("@") else text
        if forced:
            arguments[key] = _json(value, key)
        else:
            arguments[key] = value if text.startswith("@") else _guessed(value)
    return arguments


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
        text, source = word, "the arguments"
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
        yield key, text, forced


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
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path!r}: {error}") from None
