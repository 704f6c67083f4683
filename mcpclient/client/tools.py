"""The client's interface to tools."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Union, overload

from ..errors import McpError, ToolError
from ..framing.logs import logger_for
from ..lazy import OnDemand
from ..net.futures import gather_outcomes
from ..protocol.header_parameters import HeaderParameters
from ..protocol.types import CallToolResult, Tool
from .connection.limits import DEFAULT, Seconds
from .connection.requests import ProgressHandler, checked_arguments, with_meta
from .tasks import Tasks

if TYPE_CHECKING:
    from ..recording import secret_arguments
    from ..typing_compat import Unpack
    from . import typed_results
    from .connection.client_options import CallOptions
    from .events.around import Around, Call
else:
    secret_arguments = OnDemand("..recording.secret_arguments", __name__)
    typed_results = OnDemand(".typed_results", __name__)

_logger = logger_for("mcpclient.client")

T = TypeVar("T")

ToolOutcome = Union[CallToolResult, McpError]
"""What came of one of several calls: its result, or the exception that it alone would raise."""


class Tools(Tasks):
    """Listing and calling tools."""

    _shares_batches: bool = True

    @property
    def tools_are_stale(self) -> bool:
        """Whether the server may have other tools than the last `list_tools` returned.

        True before the first, and after the server has said that its tools have changed.
        """
        return self._listed.are_stale

    async def list_tools(
        self,
        *,
        timeout: Seconds = DEFAULT,
        meta: Mapping[str, Any] | None = None,
        fresh: bool = False,
    ) -> list[Tool]:
        """Return the tools of all pages. The options are those of `request`, which it calls.

        Over HTTP in the stateless era, a tool whose header annotations are invalid is left out
        with a warning, as the specification demands.
        """
        tools = await self._list("tools/list", "tools", timeout, fresh, meta=meta)
        era = self._connection.era
        mirrored = era.header_parameters if era is not None else None
        if mirrored is not None and self._connection.session.transport.carries_headers:
            # Of two with one name, the first counts, as everywhere: it is the last to be learned.
            tools = [tool for tool in tools[::-1] if _learn_headers(mirrored, tool)][::-1]
        listed = [Tool(tool) for tool in tools]
        counting = list({tool.name: tool for tool in listed[::-1]}.values())
        self._outputs.learn(counting)
        self._listed.learn(counting)
        recorder = self._connection.options.network.recorder
        if recorder is not None and self._listed.secret_schemas:
            recorder.learn_schemas(self._listed.secret_schemas)
        return listed

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        returns: None = ...,
        **options: Unpack[CallOptions],
    ) -> CallToolResult: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        returns: type[T],
        **options: Unpack[CallOptions],
    ) -> T: ...

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
        returns: type[T] | None = None,
    ) -> CallToolResult | T:
        """Call a tool with exactly one request, or as a task where it can only be called so.

        The options are those of `CallOptions`.

        When the tool itself fails, the result has ``is_error``; with ``raise_on_error`` a
        `ToolError` is raised instead. Also raises what `request` does. Structured content is
        checked as the client's ``validate`` says, if the tool was listed before. ``around``: more
        functions around this call, outside those of the client; see `Around`. ``trace`` is passed
        to them and to the hooks unchanged.

        ``returns``: a dataclass, a TypedDict or another type, to which the data of the result is
        converted; ``mcpclient help models`` lists the types. Then a failed tool raises `ToolError`,
        and data that does not fit `ResultMismatch`, which names the field.
        """
        arguments = checked_arguments(arguments)
        if name in self._listed.secret_schemas:
            arguments = secret_arguments.SecretArguments(
                arguments, self._listed.secret_schemas[name]
            )
        if around or self._around:

            async def make(call: Call) -> CallToolResult:
                request = self._request_tool(
                    *(call.name, call.arguments, timeout, max_timeout, on_progress),
                    *(call.meta, call.headers),
                )
                return await self._outputs.checked(
                    call.name, await request, self._caller.refresh_tools
                )

            hooks = (*around, *self._around)
            result = await self._call_through(hooks, make, name, arguments, meta, headers, trace)
        else:
            request = self._request_tool(
                name, arguments, timeout, max_timeout, on_progress, meta, headers
            )
            result = await self._outputs.checked(name, await request, self._caller.refresh_tools)
        if raise_on_error and result.is_error:
            raise ToolError(name, result)
        return result if returns is None else typed_results.typed_result(name, result, returns)

    async def call_tools(
        self,
        calls: Iterable[tuple[str, Mapping[str, Any] | None]],
        **options: Unpack[CallOptions],
    ) -> list[ToolOutcome]:
        """Call several tools at the same time, and return in their order what came of each.

        ``calls``: the name and the arguments of each. ``options`` are those of `call_tool`, and
        hold for each call by itself. A call that fails does not end the others: the `McpError`
        that `call_tool` would raise, stands in its place. Cancelling cancels all of them.

        It does what `call_tool` does in as many tasks, for less: the calls share one task, and
        one write where the transport has one connection. With hooks or progress, and for a tool
        that is called as a task, each has a task of its own.
        """
        asked = [(name, checked_arguments(arguments)) for name, arguments in calls]
        schemas = self._listed.secret_schemas
        if schemas:
            asked = [
                (
                    name,
                    secret_arguments.SecretArguments(each, schemas[name])
                    if name in schemas
                    else each,
                )
                for name, each in asked
            ]
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
        params = [{"name": name, "arguments": arguments} for name, arguments in asked]
        if meta:
            params = [with_meta(each, meta) for each in params]
        answers = await self._in_owner_loop(
            self._caller.call_together, "tools/call", params, limits
        )
        strict = options.get("raise_on_error", False)
        return [
            await self._outcome(name, raw, raise_on_error=strict)
            for (name, _), raw in zip(asked, answers)
        ]

    def _can_share(self, asked: Iterable[tuple[str, Any]], options: CallOptions) -> bool:
        """Whether calls need nothing but a request each."""
        special = self._around or options.get("around") or options.get("on_progress") is not None
        if special or self._connection.options.tasks or not self._shares_batches:
            return False
        return not any(self._has_to_be_a_task(name) for name, _ in asked)

    async def _outcome(
        self, name: str, answer: dict[str, Any] | McpError, *, raise_on_error: bool
    ) -> ToolOutcome:
        if isinstance(answer, McpError):
            return answer
        try:
            result = await self._outputs.checked(name, answer, self._caller.refresh_tools)
        except McpError as error:  # it does not fit its schema
            return error
        return ToolError(name, result) if raise_on_error and result.is_error else result

    def _request_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        timeout: Seconds,
        max_timeout: Seconds,
        on_progress: ProgressHandler | None,
        meta: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
    ) -> Coroutine[Any, Any, dict[str, Any]]:
        params: dict[str, Any] = {"name": name, "arguments": arguments or {}}
        if self._has_to_be_a_task(name):
            params["task"] = {}
            if on_progress is not None:
                token = self._task_observer.relay_progress(on_progress)
                meta, on_progress = {**(meta or {}), "progressToken": token}, None
        limits = self._limits("tools/call", timeout, max_timeout, on_progress, headers)
        if meta:
            params = with_meta(params, meta)
        if "task" in params or self._connection.options.tasks:
            return self._in_owner_loop(self._without_task, params, limits)
        return self._request("tools/call", params, limits)


def _learn_headers(mirrored: HeaderParameters, tool: Mapping[str, Any]) -> bool:
    try:
        mirrored.learn(tool)
    except ValueError as error:
        _logger.warning("left out tool %r: %s", tool.get("name"), error)
        return False
    return True
