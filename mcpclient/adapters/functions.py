"""The user's own functions as tools, with schemas made from annotations."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import enum
import inspect
import json
import re
import typing
from collections.abc import Mapping
from typing import Any, Callable

from ..client.events.around import refusal
from ..client.typed_results import LISTS, QUALIFIERS, UNIONS, fill, is_typed_dict, members_of
from ..errors import UsageError
from ..protocol.json_schema import TYPES
from ..protocol.types import CallToolResult, Content, Tool
from ..suggestions import there_is_no
from .agent_tools import LocalTool, text_result
from .schemas.rewriting import JsonSchema
from .schemas.strict import type_of

_TIMES = {datetime.datetime: "date-time", datetime.date: "date", datetime.time: "time"}
# Headings of sections in docstrings, in Google's style and in Sphinx's.
_SECTION = re.compile(r"^(?:(Args|Arguments|Parameters)|[A-Z]\w+):[ ]*$|^:(?=\w)", re.M)
_GOOGLE = re.compile(r"^( +)\*{0,2}(\w+)(?: ?\(.*?\))?: *(.*(?:\n\1 +\S.*)*)", re.M)
_SPHINX = re.compile(r"^:param (?:[^:]* )?(\w+): *(.*(?:\n +\S.*)*)", re.M)


def function_tool(function: Callable[..., Any]) -> LocalTool:
    """Return a function as a tool: its name, its docstring, and a schema from its annotations.

    A plain function runs in a worker thread, so it may block. A returned string becomes the text of
    the result; other values become JSON. Raises `UsageError` for a signature that JSON Schema
    cannot describe.
    """
    name = getattr(function, "__name__", None)
    if not callable(function) or not isinstance(name, str) or not name.isidentifier():
        raise UsageError(f"functions must be functions with a name, not {function!r}")
    parameters = _parameters(function)
    description, described = _documented(inspect.getdoc(function) or "")
    schemas = _Schemas(name)
    properties = {}
    for key, (kind, default) in parameters.items():
        about = {"description": described[key]} if key in described else {}
        properties[key] = {**schemas.of(kind), **about, **_default(default)}
    required = [key for key, (_, default) in parameters.items() if default is _NO_DEFAULT]
    schema: JsonSchema = {"type": "object", "properties": properties, "required": required}
    if schemas.definitions:
        schema["$defs"] = schemas.definitions
    raw = {"name": name, "inputSchema": schema, "description": description}

    async def run(arguments: Mapping[str, Any]) -> CallToolResult:
        try:
            given = _filled(arguments, parameters)
        except ValueError as error:
            return refusal(f"{error}. Call again.")
        if inspect.iscoroutinefunction(function):
            return _result(await function(**given))
        value = await asyncio.to_thread(function, **given)
        return _result(await value if inspect.isawaitable(value) else value)

    return LocalTool(Tool(raw), run, is_own=True)


_NO_DEFAULT = inspect.Parameter.empty
_Parameters = dict[str, tuple[Any, Any]]


def _parameters(function: Callable[..., Any]) -> _Parameters:
    name = function.__name__
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, ValueError) as error:
        raise UsageError(f"functions: the types of {name}: {error}") from error
    found = {}
    for key, parameter in signature.parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise UsageError(f"functions: {name} has {parameter}, which a model cannot name")
        found[key] = (hints.get(key, Any), parameter.default)
    return found


def _filled(arguments: Mapping[str, Any], parameters: _Parameters) -> dict[str, Any]:
    """Convert arguments to the types of their parameters. Raises `ValueError` for the model."""
    for name in arguments:
        if name not in parameters:
            raise ValueError(there_is_no("argument", name, parameters))
    for name, (_, default) in parameters.items():
        if name not in arguments and default is _NO_DEFAULT:
            raise ValueError(f"{name} is missing")
    return {name: fill(value, parameters[name][0], name) for name, value in arguments.items()}


def _default(value: object) -> JsonSchema:
    if value is _NO_DEFAULT or value is None:
        return {}
    try:
        return {"default": json.loads(json.dumps(value, default=lambda other: other.value))}
    except (AttributeError, TypeError, ValueError):  # other than JSON and enumerations
        return {}


def _documented(text: str) -> tuple[str, dict[str, str]]:
    described = {name: " ".join(said.split()) for name, said in _SPHINX.findall(text)}
    for section in _SECTION.finditer(text):
        if section[1]:
            lines = re.split(r"\n(?=\S)", text[section.end() :].lstrip("\n"), maxsplit=1)[0]
            indent = len(lines) - len(lines.lstrip(" "))
            for depth, name, said in _GOOGLE.findall(lines):
                if len(depth) == indent:
                    described[name] = " ".join(said.split())
    first = _SECTION.search(text)
    return text[: first.start() if first else None].strip(), described


class _Schemas:
    """A maker of JSON Schemas from types; ``definitions`` holds the named ones."""

    def __init__(self, function: str) -> None:
        self.definitions: dict[str, JsonSchema] = {}
        self._function = function
        self._names: dict[type, str] = {}

    def of(self, kind: Any) -> JsonSchema:
        """Return the schema of a type. Raises `UsageError` for a type without values in JSON."""
        if kind is Any or kind is object:
            return {}
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if hasattr(kind, "__supertype__"):  # a NewType
            return self.of(kind.__supertype__)
        if hasattr(kind, "__metadata__"):  # Annotated
            notes = (getattr(note, "description", note) for note in kind.__metadata__)
            texts = [note for note in notes if isinstance(note, str)]
            return {**self.of(kind.__origin__), **({"description": texts[0]} if texts else {})}
        if getattr(origin, "_name", None) in QUALIFIERS:
            return self.of(arguments[0])
        if origin in UNIONS:
            return {"anyOf": [self.of(option) for option in arguments]}
        if origin is typing.Literal:
            return _enumeration(arguments)
        return self._of_class(origin or kind, arguments)

    def _of_class(self, kind: Any, arguments: tuple[Any, ...]) -> JsonSchema:
        if kind in TYPES and kind not in (dict, list):
            return {"type": TYPES[kind]}
        if kind in _TIMES:
            return {"type": "string", "format": _TIMES[kind]}
        if not isinstance(kind, type):
            raise self._cannot_describe(kind)
        if issubclass(kind, enum.Enum):
            return _enumeration([member.value for member in kind])
        if kind in self._names:
            return {"$ref": f"#/$defs/{self._names[kind]}"}
        if is_typed_dict(kind) or dataclasses.is_dataclass(kind):
            return self._define(kind, *members_of(kind))
        if callable(getattr(kind, "model_json_schema", None)):  # a model of pydantic
            schema: JsonSchema = dict(kind.model_json_schema())  # type: ignore[attr-defined]
            self.definitions.update(schema.pop("$defs", {}))
            return schema
        if issubclass(kind, (*LISTS, dict)) or kind.__module__ == "collections.abc":
            return self._container(kind, arguments)
        raise self._cannot_describe(kind)

    def _container(self, kind: type, arguments: tuple[Any, ...]) -> JsonSchema:
        if issubclass(kind, Mapping):
            values = self.of(arguments[1]) if len(arguments) == 2 else {}
            return {"type": "object", "additionalProperties": values or True}
        if issubclass(kind, tuple) and arguments and arguments[-1] is not Ellipsis:
            items, count = [self.of(one) for one in arguments], len(arguments)
            return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}
        return {"type": "array", "items": self.of(arguments[0]) if arguments else {}}

    def _define(self, kind: type, hints: Mapping[str, Any], required: Any) -> JsonSchema:
        name = kind.__name__
        while name in self.definitions:
            name += "_"
        self._names[kind] = name
        self.definitions[name] = {}  # it may contain itself
        self.definitions[name] = {
            "type": "object",
            "properties": {key: self.of(hint) for key, hint in hints.items()},
            "required": [key for key in hints if key in required],
        }
        return {"$ref": f"#/$defs/{name}"}

    def _cannot_describe(self, kind: object) -> UsageError:
        return UsageError(f"functions: {self._function} takes {kind!r}, which JSON cannot describe")


def _enumeration(values: Any) -> JsonSchema:
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    return {"type": type_of(plain), "enum": plain}


def _result(value: object) -> CallToolResult:
    if isinstance(value, CallToolResult):
        return value
    if isinstance(value, Content):
        return CallToolResult({"content": [value.raw]})
    if value is None or isinstance(value, str):
        return text_result(value or "")
    text = json.dumps(value, ensure_ascii=False, default=_as_json)
    return CallToolResult({**text_result(text).raw, "structuredContent": json.loads(text)})


def _as_json(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return list(value)
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) else str(value)
