"""A toolbox: the tools of a client or a manager for one model API, for an agent's loop."""

from __future__ import annotations

import asyncio
from bisect import bisect
from collections.abc import Awaitable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Callable, TypedDict, Union

from ..client.connection.option_kinds import (
    COUNT,
    FLAG,
    FUNCTION,
    NUMBER,
    PATTERNS,
    STRING,
    Kind,
    any_of,
    check_names,
    check_options,
    function_of,
    list_of,
    object_of,
)
from ..client.events.around import Around, Call, Proceed, answer_in_turn, not_called, surrounded
from ..client.tool_calls import ToolCalls
from ..errors import CallTimeout, McpError, UsageError
from ..framing.logs import logger_for
from ..net.futures import in_slices
from ..net.shielded import TaskLocks
from ..protocol.types import CallToolResult, Tool
from .agent_tools import (
    AgentTool,
    LocalTool,
    SearchRule,
    ToolFilter,
    call_tool,
    described_for_call_tool,
    resource_tools,
    search_tool,
)
from .definitions import (
    NOT_FOR_MODELS,
    Conversions,
    Definition,
    KnownTools,
    RawCall,
    ToolCall,
    ToolDefinitions,
    ToolProblem,
    is_for_models,
    read_calls,
)
from .functions import function_tool
from .limits import Limits
from .model_api import Provider
from .parts import Outcome
from .providers import provider_of

if TYPE_CHECKING:
    from ..client.client import Client
    from ..code.toolset import CodeMode
    from ..manager.manager import Manager
    from ..typing_compat import Unpack

_logger = logger_for("mcpclient.adapters")

_CALL_OPTIONS = sorted({*(ToolCalls.call_tool.__kwdefaults__ or {})} - {"returns"})
# Above this number of names, removed tools' are forgotten.
_MOST_REMEMBERED = 20_000

Approve = Callable[[ToolCall, Tool], Union[bool, str, Awaitable[Union[bool, str]]]]
"""Takes a call and its tool; returns True to allow it, or False or a reason to refuse it."""


class ToolboxOptions(TypedDict, total=False):
    """The options of `Toolbox`, where each is described; all of them may be left out."""

    functions: Sequence[Callable[..., Any]]
    include: Sequence[str]
    exclude: Sequence[str]
    approve: Approve | None
    limits: Limits | None
    resources: bool
    search: bool | int | str
    context: int
    code: CodeMode | None
    strict: bool
    inline_refs: bool | None
    defer: bool | Callable[[Tool], bool]


_NUMBER_OR_SHARE = 'True, False, a number of tools or a share such as "3%"'
_OPTIONS: Mapping[str, Kind] = {
    "functions": list_of("a list of functions", FUNCTION),
    "include": PATTERNS.required(),
    "exclude": PATTERNS.required(),
    "approve": function_of(2, "a function of two arguments, the call and its tool"),
    "limits": object_of("Limits"),
    "resources": FLAG,
    "search": any_of(_NUMBER_OR_SHARE, FLAG, NUMBER, STRING).required(),
    "context": COUNT.required(),
    "code": object_of("CodeMode"),
    "strict": FLAG,
    "inline_refs": FLAG,
    "defer": any_of("True, False or a function of a tool", FLAG, function_of(1, "")),
}


@dataclass
class _Offer:
    """The offer for one state of the tools.

    ``everything``: all tools of servers that the model may call, shown or found by a search;
    ``callable``: those for the code of a model; ``known``: what calls are read by; ``local``: tools
    of this library and the caller's, by the names for the model.
    """

    everything: ToolDefinitions = field(default_factory=ToolDefinitions)
    callable: Sequence[Definition] = ()
    known: ToolDefinitions = field(default_factory=ToolDefinitions)
    local: dict[str, LocalTool] = field(default_factory=dict)


class Toolbox:
    """Tools for a model, and the results of its calls. Made by ``toolbox`` of client and manager.

    ``await`` it once, so that it has the tools: ``box = await client.toolbox("anthropic")``. Then,
    in the loop, give ``box.tools`` to the model and append what ``await box.run(response)``
    returns.

    - ``provider``: ``"anthropic"``, ``"openai_chat"``, ``"openai_responses"``, ``"google"``,
      ``"bedrock"``, or an object with the functions of `Provider`.
    - ``functions``: functions of your own, plain or async, as tools besides the servers'.
      The docstring describes them, annotations and defaults make the schema; results become JSON
      or text for the model. A plain function runs in a worker thread.
    - ``include``, ``exclude``: patterns as of files: ``"github/create_*"`` matches tools of that
      server by their own names, ``"delete_*"`` tools of every server. ``include`` ignores the names
      made for the model. They hold for the resources of servers as well, and ``tools.problems``
      names a pattern that fits nothing. Everything is included by default.
    - ``approve(call, tool)``: asked before every call, one at a time; plain or async. True allows
      the call; False, or a reason as a string, refuses it, which the model learns. The wait
      does not count towards timeouts. ``tool.annotations`` come from the server: rely on them
      only if you trust it. Your own functions and the two tools of ``resources`` need approval
      as well.
    - ``limits``: how much of a result the model gets, by default ``Limits()``.
    - ``resources``: offer the tools ``list_resources`` and ``read_resource`` as well.
    - ``search``: offer the tools ``search_tools`` and ``call_tool`` instead of the tools of the
      servers. A number: only if there are more tools than that; ``"3%"``: only if they take more
      than this share of ``context``, the size of the model's context in tokens (200,000). This is
      decided once, when there are tools: make a toolbox for each conversation.
    - ``code``: offer the tools ``search_tools`` and ``run_python`` in place of all others: the
      model writes Python that calls them, in a sandbox, see `CodeMode`. Approval is asked for each
      run, and for each call in it.
    - ``strict``, ``inline_refs``: as for the provider's ``tools``. ``defer``: the tools that the
      model finds with the provider's own search (True: all); ``tools.problems`` notes a provider
      without one.

    Tools keep their order as long as the toolbox lasts, new ones come last, and with ``search`` the
    definitions do not change at all: a provider's cache of the conversation stays valid. Tools
    whose ``_meta.ui.visibility`` lacks ``"model"`` are neither offered nor called.
    """

    def __init__(
        self,
        source: Client | Manager,
        provider: str | Provider,
        **options: Unpack[ToolboxOptions],
    ) -> None:
        check_options(options, _OPTIONS)
        self._source: Any = source  # each has members that the other lacks
        self._provider = provider_of(provider)
        include, exclude = options.get("include", ("*",)), options.get("exclude", ())
        self._filter = ToolFilter(tuple(include), tuple(exclude))
        self._told: set[str] = set()  # the problems of patterns that the log has
        self._approve = options.get("approve")
        self._turns = TaskLocks()
        self._limits = options.get("limits") or Limits()
        self._always = [function_tool(function) for function in options.get("functions") or ()]
        self._has_resources = bool(options.get("resources"))
        if self._has_resources:
            self._always += self._resource_tools()
        self._search = SearchRule(options.get("search", False), options.get("context", 200_000))
        self._code = None
        code = options.get("code")
        if code is not None:
            if self._search.is_possible:
                raise UsageError("code= has a search of its own: leave search= out")
            from ..code.toolset import CodeTools

            self._code = CodeTools(code, lambda: self._offer.callable, self._call_from_code)
        names = [local.tool.name for local in self._always]
        names += ["search_tools", "call_tool"] if self._search.is_possible else []
        names += ["search_tools", "run_python"] if self._code else []
        if len(set(names)) < len(names):
            raise UsageError(f"functions: two tools have one name ({', '.join(names)})")
        self._strict = bool(options.get("strict"))
        self._inline_refs = options.get("inline_refs")
        defer = options.get("defer")
        self._defer = (lambda tool: True) if defer is True else defer or None
        self._tools = ToolDefinitions()
        self._offer = _Offer()
        # What lasts as long as the conversation: names, places, conversions.
        self._names: dict[str, str] = {}
        self._converted = Conversions()
        self._places: dict[str, int] = {}
        self._local_names: dict[str, str] = {}
        self._servers: dict[str, None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._version: object = None

    def __await__(self) -> Generator[Any, None, Toolbox]:
        yield from self.refresh().__await__()
        return self

    @property
    def tools(self) -> ToolDefinitions:
        """The definitions for a request: always the same list, changed in place.

        Its ``problems`` name the changes of each tool, and ``tokens`` is an estimate of their
        tokens in each request. Raises `UsageError` for a client whose toolbox was never awaited.
        """
        steps = self._news()
        if steps is None and self._version is None:
            raise UsageError(
                "the toolbox of a client must be awaited: box = await client.toolbox(…)"
            )
        for _ in steps or ():
            pass
        return self._tools

    @property
    def agent_tools(self) -> list[AgentTool]:
        """The same tools, by the same rules, for a program that calls models itself."""
        return [
            AgentTool(defined, self._call_for_agent, self._limits, self._loop)
            for defined in self.tools.defined
        ]

    async def refresh(self) -> None:
        """List the tools of the client or manager again. Raises what `list_tools` does."""
        self._loop = asyncio.get_running_loop()
        steps = self._news()
        if not isinstance(getattr(self._source, "tools", None), list):
            steps = self._offer_of(await self._source.list_tools(), True)
        await in_slices(steps or iter(()))

    async def run(self, response: object, **call_options: Any) -> list[dict[str, Any]]:
        """Make all calls of a model's response concurrently, and return the messages to append.

        The messages are in the order of the calls. A call that is invalid, refused, failed or timed
        out has a result that the model can read. The list is empty if there are no calls.

        ``call_options``: see `call_tool`. Raises `UsageError` for an unknown option, and for
        an object that is not a response of the provider. Cancelling it cancels all calls.
        """
        if call_options:
            check_names(call_options, _CALL_OPTIONS)
        if self._version is None:
            await self.refresh()
        steps = self._news()
        if steps is not None:
            await in_slices(steps)
        calls = self._provider.calls(response, self._offer.known)
        response = None  # a traceback would show it
        made = (self._outcome(call, call_options) for call in calls)
        outcomes = await asyncio.gather(*made, return_exceptions=True)
        messages = self._provider.results(zip(calls, outcomes), self._limits)
        if calls:
            await self._catch_up()
        return messages

    async def close(self) -> None:
        """End the process that ``CodeMode(keep=True)`` keeps, if there is one. Idempotent."""
        if self._code is not None:
            await self._code.close()

    # Which tools there are

    def _news(self) -> Iterator[None] | None:
        """Return the steps to the offer of a manager's tools, if these have changed."""
        live = getattr(self._source, "tools", None)  # a manager keeps them up to date
        if not isinstance(live, list):
            return None
        version = getattr(live, "version", len(live))
        return None if version == self._version else self._offer_of([*live], version)

    def _offer_of(self, tools: Sequence[Tool], version: object) -> Iterator[None]:
        """Make the offer of these tools in steps; it replaces the last one at the end."""
        listed: dict[str, Tool] = {}
        admitted: list[Tool] = []
        refused: set[str] = set()
        problems: list[ToolProblem] = []
        for tool in tools:
            yield
            if listed.setdefault(tool.name, tool) is not tool:
                continue
            if self._filter.admits(tool):
                admitted.append(tool)
                continue
            refused.add(tool.name)
            if not is_for_models(tool):
                problems.append(ToolProblem(tool.name, NOT_FOR_MODELS))
        offer = _Offer(known=ToolDefinitions(bindings=self._offer.known.bindings))
        if len(self._places) > max(_MOST_REMEMBERED, 2 * len(admitted)):
            self._forget_all_but({tool.name for tool in admitted} | self._offer.local.keys())
            offer.known.bindings = {}
        shown, places = yield from self._in_order(admitted)
        always = [self._offered(local, offer) for local in self._always]
        if len(self._converted) > len(admitted) + len(self._offer.local):
            staying = {tool.name for tool in admitted} | self._offer.local.keys()
            self._converted.forget_all_but(staying)
        offer.everything = yield from self._define(shown, offer)
        if self._search.is_possible and (yield from self._search.deciding(offer.everything)):
            finding = search_tool(
                lambda: self._offer.everything.defined, [*self._servers], described_for_call_tool
            )
            always += [self._offered(local, offer) for local in (finding, call_tool())]
            shown, places = [], []
        if self._code is not None:
            local = yield from self._define(always, offer)
            offer.callable = [*local.defined, *offer.everything.defined]
            offer.known.bindings.update(local.bindings)
            always = [self._offered(each, offer) for each in self._code.tools([*self._servers])]
            shown, places = [], []
        for tool in always:
            place = bisect(places, self._places[tool.name])
            places.insert(place, self._places[tool.name])
            shown.insert(place, tool)
        written = (yield from self._define(shown, offer)) if always else offer.everything
        for made in (offer.everything, written) if always else (written,):
            yield
            offer.known.bindings.update(made.bindings)
        for name, binding in [*offer.known.bindings.items()] if refused else ():
            yield
            if binding.tool.name in refused:
                del offer.known.bindings[name]
        problems[:0] = yield from self._unfit(listed)
        self._offer, self._version = offer, version
        self._tools.replace(written)
        self._tools.problems = [*problems, *written.problems]

    def _in_order(
        self, tools: Sequence[Tool]
    ) -> Generator[None, None, tuple[list[Tool], list[int]]]:
        """Return tools in the order of this conversation, new ones last, and their places."""
        placed: list[tuple[int, Tool]] = []
        for tool in tools:
            yield
            placed.append((self._places.setdefault(tool.name, len(self._places)), tool))
            server = getattr(tool, "server", None)
            if server is not None:
                self._servers.setdefault(server)
        placed.sort(key=itemgetter(0))
        return [tool for _, tool in placed], [place for place, _ in placed]

    def _unfit(self, listed: Mapping[str, Tool]) -> Generator[None, None, list[ToolProblem]]:
        """Return a problem for each pattern that fits no tool; the log has it once."""
        servers = getattr(self._source, "servers", (None,)) if self._has_resources else ()
        found: list[ToolProblem] = []
        for text in self._filter.unfit(listed.values(), servers) if listed else ():
            yield
            if text is not None:
                found.append(ToolProblem("", text))
                if text not in self._told:
                    self._told.add(text)
                    _logger.warning("%s", text)
        return found

    def _resource_tools(self) -> list[LocalTool]:
        """Return the tools for resources, without one that is excluded whatever the server."""
        return [
            each
            for each in resource_tools(self._source, self._filter.admits_resources)
            if self._filter.admits_resources(None, each.tool.name)
        ]

    def _forget_all_but(self, kept: set[str]) -> None:
        """Forget removed tools: a server may invent new names without end."""
        staying = [name for name in self._places if name in kept]
        self._places = {name: place for place, name in enumerate(staying)}
        self._names = {name: self._names[name] for name in staying if name in self._names}

    def _offered(self, local: LocalTool, offer: _Offer) -> Tool:
        own_name = local.tool.name
        name = self._local_names.get(own_name, own_name)
        while own_name not in self._local_names and name in self._places:
            name += "_"
        self._local_names[own_name] = name
        self._places.setdefault(name, len(self._places))
        offer.local[name] = local.called(name)
        return offer.local[name].tool

    def _define(
        self, tools: Sequence[Tool], offer: _Offer
    ) -> Generator[None, None, ToolDefinitions]:
        def defer(tool: Tool) -> bool:
            return tool.name not in offer.local and self._defer is not None and self._defer(tool)

        options: Any = {"strict": self._strict, "inline_refs": self._inline_refs, "defer": defer}
        known = KnownTools(tools, self._names, self._converted)
        convert = getattr(self._provider, "convert", None)
        if convert is None:  # an object of the caller's
            return self._provider.tools(known, **options)
        made = ToolDefinitions()
        yield from convert(made, known, **options)
        return made

    async def _catch_up(self) -> None:
        if getattr(self._source, "tools_are_stale", False):
            try:
                await self.refresh()
            except McpError as error:
                _logger.warning("tools/list failed; keeping the previous tools: %s", error)

    # Calls

    async def _outcome(self, call: ToolCall, options: Mapping[str, Any]) -> Outcome:
        finds = self._search.is_possible and call.name == self._local_names.get("call_tool")
        if finds and call.problem is None:
            call = self._found_call(call)
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
        local = self._offer.local.get(call.name)
        if local is not None:
            answer = await self._answer(call, local.tool) if local.needs_approval else True
            if answer is not True:
                return not_called(call.called_as, answer)
            if local.is_own:
                return await _own_call(local, call, options)
            return await local.run(call.arguments, options)
        if self._approve is not None:
            options = {**options, "around": (*options.get("around", ()), self._approval(call))}
        made: CallToolResult = await self._source.call_tool(call.name, call.arguments, **options)
        return made

    async def _call_from_code(self, raw: RawCall, options: Mapping[str, Any]) -> Outcome:
        (call,) = read_calls([raw], self._offer.known)
        return await self._outcome(call, options)

    def _found_call(self, call: ToolCall) -> ToolCall:
        given = dict(call.arguments)
        name = given.pop("name", None)
        arguments = given.get("arguments", given)  # some models write them beside the name
        (found,) = read_calls([RawCall(call.id, name, arguments)], self._offer.known)
        return found

    def _approval(self, asked: ToolCall) -> Around:

        async def approval(call: Call, proceed: Proceed) -> CallToolResult:
            answer = await self._answer(asked, asked.tool or Tool({"name": asked.name}))
            if answer is not True:
                return not_called(asked.called_as, answer)
            return await proceed(replace(call, approved_by="approval"))

        return approval

    async def _answer(self, asked: ToolCall, tool: Tool) -> object:
        """Return True if a call is allowed, else the reason or any other value."""
        if self._approve is None:
            return True
        try:
            return await answer_in_turn(self._turns, self._approve, asked, tool)
        except Exception as error:
            _logger.exception("asking for the approval of %s failed", asked.name)
            return f"asking for approval failed ({type(error).__name__})"

    async def _call_for_agent(self, call: ToolCall, options: Mapping[str, Any]) -> Outcome:
        if options:
            check_names(options, _CALL_OPTIONS)
        outcome = await self._outcome(call, options)
        await self._catch_up()
        return outcome


async def _own_call(local: LocalTool, call: ToolCall, options: Mapping[str, Any]) -> CallToolResult:
    seconds, trace = options.get("timeout"), options.get("trace")

    async def make(made: Call) -> CallToolResult:
        if not isinstance(seconds, (int, float)) or seconds <= 0:
            return await local.run(made.arguments)
        try:
            return await asyncio.wait_for(local.run(made.arguments), seconds)
        except asyncio.TimeoutError:
            raise CallTimeout(call.name, seconds) from None

    given = (call.name, call.name, call.arguments)
    asked = Call("", *given, tool=local.tool, trusted=True, trace=trace)
    return await surrounded(options.get("around", ()), make)(asked)
