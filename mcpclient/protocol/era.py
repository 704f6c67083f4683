"""The common ground of both eras: the client's identity, repeatable requests, the interface.

The client's extensions are part of its identity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from ..errors import UsageError
from ..jsonrpc.messages import Message, RequestId
from .header_parameters import HeaderParameters
from .outgoing import Outgoing
from .wire_object import object_in

Params = Mapping[str, Any]

REPEATABLE = frozenset(
    {"initialize", "ping", "server/discover", "logging/setLevel", "completion/complete"}
    | {"prompts/get", "prompts/list", "tools/list", "subscriptions/listen"}
    | {"resources/list", "resources/read", "resources/templates/list"}
    | {"resources/subscribe", "resources/unsubscribe"}
    | {"tasks/get", "tasks/list", "tasks/result"}
)
"""Requests that may be sent again when the server may have seen them: they read, or set a value
again."""

_NOTHING: Mapping[str, Any] = {}


class ClientIdentity(NamedTuple):
    """The client's name, version and capabilities.

    ``handshake_capabilities``: those it adds in the handshake era.
    """

    info: Mapping[str, Any]
    capabilities: Mapping[str, Any] = _NOTHING
    handshake_capabilities: Mapping[str, Any] = _NOTHING


class EraRules(Protocol):
    """The rules of one era for wording a call. It has two subclasses, one per era."""

    version: str
    """The revision spoken."""

    is_stateless: bool
    """Whether each request stands alone. Then the server sends no requests of its own, results say
    how long they may be cached, one request that stays open reports changes, every request carries
    the log level, and tasks are those of the extension."""

    channel_headers: Mapping[str, str] | None
    """The session's headers on the server's own channel; None where there is no such channel."""

    header_parameters: HeaderParameters | None
    """The tool arguments that are mirrored in headers; None where none are."""

    def request(
        self, request_id: RequestId, method: str, params: Params | None, log_level: str | None
    ) -> Outgoing:
        """Return a request as this era sends it."""
        ...

    def opening_request(self, request_id: RequestId) -> Outgoing:
        """Return the request that opens a connection, or would, in this era."""
        ...

    def notification(self, method: str, params: Params | None) -> Outgoing:
        """Return a notification as this era sends it."""
        ...

    def answer(self, message: Message) -> Outgoing:
        """Return the answer to a request of the server's."""
        ...

    def cancellation(self, request_id: RequestId, reason: str) -> Outgoing:
        """Return the message that cancels a request, where no stream can be closed instead."""
        params = {"requestId": request_id, "reason": reason}
        return self.notification("notifications/cancelled", params)

    def input_requests(
        self, method: str, result: Mapping[str, Any], *, takes_tasks: bool
    ) -> Mapping[str, Any] | None:
        """Return the requests for input that a result holds; None when the result is complete.

        With ``takes_tasks``, a task that was made of the call is. Raises `ProtocolViolation`.
        """
        ...


SKILLS = "io.modelcontextprotocol/skills"
"""Skills over MCP (SEP-2640)."""

_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = rf"{_LABEL}(?:\.{_LABEL})*/[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"


def checked_extensions(extensions: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the caller's extensions as they are declared to a server.

    Raises `UsageError` for a name that no extension can have, and for settings that are not a
    mapping.
    """
    for name, settings in extensions.items():
        if not isinstance(name, str) or not re.fullmatch(_NAME, name):
            raise UsageError(f"an extension is named like com.example/name, not {name!r}")
        if not isinstance(settings, Mapping):
            raise UsageError(f"the settings of extension {name} are a mapping, {{}} for none")
    return {name: dict(settings) for name, settings in extensions.items()}


def extensions_of(capabilities: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the extensions that a server declares, with their settings."""
    found = object_in(capabilities.get("extensions"))
    return {name: value for name, value in found.items() if isinstance(value, dict)}
