"""When a server is connected, given up, or connected again: the whole table, and nothing else.

``TABLE[state, event]`` is the next state and what is to be done. A pair that is not in the table
changes nothing. There is no clock and no connection here: `server.Server` acts.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from .status import Status


class Event(enum.Enum):
    """What happens to a server."""

    CONNECT = "the user asks for a connection"
    CALL = "a call needs a connection"
    OPENED = "an attempt has succeeded"
    FAILED = "an attempt has failed"
    UNAUTHORIZED = "an attempt, or a call, lacks authorization"
    UNREGISTERED = "an attempt lacks a registered client"
    SWITCHED_OFF = "an attempt finds that the configuration disables the server"
    UNAPPROVED = "an attempt finds that the user has not agreed to the server"
    FORBIDDEN = "an attempt finds that a policy forbids the server"
    LOST = "the connection has ended by itself"
    RETRY = "the pause before another attempt is over"
    DISCONNECT = "the user wants no connection"


class Action(enum.Enum):
    """What is to be done about it, in this order."""

    STOP = "cancel the attempt and the pause, whichever there is"
    CLOSE = "close what is left of the connection"
    KEEP_TOOLS = "keep the tools, marked as stale"
    DROP_TOOLS = "offer its tools no more"
    OPEN = "begin an attempt"
    PAUSE = "wait before another attempt, longer each time"
    REST = "forget the failures, and count the attempts from one again if the connection lasts"


_A, _S = Action, Status
_LOSING = (_A.CLOSE, _A.KEEP_TOOLS, _A.PAUSE)
_ENDING = (_A.STOP, _A.CLOSE, _A.DROP_TOOLS)
_NOT_ALLOWED = {
    Event.SWITCHED_OFF: (_S.DISABLED, _ENDING),
    Event.UNAPPROVED: (_S.NEEDS_APPROVAL, _ENDING),
    Event.FORBIDDEN: (_S.DENIED, _ENDING),
}

TABLE: Mapping[tuple[Status, Event], tuple[Status, tuple[Action, ...]]] = {
    # Before the first connection
    (_S.DISABLED, Event.CONNECT): (_S.CONNECTING, (_A.OPEN,)),
    (_S.NEEDS_APPROVAL, Event.CONNECT): (_S.CONNECTING, (_A.OPEN,)),
    (_S.DENIED, Event.CONNECT): (_S.CONNECTING, (_A.OPEN,)),
    (_S.DEFERRED, Event.CONNECT): (_S.CONNECTING, (_A.OPEN,)),
    (_S.DEFERRED, Event.CALL): (_S.CONNECTING, (_A.OPEN,)),
    (_S.CONNECTING, Event.OPENED): (_S.CONNECTED, (_A.REST,)),
    (_S.CONNECTING, Event.FAILED): (_S.FAILED, (_A.CLOSE, _A.KEEP_TOOLS)),
    (_S.CONNECTING, Event.UNAUTHORIZED): (_S.NEEDS_AUTH, (_A.CLOSE, _A.KEEP_TOOLS)),
    (_S.CONNECTING, Event.UNREGISTERED): (
        _S.NEEDS_CLIENT_REGISTRATION,
        (_A.CLOSE, _A.KEEP_TOOLS),
    ),
    # What has failed is tried again when somebody wants it, and not by itself
    (_S.FAILED, Event.CONNECT): (_S.CONNECTING, (_A.OPEN,)),
    (_S.FAILED, Event.CALL): (_S.CONNECTING, (_A.OPEN,)),
    (_S.NEEDS_AUTH, Event.CONNECT): (_S.CONNECTING, (_A.OPEN,)),
    (_S.NEEDS_CLIENT_REGISTRATION, Event.CONNECT): (_S.CONNECTING, (_A.OPEN,)),
    (_S.CLOSED, Event.CONNECT): (_S.CONNECTING, (_A.OPEN,)),
    # While it works
    (_S.CONNECTED, Event.LOST): (_S.RECONNECTING, _LOSING),
    (_S.CONNECTED, Event.UNAUTHORIZED): (_S.NEEDS_AUTH, (_A.CLOSE, _A.KEEP_TOOLS)),
    # After a loss: for as long as the manager is open
    (_S.RECONNECTING, Event.RETRY): (_S.RECONNECTING, (_A.OPEN,)),
    (_S.RECONNECTING, Event.CONNECT): (_S.RECONNECTING, (_A.OPEN,)),
    (_S.RECONNECTING, Event.OPENED): (_S.CONNECTED, (_A.REST,)),
    (_S.RECONNECTING, Event.FAILED): (_S.RECONNECTING, (_A.CLOSE, _A.PAUSE)),
    (_S.RECONNECTING, Event.UNAUTHORIZED): (_S.NEEDS_AUTH, (_A.CLOSE,)),
    (_S.RECONNECTING, Event.UNREGISTERED): (_S.NEEDS_CLIENT_REGISTRATION, (_A.CLOSE,)),
    # The end, whenever it is wanted
    (_S.DEFERRED, Event.DISCONNECT): (_S.CLOSED, _ENDING),
    (_S.CONNECTING, Event.DISCONNECT): (_S.CLOSED, _ENDING),
    (_S.CONNECTED, Event.DISCONNECT): (_S.CLOSED, _ENDING),
    (_S.RECONNECTING, Event.DISCONNECT): (_S.CLOSED, _ENDING),
    (_S.FAILED, Event.DISCONNECT): (_S.CLOSED, _ENDING),
    (_S.NEEDS_AUTH, Event.DISCONNECT): (_S.CLOSED, _ENDING),
    (_S.NEEDS_CLIENT_REGISTRATION, Event.DISCONNECT): (_S.CLOSED, _ENDING),
    # It is judged again before each attempt
    **{
        (state, event): outcome
        for state in (_S.CONNECTING, _S.RECONNECTING)
        for event, outcome in _NOT_ALLOWED.items()
    },
}


def step(state: Status, event: Event) -> tuple[Status, tuple[Action, ...]]:
    """Return the next state, and what is to be done on the way to it."""
    return TABLE.get((state, event), (state, ()))
