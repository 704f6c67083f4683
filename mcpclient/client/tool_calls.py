"""The tools of a client: listing them, and calling one or several."""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Union

from ..errors import McpError, ToolError
from ..net.futures import gather_outcomes, in_slices
from ..protocol.negotiation import MAKING, declares
from ..protocol.types import CallToolResult, Tool
from .connection.connection import Connection
from .connection.limits import DEFAULT, RequestOptions, Seconds
from .listed_tools import checked_arguments, learn_headers
from .requests import ProgressHandler, Requests, progress_params, with_meta

if TYPE_CHECKING:
    from ..typing_compat import Unpack
    from .connection.client_options import CallOptions, QueryOptions, ResultT
    from .events.around import Around, Call

# The options of calls that share a write. Any other, also an unknown one, is for `call_tool`.
_SHARED = frozenset({"timeout", "max_timeout", "headers", "meta", "raise_on_error", "trace"})

ToolOutcome = Union[CallToolResult, McpError]
"""The outcome of one of several calls: its result, or the exception it would raise by itself."""


class ToolCalls(Requests):
    """The tools of a client. What it knows of them is in `ListedTools`."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, partial(self.list_tools, fresh=True))

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
        tools = await self._list("tools/list", "tools", options)
        listed: list[Tool] = await in_slices(self._learning(tools))
        return listed

    def _learning(
        self, tools: Sequence[dict[str, Any]], *, is_more: bool = False
    ) -> Generator[None, None, list[Tool]]:
        """Remember the tools of all pages, in steps; return those that may be called.

        ``is_more``: whether this is one more page.
        """
        era = self._connection.era
        has_headers = self._connection.session.transport.carries_headers
        mirrored = era.header_parameters if era is not None and has_headers else None
        listed: list[Tool] = []
        # Of two tools with one name the first counts, as everywhere, so it is learned last.
        for tool in map(Tool, reversed(tools)):
            yield
            is_known = is_more and self._listed.find(tool.name) is not None
            if mirrored is None or is_known or learn_headers(mirrored, tool.raw):
                listed.append(tool)
        listed.reverse()
        yield from self._listed.learning(listed, is_more=is_more)
        recorder = self._connection.options.network.recorder
        if recorder is not None and self._listed.secret_schemas:
            recorder.schemas.update(self._listed.secret_schemas)
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
            result = CallToolResult(raw)
            if name in self._listed.schemas:
                result = await self._listed.checked(name, raw, self._caller.refresh_tools)
        if raise_on_error and result.is_error:
            raise ToolError(name, result)
        if returns is not None:
            from .typed_results import typed_result

            typed: ResultT = typed_result(name, result, returns)
            return typed
        return result  # type: ignore[return-value]  # the default of `ResultT`

    async def call_tools(
        self, calls: Iterable[tuple[str, Mapping[str, Any] | None]], **options: Unpack[CallOptions]
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
        answers = await self._home.run(self._caller.call_together, "tools/call", params, limits)
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
            limits = limits._replace(on_progress=progress_params(on_progress))
        if meta:
            params = with_meta(params, meta)
        if "task" in params or self._connection.options.tasks:
            return self._request("tools/call", params, limits, self._tasks.result_of)
        return self._request("tools/call", params, limits)

    def _server_makes_tasks(self) -> bool:
        """Whether a call can ask to become a task, as tools may require."""
        connection = self._connection
        return not connection.is_stateless and declares(connection.capabilities, *MAKING)
