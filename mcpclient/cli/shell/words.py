"""A line of the shell: its words, and the words that may follow.

Words are separated by spaces. Quotes and backslashes work as in other shells, and JSON needs none
of them: text in braces or brackets, or behind ``:=``, is taken as it is. Nothing is expanded
or substituted. ``#`` begins a comment where a word could begin, and an ``&`` at the end, as a word
of its own and not quoted, has the line run in the background.

``_`` is the last result, and a path behind it a part of it: ``_.structured["sum"]``. A path is read
and never evaluated: names behind a dot, and numbers or names in brackets. ``expect`` tests one:

- ``expect PATH``, ``expect not PATH``: a value such as ``is_error`` is true or not empty, or is not
- ``expect PATH == VALUE``, ``expect PATH != VALUE``
- ``expect PATH contains VALUE``: a part of a string, an item of a list, a name in an object

``_.`` at the beginning of a path may be left out. A value is JSON, a path that begins with ``_``,
or else a string; in quotes it is always a string.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import UsageError
from ...framing.escaping import escape_line
from ...jsonrpc.codec import parse_json
from ...protocol.json_schema import alternatives
from ...protocol.schema_properties import needed_of, properties_of, types_of
from ...protocol.wire_object import WireObject
from ...suggestions import did_you_mean
from ..arguments import named_values

if TYPE_CHECKING:
    from .commands import Session

_SPACES = " \t\r\n"
_PLAIN = re.compile(r"[^\s\"'\\#&\[{]+")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Word:
    """``text``: what it says. ``typed``: how it was typed, quotes included. ``start``: where."""

    text: str
    typed: str
    start: int


def parse_line(text: str) -> tuple[list[Word], bool]:
    """Return the words of a line, and whether it runs in the background. Raises `UsageError`."""
    words = split_words(text)
    in_background = bool(words) and words[-1].typed == "&"
    if in_background:
        words.pop()
    if any(word.typed == "&" for word in words):
        raise UsageError("& belongs at the end of a line; quote it to use it as an argument")
    if in_background and not words:
        raise UsageError("there is no command before &")
    return words, in_background


def split_words(text: str, *, unfinished: bool = False) -> list[Word]:
    """Return the words of a line. Raises `UsageError` for a quote without an end.

    With ``unfinished`` such a quote extends to the end, since the user is still typing.
    """
    words = []
    position = _skip_spaces(text, 0)
    while position < len(text) and text[position] != "#":
        start, content = position, ""
        while position < len(text) and text[position] not in _SPACES:
            piece, position = _read_piece(text, start, position, unfinished)
            content += piece
        words.append(Word(content, text[start:position], start))
        position = _skip_spaces(text, position)
    return words


def _skip_spaces(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACES:
        position += 1
    return position


def _read_piece(text: str, start: int, position: int, unfinished: bool) -> tuple[str, int]:
    character = text[position]
    if character in "[{" or (character == '"' and text.endswith(":=", start, position)):
        with suppress(ValueError, RecursionError):  # it is not JSON
            end = _DECODER.raw_decode(text, position)[1]
            return text[position:end], end
    if character in "\"'":
        return _read_quoted(text, position, unfinished)
    if character == "\\":
        return text[position + 1 : position + 2], min(position + 2, len(text))
    plain = _PLAIN.match(text, position)
    return (plain[0], plain.end()) if plain else (character, position + 1)


def _read_quoted(text: str, position: int, unfinished: bool) -> tuple[str, int]:
    quote, content, index = text[position], [], position + 1
    while index < len(text) and text[index] != quote:
        if quote == '"' and text[index] == "\\" and text[index + 1 : index + 2] in ('"', "\\"):
            index += 1
        content.append(text[index])
        index += 1
    if index >= len(text) and not unfinished:
        raise UsageError(f"the quote {quote} at column {position + 1} is not closed")
    return "".join(content), min(index + 1, len(text))


def quoted(text: str, *, is_whole: bool = True) -> str:
    """Return a string as a shell word, quoted if necessary: in quotes it is never an option.

    Without ``is_whole`` the quotes stay open, for the rest of the word.
    """
    words = split_words(text, unfinished=True)
    if len(words) == 1 and words[0] == Word(text, text, 0) and text[0] not in "&-":
        return text
    end = '"' if is_whole else ""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + end


_STEP = re.compile(r"\.([^.\[\]\s]+)|\[(\"(?:[^\"\\]|\\.)*\"|[^\]\[]*)\]")

# How many names a message lists.
_MAX_NAMES = 12


def is_path(text: str) -> bool:
    """Whether a word is `_` or begins a path with it."""
    return text == "_" or text.startswith(("_.", "_["))


def parse_path(text: str) -> list[str]:
    """Return the names and numbers of a path; a leading ``_`` may be left out.

    Raises `UsageError`.
    """
    rest = text[1:] if is_path(text) else f".{text}"
    keys: list[str] = []
    position = 0
    while position < len(rest):
        step = _STEP.match(rest, position)
        if step is None:
            raise UsageError(f"not a path: {text!r}; write it as in _.content[0].text")
        name, key = step.groups()
        keys.append(key.strip("'") if name is None else name)
        if key is not None and key.startswith('"'):
            with suppress(ValueError):
                keys[-1] = json.loads(key, strict=False)
        position = step.end()
    return keys


def follow_path(value: Any, keys: Sequence[str]) -> Any:
    """Return the part of a value that a path leads to. Raises `UsageError` where it leads nowhere.

    A name is a field of a result as this library has it, else one as the server sent it.
    """
    for index, key in enumerate(keys):
        try:
            value = _step(value, key)
        except (LookupError, ValueError):
            shown = ".".join(["_", *keys[:index]])
            raise UsageError(f"{shown} {_complaint(value, key)}") from None
    return value


def _step(value: Any, key: str) -> Any:
    if isinstance(value, WireObject):
        if key in _fields(value):
            return getattr(value, key)
        value = value.raw
    if isinstance(value, Mapping):
        return value[key]
    if isinstance(value, (list, tuple)):
        return value[int(key)]
    raise LookupError(key)


def _complaint(value: Any, key: str) -> str:
    names = names_in(value)
    if names:
        listed = ", ".join(names[:_MAX_NAMES]) + (", …" if len(names) > _MAX_NAMES else "")
        return f"has no {key!r}; {did_you_mean(key, names) or f'it has {listed}'}"
    if isinstance(value, (list, tuple)):
        return f"has {len(value)} items, numbered from 0, and no {key!r}"
    return f"is {_shown(plain(value))} and has no {key!r}"


def names_in(value: Any) -> list[str]:
    """Return the names that may follow in a path."""
    if isinstance(value, WireObject):
        return _fields(value)
    return [str(name) for name in value] if isinstance(value, Mapping) else []


def _fields(value: WireObject) -> list[str]:
    kind = type(value)
    return [name for name in dir(kind) if name[0] != "_" and not callable(getattr(kind, name))]


_MAX_SHOWN_LENGTH = 200


def _contains(found: Any, value: Any) -> bool:
    if isinstance(found, str):
        return (value if isinstance(value, str) else json.dumps(value)) in found
    return isinstance(found, (list, Mapping)) and any(_equal(item, value) for item in found)


def _equal(found: Any, value: Any) -> bool:
    """Compare as JSON does, where ``true`` is not a number."""
    if isinstance(found, bool) or isinstance(value, bool):
        return found is value
    if isinstance(found, list) and isinstance(value, list):
        return len(found) == len(value) and all(map(_equal, found, value))
    if isinstance(found, dict) and isinstance(value, dict):
        same_names = found.keys() == value.keys()
        return same_names and all(_equal(found[name], value[name]) for name in found)
    return bool(found == value)


OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda found, value: not _equal(found, value),
    "contains": _contains,
}


def unmet(words: Sequence[Word], result: Any) -> str | None:
    """Return the message of an expectation that a result does not meet, otherwise None.

    Raises `UsageError` for words that are not an expectation, and a path that leads nowhere.
    """
    negated = len(words) > 1 and words[0].typed == "not"
    path, *condition = words[1:] if negated else words
    found = plain(follow_path(result, parse_path(path.text)))
    if not condition:
        holds = bool(found)
    else:
        operator, *values = condition
        if operator.typed not in OPERATORS:
            known = ", ".join(OPERATORS)
            raise UsageError(f"expect compares with {known}, not with {operator.text!r}")
        if len(values) != 1:
            raise UsageError(f"{operator.text} takes one value; put a string with spaces in quotes")
        holds = OPERATORS[operator.typed](found, _value(values[0], result))
    said = " ".join(word.typed for word in words)
    return None if holds is not negated else f"expected {said}, and {path.text} is {_shown(found)}"


def _value(word: Word, result: Any) -> Any:
    if word.typed[:1] in ("'", '"'):
        return word.text
    if is_path(word.text):
        return plain(follow_path(result, parse_path(word.text)))
    return parse_json(word.text, word.text)


def plain(value: Any) -> Any:
    """Return a value in a form that JSON has."""
    if isinstance(value, WireObject):
        return value.raw
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _shown(value: Any) -> str:
    text = escape_line(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _MAX_SHOWN_LENGTH else text[:_MAX_SHOWN_LENGTH] + "…"


# Completion: candidates by the state of a session, without asking a server

_MAX_FILES = 200


class Typing(NamedTuple):
    """The position of the cursor. ``words``: those before it; ``word``: the current one so far.

    ``start``: where that word begins in the line.
    """

    words: Sequence[Word]
    word: str
    start: int


def typing_at(line: str, cursor: int) -> Typing:
    """Return the words before the cursor; those after it do not count."""
    before = line[:cursor]
    words = split_words(before, unfinished=True)
    if words and words[-1].start + len(words[-1].typed) == len(before):
        return Typing(words[:-1], words[-1].text, words[-1].start)
    return Typing(words, "", len(before))


def candidates(typing: Typing, session: Session, commands: Iterable[str]) -> list[str]:
    """Return the words that fit at the cursor, in the order to show them.

    Each replaces the whole word, quotes included, and ends in a space where the next may follow.
    """
    texts = [word.text for word in typing.words]
    if not texts:
        return fitting(_first_words(typing.word, session, commands), typing.word)
    return fitting(_later_words(texts, typing.word, session, commands), typing.word)


def fitting(found: Iterable[str], word: str) -> list[str]:
    """Return the candidates that begin with the word, each once; servers choose most of them."""
    chosen = dict.fromkeys(each for each in found if each.startswith(word))
    return [
        quoted(escape_line(each[:-1])) + " "
        if each.endswith(" ")
        else quoted(escape_line(each), is_whole=False)
        for each in chosen
    ]


def _whole(words: Iterable[str]) -> Iterator[str]:
    return (f"{word} " for word in words)


def _first_words(word: str, session: Session, commands: Iterable[str]) -> Iterator[str]:
    if word.startswith("_"):
        yield from _path_steps(word, session.result)
    yield from _whole(session.tools_of(session.server))
    for server in session.manager.servers:
        if word.startswith(f"{server}."):
            yield from _whole(f"{server}.{name}" for name in session.tools_of(server))
        else:
            yield f"{server}."
    yield from _whole(commands)


def _later_words(
    words: Sequence[str], word: str, session: Session, commands: Iterable[str]
) -> Iterable[str]:
    command, *given = words
    if not given and command in _CHOOSERS:
        return _whole(_CHOOSERS[command](session))
    if not given and command == "help":
        return _whole(commands)
    if command == "prompt":
        prompt = session.prompts.get(session.server, {}).get(given[0])
        # Only the server knows the values.
        names = [] if prompt is None or "=" in word else [each.name for each in prompt.arguments]
        return _names(names, given[1:])
    name, *given = given if command == "call" and given else words
    tool = session.known_tool(name)
    return argument_candidates(tool.input_schema, given, word) if tool is not None else ()


# Arguments of tools and prompts


def argument_candidates(schema: Any, given: Sequence[str], word: str) -> Iterator[str]:
    """Yield the names and values that fit behind the given arguments of a tool."""
    if word.startswith("@"):
        yield from _files(word[1:], "@")
        return
    properties = properties_of(schema)
    name, separator, value = word.partition("=")
    if not separator:
        needed = needed_of(schema)
        yield from _names(sorted(properties, key=lambda name: name not in needed), given)
    elif value.startswith("@"):
        yield from _files(value[1:], f"{name}=@")
    else:
        for each in _values_in(properties.get(name.rstrip(":"))):
            is_text = isinstance(each, str) and not name.endswith(":")
            if is_text and each.startswith("@"):  # the command would read the file of this name
                continue
            yield f"{name}={each if is_text else json.dumps(each)} "


def _names(known: Iterable[str], given: Sequence[str]) -> Iterator[str]:
    taken = {each.partition("=")[0].rstrip(":") for each in given}
    yield from (f"{each}=" for each in known if each not in taken)


def _values_in(schema: Any) -> Iterator[Any]:
    for each in alternatives(schema, schema):
        yield from named_values(each)
        if "boolean" in types_of(each):
            yield from (True, False)
        items = each.get("items")
        yield from (
            [value] for value in (named_values(items) if isinstance(items, Mapping) else ())
        )
        if "default" in each:
            yield each["default"]


# Other words


def _files(beginning: str, before: str) -> Iterator[str]:
    pattern = glob.escape(os.path.expanduser(beginning)) + "*"
    for path in sorted(glob.iglob(pattern))[:_MAX_FILES]:
        yield before + path + (os.sep if os.path.isdir(path) else " ")


def _path_steps(word: str, result: Any) -> Iterator[str]:
    before, dot, _ = word.rpartition(".")
    if result is None:
        return
    if not dot:
        yield "_"
        return
    try:
        names = names_in(follow_path(result, parse_path(before)))
    except UsageError:
        return
    yield from (f"{before}.{name}" for name in names)


# The words that may follow each command.
_CHOOSERS: Mapping[str, Callable[[Session], Iterable[str]]] = {
    **dict.fromkeys(("call", "tool", "tools"), lambda session: session.tools_of(session.server)),
    "prompt": lambda session: session.prompts.get(session.server, ()),
    "read": lambda session: session.resources.get(session.server, ()),
    "use": lambda session: session.manager.servers,
    **dict.fromkeys(
        ("cancel", "wait"), lambda session: [str(job.number) for job in session.running]
    ),
    "expect": lambda session: (*names_in(session.result), "not"),
}
