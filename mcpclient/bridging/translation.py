"""Messages between a host of one era and a server of the other."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..client.answers.peer import Params
from ..protocol.listen import SUBSCRIPTION_ID, EventsMissed, ListenEvent, ListenFilter
from ..protocol.negotiation import STATELESS_VERSIONS

_PREFIX = "io.modelcontextprotocol/"
VERSION = _PREFIX + "protocolVersion"
"""The member of ``_meta`` that shows a request of the stateless era."""
INFO = _PREFIX + "clientInfo"
CAPABILITIES = _PREFIX + "clientCapabilities"
LOG_LEVEL = _PREFIX + "logLevel"

LISTS = ("tools", "prompts", "resources")
"""The lists whose changes a server reports, as `ListenFilter` and capabilities name them."""

REMOVED = frozenset(
    {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
)
"""The requests that the stateless era does not have."""

_OF_THE_ERA = (VERSION, INFO, CAPABILITIES, LOG_LEVEL)
OF_A_RETRY = ("inputResponses", "requestState")
"""The params that a retry has beside its call's."""

_CACHEABLE = ("/list", "/read", "/discover")


def stateless_meta(params: Params) -> Params | None:
    """Return the metadata of a request of the stateless era; None for any other request."""
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) and isinstance(meta.get(VERSION), str) else None


class Introduction(NamedTuple):
    """A server's description of itself."""

    server_info: Params
    capabilities: Params
    instructions: str | None

    def initialized(self, version: str) -> dict[str, Any]:
        """Return the result of ``initialize``."""
        return {
            "protocolVersion": version,
            "capabilities": self.capabilities,
            "serverInfo": self._info,
            **({"instructions": self.instructions} if self.instructions else {}),
        }

    def discovered(self) -> dict[str, Any]:
        """Return the result of ``server/discover``."""
        capabilities = {**self.capabilities}
        capabilities.pop("tasks", None)  # they differ in the stateless era
        result = {
            "supportedVersions": [*STATELESS_VERSIONS],
            "capabilities": capabilities,
            **({"instructions": self.instructions} if self.instructions else {}),
            "_meta": {_PREFIX + "serverInfo": self._info},
        }
        return completed("server/discover", result)

    @property
    def _info(self) -> dict[str, Any]:
        return {"name": "server", "version": "", **self.server_info}


def for_handshake(params: Params) -> dict[str, Any]:
    """Return the params of a request without what belongs to the stateless era."""
    plain = {name: value for name, value in params.items() if name not in OF_A_RETRY}
    meta = {name: value for name, value in plain["_meta"].items() if name not in _OF_THE_ERA}
    return _with_meta(plain, meta)


def completed(method: str, result: Params) -> dict[str, Any]:
    """Return a result of the handshake era as one of the stateless era."""
    hints = {"ttlMs": 0, "cacheScope": "private"} if method.endswith(_CACHEABLE) else {}
    return {"resultType": "complete", **hints, **result}


def told(
    event: ListenEvent, granted: ListenFilter, subscription: object
) -> list[tuple[str, dict[str, Any]]]:
    """Return the notifications of an event of a subscription: methods and params.

    ``granted``: what is listened for, which events that were missed may be about.
    ``subscription``: the id of the host's own request; None: its era has none.
    """
    raw = [(event.method, event.raw)]
    if isinstance(event, EventsMissed):
        lists = [name for name in LISTS if getattr(granted, name)]
        raw = [(f"notifications/{name}/list_changed", {}) for name in lists]
        raw += [("notifications/resources/updated", {"uri": uri}) for uri in granted.uris]
    notifications = []
    for method, params in raw:
        meta = {**(params.get("_meta") or {})}
        meta.pop(SUBSCRIPTION_ID, None)
        if subscription is not None:
            meta[SUBSCRIPTION_ID] = subscription
        notifications.append((method, _with_meta(params, meta)))
    return notifications


def _with_meta(params: Params, meta: Params) -> dict[str, Any]:
    plain = {name: value for name, value in params.items() if name != "_meta"}
    return {**plain, "_meta": meta} if meta else plain
