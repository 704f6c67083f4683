"""A cache of results: for how long, for whom, and until which notification.

Source: the "Caching" page of revision 2026-07-28. The time is an argument, in seconds of any clock
that never goes backwards.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from typing import Any, Callable, NamedTuple

from ..errors import PeerError
from ..jsonrpc.messages import ErrorCode
from .wire_object import string_at

CACHEABLE = frozenset(
    {"server/discover", "tools/list", "prompts/list"}
    | {"resources/list", "resources/templates/list", "resources/read"}
)
"""The only requests whose results may be kept."""

MAX_LIFETIME = 24 * 3600.0
"""Seconds after which a result is stale, whatever the server says: one day."""

# The results that a notification makes stale; updates of a single resource are handled apart.
_STALE_AFTER = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}

# Members of _meta for progress and tracing, which cannot change a result.
_NEUTRAL_META = frozenset({"progressToken", "traceparent", "tracestate", "baggage"})

# Errors of a tool call which suggest that the list of tools has changed.
_TOOL_UNKNOWN = (ErrorCode.METHOD_NOT_FOUND, ErrorCode.INVALID_PARAMS)


class Key(NamedTuple):
    """The identity of a request whose result may be kept: the method, and its params as JSON."""

    method: str
    params: str
    uri: str


def key_of(method: str, params: Mapping[str, Any] | None) -> Key | None:
    """Return the key of a request, or None when its result must not be kept."""
    if method not in CACHEABLE:
        return None
    params = params or {}
    if "inputResponses" in params or "requestState" in params:
        return None
    meta = params.get("_meta")
    if isinstance(meta, Mapping):
        telling = {name: value for name, value in meta.items() if name not in _NEUTRAL_META}
        params = {**params, "_meta": telling}
    try:
        text = json.dumps(params, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None  # it cannot be sent either, and sending it raises the error
    return Key(method, text, string_at(params, "uri") or "")


def lifetime_of(result: Mapping[str, Any]) -> float:
    """Return for how many seconds a result is fresh; 0 when it is not to be kept.

    A ``ttlMs`` that is missing, negative or not a number counts as 0; `MAX_LIFETIME` is the most.
    """
    milliseconds = result.get("ttlMs")
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)):
        return 0.0
    if result.get("resultType", "complete") != "complete" or not milliseconds > 0:
        return 0.0
    return min(milliseconds, MAX_LIFETIME * 1000) / 1000


# Stands for every authorization context, with results marked public.
_ANYONE = object()


class ResponseCache:
    """Results of one server, by request and authorization context.

    The ``context`` of its methods stands for the authorization that a request is made with: equal
    values share private results, and for None only public ones are kept. At most ``entries``
    results and ``size`` characters of JSON are kept; the least recently used goes first.
    """

    def __init__(self, entries: int = 500, size: int = 16 * 1024 * 1024) -> None:
        self.invalidations: int = 0
        """The number of drops of results; one requested before the last must not be kept."""
        self._limit = entries
        self._size_limit = size
        self._size = 0
        # Each result as JSON, so that no caller can change another's copy, and when it is stale.
        self._entries: dict[tuple[Key, Hashable], tuple[str, float]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: Key, context: Hashable, now: float) -> dict[str, Any] | None:
        """Return a fresh result, a new copy each time; None when the server has to be asked."""
        for place in _places(key, context):
            text, expires = self._remove(place)
            if now < expires:
                self._add(place, text, expires)
                result: dict[str, Any] = json.loads(text)
                return result
        return None

    def keep(self, key: Key, context: Hashable, result: Mapping[str, Any], now: float) -> None:
        """Keep a result that has just been received, if it may be kept.

        Anything but ``cacheScope: "public"`` is private.
        """
        for place in _places(key, context):
            self._remove(place)
        lifetime = lifetime_of(result)
        public = result.get("cacheScope") == "public"
        if not lifetime or (context is None and not public):
            return
        try:
            text = json.dumps(result)
        except (TypeError, ValueError, RecursionError):
            return  # a transport of the caller's own may hand on what JSON cannot carry
        if len(text) > self._size_limit // 4:
            return
        place = (key, _ANYONE if public else context)
        self._add(place, text, now + lifetime)
        while len(self._entries) > self._limit or self._size > self._size_limit:
            self._remove(next(iter(self._entries)))

    def _add(self, place: tuple[Key, Hashable], text: str, expires: float) -> None:
        self._entries[place] = text, expires
        self._size += len(text)

    def _remove(self, place: tuple[Key, Hashable]) -> tuple[str, float]:
        text, expires = self._entries.pop(place, ("", -math.inf))
        self._size -= len(text)
        return text, expires

    # Invalidation

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Drop the results that a notification declares stale."""
        if method == "notifications/resources/updated":
            uri = params.get("uri")
            if isinstance(uri, str):  # it names a resource, or a part of one
                self._drop(
                    lambda key: (
                        key.method == "resources/read"
                        and (uri == key.uri or uri.startswith(key.uri.rstrip("/") + "/"))
                    )
                )
            else:
                self.drop("resources/read")
        elif method in _STALE_AFTER:
            self.drop(*_STALE_AFTER[method])

    def refused(self, method: str, params: Mapping[str, Any] | None, error: PeerError) -> None:
        """Drop the list whose cursor is no longer known, or the tools when one is not as listed."""
        if method in CACHEABLE and params and "cursor" in params:
            self.drop(method)
        elif method == "tools/call" and error.code in _TOOL_UNKNOWN:
            self.drop("tools/list")

    def drop(self, *methods: str) -> None:
        """Drop the results of these requests."""
        self._drop(lambda key: key.method in methods)

    def _drop(self, is_stale: Callable[[Key], bool]) -> None:
        self.invalidations += 1
        for place in [place for place in self._entries if is_stale(place[0])]:
            self._remove(place)

    def clear(self) -> None:
        """Drop everything."""
        self._drop(lambda key: True)


def _places(key: Key, context: Hashable) -> list[tuple[Key, Hashable]]:
    """Return the places of results that are valid in this context."""
    return [(key, _ANYONE)] if context is None else [(key, context), (key, _ANYONE)]
