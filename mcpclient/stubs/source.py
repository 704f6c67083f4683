"""The source of stubs: a blocking class, an async one, and the types they need."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..formats.uri_template import variable_names
from ..protocol.types import Prompt, ResourceTemplate, Tool
from .annotations import (
    TYPES,
    Annotations,
    class_name,
    docstring,
    fitted,
    identifier,
    literal,
)
from .runtime import AsyncStub, Stub, digest_of

_IMPORTED = frozenset(
    {
        *("annotations", "Any", "Literal", "NotRequired", "TYPE_CHECKING", "TypedDict", "Union"),
        *("CallToolResult", "GetPromptResult", "ReadResourceResult"),
        *("UNSET", "AsyncStub", "Stub", "Unset"),
    }
)


@dataclass(frozen=True)
class Offer:
    """The part of a server that stubs are made from.

    ``name``: of the server, for the class. ``target``: its URL or command; None if it is configured
    as ``name``, and empty if the file must not name it.
    """

    name: str
    tools: Sequence[Tool]
    prompts: Sequence[Prompt] = ()
    templates: Sequence[ResourceTemplate] = ()
    target: str | Sequence[str] | None = None
    about: str = ""


@dataclass
class _Method:
    """One method of both classes.

    ``parameters``: the name in Python, the name on the wire, the annotation, the description, and
    whether it is required.
    """

    name: str
    helper: str
    wire_name: str
    returns: str
    about: list[str]
    parameters: list[tuple[str, str, str, str, bool]] = field(default_factory=list)

    def add(self, wire: str, annotation: str, about: str, is_required: bool) -> None:
        """Add a parameter, under a name of Python that no other one has."""
        taken = {"self", *(name for name, *_ in self.parameters)}
        known = identifier(wire, taken)
        self.parameters.append((known, wire, annotation, about, is_required))


def stubs_for(offer: Offer) -> str:
    """Return the source of a module with the stubs of a server.

    The same offer gives the same source, which imports only the standard library and this package,
    and runs nothing on import: the server's text appears only in strings and names.
    """
    blocking = class_name(offer.name, _IMPORTED)
    awaiting = class_name(f"{blocking}Async", {blocking, *_IMPORTED})
    annotations = Annotations({blocking, awaiting, *_IMPORTED})
    methods = list(_methods(offer, annotations))
    classes = [
        _class(blocking, "Stub", offer, methods, ""),
        _class(awaiting, "AsyncStub", offer, methods, "a"),
    ]
    bodies = [*annotations.definitions, *classes]
    head = _imports("\n".join("\n".join(body) for body in bodies))
    first = docstring(
        [
            f"Typed calls of the server {offer.name}.",
            "Made by mcpclient stubs: make it again rather than edit it.",
        ],
        "",
    )
    lines = [*first, "", *head]
    for before, body in zip([[""], *bodies], bodies):
        is_beside_class = "class " in (before[0][:6], body[0][:6])
        lines += ["", ""][bool(before == [""]) :] if is_beside_class else []
        lines += body
    return "\n".join(lines) + "\n"


def _imports(text: str) -> list[str]:
    """Return the import lines for the names that a file uses, sorted as formatters do."""

    def used(names: str) -> list[str]:
        return [name for name in names.split() if re.search(rf"\b{name}\b", text)]

    has_optional = "NotRequired[" in text
    typing = ["TYPE_CHECKING"] * has_optional + used("Any Literal TypedDict Union")
    results = used("CallToolResult GetPromptResult ReadResourceResult")
    package = __name__.rpartition(".")[0].rpartition(".")[0]
    lines = ["from __future__ import annotations", ""]
    lines += [f"from typing import {', '.join(typing)}", ""] if typing else []
    lines += [f"from {package} import {', '.join(results)}"] if results else []
    lines += [f"from {package}.stubs import {', '.join(used('UNSET AsyncStub Stub Unset'))}", ""]
    if has_optional:
        lines += ["if TYPE_CHECKING:", "    from typing_extensions import NotRequired", ""]
    return lines


def _methods(offer: Offer, annotations: Annotations) -> Iterator[_Method]:
    # A method must not replace one of the base class.
    taken = {*dir(Stub), *dir(AsyncStub), "client", *TYPES}

    def add(text: str) -> str:
        name = identifier(text, taken, fallback="tool")
        taken.add(name)
        return name

    for tool in sorted({each.name: each for each in offer.tools}.values(), key=lambda t: t.name):
        name = add(tool.name)
        yield _tool(tool, name, annotations)
    for prompt in offer.prompts:
        method = _Method(
            add(f"prompt_{prompt.name}"),
            "_prompt",
            prompt.name,
            "GetPromptResult",
            [prompt.description or f"Return the prompt {prompt.name}."],
        )
        for argument in prompt.arguments:
            method.add(argument.name, "str", argument.description or "", bool(argument.required))
        yield method
    for template in offer.templates:
        method = _Method(
            add(f"read_{template.name}"),
            "_read",
            template.uri_template,
            "ReadResourceResult",
            [template.description or f"Read {template.uri_template}."],
        )
        for wire in dict.fromkeys(variable_names(template.uri_template)):
            method.add(wire, "str", "", True)
        yield method


def _tool(tool: Tool, name: str, annotations: Annotations) -> _Method:
    title = class_name(tool.name)
    returns, helper = "CallToolResult", "_call"
    if isinstance(tool.output_schema, Mapping):
        returns, helper = annotations.of(tool.output_schema, f"{title}Result"), "_data"
    method = _Method(name, helper, tool.name, returns, [tool.description or ""])
    schema = tool.input_schema
    properties, required = annotations.fields(schema)
    for wire, each in properties.items():
        annotation = annotations.member(schema, each, f"{title}{class_name(wire)}")
        method.add(wire, annotation, _about(each), wire in required)
    return method


def _about(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return ""
    about = schema.get("description")
    words = [about.strip()] if isinstance(about, str) and about.strip() else []
    if "default" in schema:
        words.append(f"Default: {literal(schema['default'])[:200]}.")
    return " ".join(words)


def _class(
    name: str, base: str, offer: Offer, methods: Sequence[_Method], prefix: str
) -> list[str]:
    kind = "awaits the answers" if prefix else "waits for the answers"
    lines = [f"class {name}({base}):"]
    about = [f"The server {offer.name}, by a client that {kind}."]
    lines += [*docstring([*about, *([offer.about] if offer.about else [])], "    "), ""]
    if offer.target is None:
        lines.append(f"    CONFIGURED = {literal(offer.name)}")
    elif isinstance(offer.target, str):
        lines += [f"    TARGET = {literal(offer.target)}"] * bool(offer.target)
    else:
        words = [f"        {literal(word)}," for word in offer.target]
        lines += ["    TARGET = [", *words, "    ]"]
    lines.append(f'    DIGEST = "{digest_of(offer.tools)}"')
    for method in methods:
        lines += ["", *_method(method, is_async=bool(prefix))]
    return lines


def _method(method: _Method, *, is_async: bool) -> Iterator[str]:
    begin = "    async def" if is_async else "    def"
    call = f"await self.{method.helper}" if is_async else f"self.{method.helper}"
    yield f"{begin} {method.name}("
    yield "        self,"
    if method.parameters:
        yield "        *,"
    for name, _, annotation, _, is_required in method.parameters:
        if is_required:
            yield f"        {name}: {annotation},"
        else:
            inner = annotation[6:-1] if annotation.startswith("Union[") else annotation
            yield from fitted(f"{name}: ", f"Union[{inner}, Unset]", " = UNSET,", " " * 8)
    yield f"    ) -> {method.returns}:"
    told = [f"{name}: {about}" for name, _, _, about, _ in method.parameters if about]
    yield from docstring([*method.about, *(["\n".join(told)] if told else [])], "        ")
    is_data = method.helper == "_data"
    yield f"        {f'data: {method.returns} =' if is_data else 'return'} {call}("
    yield f"            {literal(method.wire_name)},"
    if method.parameters:
        yield "            {"
        for name, wire, *_ in method.parameters:
            yield f"                {literal(wire)}: {name},"
        yield "            },"
    else:
        yield "            {},"
    yield "        )"
    if is_data:
        yield "        return data"
