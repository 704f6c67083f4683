"""The response cache of one client, which applies what `protocol.caching` decides."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping
from typing import Any, Callable, NamedTuple

from ...errors import McpError
from ...protocol.caching import CACHEABLE, ResponseCache, key_of
from ..events.callbacks import Observer
from .connection import Connection
from .limits import RequestOptions


class Lookup(NamedTuple):
    """The cached result of one request, None where there is none, and a function to store one."""

    result: dict[str, Any] | None
    keep: Callable[[Mapping[str, Any]], None]


class ClientCache(ResponseCache, Observer):
    """Caches results for as long as the server allows, in the stateless era only.

    Each new session begins with an empty cache: it may reach another server.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection
        connection.observers.append(self)

    def lookup(
        self, method: str, params: Mapping[str, Any] | None, options: RequestOptions
    ) -> Lookup | None:
        """Begin a request; None when its result cannot be kept."""
        if method not in CACHEABLE:
            return None
        era, key = self._connection.era, key_of(method, params)
        if era is None or not era.is_stateless or key is None:
            return None
        context, invalidations = self._context(options.headers), self.invalidations
        clock = asyncio.get_running_loop().time

        def keep(result: Mapping[str, Any]) -> None:
            if self.invalidations == invalidations:  # nothing became stale meanwhile
                self.keep(key, context, result, clock())

        return Lookup(None if options.fresh else self.find(key, context, clock()), keep)

    def _context(self, headers: Mapping[str, str]) -> Hashable:
        """Return a key for the authorization a request is made under; None when it is not known."""
        connection = self._connection
        if callable(connection.options.headers) or connection.route.authorizer is not None:
            return None  # they may change at any time
        # The client's own headers are fixed. A tool may log the user in with a cookie.
        own = tuple(sorted((name.lower(), value) for name, value in headers.items()))
        return own, connection.session.transport.cookies

    # Observer

    def connected(self) -> None:
        self.clear()

    def lost(self, error: McpError) -> None:
        self.clear()
