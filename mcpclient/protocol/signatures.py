"""Tools as functions of Python: names, annotations, definitions and descriptions from schemas.

Constraints beyond Python's types (patterns, bounds) are left to the server. A schema that is too
deep, or has a dangling reference, is `Any`: a stub is never wrong, only less exact.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from textwrap import wrap
from typing import Any, NamedTuple

from ..framing.escaping import escape
from .schema_properties import referenced
from .types import Tool, wraps_result
from .wire_object import object_in, string_at, strings_in

_MAX_DEPTH = 12
_MAX_DEFINITIONS = 2_000
_MAX_NAME = 48
_MAX_LITERALS = 200
_WIDTH = 80

TYPES = frozenset({"str", "int", "float", "bool", "list", "dict"})
"""Names that annotations use, and that a function or a field must not shadow."""

_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_OBJECT = "dict[str, Any]"


def identifier(text: str, taken: Container[str] = (), *, fallback: str = "value") -> str:
    """Return a Python identifier for a server's name that is not among those ``taken``."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:_MAX_NAME].rstrip("_") or fallback
    if name[0].isdigit():
        name = f"{fallback}_{name}"
    return _free(f"{name}_" if iskeyword(name) or name in TYPES else name, taken)


def class_name(text: str, taken: Container[str] = ()) -> str:
    """Return a name for a class, as `identifier` does for a function."""
    words = re.sub(r"[\W_]+", " ", text, flags=re.ASCII).split()
    name = "".join(word[:1].upper() + word[1:] for word in words)[:_MAX_NAME]
    if not name[:1].isalpha():
        name = f"Server{name}"
    return _free(f"{name}_" if iskeyword(name) else name, taken)


def _free(name: str, taken: Container[str]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


_ESCAPES = re.compile(r"""\\.|\"""")


def literal(value: object) -> str:
    """Return the source of a value: ASCII, strings in double quotes."""
    if not isinstance(value, str):
        return repr(value)
    quoted = ascii(f'"{value}')[2:-1]  # in single quotes, since there is a double one
    return f'"{_ESCAPES.sub(_requoted, quoted)}"'


def _requoted(found: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(found[0], found[0])


def docstring(paragraphs: Iterable[str], indent: str) -> list[str]:
    """Return the lines of a docstring; a server's text cannot end the string."""
    lines: list[str] = []
    for paragraph in paragraphs:
        if lines:
            lines.append("")
        for line in paragraph.splitlines():
            shown = escape(line.strip()).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
            # A first line that is also the last has both quotes beside it, which take room.
            quotes = "" if lines else '""""""'
            wrapped = wrap(
                shown, _WIDTH - len(indent), initial_indent=quotes, break_long_words=False
            )
            lines += [each.replace(quotes, "", 1) for each in wrapped] if wrapped else [""]
    while lines and not lines[-1]:
        lines.pop()
    text = "\n".join(line.rstrip() for line in lines) or "The server does not describe it."
    if len(lines) > 1:
        text += "\n"
    elif text.endswith(('"', "\\")):
        text += " "
    first, *rest = f'"""{text}"""'.split("\n")
    return [indent + first, *(f"{indent}{line}".rstrip() for line in rest)]


class Annotations:
    """Makes annotations, and collects the definitions that they need.

    ``taken``: other names of the file. ``definitions``: the lines of each type that was made,
    ordered by dependency.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self.definitions: list[list[str]] = []
        self._taken = set(taken)
        self._root: Any = None
        # The name for a schema, by its identity, and the schema, so that no id() is reused. It ends
        # recursion.
        self._named: dict[int, tuple[str, object]] = {}
        self._alike: dict[tuple[str, ...], str] = {}

    def of(self, schema: Any, name: str, root: Any = None) -> str:
        """Return the annotation for a schema; ``name`` is for a type that it may need.

        ``root``: the schema that it is a part of, in which references are resolved.
        """
        self._root = schema if root is None else root
        return self._annotation(schema, name, 0 if root is None else 1)

    def fields(self, schema: Any) -> tuple[Mapping[str, Any], set[str]]:
        """Return the properties of an object's schema, and which of them are required."""
        self._root = schema
        found, required = self._merged(referenced(schema, self._root), 0)
        return {**found, **{name: True for name in required if name not in found}}, required

    def _annotation(self, schema: Any, name: str, depth: int) -> str:
        schema = referenced(schema, self._root)
        if depth > _MAX_DEPTH:
            return "Any"
        annotation = self._plain(schema, name, depth)
        if schema.get("nullable") is True:
            annotation = _union([annotation, "None"])
        return annotation

    def _plain(self, schema: Mapping[str, Any], name: str, depth: int) -> str:
        if "const" in schema:
            return _literals([schema["const"]])
        if isinstance(schema.get("enum"), list):
            return _literals(schema["enum"])
        for keyword in ("anyOf", "oneOf"):
            branches = schema.get(keyword)
            if isinstance(branches, list) and branches and "properties" not in schema:
                return _union(self._annotation(each, name, depth + 1) for each in branches)
        types = schema.get("type")
        if types is None and ("properties" in schema or "allOf" in schema):
            types = "object"
        if isinstance(types, list):
            return _union(self._of_type(each, schema, name, depth) for each in types) or "Any"
        return self._of_type(types, schema, name, depth)

    def _of_type(self, kind: object, schema: Mapping[str, Any], name: str, depth: int) -> str:
        if kind == "array":
            items = schema.get("items", True)
            if isinstance(items, list) or "prefixItems" in schema:
                return "list[Any]"
            return f"list[{self._annotation(items, f'{name}Item', depth + 1)}]"
        if kind == "object":
            return self._object(schema, name, depth)
        return _SIMPLE.get(kind, "Any") if isinstance(kind, str) else "Any"

    def _object(self, schema: Mapping[str, Any], name: str, depth: int) -> str:
        if id(schema) in self._named:
            return self._named[id(schema)][0]
        properties, required = self._merged(schema, depth)
        if not properties:
            values = schema.get("additionalProperties", True)
            return f"dict[str, {self._annotation(values, f'{name}Value', depth + 1)}]"
        if len(self._taken) > _MAX_DEFINITIONS:
            return _OBJECT
        title = schema.get("title")
        wanted = name if not depth or not isinstance(title, str) else title
        made = class_name(wanted, self._taken)
        self._taken.add(made)
        self._named[id(schema)] = made, schema
        fields = {
            key: self._annotation(value, f"{made}{class_name(key)}", depth + 1)
            for key, value in properties.items()
        }
        lines = _typed_dict(made, schema, fields, properties, required)
        # The name is in the first line, and in the second where nothing describes the type.
        body = (*(line.replace(made, "", 1) for line in lines[:2]), *lines[2:])
        known = self._alike.setdefault(body, made)
        if known is not made:  # the same type, of another tool perhaps
            self._taken.discard(made)
            self._named[id(schema)] = known, schema
        else:
            self.definitions.append(lines)
        return known

    def _merged(self, schema: Mapping[str, Any], depth: int) -> tuple[Mapping[str, Any], set[str]]:
        """Return the properties and required names of an object, including ``allOf``."""
        properties: dict[str, Any] = {}
        required: set[str] = set()
        if depth < _MAX_DEPTH:
            branches = schema.get("allOf")
            for each in branches if isinstance(branches, list) else ():
                found, needed = self._merged(referenced(each, self._root), depth + 1)
                properties.update(found)
                required |= needed
        properties.update(object_in(schema.get("properties")))
        required |= set(strings_in(schema.get("required")))
        return properties, required


def _typed_dict(
    name: str,
    schema: Mapping[str, Any],
    fields: Mapping[str, str],
    properties: Mapping[str, Any],
    required: set[str],
) -> list[str]:
    typed = {
        key: annotation if key in required else f"NotRequired[{annotation}]"
        for key, annotation in fields.items()
    }
    if not all(map(_is_field, typed)):
        lines = [f"{name} = TypedDict(", f'    "{name}",', "    {"]
        for key, text in typed.items():  # in the quotes that formatters leave
            quoted = repr(text) if '"' in text else f'"{text}"'
            lines.append(f"        {literal(key)}: {quoted},")
        return [*lines, "    },", ")"]
    lines = [f"class {name}(TypedDict):"]
    lines += [*docstring([str(schema.get("description") or f"An object of {name}.")], "    "), ""]
    for key, text in typed.items():
        lines.append(f"    {key}: {text}")
        about = string_at(properties[key], "description") or ""
        if about.strip():
            lines += docstring([about], "    ")
    return lines


def _is_field(key: str) -> bool:
    is_name = key.isidentifier() and key.isascii() and not iskeyword(key)
    return is_name and key not in TYPES and not key.startswith("__")


def _literals(values: Sequence[Any]) -> str:
    exact = [value for value in values if value is None or isinstance(value, (str, int))]
    if len(exact) < len(values) or not values or len(values) > _MAX_LITERALS:
        kinds = {type(value).__name__ for value in values}
        known = [kind for kind in ("str", "int", "float", "bool") if kind in kinds]
        return _union(known) if len(known) == len(kinds) and known else "Any"
    words = list(dict.fromkeys(map(literal, exact)))
    if words == ["None"]:
        return "None"
    return f"Literal[{', '.join(words)}]"


def _union(annotations: Iterable[str]) -> str:
    parts = dict.fromkeys(annotations)
    if "Any" in parts or len(parts) < 2:
        return "Any" if "Any" in parts else next(iter(parts), "Any")
    inner = [each[6:-1] if each.startswith("Union[") else each for each in parts]
    return f"Union[{', '.join(inner)}]"


class Parameter(NamedTuple):
    """A parameter: its names in Python and on the wire, its type, and its description."""

    name: str
    wire: str
    annotation: str
    about: str
    is_required: bool


@dataclass
class Signature:
    """A function of Python for a tool, a prompt or a template, called ``wire_name`` there.

    ``others``: the parameter for arguments of any other name, if the schema speaks of them.
    """

    name: str
    wire_name: str
    returns: str
    about: list[str]
    parameters: list[Parameter] = field(default_factory=list)
    others: Parameter | None = None

    def add(self, wire: str, annotation: str, about: str, is_required: bool) -> None:
        """Add a parameter, under a name of Python that no other one has."""
        known = self._free(wire)
        self.parameters.append(Parameter(known, wire, annotation, about, is_required))

    def _free(self, wire: str) -> str:
        return identifier(wire, {"self", *(each.name for each in self.parameters)})

    def add_others(self, annotation: str) -> None:
        """Add the parameter for arguments of any other name; it comes last."""
        self.others = Parameter(self._free("others"), "", annotation, "", False)

    @property
    def paragraphs(self) -> list[str]:
        """The description, and one paragraph with a line for each described parameter."""
        told = [f"{each.name}: {each.about}" for each in self.parameters if each.about]
        return [*self.about, *(["\n".join(told)] if told else [])]


def tool_signature(tool: Tool, name: str, annotations: Annotations, otherwise: str) -> Signature:
    """Return the function for a tool; types that it needs are added to ``annotations``.

    It returns `CallToolResult.data`; ``otherwise``: the type of a result without a schema.
    """
    title, output, returns = class_name(tool.name), tool.output_schema, otherwise
    if isinstance(output, Mapping):
        inner, _ = annotations.fields(output) if wraps_result(output) else ({}, None)
        part, root = (inner["result"], output) if "result" in inner else (output, None)
        returns = annotations.of(part, f"{title}Result", root)
    signature = Signature(name, tool.name, returns, [tool.description or ""])
    schema = tool.input_schema
    properties, required = annotations.fields(schema)
    for wire, each in properties.items():
        annotation = annotations.of(each, f"{title}{class_name(wire)}", schema)
        told = object_in(each)
        about = (string_at(told, "description") or "").strip()
        if "default" in told:
            about = f"{about} Default: {literal(told['default'])[:200]}.".strip()
        # An argument with a default, which generators of schemas (zod) call required, may be left
        # out: the server fills it in.
        signature.add(wire, annotation, about, wire in required and "default" not in told)
    others = object_in(schema).get("additionalProperties", False)
    if others is not False:
        signature.add_others(annotations.of(others, f"{title}Others", schema))
    return signature
