"""The states of a connection that is kept, the moves between them, and the pauses in between.

::

                 CONNECT, or a CALL                connected
    CLOSED ──────────────────────▶ CONNECTING ─────────────────▶ CONNECTED ◀─────────┐
    DEFERRED                           │                             │               │
    FAILED, NEEDS_AUTH, … ◀────────────┘ failed                 LOST │     connected │
                 ▲                                                   ▼               │
                 └────────────────────────────────────────────── RECONNECTING ───────┘
                   a login is needed, or it is refused            │        ▲
                                                                  └────────┘
    DISCONNECT leads from each of them to CLOSED            RETRY after a pause, or failed

``TABLE[state, event]`` is the next state after an event, and `reach` finds that after an attempt;
both add the actions on the way to it. A pair that is not in the table changes nothing. There is
neither clock nor connection here: `keeper.Keeper` acts.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...errors import ConnectFailed, HttpError, McpError, ServerUnavailable, UsageError
from ...errors.authorization import (
    AuthorizationDenied,
    AuthorizationRequired,
    InsufficientScope,
    RegistrationRequired,
    TokenRequestFailed,
)


class Status(str, enum.Enum):
    """The state of one server; its ``value`` is the text to show or compare with."""

    DISABLED = "disabled"
    """Switched off in its configuration; `Manager.connect` switches it on."""
    NEEDS_APPROVAL = "needs_approval"
    """It comes with a project, and the user has not agreed to it yet."""
    DENIED = "denied"
    """A policy forbids it."""
    DEFERRED = "deferred"
    """Not connected yet: the first call does that. Its tools are those it had the last time."""
    CONNECTING = "connecting"
    """On the way to its first connection."""
    CONNECTED = "connected"
    """Its tools can be called."""
    RECONNECTING = "reconnecting"
    """The connection was lost and is made anew; its tools are kept, and calls wait."""
    FAILED = "failed"
    """The first connection failed. `Manager.connect`, or a call, tries again."""
    NEEDS_AUTH = "needs_auth"
    """The user has to log in, or the credentials were refused."""
    NEEDS_CLIENT_REGISTRATION = "needs_client_registration"
    """Its authorization server wants a client that was registered by hand."""
    CLOSED = "closed"
    """Disconnected by the caller."""

    def __str__(self) -> str:
        return self.value


# Seconds, and a share of them.
_CEILING = 30.0
_SPREAD = 0.25


@dataclass(frozen=True)
class Reconnect:
    """The delays between attempts to restore a lost connection, of a client or of a manager.

    ``delays``: seconds before the first attempts; after the last of them, each pause is twice the
    one before, up to 30 s. Each is made up to a quarter longer or shorter by chance, so that many
    clients of one server do not return at once. ``terminal_errors``: after so many calls in a row
    that failed because of the network, a connection that looks open is closed and made anew.
    """

    delays: Sequence[float] = (0.5, 1.0, 2.0, 4.0)
    terminal_errors: int = 3

    def __post_init__(self) -> None:
        if not self.delays or not all(delay >= 0 for delay in self.delays):
            raise UsageError("delays are the seconds before each attempt, at least one of them")
        if self.terminal_errors < 1:
            raise UsageError("terminal_errors is a number of calls, 1 or more")

    def delay(self, attempt: int, chance: float) -> float:
        """Return the seconds before an attempt, the first of which is 0; ``chance``: 0 to 1."""
        if attempt < len(self.delays):
            plain = self.delays[attempt]
        else:
            doublings = min(attempt - len(self.delays) + 1, 64)
            plain = min(self.delays[-1] * 2.0**doublings, max(_CEILING, self.delays[-1]))
        return plain * (1 + _SPREAD * (2 * chance - 1))


class Event(enum.Enum):
    """An event in the life of a server, other than the end of an attempt."""

    CONNECT = "the user asks for a connection"
    CALL = "a call needs a connection"
    LOST = "the connection has ended by itself"
    RETRY = "the pause before another attempt is over"
    DISCONNECT = "the user wants no connection"


class Action(enum.Enum):
    """A step on the way to the next state, in the order of the table."""

    STOP = "cancel the attempt and the pause, whichever there is"
    CLOSE = "close the rest of the connection"
    KEEP_TOOLS = "keep the tools, marked as stale"
    DROP_TOOLS = "offer its tools no more"
    OPEN = "begin an attempt"
    PAUSE = "wait before another attempt, longer each time"
    REST = "forget the failures, and count the attempts from one again if the connection lasts"


_S = Status

UNDER_WAY = (_S.CONNECTING, _S.RECONNECTING)
"""The statuses in which there is an attempt, or a pause before one."""

_FAILED = (_S.FAILED, _S.NEEDS_AUTH, _S.NEEDS_CLIENT_REGISTRATION)  # retried only on request
_FORBIDDEN = (_S.DISABLED, _S.NEEDS_APPROVAL, _S.DENIED)  # an attempt finds these out first

NEXT_STEPS = {
    _S.DISABLED: "its configuration switches it off; connect() switches it on",
    _S.NEEDS_APPROVAL: "the user has not agreed to it yet; approve it and reload()",
    _S.DENIED: "a policy forbids it",
    _S.CLOSED: "it was disconnected; connect() connects it again",
    _S.NEEDS_AUTH: "log in, then connect()",
    _S.NEEDS_CLIENT_REGISTRATION: "register a client, configure its client_id, then connect()",
}
"""The reason for a status in which no call can be made, and what to do."""

TABLE: Mapping[tuple[Status, Event], Status] = {
    **{
        (state, Event.CONNECT): _S.CONNECTING
        for state in (*_FORBIDDEN, _S.DEFERRED, *_FAILED, _S.CLOSED)
    },
    **{
        (state, Event.DISCONNECT): _S.CLOSED
        for state in (_S.DEFERRED, *UNDER_WAY, _S.CONNECTED, *_FAILED)
    },
    (_S.DEFERRED, Event.CALL): _S.CONNECTING,
    (_S.FAILED, Event.CALL): _S.CONNECTING,
    (_S.CONNECTED, Event.LOST): _S.RECONNECTING,
    # After a loss: for as long as the manager is open
    (_S.RECONNECTING, Event.RETRY): _S.RECONNECTING,
    (_S.RECONNECTING, Event.CONNECT): _S.RECONNECTING,
}

OUTCOMES = (*_FORBIDDEN, _S.CONNECTED, *_FAILED)
"""The statuses that an attempt may lead to."""

_ENDING = (Action.STOP, Action.CLOSE, Action.DROP_TOOLS)
_WAITING = (Action.CLOSE, Action.KEEP_TOOLS, Action.PAUSE)


def step(state: Status, event: Event) -> tuple[Status, tuple[Action, ...]]:
    """Return the next state, and the actions on the way to it."""
    after = TABLE.get((state, event))
    if after is None:
        return state, ()
    if event is Event.LOST:
        return after, _WAITING
    return after, _ENDING if event is Event.DISCONNECT else (Action.OPEN,)


def reach(state: Status, outcome: Status) -> tuple[Status, tuple[Action, ...]]:
    """Return the state after an attempt with one of the `OUTCOMES`, and the actions.

    A call without a login ends a connection as such an attempt would.
    """
    if state not in UNDER_WAY and (state, outcome) != (_S.CONNECTED, _S.NEEDS_AUTH):
        return state, ()
    if outcome is _S.CONNECTED:
        return outcome, (Action.REST,)
    if outcome in _FORBIDDEN:
        return outcome, _ENDING
    if state is _S.RECONNECTING and outcome is _S.FAILED:
        return state, _WAITING
    return outcome, (Action.CLOSE, Action.KEEP_TOOLS)


_UNAUTHORIZED = 401


def lacks_login(error: BaseException) -> bool:
    """Return whether the user has to log in before another call can succeed."""
    if isinstance(error, HttpError):
        return error.status == _UNAUTHORIZED
    return isinstance(error, AuthorizationRequired)


def after_attempt(error: McpError) -> Status:
    """Return the status that a failed attempt to connect leads to.

    Where several ways were tried, one that was refused for lack of authorization says most.
    """
    if isinstance(error, ServerUnavailable):
        return _S.DENIED
    reasons = [error, *getattr(error, "attempts", ())]
    if any(isinstance(each, RegistrationRequired) for each in reasons):
        return _S.NEEDS_CLIENT_REGISTRATION
    for each in reasons:
        is_refused = isinstance(each, TokenRequestFailed) and each.is_refusal
        if is_refused or isinstance(each, (AuthorizationDenied, InsufficientScope)):
            return _S.NEEDS_AUTH
    return _S.NEEDS_AUTH if any(map(lacks_login, reasons)) else _S.FAILED


def did_not_run(error: McpError) -> bool:
    """Return whether a failed call certainly never reached the server and may be repeated."""
    return isinstance(error, ConnectFailed)
