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
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable

from ..errors import UsageError
from ..framing.escaping import escape
from ..net.clocks import steady_seconds
from ..net.regular_files import open_regular
from ..protocol.json_schema import TYPES, alternatives
from ..protocol.schema_properties import (
    needed_of,
    properties_of,
    referenced,
    types_of,
    without_defaulted,
)
from ..protocol.types import Tool
from .command import Option, option
from .layout import one_line

if TYPE_CHECKING:
    from ..protocol.schema import Violation


_MAX_VALUES = 6


def kinds_of(schema: Any, root: Any) -> frozenset[str]:
    """Return the JSON types that a schema or its alternatives name; empty if none."""
    return frozenset(kind for each in alternatives(schema, root) for kind in _kinds(each))


def _kinds(schema: Mapping[str, Any]) -> Iterator[str]:
    yield from types_of(schema)
    if schema.get("type") is None:
        yield from (TYPES.get(type(value), "object") for value in named_values(schema))


def named_values(schema: Mapping[str, Any]) -> list[Any]:
    """Return the values that a schema lists, or its only one."""
    values = schema["enum"] if isinstance(schema.get("enum"), list) else []
    return values + ([schema["const"]] if "const" in schema else [])


def type_of(schema: Any, root: Any) -> str:
    """Return the type of an argument in a few words, escaped: ``integer``, ``"a" | "b"``."""
    schema = referenced(schema, root)
    values = schema.get("enum")
    if isinstance(values, list) and values:
        shown = [one_line(json.dumps(value, ensure_ascii=False)) for value in values[:_MAX_VALUES]]
        return " | ".join(shown + ["…"] * (len(values) > _MAX_VALUES))
    kinds = sorted(kinds_of(schema, root))
    if kinds == ["array"]:
        items = sorted(kinds_of(schema.get("items"), root))
        return f"array of {one_line(' | '.join(items))}" if items else "array"
    return one_line(" | ".join(kinds)) or "any"


def signature(tool: Tool) -> str:
    """Return the usage of a tool, escaped: ``add a=number b=number [round=integer]``."""
    schema = tool.input_schema
    needed = set(needed_of(schema))
    words = [one_line(tool.name)]
    for name, each in properties_of(schema).items():
        word = f"{one_line(name)}={type_of(each, schema)}"
        words.append(word if name in needed else f"[{word}]")
    return " ".join(words)


_EXAMPLES = {
    "string": "text",
    "number": 1,
    "integer": 1,
    "boolean": True,
    "array": [],
    "null": None,
}
_OF_FORMATS = {"uri": "https://example.com", "email": "ada@example.com", "date": "2026-01-31"}


def example_words(tool: Tool) -> list[str]:
    """Return an example call: the name of the tool, and its required arguments.

    They are one JSON object where a word would not be an argument, but an option or a file.
    """
    values = example_arguments(tool)
    words = [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in values.items()
    ]
    names_are_plain = not any(
        name[:1] in "-@{" or name[-1:] == ":" or "=" in name for name in values
    )
    if not names_are_plain or any(str(value).startswith("@") for value in values.values()):
        words = [json.dumps(values, ensure_ascii=False)]
    return [tool.name, *words]


def example_arguments(tool: Tool) -> dict[str, Any]:
    """Return examples of the required arguments of a tool, as its schema gives them."""
    schema = tool.input_schema
    properties = properties_of(schema)
    return {name: _example(properties.get(name, {}), schema) for name in needed_of(schema)}


def _example(schema: Mapping[str, Any], root: Any) -> Any:
    values = schema.get("enum") or schema.get("examples")
    given = [schema[key] for key in ("default", "const") if key in schema]
    given += values if isinstance(values, list) else []
    if given:
        return given[0]
    kinds = kinds_of(schema, root)
    kind = next((kind for kind in _EXAMPLES if kind in kinds), "object" if kinds else "string")
    if kind == "string":
        return _OF_FORMATS.get(str(schema.get("format")), "text")
    return schema.get("minimum", _EXAMPLES.get(kind, {}))


# The largest file whose content is an argument, in bytes.
_MAX_FILE_SIZE = 64 * 1024 * 1024

_YES = ("true", "yes", "on", "1")
_NO = ("false", "no", "off", "0")


class Typed(str):
    """The typed text of an argument, before its schema gives it a type."""


def parse_arguments(words: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of a tool: values, and `Typed` for those that need its schema.

    Files and stdin are read. Raises `UsageError`.
    """
    if len(words) == 1 and (words[0] == "-" or words[0].startswith(("{", "@"))):
        return _whole(words[0])
    arguments: dict[str, Any] = {}
    for word in words:
        key, separator, text = word.partition("=")
        name = _as_typed(key[:-1] if key.endswith(":") else key)
        if not separator or not name:
            raise UsageError(f"not an argument: {word!r}; write key=value, or key:=json")
        if name in arguments:
            raise UsageError(f"argument {name!r} is given twice")
        value = _from_file(text[1:]) if text.startswith("@") else Typed(_as_typed(text))
        arguments[name] = _json(value, name) if key.endswith(":") else value
    return arguments


def typed_value(name: str, text: str, schema: Any, root: Any) -> Any:
    """Convert the typed text of the argument ``name`` to the type that its schema gives.

    ``root``: the whole schema, for references. A schema that names no type, or is not known (None),
    takes JSON other than a string as it is, and everything else as a string. Raises `UsageError`
    for text that cannot be of the type.
    """
    kinds = kinds_of(schema, root)
    try:
        value = _strict_json(text)
    except (ValueError, RecursionError):
        value = text
    if "boolean" in kinds and text.lower() in _YES + _NO:
        return text.lower() in _YES
    if "integer" in kinds and isinstance(value, float) and value.is_integer():
        return int(value)
    found = TYPES.get(type(value), "object")
    is_fitting = not kinds or found in kinds or (found == "integer" and "number" in kinds)
    if is_fitting and not isinstance(value, str):
        return value
    if not kinds or "string" in kinds:
        return text
    if "array" in kinds and not text.startswith(("[", "{")):
        items = referenced(schema, root).get("items")
        return [typed_value(name, part.strip(), items, root) for part in text.split(",") if part]
    raise UsageError(f"argument {name!r} is of type {type_of(schema, root)}, not {text!r}")


def parse_text_arguments(words: Sequence[str]) -> dict[str, str]:
    """Return the arguments of a prompt, which are strings. Raises `UsageError`."""
    values = parse_arguments(words)
    for key, value in values.items():
        if not isinstance(value, str):
            raise UsageError(f"argument {key!r} must be a string, not {json.dumps(value)}")
    return values


def _whole(word: str) -> dict[str, Any]:
    if word == "-":
        source = "stdin"
        try:
            text = sys.stdin.read()
        except ValueError as error:
            raise UsageError(f"cannot read stdin: {error}") from None
    elif word.startswith("@"):
        text, source = _from_file(word[1:]), word[1:]
    else:
        text, source = _as_typed(word), "the arguments"
    value = _json(text, source)
    if not isinstance(value, dict):
        raise UsageError(f"{source}: a JSON object is needed")
    return value


def _as_typed(text: str) -> str:
    """Return a word decoded as UTF-8, even if the locale has another encoding."""
    if not any("\udc80" <= character <= "\udcff" for character in text):
        return text
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeError:
        raise UsageError(f"this argument is not valid UTF-8: {text!a}") from None


def _json(text: str, what: str) -> Any:
    try:
        return _strict_json(text)
    except RecursionError:
        raise UsageError(f"{what}: JSON nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"{what}: not JSON: {error}") from None


def _strict_json(text: str) -> Any:
    value = json.loads(text)
    json.dumps(value, allow_nan=False)  # Python reads NaN and Infinity, which are not JSON
    return value


def _from_file(path: str) -> str:
    from .render import reading

    with reading(path), open(open_regular(path, limit=_MAX_FILE_SIZE), encoding="utf-8") as file:
        return file.read()


PICK_HELP = """\
PARTS of JSON are picked with a subset of jq; each part is a line:
  name  ."any name"  [] of all  [0]  [-1]  [1:3]  fields and items
  items[].{id, who: author.name}         an object of fields
  [items[].id]   A | B   A, B   A?       an array, B of A, both, or nothing"""


def pick_option(what: str) -> Option:
    """Return ``--pick``, whose value is a function that shows the parts of a value."""
    return option("--pick", "PARTS", f"show only these parts of {what}", type=_picker)


def _picker(text: str) -> Callable[[Any], str]:
    from ..formats.pick import parse_pick

    found = parse_pick(text)
    return lambda value: "\n".join(
        escape(each if isinstance(each, str) else json.dumps(each, ensure_ascii=False))
        for each in found(value)
    )


def json_in(text: str) -> Any:
    """Return the value of a JSON document. Raises `UsageError` if the string is not JSON."""
    return _json(text, "the answer (--pick needs JSON)")


_NAMED = 3


def tool_named(name: str, tools: Sequence[Tool], server: str = "") -> Tool:
    """Return the tool of this name. Raises `UsageError`, with a suggestion.

    ``server``: the prefix that its name may have, as in ``server.tool`` and ``server__tool``.
    """
    found = {tool.name: tool for tool in reversed(tools)}
    for prefix in ("", f"{server}.", f"{server}__"):
        if name.startswith(prefix) and name[len(prefix) :] in found:
            return found[name[len(prefix) :]]
    names = [tool.name for tool in tools]
    if "://" in name:
        raise UsageError(f"there is no tool {name!r}; a URI is read, not called").advise(
            f"Read it with: mcpclient read SERVER {shlex.quote(name)}"
        )
    from ..suggestions import there_are, there_is_no

    message = there_is_no("tool", name, names, otherwise=there_are(names))
    raise UsageError(message).advise("List them with: mcpclient tools SERVER")


def unchecked_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments, without a schema: those that look like JSON are parsed."""
    return {name: _value(name, value, None, None) for name, value in given.items()}


def checked_arguments(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with the types of the schema.

    Raises `UsageError`, with the signature of the tool, for an argument that is missing, unknown or
    of the wrong type. A schema that cannot be used checks nothing.
    """
    from ..protocol.schema import violations_of

    schema = tool.input_schema
    properties = properties_of(schema)
    try:
        _check_names(given, properties, schema)
        arguments = {
            name: _value(name, value, properties.get(name), schema) for name, value in given.items()
        }
        violations: Sequence[Violation] = ()
        with suppress(RecursionError):  # a schema so deep is the server's matter
            wanted = without_defaulted(schema)
            violations = violations_of(arguments, wanted, clock=steady_seconds)
        if violations:
            raise UsageError("; ".join(str(violation) for violation in violations[:_NAMED]))
    except UsageError as error:
        raise UsageError(f"{error}\nusage: {signature(tool)}").advise(
            "Change the arguments, or send them as they are with --unchecked"
        ) from None
    return arguments


def _value(name: str, value: Any, schema: Any, root: Any) -> Any:
    return typed_value(name, str(value), schema, root) if isinstance(value, Typed) else value


def _check_names(given: Iterable[str], properties: Mapping[str, Any], schema: Any) -> None:
    from ..suggestions import did_you_mean, there_are

    for name in given:
        if name in properties or not isinstance(schema, Mapping):
            continue
        hint = did_you_mean(name, properties)
        if hint or schema.get("additionalProperties") is False:
            known = hint or there_are(properties)
            raise UsageError(f"there is no argument {name!r}; {known}")
    missing = [name for name in needed_of(schema) if name not in given]
    if missing:
        raise UsageError(f"missing: {', '.join(missing)}")
