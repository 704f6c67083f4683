"""The response cache of one client, which applies what `protocol.caching` decides."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping
from typing import Any

from ...errors import McpError, PeerError
from ...protocol.caching import CACHEABLE, Key, ResponseCache, key_of
from ..events.callbacks import Observer
from .connection import Connection
from .limits import RequestOptions


class ClientCache(Observer):
    """Remembers results for as long as the server allows, and forgets when it says so.

    Only the stateless era says how long. Each new session begins with an empty cache: it may have
    another server behind it, and what happened in between is not known.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._responses = ResponseCache()
        connection.observers.append(self)

    def lookup(
        self, method: str, params: Mapping[str, Any] | None, options: RequestOptions
    ) -> Lookup | None:
        """Begin a request; None when its result cannot be kept."""
        if method not in CACHEABLE:
            return None
        era = self._connection.era
        if era is None or not era.caches_answers:
            return None
        key = key_of(method, params)
        if key is None:
            return None
        return Lookup(self._responses, key, self._context(options.headers), fresh=options.fresh)

    def _context(self, headers: Mapping[str, str]) -> Hashable:
        """Return a key for the authorization a request is made under; None when it is not known.

        It is not known where a function supplies the headers or an access token is used, since both
        may change at any time. Otherwise the client's own headers are fixed, and only the headers
        of the single call make a difference, and the cookies: a tool may log the user in with one.
        """
        connection = self._connection
        if callable(connection.options.headers) or connection.route.authorizer is not None:
            return None
        own = tuple(sorted((name.lower(), value) for name, value in headers.items()))
        return own, connection.session.transport.cookies

    def refused(self, method: str, params: Mapping[str, Any] | None, error: PeerError) -> None:
        """Drop what an error answer casts doubt on."""
        self._responses.refused(method, params, error)

    # Observer

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Drop what the notification declares stale."""
        self._responses.notified(method, params)

    def connected(self) -> None:
        """Begin with an empty cache."""
        self._responses.clear()

    def lost(self, error: McpError) -> None:
        """Drop everything, since nobody will say any more what has become stale."""
        self._responses.clear()


class Lookup:
    """One request, and what the cache has for it.

    ``result``: the remembered result; None when the server has to be asked.
    """

    def __init__(
        self, responses: ResponseCache, key: Key, context: Hashable, *, fresh: bool
    ) -> None:
        self._responses = responses
        self._key = key
        self._context = context
        self._invalidations = responses.invalidations
        self.result: dict[str, Any] | None = (
            None if fresh else responses.find(key, context, self._now())
        )

    def keep(self, result: Mapping[str, Any]) -> None:
        """Keep the server's answer, unless something has been declared stale since the request."""
        if self._responses.invalidations == self._invalidations:
            self._responses.keep(self._key, self._context, result, self._now())

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
