"""What every part of the client's interface is made of: sending a request by name."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ...errors import CallRefused, CallTimeout, UsageError
from ...lazy import OnDemand
from ...protocol.types import CallToolResult, Progress, Tool
from .call_recovery import CallRecovery, counted_time
from .connection import Connection, all_pages
from .limits import DEFAULT, RequestOptions, Seconds

if TYPE_CHECKING:
    from ..events import around as hooks
else:
    hooks = OnDemand("..events.around", __name__)

T = TypeVar("T")

ProgressHandler = Callable[[Progress], Any]
"""Takes one `Progress`; plain or async."""


class Requests:
    """The base of the client's interface: requests and notifications, from any event loop."""

    _connection: Connection
    _caller: CallRecovery
    _around: tuple[hooks.Around, ...]
    _find_tool: Callable[[str], Tool | None]

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
        around: Sequence[hooks.Around] = (),
    ) -> dict[str, Any]:
        """Send any request and return its result as the server sent it.

        ``timeout``: seconds without an answer or progress; ``max_timeout``: seconds in all (None
        or 0: no limit). ``on_progress`` takes a `Progress` for each step, in order, before the
        result. ``meta`` travels as ``_meta``; ``headers`` with this request only, over HTTP.
        ``fresh``: ask the server even where its last answer may still be used. ``around``: more
        functions around a request that calls a tool or names a prompt or a resource, outside those
        of the client; see `Around`.

        Raises `PeerError` for an error answer, `CallTimeout`, `ConnectionLost` (`ProcessExited`
        for a server process), `HttpError`, `ProtocolViolation`, `ClientClosed`, and
        `CallRefused` where a hook refuses it. Cancelling tells the server and frees everything.
        """
        if (around or self._around) and method in hooks.SUBJECTS:
            timeouts = (timeout, max_timeout, on_progress)
            return await self._request_through(
                around, method, params or {}, timeouts, meta, headers, fresh
            )
        limits = self._limits(method, timeout, max_timeout, on_progress, headers, fresh)
        if meta:
            params = with_meta(params, meta)
        return await self._request(method, params, limits)

    def _request(
        self, method: str, params: Mapping[str, Any] | None, limits: RequestOptions
    ) -> Coroutine[Any, Any, dict[str, Any]]:
        """Return the call to be awaited, so that none comes between it and its caller."""
        if self._connection.loop is asyncio.get_running_loop():
            return self._caller.call(method, params, limits)
        return self._in_owner_loop(self._caller.call, method, params, limits)

    async def _request_through(
        self,
        around: Sequence[hooks.Around],
        method: str,
        params: Mapping[str, Any],
        timeouts: tuple[Seconds, Seconds, ProgressHandler | None],
        meta: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
        fresh: bool,
    ) -> dict[str, Any]:
        """Make a request with the hooks around it."""
        key = hooks.SUBJECTS[method]
        name = params.get(key)
        if not isinstance(name, str):
            raise UsageError(f"{method} needs a {key}, which is a string")

        async def make(call: hooks.Call) -> CallToolResult:
            asked = {**params, key: call.name}
            if call.arguments or "arguments" in params:
                asked["arguments"] = call.arguments
            if call.meta:
                asked = with_meta(asked, call.meta)
            limits = self._limits(method, *timeouts, call.headers, fresh)
            return CallToolResult(await self._request(method, asked, limits))

        arguments = checked_arguments(params.get("arguments"))
        meta = meta or params.get("_meta")
        every = (*around, *self._around)
        result = await self._call_through(
            every, make, name, arguments, meta, headers, method=method
        )
        if result.is_error and method != "tools/call":
            raise CallRefused(method, name, result.text)
        return result.raw

    async def _permit(self, method: str, uri: str) -> None:
        """Pass the hooks and the guard with a request that is made in another way."""
        if not self._around and self._caller.guard is None:
            return

        async def agree(call: hooks.Call) -> CallToolResult:
            guard = self._caller.guard
            return CallToolResult((guard and guard(method, {"uri": uri})) or {})

        result = await self._call_through(self._around, agree, uri, None, None, None, method=method)
        if result.is_error:
            raise CallRefused(method, uri, result.text)

    async def _call_through(
        self,
        around: Sequence[hooks.Around],
        make: hooks.Proceed,
        name: str,
        arguments: Mapping[str, Any] | None,
        meta: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
        trace: object = None,
        method: str = "tools/call",
    ) -> CallToolResult:
        """Make a call with functions around it, the first of them outermost."""
        connection = self._connection
        agreement = connection.agreement
        call = hooks.Call(
            server=connection.name,
            name=name,
            full_name=self._full_name(method, name),
            arguments=arguments or {},
            meta=meta or {},
            headers=headers or {},
            tool=self._find_tool(name) if method == "tools/call" else None,
            trusted=connection.options.trusted,
            method=method,
            protocol_version=agreement.era.version if agreement is not None else None,
            transport=connection.session.transport.name if connection.is_open else None,
            trace=trace,
        )
        return await hooks.surrounded(around, make)(call)

    def _full_name(self, method: str, name: str) -> str:
        """Return the name by which the caller knows a tool, a prompt or a resource."""
        return name

    def _limits(
        self,
        method: str,
        timeout: Seconds,
        max_timeout: Seconds,
        on_progress: ProgressHandler | None = None,
        headers: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> RequestOptions:
        """Return how one call is made."""
        limits = self._connection.options.timeouts.for_call(method, timeout, max_timeout)
        if on_progress is None and not headers and not fresh:
            return limits
        return RequestOptions(
            limits.timeout,
            limits.max_timeout,
            headers or {},
            _progress_params(on_progress) if on_progress is not None else None,
            fresh=fresh,
        )

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send any notification. Raises `UsageError` for the method of a call, which is a request:
        a server that takes it for one would run it past the hooks.
        """
        if method in hooks.SUBJECTS:
            raise UsageError(f"{method} is a request, not a notification: use request()")
        await self._in_owner_loop(self._connection.session.notify, method, params)

    async def _list(
        self,
        method: str,
        key: str,
        timeout: Seconds,
        fresh: bool = False,
        *,
        meta: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the items of all pages. ``max_timeout`` of the client is the limit of them all."""
        total = self._connection.options.timeouts.total
        deadline = math.inf if total is None else counted_time(self._connection) + total

        async def fetch(page: Mapping[str, Any]) -> Mapping[str, Any]:
            asked = {**params, **page} if params else page
            left = deadline - counted_time(self._connection)
            if left <= 0:
                raise CallTimeout(method, total or 0.0, "total")
            try:
                return await self.request(
                    method,
                    asked or None,
                    timeout=timeout,
                    max_timeout=None if left == math.inf else left,
                    meta=meta,
                    fresh=fresh,
                )
            except CallTimeout as error:
                if error.limit != "total":
                    raise
                raise CallTimeout(method, total or 0.0, "total", error.waiting_for) from None

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
    """Return what a client works with, for those in this package that show it or end it at once."""
    return client._connection


def checked_arguments(arguments: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the arguments of a call; raise `UsageError` for what JSON has no object for."""
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        kind = type(arguments).__name__
        raise UsageError(f'arguments are a mapping such as {{"name": "value"}}, not {kind}')
    for name in arguments:
        if not isinstance(name, str):
            raise UsageError(f"the names of arguments are strings, not {type(name).__name__}")
    return arguments
