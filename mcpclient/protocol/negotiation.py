"""The vocabulary of both eras: revisions, identity, rules, plans, steps and agreements.

At the end are multi round-trip requests: a result that asks for input, and the retry that carries
it (the page of that name of revision 2026-07-28).

Nothing outside this module compares revisions. The client's extensions are part of its identity.
"""

from __future__ import annotations

import enum
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from ..errors import McpError, ProtocolViolation, UsageError, safe_repr
from ..jsonrpc import messages
from ..jsonrpc.messages import Message, RequestId
from .outgoing import Headers, Outgoing
from .wire_object import object_in, value_at

if TYPE_CHECKING:
    from .header_parameters import HeaderParameters

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

    ``handshake_capabilities``: those it adds in the handshake era. ``opening``: further params of
    ``initialize``.
    """

    info: Mapping[str, Any]
    capabilities: Mapping[str, Any] = _NOTHING
    handshake_capabilities: Mapping[str, Any] = _NOTHING
    opening: Mapping[str, Any] = _NOTHING


class EraRules(ABC):
    """The rules of one era for wording a call. It has two subclasses, one per era."""

    version: str
    """The revision spoken."""

    is_stateless: bool
    """Whether each request stands alone. Then the server sends no requests of its own, results say
    how long they may be cached, one request that stays open reports changes, every request carries
    the log level, and tasks follow the extension."""

    channel_headers: Mapping[str, str] | None = None
    """The session's headers on the server's own channel; None where there is no such channel."""

    def __init__(self, version: str, headers: Headers, opening: tuple[str, Params | None]) -> None:
        self.version = version
        self._headers = headers
        self.opening: tuple[str, Params | None] = opening

    @property
    def header_parameters(self) -> HeaderParameters | None:
        """The tool arguments that are mirrored in headers; None where none are."""
        return None

    @abstractmethod
    def request(
        self, request_id: RequestId, method: str, params: Params | None, log_level: str | None
    ) -> Outgoing:
        """Return a request as this era sends it."""

    def opening_request(self, request_id: RequestId) -> Outgoing:
        """Return the request that opens a connection, or would, in this era."""
        return self.request(request_id, *self.opening, None)

    def notification(self, method: str, params: Params | None) -> Outgoing:
        """Return a notification as this era sends it."""
        return self.answer(messages.notification(method, params))

    def answer(self, message: Message) -> Outgoing:
        """Return the answer to a request of the server's."""
        return Outgoing(message, headers=self._headers, in_session=not self.is_stateless)

    def cancellation(self, request_id: RequestId, reason: str) -> Outgoing:
        """Return the message that cancels a request, where no stream can be closed instead."""
        params = {"requestId": request_id, "reason": reason}
        return self.notification("notifications/cancelled", params)

    def input_requests(
        self, method: str, result: Mapping[str, Any], *, takes_tasks: bool
    ) -> Mapping[str, Any] | None:
        """Return the requests for input that a result holds; None when the result is complete.

        With ``takes_tasks``, a task that was made of the call is. Raises `ProtocolViolation`. Where
        requests do not stand alone, every result is, and ``resultType`` a field like any other.
        """
        return None


SKILLS = "io.modelcontextprotocol/skills"
"""Skills over MCP (SEP-2640)."""

TASKS = "io.modelcontextprotocol/tasks"
"""Tasks of the stateless era."""

RELATED_TASK = "io.modelcontextprotocol/related-task"
"""The member of ``_meta`` that names the task which a message belongs to."""

MAKING = ("tasks", "requests", "tools", "call")
"""The path of the capability to make tasks of tool calls."""

_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = rf"{_LABEL}(?:\.{_LABEL})*/[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"


def checked_extensions(extensions: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the caller's extensions as they are declared to a server. Raises `UsageError`."""
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


def declares(capabilities: Mapping[str, Any], *path: str) -> bool:
    """Whether capabilities hold, at this path of keys, an object (even an empty one) or true."""
    value = value_at(capabilities, path)
    return isinstance(value, Mapping) or value is True


class Era(enum.Enum):
    """The way a revision opens a connection: a handshake, or metadata on every request."""

    HANDSHAKE = "handshake"
    STATELESS = "stateless"


# Oldest first; the order is the order of preference when several are possible.
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSIONS = ("2026-07-28",)
LATEST_HANDSHAKE = HANDSHAKE_VERSIONS[-1]
# The draft of 2024-11-05, which the official TypeScript SDK has spoken and accepts to this day.
_DRAFTS = ("2024-10-07",)
LATEST_STATELESS = STATELESS_VERSIONS[-1]

_DATE = r"\d{4}-\d\d-\d\d"


def era_of(version: str) -> Era | None:
    """Return the era of a revision, or None for one this library does not know."""
    if version in STATELESS_VERSIONS:
        return Era.STATELESS
    if version in HANDSHAKE_VERSIONS:
        return Era.HANDSHAKE
    return None


def is_past_handshakes(version: str) -> bool:
    """Whether a revision is of the stateless era, or a later one that this library does not know.

    A name that is not a date says nothing about its age.
    """
    return re.match(_DATE, version) is not None and version[:10] >= STATELESS_VERSIONS[0]


def is_outdated(version: str) -> bool:
    """Whether a revision is older than the latest with a handshake, and none that is known.

    A newer one can be spoken as its predecessor was; of an older one nothing is known.
    """
    is_known = era_of(version) is not None or version in _DRAFTS
    return not is_known and re.match(_DATE, version) is not None and version < LATEST_HANDSHAKE


def best_common(offered: Iterable[object], known: tuple[str, ...]) -> str | None:
    """Return the newest of the ``known`` revisions that is also ``offered``, or None."""
    names = {name for name in offered if isinstance(name, str)}
    return max(names.intersection(known), key=known.index, default=None)


PROBE = "server/discover"
"""The request that a server of the handshake era does not know."""


class Plan(NamedTuple):
    """The plan for a connection.

    - ``target``: the server's name for messages.
    - ``version``: the only revision to speak; None for the newest that both sides speak.
    - ``remembered``: the era that this server spoke before.
    - ``strict``: a server that answers with an unknown revision is an error.
    - ``may_switch``: the URL may turn out to belong to a legacy HTTP+SSE server.
    - ``answers_all``: the transport is HTTP, where every request is answered, so that silence
      means that the server is slow and says nothing about its era.
    """

    identity: ClientIdentity
    target: str
    version: str | None = None
    remembered: Era | None = None
    strict: bool = False
    may_switch: bool = False
    answers_all: bool = False


class Ask(NamedTuple):
    """Send a request and wait for its result.

    ``timeout``: how many seconds the server may be silent; None: for the rest of the connect
    timeout. The time before it has read the request does not count, where that can be known. A
    request with a timeout that has passed stays open: its answer may come as a `LateAnswer` to a
    later `Ask`.
    """

    era: EraRules
    method: str
    params: Params | None
    timeout: float | None = None


class LateAnswer(NamedTuple):
    """The outcome of an `Ask` when an earlier one, which had timed out, is answered first.

    One of ``result`` and ``error`` is None. The request just sent is still open, see `KeepWaiting`.
    """

    result: Mapping[str, Any] | None
    error: McpError | None = None


class KeepWaiting(NamedTuple):
    """Continue waiting for the answer to the last `Ask` after a `LateAnswer`."""

    timeout: float | None = None


class Tell(NamedTuple):
    """Send a notification."""

    era: EraRules
    method: str


class OpenServerChannel(NamedTuple):
    """Open the channel for the server's own messages, where the transport has one.

    ``headers``: what the agreed revision has requests of the session carry.
    """

    headers: Mapping[str, str]


class Restart:
    """Open the transport again, if the server has ended it. The outcome: whether it had."""


class SwitchToLegacySse:
    """Continue over HTTP+SSE of revision 2024-11-05, at the same URL."""


Effect = Union[Ask, KeepWaiting, Tell, OpenServerChannel, Restart, SwitchToLegacySse]


class Agreement(NamedTuple):
    """The outcome of a negotiation: the era to speak, and the server's description of itself.

    ``is_certain``: False when the server has not answered the probe in time, so that it may speak
    the stateless era as well.
    """

    era: EraRules
    server_info: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    instructions: str | None
    raw: Mapping[str, Any]
    is_certain: bool = True


MAX_ROUNDS = 10
"""The most requests for input in response to one call."""

INPUT_METHODS = frozenset({"elicitation/create", "roots/list", "sampling/createMessage"})
"""The methods of the requests for input."""

_MAX_PAUSE = 2.0

# The only requests that may be answered with a request for input.
_SUPPORTED = ("tools/call", "prompts/get", "resources/read")


def input_requests_of(method: str, result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the requests for input that a result holds; None when the result is complete.

    Raises `ProtocolViolation` for a ``resultType`` this client does not know, and for a request
    for input where none is allowed. A result without ``resultType`` is complete.
    """
    kind = result.get("resultType", "complete")
    if kind == "complete":
        return None
    if kind != "input_required":
        fault = f"the server answered with unknown resultType {safe_repr(kind)}"
        raise ProtocolViolation(f"{method}: {fault}")
    if method not in _SUPPORTED:
        raise ProtocolViolation(f"{method}: the server asked for input where it must not")
    requests = result.get("inputRequests")
    if requests is None:
        requests = {}
    if not isinstance(requests, dict) or not (requests or _has_state(result)):
        raise ProtocolViolation(f"{method}: the server asked for input without saying which")
    return requests


def retry_params(
    params: Mapping[str, Any], result: Mapping[str, Any], responses: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the params of the retry: the call's own, the answers, and the server's state."""
    retry = {**params}
    if responses:
        retry["inputResponses"] = responses
    if _has_state(result):
        retry["requestState"] = result["requestState"]
    return retry


def pause_before_retry(round_number: int) -> float:
    """Return how many seconds to wait before a retry that brings no answers, only the state.

    The first goes out at once, as the page allows. A server that is not ready by then is asked less
    and less often: after 0, 0.1, 0.2, 0.4, … up to 2 seconds.
    """
    return min(0.05 * 2 ** (round_number - 1), _MAX_PAUSE) if round_number > 1 else 0.0


def _has_state(result: Mapping[str, Any]) -> bool:
    # A state is a string. Some servers write null where there is none.
    return result.get("requestState") is not None
