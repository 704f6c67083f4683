"""The states of a connection, and one table of the transitions between them.

A `Connection` lasts as long as its client. It owns the current `Session`, which carries the
traffic over one transport, and replaces it after a loss. Its state is the session's: without
one it is UNOPENED, and once the caller has closed it CLOSED. A session that is being opened beside
the current one has a state of its own, and calls use the earlier one until it is open.

Beside its state, a session has reasons: ``ended``, why it is lost or closed; ``expired``, what
the server refused it with; ``channel_error``, why the server's own channel was given up, which
costs no call. ``transport.unreachable`` says why the last request did not reach the server.

Who cancels what:

- A caller who is cancelled cancels one request: `Session.answer_to` notifies the server, as the era
requires. Cancelling `Connection.open` closes the session to be and leaves nothing running.
- A session that ends, by loss or close, fails every call in flight with the reason, cancels the
  callbacks and the answers to the server, and what still opens it (`Session.opening`).
- Another handshake on the same transport (`Session.begin_anew`) withdraws only the answers to the
  server: its ids begin anew, so an answer would be taken for that to another question.
- The end of the event loop (`LoopEnd`) frees everything in it while it still runs.

Time is kept in three places, all of which stand still while a human is asked: `limits.Deadlines`
has the one timer for the requests of a session, `call_recovery.CallDeadline` the limit of a call
that takes several requests, and `opening.Opening` the time for connecting.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping


class State(enum.Enum):
    """The state of a connection, or of one of its sessions."""

    UNOPENED = "there is no session"
    OPENING = "the transport is opened, and both sides negotiate"
    OPEN = "calls work, as far as is known"
    EXPIRED = "the server has forgotten the session; the next call asks for another"
    RENEWING = "another session is negotiated over the same transport"
    REFUSED = "the server gave no other session; the next call asks for one once more"
    LOST = "it ended by itself"
    CLOSED = "the caller wanted no more of it"


class Event(enum.Enum):
    """An event that moves a connection; ``value`` says who is behind it."""

    CLAIM = "`Connection.claim_loop`: the caller connects once more after closing"
    OPEN = "`Connection.open` makes a session; one lock lets concurrent callers share an attempt"
    SWITCH = "`Opening` goes on over another transport, after the first has ended or did not fit"
    AGREED = "`Connection`: both sides have agreed"
    LOST = "the transport, a keep-alive ping without an answer, or the end of the event loop"
    EXPIRED = "the transport, or a keep-alive ping: the server refuses the session"
    RENEW = "`Connection.renew`, for calls that met the expiry; they share one attempt"
    REFUSED = "`Connection.renew`: the server gave no other session"
    CLOSE = "`Connection.close` and `abort`, from every state and in the middle of every attempt"


USABLE = (State.OPEN, State.EXPIRED, State.RENEWING, State.REFUSED)
"""The states in which calls can be made."""

ENDED = (State.LOST, State.CLOSED)
"""The states in which a session does nothing any more, and ``ended`` says why."""

_S, _E = State, Event

# An attempt to renew may have been cancelled before. The server may forget a session in the middle
# of an agreement as well, and one it has refused before stays refused.
_MOVES: Mapping[tuple[Event, State], tuple[State, ...]] = {
    (_E.OPEN, _S.OPENING): (_S.UNOPENED,),
    (_E.SWITCH, _S.OPENING): (_S.OPENING, _S.LOST, _S.EXPIRED, _S.RENEWING),
    (_E.AGREED, _S.OPEN): (_S.OPENING, _S.RENEWING, _S.REFUSED),
    (_E.AGREED, _S.EXPIRED): (_S.EXPIRED,),
    (_E.EXPIRED, _S.EXPIRED): (_S.OPENING, _S.OPEN, _S.EXPIRED, _S.RENEWING),
    (_E.EXPIRED, _S.REFUSED): (_S.REFUSED,),
    (_E.RENEW, _S.RENEWING): (_S.OPEN, _S.EXPIRED, _S.RENEWING),
    (_E.RENEW, _S.REFUSED): (_S.REFUSED,),
    (_E.REFUSED, _S.REFUSED): (_S.OPENING, _S.EXPIRED, _S.RENEWING, _S.REFUSED),
    (_E.LOST, _S.LOST): (_S.OPENING, *USABLE),
    (_E.CLOSE, _S.CLOSED): tuple(State),
    (_E.CLAIM, _S.UNOPENED): (_S.CLOSED,),
}
TABLE: Mapping[tuple[State, Event], State] = {
    (before, event): after for (event, after), states in _MOVES.items() for before in states
}


def step(state: State, event: Event) -> State:
    """Return the next state. Only a bug in this package leaves the table."""
    after = TABLE.get((state, event))
    assert after is not None, f"{event.name} in the state {state.name}"
    return after
