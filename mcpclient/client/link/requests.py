"""What every part of the client's interface is made of: sending a request by name."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine, Mapping
from typing import Any, Callable, TypeVar

from ...errors import CallTimeout, UsageError
from ...protocol.types import Progress
from .call_recovery import CallRecovery
from .call_time import counted_time
from .connection import Connection
from .loops import run_in
from .paging import all_pages
from .session import RequestOptions
from .timeouts import DEFAULT, Seconds

__all__ = ["ProgressHandler", "Requests", "checked_arguments", "connection_of", "with_meta"]

T = TypeVar("T")

ProgressHandler = Callable[[Progress], Any]
"""Takes one `Progress`; plain or async."""


class Requests:
    """The base of the client's interface: requests and notifications, from any event loop."""

    _connection: Connection
    _caller: CallRecovery

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
    ) -> dict[str, Any]:
        """Send any request and return its result as the server sent it.

        ``timeout``: seconds without an answer or progress; ``max_timeout``: seconds in all (None
        or 0: no limit). ``on_progress`` takes a `Progress` for each step, in order, before the
        result. ``meta`` travels as ``_meta``; ``headers`` with this request only, over HTTP.
        ``fresh``: ask the server even where its last answer may still be used.

        Raises `PeerError` for an error answer, `CallTimeout`, `ConnectionLost` (`ProcessExited`
        for a server process), `HttpError`, `ProtocolViolation`, `ClientClosed`. Cancelling tells
        the server and frees everything.
        """
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
        return self._at_home(self._caller.call, method, params, limits)

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
        """Send any notification."""
        await self._at_home(self._connection.session.notify, method, params)

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

    async def _at_home(self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
        """Run in the event loop the client was connected in, whichever loop asks."""
        home = self._connection.home()
        if home is None or home is asyncio.get_running_loop():
            return await work(*arguments)
        return await run_in(home, work, *arguments)


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
