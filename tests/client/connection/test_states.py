"""The table of a connection's states, and its use by the session and the connection."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from mcpclient.client.connection.states import ENDED, TABLE, USABLE, Event, State, step
from mcpclient.client.requests import connection_of
from mcpclient.errors import ConnectionLost, SessionExpired
from tests.client.connection.test_session import HANDSHAKE, Bench
from tests.client.scripted_server import ScriptedServer
from tests.support.tables import each_row

pytestmark = pytest.mark.virtual_time

PAIRS = list(itertools.product(State, Event))
IMPOSSIBLE = [pair for pair in PAIRS if pair not in TABLE]

# What lets each state come about, from a session that is being opened.
WAYS: dict[State, tuple[Event, ...]] = {
    State.OPENING: (),
    State.OPEN: (Event.AGREED,),
    State.EXPIRED: (Event.AGREED, Event.EXPIRED),
    State.RENEWING: (Event.AGREED, Event.RENEW),
    State.REFUSED: (Event.AGREED, Event.RENEW, Event.REFUSED),
    State.LOST: (Event.LOST,),
    State.CLOSED: (Event.CLOSE,),
}


async def happen(bench: Bench, event: Event) -> None:
    session = bench.session
    if event is Event.CLOSE:
        await session.close(5)
    else:
        cases: dict[Event, Callable[[], None]] = {
            Event.SWITCH: lambda: session.use_transport(bench.wire),
            Event.AGREED: lambda: session.agreed(HANDSHAKE),
            Event.LOST: lambda: session.connection_lost(ConnectionLost("gone")),
            Event.EXPIRED: lambda: session.channel_lost(SessionExpired(404, {}, b"")),
            Event.RENEW: session.begin_anew,
            Event.REFUSED: lambda: session.refused(SessionExpired(404, {}, b"")),
        }
        cases[event]()


@asynccontextmanager
async def in_state(state: State) -> AsyncIterator[Bench]:
    """Bring a session into a state, and close it."""
    bench = Bench(None)
    for event in WAYS[state]:
        await happen(bench, event)
    assert bench.session.state is state
    try:
        yield bench
    finally:
        await bench.session.close(5)
    assert bench.session.state is State.CLOSED


@each_row(("state", "event"), IMPOSSIBLE)
def test_no_move_is_made_that_is_not_in_the_table(state: State, event: Event) -> None:
    """F-LIFE-5: a mistake shows where it is made, and not in a later call."""
    with pytest.raises(AssertionError, match=f"{event.name} in the state {state.name}"):
        step(state, event)


def test_an_end_is_left_by_who_wants_another_connection_only() -> None:
    """F-LIFE-5: the caller after closing; an opening that tries another transport after a loss."""
    leaving = {
        state: {e for s, e in TABLE if s is state and TABLE[s, e] is not s} for state in State
    }
    assert leaving[State.CLOSED] == {Event.CLAIM}
    assert leaving[State.LOST] == {Event.SWITCH, Event.CLOSE}
    assert {TABLE[state, Event.CLOSE] for state in State} == {State.CLOSED}
    assert {TABLE[state, Event.LOST] for state in (State.OPENING, *USABLE)} == {State.LOST}


def test_calls_begin_with_an_agreement_only() -> None:
    """F-LIFE-7: and only one makes up for a session that the server has given up."""
    entering = {(s, e) for s, e in TABLE if TABLE[s, e] is State.OPEN}
    agreeing = (State.OPENING, State.RENEWING, State.REFUSED)
    assert entering == {(state, Event.AGREED) for state in agreeing}


@pytest.mark.parametrize(
    ("state", "event"), [pair for pair in TABLE if pair[0] in WAYS and pair[1] is not Event.CLAIM]
)
async def test_a_session_moves_as_the_table_says(state: State, event: Event) -> None:
    """F-LIFE-5, F-LIFE-7: each row, by an action of the transport, the opening or the caller."""
    async with in_state(state) as bench:
        await happen(bench, event)
        assert bench.session.state is TABLE[state, event]
        assert (bench.session.ended is not None) == (bench.session.state in ENDED)


@pytest.mark.parametrize("state", ENDED)
async def test_what_comes_after_the_end_changes_nothing(state: State) -> None:
    """F-LIFE-7: the transport reports a loss once more, or the renewal fails because of it."""
    async with in_state(state) as bench:
        reason = bench.session.ended
        for event in (Event.LOST, Event.EXPIRED, Event.REFUSED):
            await happen(bench, event)
        assert (bench.session.state, bench.session.ended) == (state, reason)
        assert (bench.session.expired, bench.lost, bench.deaf) == (None, [], [])


@pytest.mark.parametrize("state", WAYS)
async def test_calls_can_be_made_in_the_usable_states_only(state: State) -> None:
    """F-LIFE-7: of the connection, what can be asked follows from the state."""
    async with in_state(state) as bench:
        connection = connection_of(ScriptedServer().client())
        connection.claim_loop()
        connection._session = bench.session
        assert connection.state is state
        assert connection.is_open == (state in USABLE)
        assert connection.is_connected == (state in USABLE and state is not State.REFUSED)
        connection.abort()
        assert (connection.state, connection.is_open) == (State.CLOSED, False)
