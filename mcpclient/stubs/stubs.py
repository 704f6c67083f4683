"""Typed stubs of a server: their base classes, and the source of a module with stubs.

A stub is a client with methods that call it by the server's names; the source has a blocking class,
an async one, and the types they need.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from ..client.client import Client
from ..errors import TemplateError, UsageError
from ..formats.uri_template import variable_names
from ..protocol.signatures import (
    TYPES,
    Annotations,
    Signature,
    class_name,
    docstring,
    identifier,
    literal,
    tool_signature,
)
from ..protocol.types import (
    CallToolResult,
    GetPromptResult,
    Prompt,
    ReadResourceResult,
    ResourceTemplate,
    Tool,
)
from ..suggestions import there_is_no

if TYPE_CHECKING:
    from ..sync import Client as SyncClient

B = TypeVar("B", bound="Stub")
A = TypeVar("A", bound="AsyncStub")

Check = Literal["warn", "refuse", "ignore"]
"""The reaction to a server whose tools are not those that a stub was made from."""


class Unset:
    """The value of an argument that is not given, and so not sent."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()


def digest_of(tools: Sequence[Tool]) -> str:
    """Return a digest of the tools' names, descriptions, schemas and annotations."""
    wanted = ("name", "description", "inputSchema", "outputSchema")
    offer = sorted(
        json.dumps(
            {
                **{key: tool.raw.get(key) for key in wanted},
                **{key: tool.raw[key] for key in ("annotations",) if key in tool.raw},
            },
            sort_keys=True,
        )
        for tool in tools
    )
    return hashlib.sha256("\n".join(offer).encode()).hexdigest()


class _Made:
    """The server that a stub was made from."""

    TARGET: ClassVar[Any] = None
    """The URL or the command of the server."""
    CONFIGURED: ClassVar[str | None] = None
    """The name of the server in configuration files, if it has one."""
    DIGEST: ClassVar[str] = ""

    @classmethod
    def _check(cls, tools: Sequence[Tool], check: Check) -> None:
        if check == "ignore" or digest_of(tools) == cls.DIGEST:
            return
        text = f"{cls.__name__} was made from other tools than the server has now"
        if check == "refuse":
            raise UsageError(text).advise("Look at the changes: mcpclient stubs … --check")
        warnings.warn(f"{text}; see mcpclient stubs … --check", stacklevel=4)

    @classmethod
    def _configured(cls) -> Any:
        from ..gate.load import load_config

        config, name = load_config(), cls.CONFIGURED
        if name not in config.servers:
            raise UsageError(there_is_no("server", name or "", config.servers, "configured"))
        return replace(config, servers={name: config.servers[name]}, load_again=None)


class Stub(_Made):
    """A server whose tools are methods that wait for the answer; the base of generated classes.

    ``client``: the connected client, which the caller closes unless `connect` has made it.
    """

    def __init__(self, client: SyncClient) -> None:
        self.client = client
        self._owner: Any = client

    @classmethod
    def connect(cls: type[B], target: Any = None, *, check: Check = "warn", **options: Any) -> B:
        """Connect to the server, by default to the one that the class was made from.

        ``options``: see `mcpclient.sync.connect`. ``check``: the reaction to tools that
        have changed since. Raises as connecting does, and `UsageError` with ``"refuse"``.
        """
        from ..sync import connect, connect_all

        if target is None and cls.CONFIGURED is not None:
            owner = connect_all(cls._configured(), required=True, **options)
            stub = cls(owner[cls.CONFIGURED])
            stub._owner = owner
        else:
            stub = cls(connect(cls.TARGET if target is None else target, **options))
        try:
            stub._check(stub.client.list_tools(), check)
        except BaseException:
            stub.close()
            raise
        return stub

    def close(self) -> None:
        """Close the connection."""
        self._owner.close()

    def __enter__(self: B) -> B:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        return self.client.call_tool(name, _given(arguments), raise_on_error=True)

    def _data(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return self._call(name, arguments).data

    def _prompt(self, name: str, arguments: Mapping[str, Any]) -> GetPromptResult:
        return self.client.get_prompt(name, _given(arguments))

    def _read(self, template: str, variables: Mapping[str, Any]) -> ReadResourceResult:
        return self.client.read_resource(_template(template), _given(variables))


class AsyncStub(_Made):
    """A server whose tools are coroutines; the base of generated classes. See `Stub`."""

    def __init__(self, client: Client) -> None:
        self.client: Client = client
        self._owner: Any = client

    @classmethod
    def connect(cls: type[A], target: Any = None, *, check: Check = "warn", **options: Any) -> A:
        """Return the server for ``async with``; for the arguments see `Stub.connect`."""
        stub = cls.__new__(cls)
        if target is None and cls.CONFIGURED is not None:
            from ..manager.manager import Manager

            stub._owner = Manager(cls._configured(), required=True, **options)
        else:
            stub._owner = Client(cls.TARGET if target is None else target, **options)
        stub._wanted = check
        return stub

    _wanted: Check = "ignore"

    async def close(self) -> None:
        """Close the connection."""
        await self._owner.close()

    async def __aenter__(self: A) -> A:
        opened = await self._owner.__aenter__()
        try:
            self.client = opened if isinstance(opened, Client) else opened[self.CONFIGURED]
            self._check(await self.client.list_tools(), self._wanted)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        return await self.client.call_tool(name, _given(arguments), raise_on_error=True)

    async def _data(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return (await self._call(name, arguments)).data

    async def _prompt(self, name: str, arguments: Mapping[str, Any]) -> GetPromptResult:
        return await self.client.get_prompt(name, _given(arguments))

    async def _read(self, template: str, variables: Mapping[str, Any]) -> ReadResourceResult:
        return await self.client.read_resource(_template(template), _given(variables))


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not UNSET}


def _template(text: str) -> ResourceTemplate:
    return ResourceTemplate({"uriTemplate": text, "name": text})


_IMPORTED = {
    *("annotations", "Any", "Literal", "NotRequired", "TYPE_CHECKING", "TypedDict", "Union"),
    *("CallToolResult", "GetPromptResult", "ReadResourceResult"),
    *("UNSET", "AsyncStub", "Stub", "Unset"),
}


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
    # Within a class, a method hides a type of its name, so no type has the name of a tool.
    named = {identifier(tool.name, fallback="tool") for tool in offer.tools}
    annotations = Annotations({blocking, awaiting, *_IMPORTED, *named})
    methods = list(_methods(offer, annotations))
    classes = [
        _class(blocking, "Stub", offer, methods),
        _class(awaiting, "AsyncStub", offer, methods),
    ]
    bodies = [*annotations.definitions, *classes]
    head = _imports("\n".join("\n".join(body) for body in bodies))
    about = f"Typed calls of the server {offer.name}."
    made = "Made by mcpclient stubs: make it again rather than edit it."
    lines = [*docstring([about, made], ""), "# fmt: off", "", *head]
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
    # A method must not replace one of the base class, nor hide a name that annotations use.
    taken = {*dir(Stub), *dir(AsyncStub), "client", *TYPES, *_IMPORTED}

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
        try:
            wires = dict.fromkeys(variable_names(uri))
        except TemplateError:  # the server itself could not read it
            continue
        about = [template.description or f"Read {uri}."]
        made = Signature(add(f"read_{template.name}"), uri, "ReadResourceResult", about)
        for wire in wires:
            made.add(wire, "str", "", True)
        yield "_read", made


def _class(name: str, base: str, offer: Offer, methods: Sequence[_Method]) -> list[str]:
    is_async = base == "AsyncStub"
    kind = "awaits the answers" if is_async else "waits for the answers"
    about = [f"The server {offer.name}, by a client that {kind}."]
    lines = [f"class {name}({base}):"]
    lines += [*docstring([*about, *([offer.about] if offer.about else [])], "    "), ""]
    if offer.target is None:
        lines.append(f"    CONFIGURED = {literal(offer.name)}")
    elif isinstance(offer.target, str):
        lines += [f"    TARGET = {literal(offer.target)}"] * bool(offer.target)
    else:
        words = [f"        {literal(word)}," for word in offer.target]
        lines += ["    TARGET = [", *words, "    ]"]
    lines.append(f'    DIGEST = "{digest_of(offer.tools)}"')
    for helper, signature in methods:
        lines += ["", *_method(helper, signature, "async " * is_async, "await " * is_async)]
    return lines


def _method(helper: str, signature: Signature, prefix: str, wait: str) -> list[str]:
    parameters, given = [], []
    for each in signature.parameters:
        inner = each.annotation
        inner = inner[6:-1] if inner.startswith("Union[") else inner
        rest = each.annotation if each.is_required else f"Union[{inner}, Unset] = UNSET"
        parameters.append(f"        {each.name}: {rest},")
        given.append(f"                {literal(each.wire)}: {each.name},")
    if signature.others is not None:
        parameters.append(f"        **{signature.others.name}: {signature.others.annotation},")
        given.insert(0, f"                **{signature.others.name},")
    is_data = helper == "_data"
    return [
        f"    {prefix}def {signature.name}(",
        "        self,",
        *["        *,"] * bool(signature.parameters),
        *parameters,
        f"    ) -> {signature.returns}:",
        *docstring(signature.paragraphs, "        "),
        f"        {f'_data: {signature.returns} =' if is_data else 'return'} {wait}self.{helper}(",
        f"            {literal(signature.wire_name)},",
        *(["            {", *given, "            },"] if given else ["            {},"]),
        "        )",
        *["        return _data"] * is_data,  # no parameter begins with "_"
    ]
