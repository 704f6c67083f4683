"""Tools that run themselves: for programs that call models themselves, and tools of the library."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Callable, NamedTuple, TypeVar

from ..client.events.around import Call, Proceed, not_called, refusal
from ..errors import McpError, UsageError
from ..manager.naming import any_pattern, fits_pair, fits_server
from ..net.futures import in_slices
from ..protocol.schema import compile_schema
from ..protocol.tool_search import ToolIndex
from ..protocol.types import CallToolResult, Resource, ResourceTemplate, Tool
from .definitions import Definition, RawCall, ToolCall, ToolDefinitions, is_for_models, read_calls
from .limits import Limits, MediaRules
from .parts import ERROR_PREFIX, Outcome, Part, prepared

T = TypeVar("T")


@dataclass(frozen=True)
class AgentOutcome:
    """The outcome of a call of an `AgentTool`.

    ``text``: the answer for the model, with a note for images and other media. ``is_error``:
    whether the tool failed or could not be called. ``structured``: the structured content, or None.
    ``parts`` are ``{"type": "text", "text"}``, or ``{"type": "image"|"audio"|"video"|"document",
    "mime_type", "data"}`` with the data in Base64.
    """

    text: str
    is_error: bool
    structured: Any
    parts: list[dict[str, Any]]


class AgentTool:
    """A tool that describes itself and can be executed.

    ``tool`` is the server's definition. The name and the schema follow the rules of the toolbox's
    model API. Made by `Toolbox.agent_tools`.
    """

    def __init__(
        self,
        defined: Definition,
        call: Callable[[ToolCall, Mapping[str, Any]], Awaitable[Outcome]],
        limits: Limits,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.tool: Tool = defined.binding.tool
        self._defined = defined
        self._call = call
        self._limits = limits
        self._loop = loop

    @cached_property
    def _known(self) -> ToolDefinitions:
        return ToolDefinitions(bindings={self.name: self._defined.binding})

    @property
    def name(self) -> str:
        """The name of the tool for the model."""
        return self._defined.name

    @property
    def description(self) -> str:
        """The description for the model; never empty."""
        return self._defined.description

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return self._defined.schema

    @property
    def definition(self) -> dict[str, Any]:
        """The definition: ``{"type": "function", "name", "description", "parameters"}``."""
        shown = {"type": "function", "name": self.name, "description": self.description}
        return {**shown, "parameters": self.parameters}

    async def outcome(
        self,
        arguments: Mapping[str, Any] | str | None,
        context: object = None,
        *,
        validate_output: bool = False,
        **call_options: Any,
    ) -> AgentOutcome:
        """Call the tool and return the outcome.

        ``arguments``: a mapping, or JSON as models write it. ``context`` is passed to hooks as
        ``trace``. ``validate_output``: structured content that does not match the output schema is
        an error. ``call_options``: see `call_tool`; progress restarts ``timeout``.

        A failure is an outcome with ``is_error``. Raises only `UsageError`, for an unknown option.
        """
        (call,) = read_calls([RawCall("", self.name, arguments)], self._known)
        arguments = None  # a traceback would show them
        options = call_options if context is None else {"trace": context, **call_options}
        outcome = await self._call(call, options)
        if validate_output and isinstance(outcome, CallToolResult) and not outcome.is_error:
            problem = _mismatch(self.tool, outcome)
            if problem:
                outcome = refusal(f"the result does not fit its schema: {problem}")
        return agent_outcome(outcome, self._limits)

    async def execute(
        self,
        arguments: Mapping[str, Any] | str | None,
        context: object = None,
        *,
        media: bool = False,
        validate_output: bool = False,
        **call_options: Any,
    ) -> str | list[dict[str, Any]]:
        """Call the tool and return the answer for the model as a string.

        For the arguments see `outcome`. After a failure the string begins with ``Tool
        error:``. A note replaces images and other media; with ``media``, a result that has any is
        returned as the list `AgentOutcome.parts`.
        """
        options = {"validate_output": validate_output, **call_options}
        made = self.outcome(arguments, context, **options)
        arguments = None  # as above
        outcome = await made
        prefix = ERROR_PREFIX if outcome.is_error else ""
        if media and any(part["type"] != "text" for part in outcome.parts):
            return [*([_part(prefix.strip())] if prefix else []), *outcome.parts]
        return prefix + outcome.text

    async def call(self, /, **arguments: Any) -> str:
        """Run `execute`, for frameworks that pass keyword arguments."""
        return str(await self.execute(arguments))

    def execute_sync(
        self, arguments: Mapping[str, Any] | str | None, context: object = None, **options: Any
    ) -> str | list[dict[str, Any]]:
        """Run `execute` from a thread other than the event loop's, and block.

        Raises `UsageError` in the event loop's thread, and after the loop has stopped.
        """
        loop, running = self._loop, None
        with suppress(RuntimeError):
            running = asyncio.get_running_loop()
        if loop is None or not loop.is_running() or running is loop:
            raise UsageError(
                "execute_sync blocks, so it needs a running event loop in another thread: await "
                "execute instead, or use mcpclient.sync"
            )
        made = self.execute(arguments, context, **options)
        return asyncio.run_coroutine_threadsafe(made, loop).result()


def agent_outcome(outcome: Outcome, limits: Limits) -> AgentOutcome:
    """Return the outcome of a call as text and parts."""
    made = prepared(outcome, limits, MediaRules(takes_all=True))
    structured = outcome.structured if isinstance(outcome, CallToolResult) else None
    texts = [part if isinstance(part, str) else f"[{part.description}]" for part in made.parts]
    parts = [_part(part) for part in made.parts]
    return AgentOutcome("\n".join(texts), made.is_error, structured, parts)


def _mismatch(tool: Tool, result: CallToolResult) -> str:
    try:
        schema = compile_schema({} if tool.output_schema is None else tool.output_schema)
        return "; ".join(map(str, schema.validate(result.structured)))
    except McpError as error:
        return str(error)


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": part.kind, "mime_type": part.media_type, "data": part.base64}


# Tools that the library itself offers to a model, in addition to servers' tools

# The most resources in a list, and the most tools that a search finds.
_LISTED = 200
_FOUND = 5
_NAMED = 50
_SHOWN_DESCRIPTION = 200
_READS: Mapping[str, Any] = {"readOnlyHint": True}


@dataclass(frozen=True)
class LocalTool:
    """A tool and the function that runs its calls.

    ``run``: takes the arguments, and the options of the call. ``needs_approval``: whether the user
    is asked before a call. ``is_own``: whether it is a function of the user, which takes the
    arguments only.
    """

    tool: Tool
    run: Callable[..., Awaitable[CallToolResult]]
    needs_approval: bool = True
    is_own: bool = False

    def called(self, name: str) -> LocalTool:
        """Return the same tool under another name."""
        return replace(self, tool=Tool({**self.tool.raw, "name": name}))


def resource_tools(
    source: Any, admits: Callable[[str | None, str], bool] = lambda server, tool: True
) -> list[LocalTool]:
    """Return the tools ``list_resources`` and ``read_resource`` of a client or a manager.

    ``admits`` takes a server (None for a client's) and the name of a tool, and returns whether that
    may reach its resources.
    """
    has_servers = hasattr(source, "servers")

    def admitted(name: str, listed: Iterable[T]) -> list[T]:
        return [each for each in listed if admits(getattr(each, "server", None), name)]

    async def list_resources(
        arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> CallToolResult:
        resources = admitted("list_resources", await source.list_resources())
        lines = _listed([_line(each, each.uri) for each in resources])
        try:
            templates = admitted("list_resources", await source.list_resource_templates())
        except McpError:  # servers need not implement this method
            templates = []
        if templates:
            lines.append("Templates, which make the URI of a resource when {…} is filled in:")
            lines += _listed([_line(each, each.uri_template) for each in templates])
        return text_result("\n".join(lines) or "The list of resources is empty.")

    async def gate(call: Call, proceed: Proceed) -> CallToolResult:
        if not admits(call.server, "read_resource"):
            return not_called(call.name, "its server is left out", "filter")
        return await proceed(call)

    async def read_resource(
        arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> CallToolResult:
        uri = arguments.get("uri")
        if not isinstance(uri, str):
            return refusal("Give the uri of a resource; list_resources lists them.")
        where: dict[str, Any] = {"server": arguments.get("server")} if has_servers else {}
        if has_servers and where["server"] is None:  # one that is left out may list it as well
            listed = admitted("read_resource", await source.list_resources())
            owners = {each.server for each in listed if each.uri == uri}
            where["server"] = owners.pop() if len(owners) == 1 else None
        hooks = (*((gate,) if has_servers else ()), *options.get("around", ()))
        read = await source.read_resource(uri, around=hooks, **where)
        blocks = [{"type": "resource", "resource": part.raw} for part in read.contents]
        return CallToolResult({"content": blocks})

    given = {"uri": {"type": "string", "description": "as list_resources gives it"}}
    if has_servers:
        said = "as list_resources gives it, where it does"
        given["server"] = {"type": "string", "description": said}
    listing = new_tool("list_resources", "List the resources that can be read.", {})
    reading = new_tool("read_resource", "Read a resource by its URI.", given, needed=["uri"])
    return [LocalTool(listing, list_resources), LocalTool(reading, read_resource)]


def search_tool(
    definitions: Callable[[], Sequence[Definition]],
    servers: Sequence[str],
    described: Callable[[Sequence[Definition]], Iterable[str]],
) -> LocalTool:
    """Return the tool ``search_tools``.

    ``definitions``: returns the definitions to search, another list when they change. ``servers``:
    the names for the description. ``described``: returns the lines that the model gets about those
    found.
    """
    known: Sequence[Definition] = ()
    index = ToolIndex()

    async def search(arguments: Mapping[str, Any], options: Mapping[str, Any]) -> CallToolResult:
        query = arguments.get("query")
        if not isinstance(query, str):
            return refusal("Give a query: some words about the task of the tool.")
        nonlocal known, index
        found = definitions()
        if found is not known:
            made = ToolIndex()
            await in_slices(map(made.add, [each.binding.tool for each in found]))
            known, index = found, made
        matches = [known[place] for place in index.search(query, _FOUND)]
        if not matches:
            return text_result("No tool fits. Try other words.")
        return text_result("\n".join(described(matches)))

    query = {"query": {"type": "string", "description": "words about the task of the tool"}}
    names = ", ".join(_short(name) for name in servers[:_NAMED])
    more = ", …" if len(servers) > _NAMED else ""
    description = (
        "Find tools. Most tools are not listed here: search for one by words before you decide "
        "that there is none." + (f" There are tools of these servers: {names}{more}." * bool(names))
    )
    return LocalTool(new_tool("search_tools", description, query), search, needs_approval=False)


def described_for_call_tool(matches: Sequence[Definition]) -> list[str]:
    """Return definitions as JSON, for `call_tool`."""
    lines = ["Call these with call_tool, by name, with arguments that fit the parameters:"]
    for one in matches:
        found = {"name": one.name, "description": one.description, "parameters": one.schema}
        lines.append(json.dumps(found, ensure_ascii=False))
    return lines


def call_tool() -> LocalTool:
    """Return the tool ``call_tool``, which calls any tool that a search can find.

    The definitions of a request do not change with what is found, so a provider's cache of the
    conversation stays valid. The toolbox reads the call inside its arguments.
    """

    async def run(arguments: Mapping[str, Any], options: Mapping[str, Any]) -> CallToolResult:
        return refusal("Give the name of a tool that search_tools has found, and its arguments.")

    properties = {
        "name": {"type": "string", "description": "as search_tools gives it"},
        "arguments": {
            "type": "object",
            "description": "as the tool's parameters say",
            "additionalProperties": True,
        },
    }
    about = "Call a tool that search_tools has found."
    tool = new_tool("call_tool", about, properties, annotations={})
    return LocalTool(tool, run, needs_approval=False)


def new_tool(
    name: str,
    description: str,
    properties: dict[str, Any],
    needed: Iterable[str] | None = None,
    *,
    annotations: Mapping[str, Any] = _READS,
) -> Tool:
    """Return a definition; ``needed``: the required properties (None: all)."""
    required = list(properties if needed is None else needed)
    schema = {"type": "object", "properties": properties, "required": required}
    raw = {"name": name, "description": description, "inputSchema": schema}
    return Tool({**raw, "annotations": dict(annotations)})


def text_result(text: str) -> CallToolResult:
    """Return a result with one text."""
    return CallToolResult({"content": [{"type": "text", "text": text}]})


def _listed(lines: list[str]) -> list[str]:
    more = len(lines) - _LISTED
    return lines if more <= 0 else [*lines[:_LISTED], f"… and {more} more"]


def _line(resource: Resource | ResourceTemplate, uri: str) -> str:
    server = getattr(resource, "server", None)
    known = {"name": resource.name, "type": resource.mime_type, "server": server}
    described = json.dumps({key: value for key, value in known.items() if value})
    description = _short(resource.description or resource.title or "")
    return f"- {uri} {described} {description}".rstrip()


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_DESCRIPTION else f"{line[:_SHOWN_DESCRIPTION]}…"


_SHARE = re.compile(r"(\d+(?:\.\d+)?) ?%")


class SearchRule:
    """The decision, made once per conversation, whether the model searches for its tools.

    ``search``: True or False; a number: search among more tools than that; ``"3%"``: search if the
    definitions take more than this share of ``context``, the size of the model's context in tokens.
    """

    def __init__(self, search: bool | int | str, context: int) -> None:
        self._most_tools = self._most_tokens = float("inf")
        if isinstance(search, str):
            share = _SHARE.fullmatch(search)
            if share is None or context <= 0:
                problem = f"search={search!r}, context={context!r}"
                raise UsageError(f'search takes a share of the context such as "3%", not {problem}')
            self._most_tokens = context * float(share[1]) / 100
        elif search is not False:
            self._most_tools = -1 if search is True else search
        self.is_possible: bool = search is not False
        self._decision: bool | None = None

    def deciding(self, tools: ToolDefinitions) -> Generator[None, None, bool]:
        """Return whether to search these tools, in steps.

        The first answer for a list that is not empty is final.
        """
        if self._decision is not None:
            return self._decision
        characters = 0
        for one in tools.written if self._most_tokens < float("inf") else ():
            yield
            characters += len(json.dumps(one, ensure_ascii=False))
        is_much = len(tools.written) > self._most_tools or characters / 4 > self._most_tokens
        if tools:
            self._decision = is_much
        return is_much


class ToolFilter(NamedTuple):
    """The options ``include`` and ``exclude`` of a toolbox."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]

    def admits(self, tool: Tool) -> bool:
        """Whether a model gets a tool of a server."""
        if not is_for_models(tool) or not any(_fits_tool(each, tool) for each in self.include):
            return False
        return not any(_fits_or_names(each, tool) for each in self.exclude)

    def admits_resources(self, server: str | None, name: str) -> bool:
        """Whether the tool ``name`` of this library may reach the resources of a server.

        ``server``: None for a client's only one. An exclusion may be of that tool, of a server, or
        of both; an inclusion only selects servers, since the tool itself was asked for.
        """
        is_included = server is None or any(fits_server(each, server) for each in self.include)
        return is_included and not any(_fits(each, server, name) for each in self.exclude)

    def unfit(
        self, tools: Collection[Tool], servers: Collection[str | None]
    ) -> Iterator[str | None]:
        """Yield a sentence for each pattern that fits no tool, and None after other steps.

        ``servers``: those whose resources can be offered, which a pattern may be about.
        """
        own = [(server, name) for server in servers for name in ("list_resources", "read_resource")]
        for option, patterns in (("include", self.include), ("exclude", self.exclude)):
            fits = _fits_tool if option == "include" else _fits_or_names
            for pattern in patterns:
                for tool in tools:
                    if fits(pattern, tool):
                        break
                    yield None
                else:
                    if not any(_fits(pattern, *each) for each in own):
                        yield (
                            f"{option}: no tool fits {pattern!r}; a pattern is server/tool, or the "
                            "tool's own name on any server"
                        )


def _fits(pattern: str, server: str | None, name: str) -> bool:
    if server is None:  # a client has one server's tools
        return any_pattern((pattern,)).match(name) is not None
    return fits_pair(pattern, server, name)


def _fits_tool(pattern: str, tool: Tool) -> bool:
    return _fits(pattern, getattr(tool, "server", None), getattr(tool, "raw_name", tool.name))


def _fits_or_names(pattern: str, tool: Tool) -> bool:
    """Whether a pattern fits a tool, or its name for the model: that cannot let a tool in."""
    return any_pattern((pattern,)).match(tool.name) is not None or _fits_tool(pattern, tool)
