"""The values of fields, one reader for each kind. What is wrong is told by field and place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .applications import Application

_CONTROL = re.compile(r"[\x01-\x1f]")
# In seconds; more is likely a number of milliseconds.
_MAX_TIME, _MAX_ASSUMED_TIME = 3600.0, 999.0

Report = Callable[..., None]
"""Called as ``report(message, *path, hint=…)`` with each warning about an entry."""


class EntryError(ValueError):
    """An entry that cannot be used. ``path``: the field, and where in it; ``hint``: what to do."""

    def __init__(self, message: str, *path: str | int, hint: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.hint = hint


def _text(given: Any, key: str, application: Any, report: Report) -> str:
    if not isinstance(given, str):
        raise EntryError(f"has to be a text, not {kind_of_value(given)}", key)
    _check_text(given, key)
    return given


def _ignore(message: str, *path: str | int, hint: str = "") -> None:
    """For what is worth no warning."""


def read_words(
    given: Any, key: str, application: Any = None, report: Report = _ignore
) -> list[str]:
    """Return a list of texts. Raises `EntryError` for anything else."""
    if not isinstance(given, list):
        raise EntryError(f"has to be a list of texts, not {kind_of_value(given)}", key)
    return [_as_text(item, report, key, index) for index, item in enumerate(given)]


def _command_words(given: Any, key: str, application: Any, report: Report) -> list[str]:
    if isinstance(given, str):
        _check_text(given, key)
        words = [given] if given.strip() else []
    else:
        words = read_words(given, key, application, report)
    if words and not words[0].strip():
        raise EntryError("the first word, the program, is empty", key, 0)
    if words and _CONTROL.search(words[0]):
        hint = "JSON reads \\t and \\n as such; a backslash is written \\\\"
        raise EntryError("the program has a tab or the end of a line in its name", key, hint=hint)
    return words


def _texts(given: Any, key: str, application: Any, report: Report) -> dict[str, str]:
    if isinstance(given, list):  # as some write them: [{"name": …, "value": …}]
        pairs = {
            item["name"]: item.get("value")
            for item in given
            if isinstance(item, Mapping) and isinstance(item.get("name"), str)
        }
        if len(pairs) != len(given):
            raise EntryError("has to be an object, not a list", key)
        given = pairs
    if not isinstance(given, Mapping):
        raise EntryError(f"has to be an object, not {kind_of_value(given)}", key)
    found = {}
    for name, value in given.items():
        if not name.strip() or "\0" in name or "=" in name or "\n" in name or "\r" in name:
            raise EntryError("a name is empty, or holds = or a control character", key)
        if value is None:
            report("null gives it no value, so it is left out", key, name)
            continue
        found[name] = _as_text(value, report, key, name)
    return found


def _flag(given: Any, key: str, application: Any, report: Report) -> bool:
    if isinstance(given, str) and given.lower() in ("true", "false"):
        report(f"a text that says {given.lower()}", key, hint="write it without quotes")
        return given.lower() == "true"
    if not isinstance(given, bool):
        raise EntryError(f"has to be true or false, not {kind_of_value(given)}", key)
    return given


def _time(given: Any, key: str, application: Application, report: Report) -> float | None:
    if application.seconds is None:
        return _seconds(given, key, application, report, longest=_MAX_ASSUMED_TIME)
    return _seconds(given, key, application, report, application.seconds)


def _milliseconds(given: Any, key: str, application: Any, report: Report) -> float | None:
    return _seconds(given, key, application, report, 0.001)


def _seconds(
    given: Any,
    key: str,
    application: Any,
    report: Report,
    unit: float = 1.0,
    *,
    longest: float = _MAX_TIME,
) -> float | None:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= 1e12:
        report(
            f"a number that is not negative, not {kind_of_value(given)}; the usual limit holds", key
        )
        return None
    seconds = float(given) * unit
    if unit == 1.0 and seconds > longest:
        report("that many seconds are a long time", key, hint="is it meant in milliseconds?")
    return seconds


def _any(given: Any, key: str, application: Any, report: Report) -> Any:
    return given


READERS: dict[str, Callable[[Any, str, Application, Report], Any]] = {
    "text": _text,
    "words": read_words,
    "command": _command_words,
    "texts": _texts,
    "flag": _flag,
    "time": _time,
    "seconds": _seconds,
    "milliseconds": _milliseconds,
    "any": _any,
}


def _as_text(value: Any, report: Report, *path: str | int) -> str:
    """Return a text; a number or a flag stands for its spelling, which is told."""
    if isinstance(value, (bool, int, float)):
        report(f"{kind_of_value(value)} is taken as text", *path, hint="write it in quotes")
        return str(value).lower() if isinstance(value, bool) else str(value)
    if not isinstance(value, str):
        raise EntryError(f"has to be a text, not {kind_of_value(value)}", *path)
    _check_text(value, *path)
    return value


def _check_text(text: str, *path: str | int) -> None:
    if "\0" in text:
        raise EntryError("a text holds a NUL character, which no program takes", *path)


def kind_of_value(value: Any) -> str:
    """Return the kind of a JSON value in words, never the value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "an object" if isinstance(value, Mapping) else "a list"
