"""The client's interface to tools."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..errors import ToolError
from ..framing.logs import logger_for
from ..protocol.header_parameters import HeaderParameters
from ..protocol.types import CallToolResult, Tool
from .events.around import Around, Call
from .link.requests import ProgressHandler, checked_arguments, with_meta
from .link.timeouts import DEFAULT, Seconds
from .tasks import Tasks

if TYPE_CHECKING:
    from ..new_typing import Unpack
    from .link.options import CallOptions

__all__ = ["Tools"]

_logger = logger_for("mcpclient.client")

T = TypeVar("T")


class Tools(Tasks):
    """Listing and calling tools."""

    _around: tuple[Around, ...]

    @property
    def tools_are_stale(self) -> bool:
        """Whether the server may have other tools than the last `list_tools` returned.

        True before the first, and after the server has said that its tools have changed.
        """
        return self._outputs.is_stale

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
            tools = [tool for tool in tools if _learn_headers(mirrored, tool)]
        listed = [Tool(tool) for tool in tools]
        self._outputs.learn(listed)
        self._known_tools = {tool.name: tool for tool in listed}
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
        if around or self._around:

            async def make(call: Call) -> CallToolResult:
                request = self._request_tool(
                    *(call.name, call.arguments, timeout, max_timeout, on_progress),
                    *(call.meta, call.headers),
                )
                return self._checked(call.name, await request)

            hooks = (*around, *self._around)
            result = await self._call_through(hooks, make, name, arguments, meta, headers, trace)
        else:
            request = self._request_tool(
                name, arguments, timeout, max_timeout, on_progress, meta, headers
            )
            result = self._checked(name, await request)
        if raise_on_error and result.is_error:
            raise ToolError(name, result)
        return result if returns is None else _typed(name, result, returns)

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
                token = self._task_news.relay_progress(on_progress)
                meta, on_progress = {**(meta or {}), "progressToken": token}, None
        limits = self._limits("tools/call", timeout, max_timeout, on_progress, headers)
        if meta:
            params = with_meta(params, meta)
        if "task" in params or self._connection.options.tasks:
            return self._at_home(self._without_task, params, limits)
        return self._request("tools/call", params, limits)

    def _checked(self, name: str, raw: dict[str, Any]) -> CallToolResult:
        result = CallToolResult(raw)
        self._outputs.check(name, result)
        return result


def _typed(tool: str, result: CallToolResult, returns: type[T]) -> T:
    converting = import_module(".typed_results", __package__)
    typed: T = converting.typed_result(tool, result, returns)
    return typed


def _learn_headers(mirrored: HeaderParameters, tool: Mapping[str, Any]) -> bool:
    try:
        mirrored.learn(tool)
    except ValueError as error:
        _logger.warning("left out tool %r: %s", tool.get("name"), error)
        return False
    return True
