"""The table of reconnection as data, and a model of the world that plays with it: F-MANY-5."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from mcpclient.client.connection import reconnection
from mcpclient.client.connection.reconnection import OUTCOMES, TABLE, Action, Event, Status
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


def test_states() -> None:
    """F-MANY-2, seed 004: all that a user may want to tell apart, each of which is its text."""
    assert all(str(each) == each.value == each == each.name.lower() for each in Status)
    assert {status.value for status in Status} == {
        *("disabled", "needs_approval", "denied", "connecting", "connected", "reconnecting"),
        *("failed", "needs_auth", "needs_client_registration", "deferred", "closed"),
    }


class World(NamedTuple):
    """A server, its attempts and its pauses, as `server.Server` has them, without time."""

    state: Status = Status.CLOSED
    is_attempting: bool = False
    is_pausing: bool = False
    is_open: bool = False
    wanted: bool = False

    def after(self, event: Event | Status, **changes: bool) -> World:
        state, actions = step(self.state, event)
        world = self._replace(state=state, **changes)
        for action in actions:
            if action is Action.STOP:
                world = world._replace(is_attempting=False, is_pausing=False)
            elif action is Action.CLOSE:
                world = world._replace(is_open=False)
            elif action is Action.OPEN:
                world = world._replace(is_attempting=True, is_pausing=False)
            elif action is Action.PAUSE:
                assert not world.is_attempting
                world = world._replace(is_pausing=True)
        return world

    def next_ones(self) -> Iterator[World]:
        """Yield the worlds after each event that is possible in this one."""
        yield self.after(Event.CONNECT, wanted=True)
        yield self.after(Event.DISCONNECT, wanted=False)
        yield self.after(Event.CALL)
        for outcome in OUTCOMES if self.is_attempting else ():
            is_open = outcome is Status.CONNECTED
            yield self.after(outcome, is_attempting=False, is_open=is_open)
        if self.is_open:
            yield self.after(Event.LOST)
        if self.is_pausing:
            yield self.after(Event.RETRY, is_pausing=False)


def test_a_status_says_what_goes_on_and_nothing_does_against_the_will_of_the_user() -> None:
    """F-MANY-5: in every world that can be reached; no server is ever forgotten."""
    left = [World()]
    seen = set(left)
    while left:
        world = left.pop()
        doing = (world.is_attempting, world.is_pausing)
        assert world.is_open == (world.state is Status.CONNECTED)
        if world.state is Status.RECONNECTING:
            assert any(doing)
        else:
            assert doing == (world.state is Status.CONNECTING, False)
        if not world.wanted:
            assert world.state in FORBIDDEN | ENDED and not world.is_open
        left += {*world.next_ones()} - seen
        seen.update(left)
    assert {world.state for world in seen} >= {*OUTCOMES, Status.RECONNECTING}
