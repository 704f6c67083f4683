"""Tools as functions of Python: names, annotations and descriptions from their schemas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..formats.annotations import Annotations, class_name, identifier, literal
from .types import Tool, wraps_result


class Parameter(NamedTuple):
    """A parameter: its names in Python and on the wire, its type, and its description."""

    name: str
    wire: str
    annotation: str
    about: str
    is_required: bool


@dataclass
class Signature:
    """A function of Python for a tool, a prompt or a template, called ``wire_name`` there."""

    name: str
    wire_name: str
    returns: str
    about: list[str]
    parameters: list[Parameter] = field(default_factory=list)

    def add(self, wire: str, annotation: str, about: str, is_required: bool) -> None:
        """Add a parameter, under a name of Python that no other one has."""
        known = identifier(wire, {"self", *(each.name for each in self.parameters)})
        self.parameters.append(Parameter(known, wire, annotation, about, is_required))

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
        signature.add(wire, annotation, _about(each), wire in required)
    return signature


def _about(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return ""
    about = schema.get("description")
    words = [about.strip()] if isinstance(about, str) and about.strip() else []
    if "default" in schema:
        words.append(f"Default: {literal(schema['default'])[:200]}.")
    return " ".join(words)
