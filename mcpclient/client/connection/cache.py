"""The cache of one client."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping
from typing import Any, Callable

from ...errors import McpError
from ...protocol.caching import CACHEABLE, ResponseCache, key_of
from ..events.callbacks import Observer
from .connection import Connection
from .limits import RequestOptions


class ClientCache(ResponseCache, Observer):
    """Caches results for as long as the server allows, in the stateless era only.

    Each new session begins with an empty cache: it may reach another server. ``methods``: of the
    requests that `lookup` is for.
    """

    methods: frozenset[str] = frozenset(CACHEABLE)

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection
        connection.observers.append(self)

    def lookup(
        self, method: str, params: Mapping[str, Any] | None, options: RequestOptions
    ) -> tuple[dict[str, Any] | None, Callable[[Mapping[str, Any]], None] | None]:
        """Return the result to use, and a function that stores another; None for either: none."""
        if not self._connection.is_stateless:
            return None, None
        key = key_of(method, params)
        if key is None:
            return None, None
        context, invalidations = self._context(options.headers), self.invalidations
        clock = asyncio.get_running_loop().time

        def keep(result: Mapping[str, Any]) -> None:
            if self.invalidations == invalidations:  # nothing became stale meanwhile
                self.keep(key, context, result, clock())

        return None if options.fresh else self.find(key, context, clock()), keep

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
        """Begin anew: it may be another server."""
        self.clear()

    def lost(self, error: McpError) -> None:
        """Forget all results."""
        self.clear()
