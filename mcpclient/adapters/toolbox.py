"""The tools of a client or a manager, ready for one model API: the inside of an agent loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator, Iterable, Mapping, Sequence
from typing import Any, Callable, Protocol, TypedDict, Union

from ..client.events.around import Around, Call, Proceed, Questions, not_called
from ..errors import McpError, UsageError
from ..framing.logs import logger_for
from ..manager.filters import any_pattern, fits_pair
from ..protocol.types import CallToolResult, Tool
from .agent_tools import AgentTool
from .definitions import Binding, ToolDefinitions
from .limits import Limits
from .local_tools import LocalTool, ResourceSource, resource_tools, search_tool
from .parts import Outcome
from .providers import Provider, provider_of
from .tool_calls import ToolCall

__all__ = ["Approve", "Toolbox", "ToolboxOptions"]

_logger = logger_for("mcpclient.adapters")

Approve = Callable[[ToolCall, Tool], Union[bool, str, Awaitable[Union[bool, str]]]]
"""Takes a call and its tool; True allows it, False or a reason as text refuses it."""


class ToolboxOptions(TypedDict, total=False):
    """The options of `Toolbox`, where each is described; all of them may be left out."""

    include: Sequence[str]
    exclude: Sequence[str]
    approve: Approve | None
    limits: Limits | None
    resources: bool
    search: bool | int
    strict: bool
    inline_refs: bool | None
    defer: bool | Callable[[Tool], bool]


class _Client(ResourceSource, Protocol):
    """What a toolbox needs of a client, and of a manager, which has ``tools`` besides."""

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any
    ) -> CallToolResult: ...


class Toolbox:
    """Tools for a model, and the answers to its calls. Made by ``toolbox`` of client and manager.

    ``await`` it once, so that it has the tools: ``box = await client.toolbox("anthropic")``. Then,
    in the loop, give ``box.tools`` to the model and append what ``await box.run(response)``
    returns.

    - ``provider``: ``"anthropic"``, ``"openai_chat"``, ``"openai_responses"``, ``"google"``,
      ``"bedrock"``, or an object with the functions of `Provider`.
    - ``include``, ``exclude``: patterns as of files: ``"github/create_*"`` fits tools of that
      server by their own names, ``"delete_*"`` those of every server. How a model spells a tool
      lets none in.
    - ``approve(call, tool)``: asked before every call, one at a time; plain or async. True allows
      the call; False, or a reason as text, refuses it, which the model is told. Waiting for it
      counts in no timeout. ``tool.annotations`` are the server's word: believe them only where you
      trust the server. The two tools of ``resources`` are asked about as well.
    - ``limits``: how much of a result the model gets, see `Limits`.
    - ``resources``: offer the tools ``list_resources`` and ``read_resource`` as well.
    - ``search``: offer one tool ``search_tools`` in place of all others, which appear once they are
      found; a number: only where there are more tools than that.
    - ``strict``, ``inline_refs``: as for the provider's ``tools``. ``defer``: which tools the model
      searches for by the provider's own means (True: all), where it has any.
    """

    def __init__(
        self,
        source: _Client,
        provider: str | Provider,
        *,
        include: Sequence[str] = ("*",),
        exclude: Sequence[str] = (),
        approve: Approve | None = None,
        limits: Limits | None = None,
        resources: bool = False,
        search: bool | int = False,
        strict: bool = False,
        inline_refs: bool | None = None,
        defer: bool | Callable[[Tool], bool] = False,
    ) -> None:
        for patterns in (include, exclude):
            if isinstance(patterns, str):
                raise UsageError(f"include and exclude are lists of patterns, not {patterns!r}")
        self._source = source
        self._provider = provider_of(provider)
        self._include, self._exclude = tuple(include), tuple(exclude)
        self._approve = approve
        self._questions = Questions()
        self._limits = limits or Limits()
        self._resources = resource_tools(source) if resources else []
        self._search = search_tool(lambda: self._admitted, self._found) if search else None
        self._search_above = 0 if search is True else int(search)
        self._strict, self._inline_refs = strict, inline_refs
        self._defer = (lambda tool: True) if defer is True else defer or None
        self._tools = ToolDefinitions()
        self._admitted: list[Tool] = []
        self._shown_names: set[str] = set()
        self._known: dict[str, Binding] = {}
        self._local: dict[str, LocalTool] = {}
        self._version: object = None

    def __await__(self) -> Generator[Any, None, Toolbox]:
        return self._ready().__await__()

    async def _ready(self) -> Toolbox:
        await self.refresh()
        return self

    @property
    def tools(self) -> ToolDefinitions:
        """The definitions for a request: always the same list, changed in place.

        Its ``problems`` say what of which tool was changed or dropped. Raises `UsageError` for a
        client whose toolbox was never awaited.
        """
        live = self._live()
        if live is not None:
            self._take_live(live)
        elif self._version is None:
            raise UsageError("the toolbox of a client is awaited: box = await client.toolbox(…)")
        return self._tools

    @property
    def agent_tools(self) -> list[AgentTool]:
        """The same tools, by the same rules, for a program with its own way of calling models."""
        return [
            AgentTool(defined, self._call_for_agent, self._limits) for defined in self.tools.defined
        ]

    async def refresh(self) -> None:
        """Take over the present tools of the client or manager. Raises what `list_tools` does."""
        live = self._live()
        if live is not None:
            self._take_live(live)
        else:
            self._take(await self._source.list_tools())  # type: ignore[attr-defined]
            self._version = True

    async def run(self, response: object, **call_options: Any) -> list[dict[str, Any]]:
        """Make all calls of a model's response, side by side, and return the messages to append.

        In their order, whatever came of them: what cannot be called, is refused, fails or takes too
        long is an answer that the model can read. Empty when there are no calls.

        ``call_options`` are those of `call_tool`. Raises `UsageError` for what is no response of
        the provider. Cancelling it cancels all calls.
        """
        if self._version is None:
            await self.refresh()
        known = ToolDefinitions((), (), {**self._known, **self.tools.bindings})
        calls = self._provider.calls(response, known)
        outcomes = await asyncio.gather(
            *(self._outcome(call, call_options) for call in calls),
            return_exceptions=True,
        )
        messages = self._provider.results(zip(calls, outcomes), self._limits)
        if calls:
            await self._catch_up()
        return messages

    # Which tools there are

    def _live(self) -> Sequence[Tool] | None:
        """The list that a manager keeps up to date; None for a client."""
        tools = getattr(self._source, "tools", None)
        return tools if isinstance(tools, list) else None

    def _take_live(self, live: Sequence[Tool]) -> None:
        version = getattr(live, "version", len(live))
        if version != self._version:
            self._take(live)
            self._version = version

    def _take(self, tools: Iterable[Tool]) -> None:
        offered = {tool.name: tool for tool in [*tools][::-1]}  # of two with one name, the first
        self._admitted = [tool for tool in [*offered.values()][::-1] if self._admits(tool)]
        if offered and not self._admitted:
            _logger.warning(
                "no tool fits include=%r, exclude=%r: a pattern is server/tool, or the tool's own "
                "name on any server",
                self._include,
                self._exclude,
            )
        self._rebuild()

    def _admits(self, tool: Tool) -> bool:
        server, name = getattr(tool, "server", None), getattr(tool, "raw_name", tool.name)

        def fits(patterns: tuple[str, ...]) -> bool:
            if server is None:  # a client's tools are those of one server
                return any_pattern(patterns).match(name) is not None
            return any(fits_pair(pattern, server, name) for pattern in patterns)

        if not fits(self._include):
            return False
        # What is left out may be named in any way: it lets nothing in.
        spelled = self._exclude and any_pattern(self._exclude).match(tool.name)
        return not spelled and not fits(self._exclude)

    def _found(self, tools: list[Tool]) -> None:
        self._shown_names.update(tool.name for tool in tools)
        self._rebuild()

    def _rebuild(self) -> None:
        shown, local = list(self._admitted), list(self._resources)
        if self._search is not None and len(shown) > self._search_above:
            shown = [tool for tool in shown if tool.name in self._shown_names]
            local.append(self._search)
        taken = {tool.name for tool in self._admitted}
        self._local = {}
        for tool in local:
            name = tool.tool.name
            while name in taken:
                name += "_"
            self._local[name] = tool.called(name)
        local_tools = [tool.tool for tool in self._local.values()]
        everything = self._define([*self._admitted, *local_tools])
        self._known.update(everything.bindings)
        is_all = len(shown) == len(self._admitted)
        self._tools.replace(everything if is_all else self._define([*shown, *local_tools]))

    def _define(self, tools: list[Tool]) -> ToolDefinitions:
        return self._provider.tools(
            tools,
            strict=self._strict,
            inline_refs=self._inline_refs,
            defer=self._defer_server_tools,
        )

    def _defer_server_tools(self, tool: Tool) -> bool:
        return tool.name not in self._local and self._defer is not None and self._defer(tool)

    async def _catch_up(self) -> None:
        """Where the calls have changed the tools, list them again."""
        if self._live() is None and getattr(self._source, "tools_are_stale", False):
            try:
                await self.refresh()
            except McpError as error:
                _logger.warning("the tools have changed and could not be listed: %s", error)

    # Calls

    async def _outcome(self, call: ToolCall, options: Mapping[str, Any]) -> Outcome:
        if call.problem is not None:
            return UsageError(call.problem)
        try:
            return await self._call(call, options)
        except McpError as error:
            return error
        except Exception as error:
            _logger.exception("the call of %s failed", call.name)
            return error

    async def _call(self, call: ToolCall, options: Mapping[str, Any]) -> CallToolResult:
        local = self._local.get(call.name)
        if local is not None:
            answer = await self._answer(call, local.tool) if local.needs_approval else True
            if answer is not True:
                return not_called(call.called_as, answer)
            return await local.run(call.arguments, options.get("around", ()))
        if self._approve is not None:
            options = {**options, "around": (*options.get("around", ()), self._approval(call))}
        return await self._source.call_tool(call.name, call.arguments, **options)

    def _approval(self, asked: ToolCall) -> Around:
        """Return a hook that holds a call back until it is allowed."""

        async def approval(call: Call, proceed: Proceed) -> CallToolResult:
            answer = await self._answer(asked, asked.tool or Tool({"name": asked.name}))
            return await proceed(call) if answer is True else not_called(asked.called_as, answer)

        return approval

    async def _answer(self, asked: ToolCall, tool: Tool) -> object:
        """Return True where a call is allowed, else the reason, or anything but True."""
        if self._approve is None:
            return True
        try:
            return await self._questions.ask(self._approve, asked, tool)
        except Exception as error:
            _logger.exception("asking for the approval of %s failed", asked.name)
            return f"asking for approval failed ({type(error).__name__})"

    async def _call_for_agent(self, call: ToolCall, options: Mapping[str, Any]) -> Outcome:
        outcome = await self._outcome(call, options)
        await self._catch_up()
        return outcome
