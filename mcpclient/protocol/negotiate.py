"""The opening of a connection: finding out which era the server speaks, without I/O.

`negotiate` is a generator. It yields effects; its driver performs each and sends the result, or
throws the exception; and at the end it returns an `Agreement`.

Sources: the versioning page and the "Backward Compatibility" sections of the stdio and Streamable
HTTP pages, revision 2026-07-28; the lifecycle pages of the earlier revisions.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from functools import lru_cache, partial
from typing import Any, Union

from ..errors import (
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    ConnectKind,
    HttpError,
    McpError,
    NetworkError,
    PeerError,
    ProtocolViolation,
    ServerError,
    UsageError,
)
from ..framing.logs import logger_for
from ..jsonrpc.messages import ErrorCode
from .eras import HandshakeEra, StatelessEra
from .negotiation import (
    HANDSHAKE_VERSIONS,
    LATEST_HANDSHAKE,
    LATEST_STATELESS,
    PROBE,
    STATELESS_VERSIONS,
    Agreement,
    Ask,
    Effect,
    Era,
    EraRules,
    KeepWaiting,
    LateAnswer,
    OpenServerChannel,
    Plan,
    Restart,
    SwitchToLegacySse,
    Tell,
    best_common,
    era_of,
    is_outdated,
    is_past_handshakes,
)
from .wire_object import object_in, string_at

# Seconds that a server may leave the probe unanswered until `initialize` is sent as well. One that
# merely starts slowly then gets two opening requests, see `_confirm`.
PROBE_TIMEOUT = 1.0
# The same where silence proves nothing: over HTTP, and for a server that is known to answer.
LONG_PROBE_TIMEOUT = 15.0
# Seconds for server/discover with a server that has refused `initialize`, which proves it runs.
SECOND_PROBE_TIMEOUT = 5.0
# Seconds for a ping to a server that has just answered `initialize`.
PING_TIMEOUT = 1.5

_logger = logger_for("mcpclient.negotiate")

Steps = Generator[Effect, Any, Agreement]
Answer = Union[Mapping[str, Any], Agreement]


def negotiate(plan: Plan) -> Steps:
    """Open a connection by this plan.

    Raises the exception of the last request, `UsageError` for a pinned revision that is not known,
    `ProtocolViolation` for an answer without a common revision, and `ConnectFailed` where neither
    Streamable HTTP nor HTTP+SSE is spoken.
    """
    if plan.version is not None and era_of(plan.version) is None:
        known = ", ".join(HANDSHAKE_VERSIONS + STATELESS_VERSIONS)
        raise UsageError(f"protocol_version {plan.version!r} is not known; there are {known}")
    return _Negotiation(plan).run()


class _Negotiation:
    """One negotiation.

    ``_is_silent``: the probe was sent, and has not been answered so far. ``_described``: the
    agreement that its late answer would lead to, had `initialize` not been sent meanwhile.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._stateless = lru_cache(partial(StatelessEra, identity=plan.identity))
        self._is_silent = False
        self._described: Agreement | None = None
        self._has_restarted = False

    def run(self) -> Steps:
        version = self._plan.version
        if version is None:
            if self._plan.remembered is Era.HANDSHAKE:
                return self._open_as_remembered()
            return self._probe()
        if era_of(version) is Era.STATELESS:
            return self._open_stateless(version, None)
        return self._handshake_or_switch(version)

    # The stateless era

    def _open_stateless(
        self, version: str = LATEST_STATELESS, timeout: float | None = SECOND_PROBE_TIMEOUT
    ) -> Steps:
        """Send ``server/discover``, and again if the server names a revision for it.

        By default, ask one that has shown that it runs.
        """
        answer = yield from self._discover(version, timeout)
        return answer if isinstance(answer, Agreement) else self._stateless_agreement(answer)

    def _discover(self, version: str, timeout: float | None) -> Generator[Effect, Any, Answer]:
        try:
            return (yield from self._ask(self._discovery(version, timeout)))
        except PeerError as error:
            other = _version_to_ask_in(error)
            if other is None:
                raise
        # A server may name the very revision it has just refused; trying it costs one request.
        return (yield from self._ask(self._discovery(other, timeout)))

    def _discovery(self, version: str, timeout: float | None) -> Ask:
        era = self._stateless(version)
        return Ask(era, *era.opening, timeout)

    def _stateless_agreement(self, result: Mapping[str, Any]) -> Agreement:
        supported = result.get("supportedVersions")
        if not isinstance(supported, list):
            raise ProtocolViolation("the server answered server/discover without supportedVersions")
        version = best_common(supported, STATELESS_VERSIONS)
        if version is None:
            names = ", ".join(map(str, supported))
            raise ProtocolViolation(f"the server speaks no revision this client knows: {names}")
        known = object_in(result.get("_meta")).get("io.modelcontextprotocol/serverInfo")
        era = self._stateless(version)
        return _agreement(era, result, known or result.get("serverInfo"))

    # The handshake era

    def _handshake(self, version: str) -> Steps:
        """``initialize``, the server's channel, ``notifications/initialized``, in this order."""
        answer = yield from self._initialize(version)
        if isinstance(answer, Agreement):
            return answer
        agreed = self._agreed_version(answer)
        if is_past_handshakes(agreed):
            return (yield from self._leave_handshake(agreed))
        era = HandshakeEra(agreed, self._plan.identity)
        yield OpenServerChannel(era.headers)
        yield Tell(era, "notifications/initialized")
        agreement = _agreement(era, answer, answer.get("serverInfo"))
        # The server may have opened the stateless era with a probe that is still unanswered.
        has_two_openers = self._is_silent or self._described is not None
        if self._plan.answers_all or not has_two_openers:
            return agreement._replace(is_certain=not self._is_silent)
        return (yield from self._confirm(agreement))

    def _confirm(self, agreement: Agreement) -> Steps:
        """Find out which opening request took effect, by a ping, which only a session answers.

        The order of the answers proves nothing. With TypeScript SDK 2.4 `initialize` ends the
        stateless era that the probe has begun; with rmcp it is answered, and changes nothing. Nor
        does an answer to server/discover: the Python SDK gives one in a session, too.
        """
        try:
            yield from self._ask(Ask(agreement.era, "ping", None, PING_TIMEOUT))
        except PeerError as refusal:
            _logger.debug("%s refused a ping: %s", self._plan.target, refusal)
            try:
                described = self._described or (yield from self._open_stateless())
            except (PeerError, CallTimeout):  # it is a session, of a server without ping
                return agreement._replace(is_certain=False)
            if refusal.code != ErrorCode.METHOD_NOT_FOUND or not (
                yield from self._lists(agreement)
            ):
                return described
        except (CallTimeout, ProtocolViolation, UsageError) as error:
            _logger.debug("%s did not answer a ping: %s", self._plan.target, error)
        return agreement._replace(is_certain=False)

    def _lists(self, agreement: Agreement) -> Generator[Effect, Any, bool]:
        """Whether a server that lacks ping gives a list without the metadata of the stateless era.

        There every request needs it, so that only a server in a session gives one.
        """
        for name in ("tools", "resources", "prompts"):
            if name in agreement.capabilities:
                try:
                    yield from self._ask(Ask(agreement.era, f"{name}/list", None, PING_TIMEOUT))
                except PeerError:
                    return False
                except (CallTimeout, ProtocolViolation, UsageError):
                    return True  # a refusal would have come at once
                return True
        return False

    def _initialize(self, version: str) -> Generator[Effect, Any, Answer]:
        """Offer a revision, and another if the server names one instead."""
        try:
            return (yield from self._ask(self._offer(version)))
        except PeerError as error:
            other = best_common(_supported_by(error) or (), HANDSHAKE_VERSIONS)
            if other is None or other == version:
                raise
        return (yield from self._ask(self._offer(other)))

    def _offer(self, version: str) -> Ask:
        era = HandshakeEra(version, self._plan.identity, agreed=False)
        return Ask(era, *era.opening)

    def _agreed_version(self, result: Mapping[str, Any]) -> str:
        version = result.get("protocolVersion")
        target = self._plan.target
        if not isinstance(version, str):
            raise ProtocolViolation(f"{target} answered initialize without a protocolVersion")
        if era_of(version) is None and not is_past_handshakes(version):
            # The lifecycle page: a client that does not support the version SHOULD disconnect.
            if self._plan.strict or is_outdated(version):
                raise ProtocolViolation(f"{target} answered with unknown revision {version!r}")
            _logger.warning("%s answered with unknown revision %r", target, version)
        return version

    def _leave_handshake(self, version: str) -> Steps:
        """Change to the stateless era: the server has agreed on a revision without a handshake."""
        plan = self._plan
        reason = f"{plan.target} answered initialize with {version}, a revision without initialize"
        if plan.version is not None:
            raise ProtocolViolation(f"{reason}, though {plan.version} was offered")
        if self._described is not None:
            return self._described
        try:
            return (yield from self._open_stateless(LATEST_STATELESS, LONG_PROBE_TIMEOUT))
        except (ServerError, NetworkError) as error:
            raise ProtocolViolation(f"{reason}; server/discover gave: {error}") from error

    def _handshake_or_switch(self, version: str) -> Steps:
        """Initialize; if there is no MCP endpoint, try HTTP+SSE at the same URL."""
        try:
            return (yield from self._handshake(version))
        except HttpError as error:
            if not self._plan.may_switch or error.status not in (400, 404, 405):
                raise
            first = error
        try:
            yield SwitchToLegacySse()
            return (yield from self._handshake(version))
        except (ServerError, NetworkError) as second:
            if _is_plain(second):
                raise
            gave = f"Streamable HTTP gave {first}; HTTP+SSE gave {second}"
            reason = f"it is not an MCP endpoint: {first if str(first) == str(second) else gave}"
            kind = ConnectKind.NOT_AN_ENDPOINT
            raise ConnectFailed(self._plan.target, reason, (first, second), kind) from second

    # Finding out the era

    def _probe(self) -> Steps:
        """Ask in the stateless era; unless the answer shows a server of that era, fall back."""
        may_take_long = self._plan.answers_all or self._plan.remembered is Era.STATELESS
        timeout = LONG_PROBE_TIMEOUT if may_take_long else PROBE_TIMEOUT
        try:
            answer = yield from self._discover(LATEST_STATELESS, timeout)
        except CallTimeout:
            self._is_silent = True
        except ConnectionLost as lost:
            if self._plan.remembered is not None:  # a server that has not minded the probe before
                raise
            yield from self._restart(lost)
            return (yield from self._handshake_or_stateless())
        except (PeerError, HttpError) as error:
            if _is_final(error):
                raise
        except ProtocolViolation as violation:
            _logger.debug("%s: the probe was answered wrongly: %s", self._plan.target, violation)
            yield from self._restart(violation)  # some wrong answers end a WebSocket
        else:
            if isinstance(answer, Agreement):
                return answer
            if _shows_the_era(answer):
                return self._stateless_agreement(answer)
        return (yield from self._fall_back())

    def _ask(self, ask: Ask) -> Generator[Effect, Any, Answer]:
        """Ask. Return the result, or the agreement that a late answer to the probe leads to.

        It leads to none yet where this request may change the server's era, as `initialize` does.
        """
        answer = yield ask
        if not isinstance(answer, LateAnswer):
            result: Mapping[str, Any] = answer
            return result
        self._is_silent = False
        self._described = yield from self._judge(answer)
        timeout = ask.timeout
        if self._described is not None:
            if self._plan.answers_all or ask.method == PROBE:
                return self._described
            timeout = timeout or SECOND_PROBE_TIMEOUT
        result = yield KeepWaiting(timeout)
        return result

    def _judge(self, late: LateAnswer) -> Generator[Effect, Any, Agreement | None]:
        """Return the agreement of a late answer to the probe; None: only initialize can tell."""
        result, error = late
        version = _version_to_ask_in(error)
        if version is not None:
            try:
                result = yield self._discovery(version, SECOND_PROBE_TIMEOUT)
            except (ServerError, NetworkError) as second:
                error = second
        if result is not None:
            return self._stateless_agreement(result) if _shows_the_era(result) else None
        if error is not None and _is_final(error):
            raise error
        return None

    def _fall_back(self) -> Steps:
        """Initialize with a server that has seen the probe, and may have failed on it."""
        try:
            return (yield from self._handshake_or_stateless())
        except ConnectionLost as lost:
            # Some servers answer a first request other than initialize, and then exit. Those made
            # with the Python SDK before 1.9 do not answer it, and exit at the next.
            yield from self._restart(lost)
            described, self._described, self._is_silent = self._described, None, False
            try:
                if described is not None:
                    return (yield from self._open_stateless(LATEST_STATELESS, LONG_PROBE_TIMEOUT))
                return (yield from self._handshake_or_switch(LATEST_HANDSHAKE))
            except CallTimeout:
                raise lost from None  # its reason tells more than that no time was left

    def _handshake_or_stateless(self) -> Steps:
        """Initialize, unless the server refuses it as one of the stateless era does."""
        try:
            return (yield from self._handshake_or_switch(LATEST_HANDSHAKE))
        except (PeerError, CallTimeout) as error:
            if self._described is not None:
                return self._described
            if isinstance(error, CallTimeout):
                raise
            # A server of the stateless era that was too slow for the probe, lost the connection
            # with it, or whose first message settled its era, refuses initialize; the refusal
            # proves that it runs by now.
            if not self._is_silent and error.code != ErrorCode.UNSUPPORTED_PROTOCOL_VERSION:
                raise
            refusal = error
        try:
            return (yield from self._open_stateless())
        except (PeerError, CallTimeout, ConnectionLost):
            raise refusal from None

    def _open_as_remembered(self) -> Steps:
        """Initialize with a server that did so before; probe it if it refuses to.

        One that exits at its start is not restarted: there was no probe that could be the cause.
        """
        try:
            return (yield from self._handshake_or_switch(LATEST_HANDSHAKE))
        except (PeerError, HttpError) as error:
            if _is_plain(error):
                raise
            refusal: McpError = error
        except ConnectFailed as error:
            if not error.attempts:  # nothing answers there; a probe would have to wait for it again
                raise
            refusal = error
        yield from self._restart(refusal)
        try:
            return (yield from self._probe())
        except ConnectionLost:
            raise refusal from None

    def _restart(self, error: McpError) -> Generator[Effect, Any, None]:
        """Restart a server that has exited, but only once: then the probe is not the cause."""
        if self._has_restarted:
            raise error
        self._has_restarted = bool((yield Restart()))


def _version_to_ask_in(error: McpError | None) -> str | None:
    """Return the revision of the stateless era that a refusal names, None when it names none."""
    if not isinstance(error, PeerError) or error.code != ErrorCode.UNSUPPORTED_PROTOCOL_VERSION:
        return None
    return best_common(_supported_by(error) or (), STATELESS_VERSIONS)


def _supported_by(error: PeerError) -> list[Any] | None:
    """Return the revisions that an error says the server supports, None when it says nothing."""
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    return supported if isinstance(supported, list) else None


def _shows_the_era(result: Mapping[str, Any]) -> bool:
    """Whether an answer to the probe is one that only a server of the stateless era gives."""
    supported = result.get("supportedVersions")
    return isinstance(supported, list) and (
        best_common(supported, STATELESS_VERSIONS) is not None or _rules_out(supported)
    )


def _rules_out(supported: list[Any] | None) -> bool:
    """Whether a server lists its revisions, and none of them is opened by initialize."""
    return supported is not None and best_common(supported, HANDSHAKE_VERSIONS) is None


def _is_final(error: McpError) -> bool:
    """Whether an error that answers the probe is one that initializing would not cure."""
    if not isinstance(error, PeerError):
        return _is_plain(error)
    if error.code == ErrorCode.UNSUPPORTED_PROTOCOL_VERSION:
        return _rules_out(_supported_by(error))
    return error.code in (ErrorCode.HEADER_MISMATCH, ErrorCode.MISSING_REQUIRED_CLIENT_CAPABILITY)


def _is_plain(error: Exception) -> bool:
    """Whether a status is final, so that asking in another way does not help."""
    return isinstance(error, HttpError) and error.status in (401, 403, 407, 429)


def _agreement(era: EraRules, result: Mapping[str, Any], server_info: Any) -> Agreement:
    return Agreement(
        era,
        object_in(server_info),
        object_in(result.get("capabilities")),
        string_at(result, "instructions"),
        result,
    )
