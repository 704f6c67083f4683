"""The source of stubs: a blocking class, an async one, and the types they need."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..formats.annotations import (
    TYPES,
    Annotations,
    class_name,
    docstring,
    fitted,
    identifier,
    literal,
)
from ..formats.uri_template import variable_names
from ..protocol.signatures import Signature, tool_signature
from ..protocol.types import Prompt, ResourceTemplate, Tool
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


_Method = tuple[str, Signature]
"""The helper of the base class that a method calls, and its signature."""


def _methods(offer: Offer, annotations: Annotations) -> Iterator[_Method]:
    # A method must not replace one of the base class.
    taken = {*dir(Stub), *dir(AsyncStub), "client", *TYPES}

    def add(text: str) -> str:
        name = identifier(text, taken, fallback="tool")
        taken.add(name)
        return name

    for tool in sorted({each.name: each for each in offer.tools}.values(), key=lambda t: t.name):
        is_typed = isinstance(tool.output_schema, Mapping)
        made = tool_signature(tool, add(tool.name), annotations, "CallToolResult")
        yield "_data" if is_typed else "_call", made
    for prompt in offer.prompts:
        about = [prompt.description or f"Return the prompt {prompt.name}."]
        name = add(f"prompt_{prompt.name}")
        made = Signature(name, prompt.name, "GetPromptResult", about)
        for argument in prompt.arguments:
            made.add(argument.name, "str", argument.description or "", bool(argument.required))
        yield "_prompt", made
    for template in offer.templates:
        uri = template.uri_template
        about = [template.description or f"Read {uri}."]
        made = Signature(add(f"read_{template.name}"), uri, "ReadResourceResult", about)
        for wire in dict.fromkeys(variable_names(uri)):
            made.add(wire, "str", "", True)
        yield "_read", made


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
    helper, signature = method
    begin = "    async def" if is_async else "    def"
    call = f"await self.{helper}" if is_async else f"self.{helper}"
    yield f"{begin} {signature.name}("
    yield "        self,"
    if signature.parameters:
        yield "        *,"
    for each in signature.parameters:
        if each.is_required:
            yield f"        {each.name}: {each.annotation},"
        else:
            annotation = each.annotation
            inner = annotation[6:-1] if annotation.startswith("Union[") else annotation
            yield from fitted(f"{each.name}: ", f"Union[{inner}, Unset]", " = UNSET,", " " * 8)
    yield f"    ) -> {signature.returns}:"
    yield from docstring(signature.paragraphs, "        ")
    is_data = helper == "_data"
    yield f"        {f'data: {signature.returns} =' if is_data else 'return'} {call}("
    yield f"            {literal(signature.wire_name)},"
    if signature.parameters:
        yield "            {"
        for each in signature.parameters:
            yield f"                {literal(each.wire)}: {each.name},"
        yield "            },"
    else:
        yield "            {},"
    yield "        )"
    if is_data:
        yield "        return data"
