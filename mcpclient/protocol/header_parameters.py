"""Tool arguments that are repeated in HTTP headers: ``x-mcp-header``.

Source: "Custom Headers from Tool Parameters" on the Streamable HTTP page of revision 2026-07-28.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import UsageError, safe_repr
from ..framing.headers import TOKEN
from .json_schema import DATA
from .wire_object import value_at

_ANNOTATION = "x-mcp-header"
_MIRRORED_TYPES = ("string", "integer", "boolean")
_MAX_INTEGER = 2**53 - 1
# The depth to which annotations are searched; no real tool has a deeper schema.
_MAX_DEPTH = 64

_PLAIN = re.compile(r"[\x20-\x7e]*")


class HeaderParameter(NamedTuple):
    """One annotated property: the header that repeats it, and the path of keys to its value."""

    header: str
    path: tuple[str, ...]


def encode_header_value(value: str) -> str:
    """Return ``value`` as a header can carry it: as it is, or in the Base64 sentinel form."""
    is_encoded = value.startswith("=?base64?") and value.endswith("?=")
    is_plain = _PLAIN.fullmatch(value) and value == value.strip(" ") and not is_encoded
    if is_plain:
        return value
    encoded = base64.b64encode(value.encode("utf-8", "surrogatepass")).decode("ascii")
    return f"=?base64?{encoded}?="


def header_parameters_of(schema: object) -> list[HeaderParameter]:
    """Return the annotated properties of a tool's input schema.

    Raises `ValueError`, saying which rule is broken, when any annotation is invalid; the tool must
    then not be used over HTTP.
    """
    found: dict[str, HeaderParameter] = {}
    for path, node in _annotated(schema, (), 0):
        parameter = _checked(path, node)
        if found.setdefault(parameter.header.lower(), parameter) is not parameter:
            raise ValueError(f"{_ANNOTATION} {parameter.header!r} is used twice")
    return list(found.values())


def _annotated(
    node: object, path: tuple[str | None, ...], depth: int
) -> Iterator[tuple[tuple[str | None, ...], Mapping[str, Any]]]:
    """Yield every annotated subschema; None in the path stands for a step that is not allowed."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(node, list):
        for item in node:
            yield from _annotated(item, (*path, None), depth + 1)
    if not isinstance(node, Mapping):
        return
    if _ANNOTATION in node:
        yield path, node
    for key, value in node.items():
        if key == "properties" and isinstance(value, Mapping):
            for name, child in value.items():
                yield from _annotated(child, (*path, name), depth + 1)
        elif key in DATA:
            continue
        elif isinstance(value, (Mapping, list)):
            yield from _annotated(value, (*path, None), depth + 1)


def _checked(path: tuple[str | None, ...], node: Mapping[str, Any]) -> HeaderParameter:
    name = node[_ANNOTATION]
    if not isinstance(name, str) or not TOKEN.fullmatch(name):
        fault = "is not an HTTP field name"
    elif not path or None in path:
        fault = "is not on a property reachable from the root"
    elif node.get("type") not in _MIRRORED_TYPES:
        fault = f"is on a {safe_repr(node.get('type'))}, not a primitive"
    else:
        return HeaderParameter(name, tuple(step for step in path if step is not None))
    raise ValueError(f"{_ANNOTATION} {safe_repr(name)} {fault}")


class HeaderParameters:
    """The header parameters of the tools a server has listed, by tool name."""

    def __init__(self) -> None:
        self._of_tool: dict[str, list[HeaderParameter]] = {}
        # Names of tools are few. URIs are many, and may hold secrets, which nothing should keep.
        self._encode_tool_name = lru_cache(256)(encode_header_value)

    def learn(self, tool: Mapping[str, Any]) -> None:
        """Remember a tool's annotations; raises `ValueError` when they are invalid."""
        name = tool.get("name")
        if isinstance(name, str):
            self._of_tool.pop(name, None)
            parameters = header_parameters_of(tool.get("inputSchema"))
            if parameters:
                self._of_tool[name] = parameters

    def encode_name(self, name: str, *, is_tool: bool) -> str:
        """Return the name or URI that a request is about as its ``Mcp-Name`` header."""
        return self._encode_tool_name(name) if is_tool else encode_header_value(name)

    def for_call(self, params: Mapping[str, Any]) -> dict[str, str]:
        """Return the ``Mcp-Param-*`` headers of a ``tools/call``."""
        parameters = self._of_tool.get(params.get("name", ""))
        if not parameters:
            return {}
        headers = {}
        for parameter in parameters:
            text = _header_text(value_at(params.get("arguments"), parameter.path))
            if text is not None:
                headers[f"Mcp-Param-{parameter.header}"] = encode_header_value(text)
        return headers


def _header_text(value: object) -> str | None:
    """Return a primitive as header text; None for null, and for what no header can repeat.

    Raises `UsageError` for an integer that JavaScript cannot represent: such values MUST NOT be
    sent, since the header and the body would differ for some who read both.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        if abs(value) > _MAX_INTEGER:
            raise UsageError(
                f"an integer argument that is repeated in a header is at most {_MAX_INTEGER}; "
                "send it as a string, if the tool takes one"
            )
        return str(value)
    return None
