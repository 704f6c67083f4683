"""Requests by name: the base of what a client offers.

An ordinary call passes from here to `connection.call_recovery`, which makes it succeed where one
request is not enough, and on to `connection.session`, which sends the request and waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Callable

from ..errors import CallRefused, CallTimeout, UsageError
from ..framing.logs import logger_for
from ..net.futures import LoopBound
from ..protocol.types import CallToolResult, Progress
from .connection.call_recovery import CallDeadline, CallRecovery
from .connection.connection import Connection, all_pages
from .connection.limits import DEFAULT, RequestOptions, Seconds
from .listed_tools import ListedTools, checked_arguments

if TYPE_CHECKING:
    from .client_keeper import ClientKeeper
    from .connection.cache import ClientCache
    from .connection.client_options import QueryOptions
    from .events.around import Around, Call, Proceed
    from .subscription import Subscription
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

ProgressHandler = Callable[[Progress], Any]
"""Takes one `Progress`; plain or async."""


class Requests:
    """The base of a client: all of its state, requests and notifications, and tools.

    Everything may be called in any event loop, and runs in the connection's.
    """

    def __init__(
        self, connection: Connection, refresh_tools: Callable[[], Awaitable[object]]
    ) -> None:
        options = connection.options
        self._connection = connection
        self._home: LoopBound = connection
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
        self._caller = CallRecovery(connection, refresh_tools, cached)
        self._keeper: ClientKeeper | None = None
        if options.reconnect is not None:
            from .client_keeper import ClientKeeper

            self._keeper = ClientKeeper(connection, self._listed, options.reconnect)
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
        self,
        method: str,
        params: Mapping[str, Any] | None,
        limits: RequestOptions,
        send: Callable[..., Coroutine[Any, Any, dict[str, Any]]] | None = None,
    ) -> Coroutine[Any, Any, dict[str, Any]]:
        """Return the call's own coroutine: another one around it would slow down every call."""
        send = send or self._caller.call
        if self._keeper is not None:
            return self._home.run(self._keeper.send, send, method, params, limits)
        if self._home.loop is asyncio.get_running_loop():
            return send(method, params, limits)
        return self._home.run(send, method, params, limits)

    # What stands around them

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
        connection, is_call = self._connection, method in SUBJECTS
        call = connection.described(
            method,
            name,
            self._full_name(method, name) if is_call else "",
            arguments=arguments or {},
            meta=meta or {},
            headers=headers or {},
            tool=self._listed.find(name) if method == "tools/call" else None,
            trace=trace,
        )
        result: CallToolResult
        if connection.audit is None or not is_call:
            from .events.around import surrounded

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
        relay = progress_params(on_progress) if on_progress is not None else None
        return limits._replace(headers=headers or {}, on_progress=relay, fresh=fresh)

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send any notification. Raises `UsageError` for the method of a request that calls."""
        # A server that takes it for a request would run it without the hooks' consent.
        if method in SUBJECTS:
            raise UsageError(f"{method} is a request, not a notification: use request()")
        await self._home.run(self._connection.session.notify, method, params)

    async def _list(
        self, method: str, key: str, options: QueryOptions, params: Mapping[str, Any] | None = None
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


def with_meta(params: Mapping[str, Any] | None, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return params that carry ``meta``."""
    return {**(params or {}), "_meta": dict(meta)}


def progress_params(handler: ProgressHandler) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function of params that gives them to a handler of progress."""
    return lambda params: handler(Progress(params))


def connection_of(client: Requests) -> Connection:
    """Return a client's connection, for code in this package that displays or aborts it."""
    return client._connection
