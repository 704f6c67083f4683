"""How a connection is opened: finding out which era the server speaks, without I/O.

`negotiate` is a generator. It yields what is to be done; its driver does that and sends it the
result, or throws in the exception; and at last it returns an `Agreement`.

Sources: the versioning page and the "Backward Compatibility" sections of the stdio and Streamable
HTTP pages, revision 2026-07-28; the lifecycle pages of the earlier revisions.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Union

from ..errors import (
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    NetworkError,
    PeerError,
    ProtocolViolation,
    ServerError,
    UsageError,
)
from ..framing.logs import logger_for
from ..jsonrpc.messages import ErrorCode
from .era import ClientIdentity, EraRules, Params
from .era_handshake import HandshakeEra
from .era_stateless import StatelessEra
from .versions import (
    HANDSHAKE_VERSIONS,
    LATEST_HANDSHAKE,
    LATEST_STATELESS,
    STATELESS_VERSIONS,
    Era,
    best_common,
    era_of,
)

__all__ = [
    "Agreement",
    "Ask",
    "Effect",
    "OpenServerChannel",
    "Plan",
    "Restart",
    "SwitchToLegacySse",
    "Tell",
    "negotiate",
]

# How many seconds a server may take to answer the probe before it counts as one that ignores it. A
# server that merely starts slowly loses nothing: see `_handshake_or_stateless`. Where a request may
# stay unanswered, the probe is repeated after the first of these: a server made with the Python SDK
# before 1.9 breaks at it without a sign, and ends as soon as it reads another message.
PROBE_TIMEOUTS = (1.0, 4.0)
PATIENT_PROBE_TIMEOUT = 15.0

logger = logger_for("mcpclient.negotiate")


class Ask(NamedTuple):
    """Send a request and wait for its result. ``timeout`` in seconds, None: the connect timeout."""

    era: EraRules
    method: str
    params: Params | None
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


@dataclass(frozen=True)
class Restart:
    """Open the transport again, if the server ended it because of the probe."""


@dataclass(frozen=True)
class SwitchToLegacySse:
    """Go on over HTTP+SSE of revision 2024-11-05, at the same URL."""


Effect = Union[Ask, Tell, OpenServerChannel, Restart, SwitchToLegacySse]
Steps = Generator[Effect, Any, "Agreement"]


class Agreement(NamedTuple):
    """What was agreed: the era to speak, and what the server said of itself."""

    era: EraRules
    server_info: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    instructions: str | None
    raw: Mapping[str, Any]


class Plan(NamedTuple):
    """What to try.

    - ``target``: what is connected to, for messages.
    - ``version``: the only revision to speak; None for the newest that both sides speak.
    - ``remembered``: the era that this server spoke before.
    - ``strict``: a server that answers with an unknown revision is an error.
    - ``may_switch``: the URL may turn out to be that of a legacy HTTP+SSE server.
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


def negotiate(plan: Plan) -> Steps:
    """Open a connection by this plan.

    Raises what the last request ended with, `UsageError` for a pinned revision that is not known,
    `ProtocolViolation` for an answer without a common revision, and `ConnectFailed` where neither
    Streamable HTTP nor HTTP+SSE is spoken.
    """
    if plan.version is not None:
        return _pinned(plan, plan.version)
    if plan.remembered is Era.HANDSHAKE:
        return _handshake_or_reprobe(plan)
    return _probe(plan)


def _pinned(plan: Plan, version: str) -> Steps:
    if era_of(version) is None:
        known = ", ".join(HANDSHAKE_VERSIONS + STATELESS_VERSIONS)
        raise UsageError(f"protocol_version {version!r} is not known; known are: {known}")
    if era_of(version) is Era.STATELESS:
        return _open_stateless(plan, version)
    return _handshake_or_switch(plan, version)


# The stateless era


def _open_stateless(plan: Plan, version: str) -> Steps:
    era, result = yield from _discover(plan, version)
    return _stateless_agreement(era, result)


def _discover(
    plan: Plan, version: str, timeout: float | None = None
) -> Generator[Effect, Any, tuple[StatelessEra, Mapping[str, Any]]]:
    """Ask the server about itself, once more if it names a revision to ask in."""
    era = StatelessEra(version, plan.identity)
    try:
        result = yield Ask(era, "server/discover", None, timeout)
    except PeerError as error:
        supported = _supported_by(error)
        other = best_common(supported, STATELESS_VERSIONS) if supported is not None else None
        if error.code != ErrorCode.UNSUPPORTED_PROTOCOL_VERSION or other is None:
            raise
        # A server may name the very revision it has just refused; taking it at its word costs one
        # request.
        era = era.at_version(other)
        result = yield Ask(era, "server/discover", None, timeout)
    return era, result


def _supported_by(error: PeerError) -> list[Any] | None:
    """Return the revisions that an error says the server supports, None when it says nothing."""
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    return supported if isinstance(supported, list) else None


def _stateless_agreement(era: StatelessEra, result: Mapping[str, Any]) -> Agreement:
    supported = result.get("supportedVersions")
    if not isinstance(supported, list):
        raise ProtocolViolation("the server answered server/discover without supportedVersions")
    version = best_common(supported, STATELESS_VERSIONS)
    if version is None:
        names = ", ".join(map(str, supported))
        raise ProtocolViolation(f"the server speaks no revision this client knows: {names}")
    if version != era.version:
        era = era.at_version(version)
    meta = result.get("_meta")
    server_info = meta.get("io.modelcontextprotocol/serverInfo") if isinstance(meta, dict) else None
    return _agreement(era, result, server_info or result.get("serverInfo"))


def _agreement(era: EraRules, result: Mapping[str, Any], server_info: Any) -> Agreement:
    capabilities = result.get("capabilities")
    instructions = result.get("instructions")
    return Agreement(
        era,
        server_info if isinstance(server_info, dict) else {},
        capabilities if isinstance(capabilities, dict) else {},
        instructions if isinstance(instructions, str) else None,
        result,
    )


# The handshake era


def _handshake(plan: Plan, version: str) -> Steps:
    """``initialize``, the server's channel, ``notifications/initialized``, in this order."""
    offer = HandshakeEra(version, plan.identity, agreed=False)
    try:
        result = yield Ask(offer, "initialize", offer.initialize_params())
    except PeerError as error:
        other = _version_to_offer(error, version)
        if other is None:
            raise
        offer = HandshakeEra(other, plan.identity, agreed=False)
        result = yield Ask(offer, "initialize", offer.initialize_params())
    era = HandshakeEra(_agreed_version(plan, result), plan.identity)
    yield OpenServerChannel(era.headers)
    yield Tell(era, "notifications/initialized")
    return _agreement(era, result, result.get("serverInfo"))


def _version_to_offer(error: PeerError, refused: str) -> str | None:
    version = best_common(_supported_by(error) or (), HANDSHAKE_VERSIONS)
    return version if version != refused else None


def _agreed_version(plan: Plan, result: Mapping[str, Any]) -> str:
    version = result.get("protocolVersion")
    if not isinstance(version, str):
        raise ProtocolViolation(f"{plan.target} answered initialize without a protocolVersion")
    if era_of(version) is not Era.HANDSHAKE:
        if plan.strict:
            raise ProtocolViolation(f"{plan.target} answered with unknown revision {version!r}")
        logger.warning("%s answered with unknown revision %r", plan.target, version)
    return version


def _handshake_or_switch(plan: Plan, version: str) -> Steps:
    """Initialize; where the endpoint turns out to be none, try legacy HTTP+SSE at the same URL."""
    try:
        return (yield from _handshake(plan, version))
    except HttpError as error:
        if not plan.may_switch or error.status not in (400, 404, 405):
            raise
        first = error
    try:
        yield SwitchToLegacySse()
        return (yield from _handshake(plan, version))
    except (ServerError, NetworkError) as second:
        if _is_plain(second):
            raise
        reason = f"it is not an MCP endpoint: Streamable HTTP gave {first}; HTTP+SSE gave {second}"
        if first.status == 404:
            reason += "; is the path of the URL right? It often ends in /mcp or /sse"
        raise ConnectFailed(plan.target, reason, (first, second)) from second


def _is_plain(error: Exception) -> bool:
    """Whether an answer says what is wrong, so that asking in another way is of no use."""
    return isinstance(error, HttpError) and error.status in (401, 403, 407, 429)


# Finding out which


def _probe(plan: Plan) -> Steps:
    """Ask in the stateless era; unless the answer shows a server of that era, fall back."""
    silent = False
    try:
        era, result = yield from _ask_for_the_era(plan)
    except CallTimeout:
        silent = True
    except ConnectionLost:
        yield Restart()
        return (yield from _handshake_or_stateless(plan, silent=False))
    except PeerError as error:
        if error.code in (ErrorCode.HEADER_MISMATCH, ErrorCode.MISSING_REQUIRED_CLIENT_CAPABILITY):
            raise
        unsupported = error.code == ErrorCode.UNSUPPORTED_PROTOCOL_VERSION
        if unsupported and _rules_out_handshake(_supported_by(error)):
            raise
    except HttpError as error:
        if _is_plain(error):
            raise
    except ProtocolViolation as violation:
        logger.debug("%s: the probe was answered wrongly: %s", plan.target, violation)
        yield Restart()  # on a WebSocket, some wrong answers end the connection
    else:
        supported = result.get("supportedVersions")
        if _names_stateless(supported) or _rules_out_handshake(supported):
            return _stateless_agreement(era, result)
    return (yield from _fall_back(plan, silent=silent))


def _ask_for_the_era(
    plan: Plan,
) -> Generator[Effect, Any, tuple[StatelessEra, Mapping[str, Any]]]:
    if plan.answers_all:
        return (yield from _discover(plan, LATEST_STATELESS, PATIENT_PROBE_TIMEOUT))
    try:
        return (yield from _discover(plan, LATEST_STATELESS, PROBE_TIMEOUTS[0]))
    except CallTimeout:
        return (yield from _discover(plan, LATEST_STATELESS, PROBE_TIMEOUTS[1]))


def _names_stateless(supported: object) -> bool:
    return isinstance(supported, list) and best_common(supported, STATELESS_VERSIONS) is not None


def _rules_out_handshake(supported: object) -> bool:
    """Whether a server lists what it speaks, and nothing on the list is opened by initialize."""
    return isinstance(supported, list) and best_common(supported, HANDSHAKE_VERSIONS) is None


def _fall_back(plan: Plan, *, silent: bool) -> Steps:
    """Initialize with a server that has seen the probe, and may have been upset by it."""
    try:
        return (yield from _handshake_or_stateless(plan, silent=silent))
    except ConnectionLost as lost:
        # There are servers that answer a first request other than initialize, and then exit.
        yield Restart()
        try:
            return (yield from _handshake_or_switch(plan, LATEST_HANDSHAKE))
        except CallTimeout:
            raise lost from None  # its reason tells more than that no time was left to start again


def _handshake_or_stateless(plan: Plan, *, silent: bool) -> Steps:
    """Initialize, unless the server refuses it as one of the stateless era does."""
    try:
        return (yield from _handshake_or_switch(plan, LATEST_HANDSHAKE))
    except PeerError as error:
        # A server of the stateless era that was too slow to start for the probe, lost the
        # connection with it, or whose first message settled its era, refuses initialize; the
        # refusal proves that it runs by now.
        if not silent and error.code != ErrorCode.UNSUPPORTED_PROTOCOL_VERSION:
            raise
        refusal = error
    try:
        return (yield from _open_stateless(plan, LATEST_STATELESS))
    except PeerError:
        raise refusal from None


def _handshake_or_reprobe(plan: Plan) -> Steps:
    """Initialize with a server remembered to be of the handshake era; probe it if that fails."""
    try:
        return (yield from _handshake_or_switch(plan, LATEST_HANDSHAKE))
    except (PeerError, HttpError, ConnectionLost) as error:
        if _is_plain(error):
            raise
    except ConnectFailed as error:
        if not error.attempts:  # nothing answers there; a probe would have to wait for it again
            raise
    yield Restart()
    return (yield from _probe(plan))
