"""Requests by name, and the calls of tools: the base of what a client offers.

An ordinary call passes from here to `connection.call_recovery`, which makes it succeed where one
request is not enough, and on to `connection.session`, which sends the request and waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Callable, TypeVar, Union

from ..errors import CallRefused, CallTimeout, McpError, ToolError, UsageError
from ..framing.logs import logger_for
from ..net.futures import gather_outcomes
from ..protocol.negotiation import MAKING, declares
from ..protocol.types import CallToolResult, Progress, Tool
from .connection.call_recovery import CallDeadline, CallRecovery
from .connection.connection import Connection, all_pages
from .connection.limits import DEFAULT, RequestOptions, Seconds
from .listed_tools import ListedTools, checked_arguments, learn_headers

if TYPE_CHECKING:
    from ..typing_compat import Unpack
    from .client_keeper import ClientKeeper
    from .connection.cache import ClientCache
    from .connection.client_options import CallOptions, QueryOptions, ResultT
    from .contents import Subscription
    from .events.around import Around, Call, Proceed
    from .tasks import TaskCalls

_logger = logger_for("mcpclient.client")

SUBJECTS = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "resources/subscribe": "uri",
    "resources/directory/read": "uri",
    "skills/get": "uri",
}
"""The requests that hooks wrap, each with the parameter that names its subject."""

T = TypeVar("T")

# The options of calls that share a write. Any other, also an unknown one, is for `call_tool`.
_SHARED = frozenset({"timeout", "max_timeout", "headers", "meta", "raise_on_error", "trace"})

ProgressHandler = Callable[[Progress], Any]
"""Takes one `Progress`; plain or async."""

ToolOutcome = Union[CallToolResult, McpError]
"""The outcome of one of several calls: its result, or the exception it would raise by itself."""


class Requests:
    """The base of a client: all of its state, requests and notifications, and tools.

    Everything may be called in any event loop, and runs in the connection's.
    """

    def __init__(self, connection: Connection) -> None:
        options = connection.options
        self._connection = connection
        self._listed = ListedTools(options.validate, options.schema_limits)
        connection.observers.append(self._listed)
        self._around: tuple[Around, ...] = options.around
        if options.hooks.watches_calls:
            self._around += (options.hooks.around,)
        if options.sandbox:
            from .events.around import name_denials

            self._around += (partial(name_denials, lambda: connection.session.transport.denials),)
        self._is_wrapped = bool(self._around or connection.audit)
        self._subscriptions: dict[str, Subscription] = {}
        cached: ClientCache | None = None
        if options.cache:
            with suppress(UsageError):  # a copy without the part asks the server each time
                from .connection.cache import ClientCache

                cached = ClientCache(connection)
        self._caller = CallRecovery(connection, partial(self.list_tools, fresh=True), cached)
        make_keeper = options.wiring.keeper
        if options.reconnect is not None and make_keeper is None:
            from .client_keeper import ClientKeeper

            make_keeper = partial(ClientKeeper, policy=options.reconnect)
        self._keeper: ClientKeeper | None = make_keeper and make_keeper(connection, self._listed)
        # With one, each call waits for its connection, and may be repeated.
        self._shares_batches = self._keeper is None

    @cached_property
    def _tasks(self) -> TaskCalls:
        from .tasks import TaskCalls

        return TaskCalls(self._connection, self._caller)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: Seconds = DEFAULT,
        max_timeout: Seconds = DEFAULT,
        on_progress: ProgressHandler | None = None,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        fresh: bool = False,
        around: Sequence[Around] = (),
    ) -> dict[str, Any]:
        """Send any request and return its result as the server sent it.

        For the options see `QueryOptions`.

        Raises `PeerError` for an error answer, `CallTimeout`, `ConnectionLost` (`ProcessExited`
        for a server process), `HttpError`, `ProtocolViolation`, `ClientClosed`, and
        `CallRefused` where a hook refuses it. Cancelling tells the server and frees everything.
        """
        tool = str(params.get("name", "")) if params and method == "tools/call" else ""
        limits = self._limits(method, timeout, max_timeout, on_progress, headers, fresh, tool)
        if meta:
            params = with_meta(params, meta)
        if params and tool in self._listed.secret_schemas:
            secret = self._listed.conceal(tool, params.get("arguments"))
            if secret is not None:
                params = {**params, "arguments": secret}
                return await secret.guarded(self._forward(method, params, limits, around))
        return await self._forward(method, params, limits, around)

    async def _forward(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        limits: RequestOptions,
        around: Sequence[Around] = (),
    ) -> dict[str, Any]:
        """Send a request as `request` does, with its limits: for code in this package."""
        functions: Sequence[Around] = self._connection.watchers
        if (around or self._is_wrapped) and method in SUBJECTS:
            functions = (*around, *self._around)
        elif not functions:
            return await self._request(method, params, limits)
        return await self._request_through(functions, method, params or {}, limits, self._request)

    def _request(
        self, method: str, params: Mapping[str, Any] | None, limits: RequestOptions
    ) -> Coroutine[Any, Any, dict[str, Any]]:
        """Return the call's own coroutine: another one around it would slow down every call."""
        if self._keeper is not None:
            send = self._keeper.send
            return self._in_owner_loop(send, self._caller.call, method, params, limits)
        if self._connection.loop is asyncio.get_running_loop():
            return self._caller.call(method, params, limits)
        return self._in_owner_loop(self._caller.call, method, params, limits)

    # Tools

    @property
    def tools_are_stale(self) -> bool:
        """Whether the server may have other tools than the last `list_tools` returned.

        True before the first, and after the server has said that its tools have changed.
        """
        return self._listed.are_stale

    async def list_tools(self, **options: Unpack[QueryOptions]) -> list[Tool]:
        """Return the tools of all pages. For the options see `request`, which it calls.

        Over HTTP in the stateless era, a tool whose header annotations are invalid is left out
        with a warning, as the specification demands.
        """
        return self._learn_tools(await self._list("tools/list", "tools", options))

    def _learn_tools(self, tools: list[dict[str, Any]]) -> list[Tool]:
        """Remember the tools of all pages; return those that may be called."""
        era = self._connection.era
        has_headers = self._connection.session.transport.carries_headers
        mirrored = era.header_parameters if era is not None and has_headers else None
        if mirrored is not None:
            # Of two tools with one name the first counts, as everywhere, so it is learned last.
            tools = [tool for tool in tools[::-1] if learn_headers(mirrored, tool)][::-1]
        listed = [Tool(tool) for tool in tools]
        counting = list({tool.name: tool for tool in listed[::-1]}.values())
        self._listed.learn(counting)
        recorder = self._connection.options.network.recorder
        if recorder is not None and self._listed.secret_schemas:
            recorder.learn_schemas(self._listed.secret_schemas)
        return listed

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: Seconds = DEFAULT,
        max_timeout: Seconds = DEFAULT,
        on_progress: ProgressHandler | None = None,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        raise_on_error: bool = False,
        trace: Any = None,
        around: Sequence[Around] = (),
        returns: type[ResultT] | None = None,
    ) -> ResultT:
        """Call a tool with exactly one request, or as a task where it can only be called so.

        For the options see `CallOptions`.

        When the tool itself fails, the result has ``is_error``; with ``raise_on_error`` a
        `ToolError` is raised instead. Also raises what `request` does. Structured content is
        checked as the client's ``validate`` says, if the tool was listed before.

        ``returns``: a dataclass, a TypedDict or another type, to which the data of the result is
        converted; ``mcpclient help models`` lists the types. Then a failed tool raises `ToolError`,
        and data that does not fit `ResultMismatch`, which names the field.
        """
        if name in self._listed.secret_schemas:
            secret = self._listed.conceal(name, arguments)
            if secret is not None:
                arguments = None
                asked: Any = {"timeout": timeout, "max_timeout": max_timeout, "meta": meta}
                asked.update(on_progress=on_progress, headers=headers, trace=trace, around=around)
                asked.update(raise_on_error=raise_on_error, returns=returns)
                return await secret.guarded(self.call_tool(name, secret, **asked))
        arguments = checked_arguments(arguments)
        if around or self._is_wrapped:

            async def make(call: Call) -> CallToolResult:
                limits = self._limits(
                    "tools/call", timeout, max_timeout, headers=call.headers, tool=call.name
                )
                raw = await self._request_tool(
                    call.name, call.arguments, limits, on_progress, call.meta
                )
                return await self._listed.checked(call.name, raw, self._caller.refresh_tools)

            functions = (*around, *self._around)
            result = await self._call_through(
                functions, make, name, arguments, meta, headers, trace
            )
        else:
            limits = self._limits("tools/call", timeout, max_timeout, headers=headers, tool=name)
            raw = await self._request_tool(name, arguments, limits, on_progress, meta)
            result = await self._listed.checked(name, raw, self._caller.refresh_tools)
        if raise_on_error and result.is_error:
            raise ToolError(name, result)
        if returns is not None:
            from .typed_results import typed_result

            typed: ResultT = typed_result(name, result, returns)
            return typed
        return result  # type: ignore[return-value]  # the default of `ResultT`

    async def call_tools(
        self,
        calls: Iterable[tuple[str, Mapping[str, Any] | None]],
        **options: Unpack[CallOptions],
    ) -> list[ToolOutcome]:
        """Call several tools at the same time, and return their outcomes in the same order.

        ``calls``: the name and the arguments of each. ``options``: see `call_tool`, and
        hold for each call by itself. A call that fails does not end the others: the `McpError`
        that `call_tool` would raise stands in its place. Cancelling cancels all of them.

        It costs less than as many tasks with `call_tool`: without hooks and progress, the calls
        share one task, and one write where the transport has one connection.
        """
        conceal = self._listed.conceal
        asked = [
            (name, conceal(name, arguments) or checked_arguments(arguments))
            for name, arguments in calls
        ]
        calls = ()
        if not self._can_share(asked, options):
            return await gather_outcomes(
                self.call_tool(name, arguments, **options) for name, arguments in asked
            )
        limits = self._limits(
            "tools/call",
            options.get("timeout", DEFAULT),
            options.get("max_timeout", DEFAULT),
            headers=options.get("headers"),
        )
        meta = options.get("meta")
        params: list[dict[str, Any]] = [{"name": name, "arguments": each} for name, each in asked]
        if meta:
            params = [with_meta(each, meta) for each in params]
        answers = await self._in_owner_loop(
            self._caller.call_together, "tools/call", params, limits
        )
        strict = options.get("raise_on_error", False)
        outcomes: list[ToolOutcome] = []
        for (name, _), raw in zip(asked, answers):
            if isinstance(raw, McpError):
                outcomes.append(raw)
                continue
            try:
                result = await self._listed.checked(name, raw, self._caller.refresh_tools)
                outcomes.append(ToolError(name, result) if strict and result.is_error else result)
            except McpError as error:  # it does not fit its schema
                outcomes.append(error)
        return outcomes

    def _can_share(self, asked: Iterable[tuple[str, Any]], options: CallOptions) -> bool:
        """Whether calls need nothing but a request each."""
        special = self._is_wrapped or self._connection.caps is not None
        if special or not _SHARED.issuperset(options):
            return False
        if self._connection.options.tasks or not self._shares_batches:
            return False
        apart = self._listed.only_tasks | self._listed.secret_schemas.keys()
        return apart.isdisjoint(name for name, _ in asked)

    def _request_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        limits: RequestOptions,
        on_progress: ProgressHandler | None,
        meta: Mapping[str, Any] | None,
        /,
    ) -> Coroutine[Any, Any, dict[str, Any]]:
        params: dict[str, Any] = {"name": name, "arguments": arguments or {}}
        if name in self._listed.only_tasks and self._server_makes_tasks():
            meta, on_progress = self._tasks.ask(params, meta, on_progress)
        if on_progress is not None:
            limits = limits._replace(on_progress=_progress_params(on_progress))
        if meta:
            params = with_meta(params, meta)
        if "task" in params or self._connection.options.tasks:
            result_of = self._tasks.result_of
            if self._keeper is None:
                return self._in_owner_loop(result_of, params, limits)

            def work(method: str, params: Any, rest: RequestOptions) -> Any:
                return result_of(params, rest)

            return self._in_owner_loop(self._keeper.send, work, "tools/call", params, limits)
        return self._request("tools/call", params, limits)

    def _server_makes_tasks(self) -> bool:
        """Whether a call can ask to become a task, as tools may require."""
        connection = self._connection
        return not connection.is_stateless and declares(connection.capabilities, *MAKING)

    # Shared by requests and tool calls

    async def _request_through(
        self,
        around: Sequence[Around],
        method: str,
        params: Mapping[str, Any],
        limits: RequestOptions,
        send: Callable[[str, Any, RequestOptions], Awaitable[dict[str, Any]]],
    ) -> dict[str, Any]:
        """Make a request, by ``send``, with the hooks around it."""
        key = SUBJECTS.get(method)
        name = params.get(key) if key else ""
        if not isinstance(name, str):
            raise UsageError(f"{method} needs a {key}, which is a string")
        arguments = checked_arguments(params.get("arguments")) if key else {}

        async def make(call: Call) -> CallToolResult:
            asked = with_meta(params, call.meta) if call.meta else {**params}
            if key:
                asked[key] = call.name
            if call.arguments != arguments:
                asked["arguments"] = call.arguments
            own_limits = limits._replace(headers=call.headers)
            return CallToolResult(await send(method, asked or None, own_limits))

        result = await self._call_through(
            around, make, name, arguments, params.get("_meta"), limits.headers, method=method
        )
        if result.is_error and method != "tools/call":
            raise CallRefused(method, name, result.text)
        return result.raw

    async def _permit(self, method: str, uri: str) -> None:
        """Ask the hooks and the guard about a request that is made in another way."""
        guard, asked = self._connection.options.wiring.guard, {"uri": uri}

        async def agree(*_: object) -> dict[str, Any]:
            return (guard and guard(method, asked)) or {}

        if self._is_wrapped or guard is not None:
            await self._request_through(self._around, method, asked, RequestOptions(), agree)

    async def _call_through(
        self,
        around: Sequence[Around],
        make: Proceed,
        name: str,
        arguments: Mapping[str, Any] | None,
        meta: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
        trace: object = None,
        method: str = "tools/call",
    ) -> CallToolResult:
        """Make a request with functions around it, the first of them outermost, and its line."""
        from .events.around import surrounded

        connection, is_call = self._connection, method in SUBJECTS
        call = connection.described(
            method,
            name=name,
            full_name=self._full_name(method, name) if is_call else "",
            arguments=arguments or {},
            meta=meta or {},
            headers=headers or {},
            tool=self._listed.find(name) if method == "tools/call" else None,
            trace=trace,
        )
        result: CallToolResult
        if connection.audit is None or not is_call:
            result = await surrounded(around, make)(call)
        else:
            schema = self._listed.secret_schemas.get(name)
            result = await connection.audit.call(call, around, make, schema)
        return result

    def _full_name(self, method: str, name: str) -> str:
        """Return the caller's name of a tool, a prompt or a resource."""
        return name

    def _limits(
        self,
        method: str,
        timeout: Seconds,
        max_timeout: Seconds,
        on_progress: ProgressHandler | None = None,
        headers: Mapping[str, str] | None = None,
        fresh: bool = False,
        tool: str = "",
    ) -> RequestOptions:
        own = self._connection.options.limits
        if own is not None and tool and timeout is DEFAULT:
            seconds = own.timeout_of(tool)
            if seconds is not None:
                timeout, total = seconds, self._connection.options.timeouts.total
                if max_timeout is DEFAULT and total:
                    max_timeout = seconds and max(seconds, total)
        limits = self._connection.options.timeouts.for_call(method, timeout, max_timeout)
        if on_progress is None and not headers and not fresh:
            return limits
        relay = _progress_params(on_progress) if on_progress is not None else None
        return limits._replace(headers=headers or {}, on_progress=relay, fresh=fresh)

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send any notification. Raises `UsageError` for the method of a request that calls."""
        # A server that takes it for a request would run it without the hooks' consent.
        if method in SUBJECTS:
            raise UsageError(f"{method} is a request, not a notification: use request()")
        await self._in_owner_loop(self._connection.session.notify, method, params)

    async def _list(
        self,
        method: str,
        key: str,
        options: QueryOptions,
        params: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the items of all pages. ``max_timeout`` is the limit of them all."""
        given = options.get("timeout", DEFAULT), options.get("max_timeout", DEFAULT)
        limits = self._connection.options.timeouts.for_call(method, *given)
        deadline = CallDeadline(self._connection, method, limits)

        async def fetch(page: Mapping[str, Any]) -> Mapping[str, Any]:
            asked = {**params, **page} if params else page
            options["max_timeout"] = deadline.rest_of(limits).max_timeout
            try:
                return await self.request(method, asked or None, **options)
            except CallTimeout as error:
                if error.limit != "total":
                    raise
                total = limits.max_timeout or 0.0
                raise CallTimeout(method, total, "total", error.waiting_for) from None

        return await all_pages(fetch, key)

    def _in_owner_loop(
        self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any
    ) -> Coroutine[Any, Any, T]:
        """Run in the event loop the client was connected in, whichever loop asks."""
        return self._connection.run(work, *arguments)


def with_meta(params: Mapping[str, Any] | None, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return params that carry ``meta``."""
    return {**(params or {}), "_meta": dict(meta)}


def _progress_params(handler: ProgressHandler) -> Callable[[Mapping[str, Any]], Any]:
    return lambda params: handler(Progress(params))


def connection_of(client: Requests) -> Connection:
    """Return a client's connection, for code in this package that displays or aborts it."""
    return client._connection
