"""The table of reconnection as data, and a model of the world that plays with it: F-MANY-5."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.strategies import sampled_from

from mcpclient.client.connection import reconnection
from mcpclient.client.connection.reconnection import OUTCOMES, TABLE, Action, Event, Status
from tests.support.properties import examples
from tests.support.tables import each_row

FORBIDDEN = {Status.NEEDS_APPROVAL, Status.DENIED}
ENDED = {Status.CLOSED, Status.DISABLED}
EVENTS: list[Any] = [*Event, *sorted(OUTCOMES)]
PAIRS = list(itertools.product(Status, EVENTS))


def step(state: Status, event: Event | Status) -> tuple[Status, tuple[Action, ...]]:
    if isinstance(event, Event):
        return reconnection.step(state, event)
    return reconnection.reach(state, event)


@pytest.mark.parametrize("state", sorted(FORBIDDEN))
def test_what_is_not_allowed_is_judged_again_for_the_user_only(state: Status) -> None:
    """F-MANY-2, F-MANY-7: an attempt begins with the judgement, and no call leads to one."""
    leaving = {event for event in EVENTS if step(state, event) != (state, ())}
    assert leaving == {Event.CONNECT}


def test_nothing_but_the_user_brings_a_closed_server_back() -> None:
    """F-MANY-4"""
    for state in ENDED:
        leaving = {event for event in EVENTS if step(state, event)[0] is not state}
        assert leaving == {Event.CONNECT}


def test_every_server_that_has_something_can_be_disconnected() -> None:
    """F-MANY-4: whatever goes on is stopped and closed."""
    for state in set(Status) - FORBIDDEN - ENDED:
        after, actions = step(state, Event.DISCONNECT)
        assert after is Status.CLOSED
        assert {Action.STOP, Action.CLOSE, Action.DROP_TOOLS} <= set(actions)


@each_row(("state", "event"), PAIRS)
def test_an_attempt_is_made_only_where_one_is_awaited(state: Status, event: Any) -> None:
    """F-MANY-2: who opens says so in the status; a pause is between attempts to reconnect."""
    after, actions = step(state, event)
    if Action.OPEN in actions:
        assert after in (Status.CONNECTING, Status.RECONNECTING)
    if Action.PAUSE in actions:
        assert after is Status.RECONNECTING and Action.OPEN not in actions
    if Action.REST in actions:
        assert after is Status.CONNECTED


@pytest.mark.parametrize("state", [Status.CONNECTING, Status.RECONNECTING])
def test_every_outcome_of_an_attempt_is_foreseen(state: Status) -> None:
    """F-MANY-2: and what has failed leaves nothing open."""
    assert set(Status) - {
        *(Status.DEFERRED, Status.CONNECTING, Status.RECONNECTING, Status.CLOSED)
    } == set(OUTCOMES)
    again = {Status.FAILED: Status.RECONNECTING} if state is Status.RECONNECTING else {}
    for outcome in OUTCOMES:
        found, actions = step(state, outcome)
        assert found is again.get(outcome, outcome)
        assert (Action.CLOSE in actions) == (outcome is not Status.CONNECTED)


def test_connected_is_reached_by_an_attempt_and_left_by_what_ends_it() -> None:
    """F-MANY-2"""
    entering = {pair for pair in PAIRS if step(*pair)[0] is Status.CONNECTED} - {
        (Status.CONNECTED, event) for event in EVENTS
    }
    assert entering == {
        (Status.CONNECTING, Status.CONNECTED),
        (Status.RECONNECTING, Status.CONNECTED),
    }
    leaving = {e for e in EVENTS if step(Status.CONNECTED, e)[0] is not Status.CONNECTED}
    assert leaving == {Event.LOST, Status.NEEDS_AUTH, Event.DISCONNECT}


@each_row("state", sorted(set(Status) - FORBIDDEN - ENDED))
def test_tools_are_dropped_by_an_end_and_kept_by_a_failure(state: Status) -> None:
    """F-MANY-2, F-MANY-5: a model goes on with the tools of a server that fails meanwhile."""
    for event in EVENTS:
        after, actions = step(state, event)
        is_lost = actions != () and after is not Status.CONNECTED and Action.OPEN not in actions
        is_over = after in FORBIDDEN | ENDED
        kept, dropped = Action.KEEP_TOOLS in actions, Action.DROP_TOOLS in actions
        assert (kept, dropped) == (is_lost and not is_over, is_over)
        assert (Action.REST in actions) == (after is Status.CONNECTED is not state)


def test_the_table_has_no_row_that_does_nothing() -> None:
    for (state, event), after in TABLE.items():
        found, actions = step(state, event)
        assert actions and found is after, (state, event)


@each_row("status", Status)
def test_a_status_is_its_text(status: Status) -> None:
    """F-MANY-2: to be shown, compared, and written as JSON."""
    assert str(status) == status.value == status == status.name.lower()


def test_states() -> None:
    """F-MANY-2, seed 004: all that a user may want to tell apart."""
    assert {status.value for status in Status} == {
        *("disabled", "needs_approval", "denied", "connecting", "connected", "reconnecting"),
        *("failed", "needs_auth", "needs_client_registration", "deferred", "closed"),
    }


class World(RuleBasedStateMachine):
    """A server, its attempts and its pauses, as `server.Server` has them, without time."""

    def __init__(self) -> None:
        super().__init__()
        self.state = Status.CLOSED
        self.is_attempting = self.is_pausing = self.is_open = False
        self.wanted = False

    def feed(self, event: Event | Status) -> None:
        self.state, actions = step(self.state, event)
        for action in actions:
            if action is Action.STOP:
                self.is_attempting = self.is_pausing = False
            elif action is Action.CLOSE:
                self.is_open = False
            elif action is Action.OPEN:
                self.is_attempting, self.is_pausing = True, False
            elif action is Action.PAUSE:
                assert not self.is_attempting
                self.is_pausing = True

    @rule()
    def user_connects(self) -> None:
        self.wanted = True
        self.feed(Event.CONNECT)

    @rule()
    def user_disconnects(self) -> None:
        self.wanted = False
        self.feed(Event.DISCONNECT)

    @rule()
    def call(self) -> None:
        self.feed(Event.CALL)

    @precondition(lambda self: self.is_attempting)
    @rule(outcome=sampled_from(sorted(OUTCOMES)))
    def attempt_ends(self, outcome: Status) -> None:
        self.is_attempting, self.is_open = False, outcome is Status.CONNECTED
        self.feed(outcome)

    @precondition(lambda self: self.is_open)
    @rule()
    def connection_is_lost(self) -> None:
        self.feed(Event.LOST)

    @precondition(lambda self: self.is_pausing)
    @rule()
    def pause_is_over(self) -> None:
        self.is_pausing = False
        self.feed(Event.RETRY)

    @invariant()
    def status_says_what_goes_on(self) -> None:
        assert self.is_open == (self.state is Status.CONNECTED)
        if self.state is Status.CONNECTING:
            assert self.is_attempting and not self.is_pausing
        elif self.state is Status.RECONNECTING:
            assert self.is_attempting or self.is_pausing  # never forgotten
        else:
            assert not self.is_attempting and not self.is_pausing

    @invariant()
    def nothing_happens_against_the_will_of_the_user(self) -> None:
        if not self.wanted:
            assert self.state in FORBIDDEN | ENDED and not self.is_open


World.TestCase.settings = examples(60, stateful_step_count=30)
TestWorld = World.TestCase
