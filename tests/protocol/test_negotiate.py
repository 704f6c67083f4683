"""The era that a server speaks, as a table of servers: F-LIFE-1 to F-LIFE-4, F-HTTP-11.

Every case is a conversation: what the client does, and what comes of it. The client must do exactly
that, and end with the version, or with the exception, that the last entry names.
"""

from __future__ import annotations

from typing import Any, Union

import pytest

from mcpclient.errors import (
    AuthorizationRequired,
    CallTimeout,
    ClientClosed,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    NotRecorded,
    PeerError,
    ProcessExited,
    ProtocolViolation,
    UsageError,
)
from mcpclient.protocol.eras import HandshakeEra, StatelessEra
from mcpclient.protocol.negotiate import (
    LONG_PROBE_TIMEOUT,
    PING_TIMEOUT,
    PROBE_TIMEOUT,
    SECOND_PROBE_TIMEOUT,
    negotiate,
)
from mcpclient.protocol.negotiation import (
    Agreement,
    Ask,
    ClientIdentity,
    Effect,
    Era,
    KeepWaiting,
    LateAnswer,
    OpenServerChannel,
    Plan,
    Restart,
    SwitchToLegacySse,
    Tell,
)
from tests.support.tables import each_row

IDENTITY = ClientIdentity({"name": "test", "version": "1"}, {"roots": {}})

Outcome = Union[dict[str, Any], LateAnswer, McpError, bool, None]
Conversation = list[tuple[str, Outcome]]

# How long the server may take to describe itself, and what that is called below.
ASKING = {
    None: "discover",
    PROBE_TIMEOUT: "probe",
    SECOND_PROBE_TIMEOUT: "probe again",
    LONG_PROBE_TIMEOUT: "probe patiently",
}


def plan(**fields: Any) -> Plan:
    return Plan(IDENTITY, "the server", **fields)


def converse(plan: Plan, conversation: Conversation) -> Agreement:
    """Negotiate with a server that answers as written; the steps must be those written, and all."""
    steps = negotiate(plan)
    outcome: Outcome = None
    left = [expected for expected, _ in conversation]
    try:
        for expected, next_outcome in conversation:
            effect = steps.throw(outcome) if isinstance(outcome, McpError) else steps.send(outcome)
            assert describe(effect) == expected
            outcome = next_outcome
            left.pop(0)
        effect = steps.throw(outcome) if isinstance(outcome, McpError) else steps.send(outcome)
    except McpError:
        assert left == []
        raise
    except StopIteration as end:
        assert left == []
        agreement: Agreement = end.value
        return agreement
    raise AssertionError(f"one step too many: {describe(effect)}")


def describe(effect: Effect) -> str:
    if isinstance(effect, Ask) and effect.method == "initialize":
        assert effect.params is not None
        assert effect.params["clientInfo"] == IDENTITY.info
        assert effect.params["capabilities"] == IDENTITY.capabilities
        outgoing = effect.era.request(1, effect.method, effect.params, None)
        assert "MCP-Protocol-Version" not in outgoing.headers
        assert effect.timeout is None
        return f"initialize {effect.params['protocolVersion']}"
    if isinstance(effect, Ask) and effect.method in ("ping", "tools/list"):
        assert effect.params is None and effect.timeout == PING_TIMEOUT
        return f"{effect.method} {effect.era.version}"
    if isinstance(effect, Ask):
        assert (effect.method, effect.params) == ("server/discover", None)
        return f"{ASKING[effect.timeout]} {effect.era.version}"
    if isinstance(effect, Tell):
        return f"tell {effect.method}"
    if isinstance(effect, OpenServerChannel):
        return f"channel {effect.headers['MCP-Protocol-Version']}"
    return {Restart: "restart", SwitchToLegacySse: "switch", KeepWaiting: "wait"}[type(effect)]


def initialized(version: str = "2025-11-25") -> dict[str, Any]:
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "old", "version": "1"},
        "instructions": "be kind",
    }


def discovered(*versions: str) -> dict[str, Any]:
    return {
        "supportedVersions": list(versions or ("2026-07-28",)),
        "capabilities": {"tools": {}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "new", "version": "2"}},
    }


def handshake(version: str = "2025-11-25", offer: str = "2025-11-25") -> Conversation:
    return [
        (f"initialize {offer}", initialized(version)),
        (f"channel {version}", None),
        ("tell notifications/initialized", None),
    ]


def unsupported(*versions: str) -> PeerError:
    return PeerError(-32022, "Unsupported protocol version", {"supported": list(versions)})


def refused(status: int) -> HttpError:
    return HttpError(status, {}, b"<html>no</html>", "http://h/")


PROBE = "probe 2026-07-28"
PROBE_AGAIN = "probe again 2026-07-28"
PATIENTLY = "probe patiently 2026-07-28"
INITIALIZE = "initialize 2025-11-25"
NO_METHOD = PeerError(-32601, "Method not found")
TIMEOUT = CallTimeout("server/discover", 5.0)
SILENCE: Conversation = [(PROBE, TIMEOUT)]
LATE: Conversation = [*SILENCE, (INITIALIZE, LateAnswer(discovered()))]
ANSWERED: Conversation = [("wait", initialized()), *handshake()[1:]]
PING, LIST = "ping 2025-11-25", "tools/list 2025-11-25"
EXITED = ProcessExited(["server"], 1, "Traceback")

# What the server does with the probe, and where that leads.
STATELESS: dict[str, Conversation] = {
    "modern": [(PROBE, discovered())],
    "modern and more": [(PROBE, discovered("2099-01-01", "2026-07-28", "2025-11-25"))],
    "other version named": [
        (PROBE, unsupported("2026-07-28", "2025-11-25")),
        (PROBE, discovered()),
    ],
    "same version named": [(PROBE, unsupported("2026-07-28")), (PROBE, discovered())],
    # Silence may be a slow start: the server reads the probe and initialize when it runs. It takes
    # either for the opener, and a ping finds out which, whichever it answers first.
    "slow, and refuses initialize": [*LATE, ("wait", NO_METHOD)],
    "slow, and leaves initialize unanswered": [*LATE, ("wait", TIMEOUT)],
    "slow, and ends at initialize": [
        *LATE,
        ("wait", EXITED),
        ("restart", True),
        (PATIENTLY, discovered()),
    ],
    "slow, and answers initialize as one more request": [
        *(*LATE, *ANSWERED, (PING, NO_METHOD), (LIST, PeerError(-32602, "missing _meta")))
    ],
    "slow, and agrees on a revision without initialize": [
        *LATE,
        ("wait", initialized("2026-07-28")),
    ],
    "slow, and answers initialize first": [
        *SILENCE,
        *handshake(),
        (PING, LateAnswer(discovered())),
        ("wait", NO_METHOD),
        (LIST, NO_METHOD),
    ],
    "slow, and answers initialize, then refuses what follows": [
        *SILENCE,
        *handshake(),
        (PING, PeerError(-32602, "missing _meta")),
        (PROBE_AGAIN, discovered()),
    ],
    "slow, and refuses what follows before it answers the probe": [
        *SILENCE,
        *handshake(),
        (PING, PeerError(-32602, "missing _meta")),
        (PROBE_AGAIN, LateAnswer(discovered())),
    ],
    "slow, naming versions": [
        *SILENCE,
        (INITIALIZE, LateAnswer(None, unsupported("2026-07-28"))),
        (PROBE_AGAIN, discovered()),
        ("wait", NO_METHOD),
    ],
    "slow, and refuses initialize first": [
        *SILENCE,
        (INITIALIZE, NO_METHOD),
        (PROBE_AGAIN, discovered()),
    ],
    "slow, and refuses initialize first, naming versions": [
        *SILENCE,
        (INITIALIZE, unsupported("2026-07-28")),
        (PROBE_AGAIN, discovered()),
    ],
    "slow, and refuses initialize long before it answers the probe": [
        *SILENCE,
        (INITIALIZE, NO_METHOD),
        (PROBE_AGAIN, LateAnswer(discovered())),
    ],
    "slow, and takes the second probe only": [
        *SILENCE,
        (INITIALIZE, NO_METHOD),
        (PROBE_AGAIN, LateAnswer(None, NO_METHOD)),
        ("wait", discovered()),
    ],
    "slow after naming versions": [
        (PROBE, unsupported("2026-07-28")),
        (PROBE, TIMEOUT),
        (INITIALIZE, LateAnswer(discovered())),
        ("wait", NO_METHOD),
    ],
    "agrees on a revision without initialize": [
        (PROBE, NO_METHOD),
        (INITIALIZE, initialized("2026-07-28")),
        (PATIENTLY, discovered()),
    ],
    "agrees on a later revision": [
        *SILENCE,
        (INITIALIZE, initialized("2027-01-01")),
        (PATIENTLY, LateAnswer(discovered())),
    ],
    "lost with the probe": [
        (PROBE, ConnectionLost("reset")),
        ("restart", None),
        (INITIALIZE, unsupported("2026-07-28")),
        (PROBE_AGAIN, discovered()),
    ],
    "odd about the probe": [
        (PROBE, PeerError(-32603, "warming up")),
        (INITIALIZE, unsupported("2026-07-28")),
        (PROBE_AGAIN, discovered()),
    ],
}

HANDSHAKE: dict[str, Conversation] = {
    "method not found": [(PROBE, NO_METHOD), *handshake()],
    "invalid params": [(PROBE, PeerError(-32602, "Invalid request parameters")), *handshake()],
    "legacy code": [(PROBE, PeerError(-32000, "not initialized")), *handshake()],
    "any error": [(PROBE, PeerError(1, "?")), *handshake("2024-11-05")],
    "names legacy versions": [(PROBE, unsupported("2025-06-18")), *handshake("2025-06-18")],
    "names nothing": [(PROBE, PeerError(-32022, "unsupported")), *handshake()],
    "names versions for another reason": [
        (PROBE, PeerError(-32601, "Method not found", {"supported": ["2026-07-28"]})),
        *handshake(),
    ],
    "names something odd": [(PROBE, PeerError(-32022, "no", {"supported": "x"})), *handshake()],
    "names it and refuses it again": [
        (PROBE, unsupported("2026-07-28", "2025-11-25")),
        (PROBE, unsupported("2026-07-28", "2025-11-25")),
        *handshake(),
    ],
    "discovers legacy versions only": [(PROBE, discovered("2025-11-25")), *handshake()],
    "answers anything": [(PROBE, {}), *handshake()],
    "answers with something odd": [(PROBE, {"supportedVersions": "2026-07-28"}), *handshake()],
    "no result": [
        (PROBE, ProtocolViolation("the server answered without a result")),
        ("restart", None),
        *handshake(),
    ],
    "silent": [*SILENCE, *handshake("2025-03-26"), ("ping 2025-03-26", {})],
    "silent, without ping": [*SILENCE, *handshake(), (PING, NO_METHOD), (PROBE_AGAIN, NO_METHOD)],
    "silent about what it does not know": [
        *SILENCE,
        *handshake(),
        (PING, NO_METHOD),
        (PROBE_AGAIN, TIMEOUT),
    ],
    "silent about a ping": [*SILENCE, *handshake(), (PING, TIMEOUT)],
    "silent, recorded without a ping": [
        *SILENCE,
        *handshake(),
        (PING, NotRecorded("session.jsonl", "ping", None)),
    ],
    "silent, and odd about a ping": [*SILENCE, *handshake(), (PING, ProtocolViolation("null"))],
    "slow, without ping, and describes itself in a session, too": [
        *(*LATE, *ANSWERED, (PING, NO_METHOD), (LIST, {"tools": []}))
    ],
    "slow, without ping, and slow to list": [
        *(*SILENCE, *handshake(), (PING, NO_METHOD), (PROBE_AGAIN, discovered()), (LIST, TIMEOUT))
    ],
    "slow, and takes initialize for the fall-back": [*LATE, *ANSWERED, (PING, {})],
    "slow, answers initialize first, and means it": [
        *SILENCE,
        *handshake(),
        (PING, LateAnswer(discovered())),
        ("wait", {}),
    ],
    "slow, answers initialize first, and has no ping": [
        *SILENCE,
        *handshake(),
        (PING, LateAnswer(None, NO_METHOD)),
        ("wait", TIMEOUT),
    ],
    "exits on the probe": [(PROBE, EXITED), ("restart", None), *handshake()],
    "exits after refusing the probe": [
        (PROBE, NO_METHOD),
        (INITIALIZE, EXITED),
        ("restart", None),
        *handshake(),
    ],
    "exits at the next message": [*SILENCE, (INITIALIZE, EXITED), ("restart", True), *handshake()],
    "slow, and refuses the probe": [*SILENCE, (INITIALIZE, LateAnswer(None, NO_METHOD)), *ANSWERED],
    "slow, and answers the probe with anything": [
        *SILENCE,
        (INITIALIZE, LateAnswer({"tools": []})),
        *ANSWERED,
    ],
    "slow, and answers the probe with no result": [
        *SILENCE,
        (INITIALIZE, LateAnswer(None, ProtocolViolation("neither result nor error"))),
        *ANSWERED,
    ],
    "slow, and names what it refuses again": [
        *SILENCE,
        (INITIALIZE, LateAnswer(None, unsupported("2026-07-28", "2025-11-25"))),
        (PROBE_AGAIN, unsupported("2026-07-28", "2025-11-25")),
        *ANSWERED,
    ],
    "slow, and ends at the probe": [
        *SILENCE,
        (INITIALIZE, LateAnswer(None, EXITED)),
        ("wait", EXITED),
        ("restart", True),
        *handshake(),
    ],
    "slow, and wants another offer": [
        *SILENCE,
        (INITIALIZE, PeerError(-32602, "no", {"supported": ["2024-11-05"]})),
        ("initialize 2024-11-05", LateAnswer(None, NO_METHOD)),
        ("wait", initialized("2024-11-05")),
        *handshake("2024-11-05")[1:],
    ],
    "http 400": [(PROBE, refused(400)), *handshake()],
    "http 404": [(PROBE, refused(404)), *handshake()],
    "http 500": [(PROBE, refused(500)), *handshake()],
    "wants another offer": [
        (PROBE, NO_METHOD),
        (INITIALIZE, PeerError(-32602, "no", {"supported": ["2024-11-05"]})),
        *handshake("2024-11-05", offer="2024-11-05"),
    ],
}

FAILURES: dict[str, Conversation] = {
    "header mismatch": [(PROBE, PeerError(-32020, "mismatch"))],
    "capability missing": [(PROBE, PeerError(-32021, "roots needed"))],
    "only unknown versions": [(PROBE, unsupported("2099-01-01"))],
    "no version at all": [(PROBE, unsupported())],
    "http 401": [(PROBE, refused(401))],
    "http 403": [(PROBE, refused(403))],
    "http 407": [(PROBE, refused(407))],
    "http 429": [(PROBE, refused(429))],
    "authorization": [(PROBE, AuthorizationRequired("https://as/"))],
    "not reachable": [(PROBE, ConnectFailed("the server", "refused"))],
    "closed meanwhile": [(PROBE, ClientClosed())],
    "refuses both": [(PROBE, NO_METHOD), (INITIALIZE, PeerError(-32603, "broken"))],
    "exits on both": [(PROBE, EXITED), ("restart", None), (INITIALIZE, ConnectionLost("again"))],
    "exits thrice": [
        (PROBE, NO_METHOD),
        (INITIALIZE, EXITED),
        ("restart", None),
        (INITIALIZE, ConnectionLost("again")),
    ],
    "ends after the probe, and again": [
        *SILENCE,
        (INITIALIZE, EXITED),
        ("restart", True),
        (INITIALIZE, ConnectionLost("again")),
    ],
    "slow, and wants a capability": [
        *SILENCE,
        (INITIALIZE, LateAnswer(None, PeerError(-32021, "roots needed"))),
    ],
    "slow, and wants a login": [*SILENCE, (INITIALIZE, LateAnswer(None, refused(401)))],
    "slow, refuses the probe and then initialize": [
        *SILENCE,
        (INITIALIZE, LateAnswer(None, NO_METHOD)),
        ("wait", PeerError(-32603, "no key")),
    ],
    "silent for good": [*SILENCE, (INITIALIZE, CallTimeout("initialize", 30.0))],
    "http 503": [(PROBE, refused(503)), (INITIALIZE, refused(503))],
    "refuses the only offer": [
        (PROBE, NO_METHOD),
        (INITIALIZE, PeerError(-32602, "no", {"supported": ["2025-11-25"]})),
    ],
}


@each_row("server", STATELESS)
def test_stateless_servers(server: str) -> None:
    """F-LIFE-2, F-LIFE-3: a server of the stateless era is spoken to in it."""
    agreement = converse(plan(), STATELESS[server])
    assert isinstance(agreement.era, StatelessEra)
    assert agreement.era.version == "2026-07-28"
    assert agreement.server_info == {"name": "new", "version": "2"}
    assert agreement.capabilities == {"tools": {}}
    assert agreement.instructions is None
    assert agreement.raw["supportedVersions"]


@each_row("server", HANDSHAKE)
def test_handshake_servers(server: str) -> None:
    """F-LIFE-1, F-LIFE-3, F-API-27: any answer but one of the stateless era leads to it."""
    agreement = converse(plan(), HANDSHAKE[server])
    outcomes = [outcome for _, outcome in HANDSHAKE[server] if isinstance(outcome, dict)]
    (result,) = [outcome for outcome in outcomes if "protocolVersion" in outcome]
    assert isinstance(agreement.era, HandshakeEra)
    assert agreement.era.version == result["protocolVersion"]
    assert agreement.server_info == {"name": "old", "version": "1"}
    assert agreement.capabilities == {"tools": {}}
    assert agreement.instructions == "be kind"
    assert agreement.raw is result


@each_row("server", FAILURES)
def test_servers_that_cannot_be_used(server: str) -> None:
    """F-LIFE-3: the caller gets the server's own last error."""
    last = FAILURES[server][-1][1]
    last = last.error if isinstance(last, LateAnswer) else last
    assert isinstance(last, McpError)
    with pytest.raises(type(last)) as caught:
        converse(plan(), FAILURES[server])
    assert caught.value is last


@each_row("second", [NO_METHOD, CallTimeout("server/discover", 5.0), EXITED])
def test_a_refusal_is_kept_over_a_vague_second_one(second: McpError) -> None:
    """F-LIFE-3: when the second discovery fails too, the answer to initialize is what counts."""
    refusal = PeerError(-32600, "initialize what?")
    with pytest.raises(PeerError) as caught:
        converse(plan(), [*SILENCE, (INITIALIZE, refusal), (PROBE_AGAIN, second)])
    assert caught.value is refusal


def test_why_a_server_ended_is_kept_over_a_second_start_that_takes_too_long() -> None:
    """F-LIFE-3, F-STD-7: it gave up for lack of a database; starting it again was no cure."""
    with pytest.raises(ProcessExited) as caught:
        converse(
            plan(),
            [
                *SILENCE,
                (INITIALIZE, EXITED),
                ("restart", None),
                (INITIALIZE, CallTimeout("initialize", 20.0)),
            ],
        )
    assert caught.value is EXITED


SWITCHED: Conversation = [(PROBE, refused(405)), (INITIALIZE, refused(405)), ("switch", None)]


@each_row("status", [400, 404, 405])
def test_the_legacy_transport(status: int) -> None:
    """F-HTTP-11: where POST meets no endpoint, the same URL is tried as HTTP+SSE."""
    agreement = converse(
        plan(may_switch=True),
        [
            (PROBE, refused(status)),
            (INITIALIZE, refused(status)),
            ("switch", None),
            *handshake("2024-11-05"),
        ],
    )
    assert agreement.era.version == "2024-11-05"


@each_row(
    "second", [refused(401), refused(429), AuthorizationRequired("https://as/"), ClientClosed()]
)
def test_what_a_caller_must_see_is_not_wrapped(second: McpError) -> None:
    """F-HTTP-11, F-MANY-2: a server that needs authorization says so on the second way as well."""
    for conversation in ([*SWITCHED[:2], ("switch", second)], [*SWITCHED, (INITIALIZE, second)]):
        with pytest.raises(type(second)) as caught:
            converse(plan(may_switch=True), conversation)
        assert caught.value is second


def test_pinned_to_an_unknown_version() -> None:
    """F-LIFE-3: refused before anything is sent, with the versions that would do."""
    with pytest.raises(UsageError, match="2025-11-25, 2026-07-28"):
        negotiate(plan(version="1.0"))


def test_a_refusal_is_kept_over_a_probe_that_ends_the_server() -> None:
    """F-LIFE-3: a server that did so before refuses initialize: that is the reason to tell."""
    refusal = PeerError(-32603, "no key")
    with pytest.raises(PeerError) as caught:
        converse(
            plan(remembered=Era.HANDSHAKE),
            [(INITIALIZE, refusal), ("restart", None), (PROBE, EXITED)],
        )
    assert caught.value is refusal


@each_row(
    "failure",
    [
        refused(401),
        refused(429),
        ConnectFailed("the server", "refused"),
        CallTimeout("initialize", 30.0),
        AuthorizationRequired("https://as/"),
    ],
)
def test_a_memory_is_not_doubted_without_reason(failure: McpError) -> None:
    """F-LIFE-3: a server that is down or wants authorization has not changed its era."""
    with pytest.raises(type(failure)) as caught:
        converse(plan(remembered=Era.HANDSHAKE), [(INITIALIZE, failure)])
    assert caught.value is failure


def test_over_http_an_answer_to_the_probe_counts_at_once() -> None:
    """F-API-27: every request stands by itself there; nothing tells it from the one before."""
    conversation: Conversation = [(PATIENTLY, TIMEOUT), (INITIALIZE, LateAnswer(discovered()))]
    assert isinstance(converse(plan(answers_all=True), conversation).era, StatelessEra)
    silent: Conversation = [(PATIENTLY, TIMEOUT), *handshake()]
    assert isinstance(converse(plan(answers_all=True), silent).era, HandshakeEra)
