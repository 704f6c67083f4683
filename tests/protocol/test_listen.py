"""Subscriptions: which events are whose, and the events of a slow consumer: F-API-14."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mcpclient.protocol.listen import (
    Backlog,
    EventsMissed,
    ListenFilter,
    ResourceUpdated,
    Stream,
    event_of,
)
from tests.support.tables import each_row

TOOLS = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"
ALL = ListenFilter(True, True, True, ("file:///a",), ("t1",))
ALL_ON_THE_WIRE = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["file:///a"],
    "taskIds": ["t1"],
}


def test_a_filter_goes_over_the_wire_and_back() -> None:
    assert ALL.to_wire() == ALL_ON_THE_WIRE
    assert ListenFilter.from_wire(ALL_ON_THE_WIRE) == ALL
    assert ListenFilter(tools=True).to_wire() == {"toolsListChanged": True}


@each_row(
    ("wanted", "method", "params", "wants"),
    [
        (ListenFilter(tools=True), TOOLS, {}, True),
        (ListenFilter(prompts=True), TOOLS, {}, False),
        (ListenFilter(prompts=True), "notifications/prompts/list_changed", {}, True),
        (ListenFilter(resources=True), "notifications/resources/list_changed", {}, True),
        (ListenFilter(tools=True), "notifications/resources/list_changed", {}, False),
        (ListenFilter(tools=True), "notifications/prompts/list_changed", {}, False),
        (ListenFilter(resources=True), UPDATED, {"uri": "file:///a"}, False),
        (ListenFilter(uris=("file:///a",)), UPDATED, {"uri": "file:///a/part"}, True),
        (ListenFilter(tasks=("t1",)), "notifications/tasks", {"taskId": "t1"}, True),
        (ListenFilter(tasks=("t1",)), "notifications/tasks", {"taskId": "t2"}, False),
        (ALL, "notifications/message", {}, False),
    ],
)
def test_which_events_a_filter_wants(
    wanted: ListenFilter, method: str, params: dict[str, Any], wants: bool
) -> None:
    """F-API-14: a server may report a part of the resource subscribed to."""
    assert wanted.wants(event_of(method, params)) is wants


def test_too_many_different_events_give_way_to_one_that_says_so() -> None:
    """F-API-14: memory is bounded, and no loss is silent."""
    backlog = Backlog(limit=3)
    for number in range(3):
        backlog.put(event_of(UPDATED, {"uri": str(number)}), 0.0)
    backlog.put(event_of(UPDATED, {"uri": "2", "again": True}), 0.0)
    assert isinstance(backlog.take(0.0), ResourceUpdated)
    for number in range(5):
        backlog.put(event_of(UPDATED, {"uri": f"more {number}"}), 0.0)
    assert backlog.take(0.0) == EventsMissed()


def test_changes_of_a_list_are_gathered() -> None:
    """F-API-14: for 300 ms, as the official TypeScript SDK does; nothing else waits."""
    backlog = Backlog()
    assert backlog.next_due == math.inf
    backlog.put(event_of(TOOLS, {"n": 1}), 5.0)
    backlog.put(event_of(UPDATED, {"uri": "a"}), 5.1)
    backlog.put(event_of(TOOLS, {"n": 2}), 5.2)
    assert isinstance(backlog.take(5.2), ResourceUpdated)
    assert backlog.take(5.2) is None and backlog.next_due == pytest.approx(5.3)
    assert backlog.take(5.4) == event_of(TOOLS, {"n": 2})
    backlog.put(event_of(TOOLS, {}), 9.0)
    assert backlog.take(math.inf) is not None, "at the end nothing waits"


def marked(request_id: object, **params: Any) -> dict[str, Any]:
    return {"_meta": {"io.modelcontextprotocol/subscriptionId": request_id}, **params}


def test_a_stream_takes_only_what_is_marked_as_its_own() -> None:
    """F-API-14: on a shared channel, the subscription id tells the listeners apart."""
    stream = Stream(7, ALL)
    found = [stream.take(TOOLS, marked(each)) is not None for each in (7, "7", 8, {"id": 7})]
    assert found == [True, True, False, False]
    ended = [stream.ended_by("notifications/cancelled", {"requestId": each}) for each in (7, 8)]
    assert ended == [True, False]


def test_the_first_acknowledgement_counts() -> None:
    """F-API-14: an event is granted where the server says so plainly."""
    stream, method = Stream(7, ALL), "notifications/subscriptions/acknowledged"
    stream.take(method, marked(8, notifications=ALL_ON_THE_WIRE))
    assert stream.acknowledged is None
    granted = {"toolsListChanged": True, "promptsListChanged": "yes", "taskIds": "t1"}
    stream.take(method, marked(7, notifications=granted))
    stream.take(method, marked(7, notifications=ALL_ON_THE_WIRE))
    assert stream.acknowledged == ListenFilter(tools=True)
    capabilities = {"tools": {"listChanged": True}, "prompts": {}, "resources": {"listChanged": 1}}
    assert ListenFilter.offered(capabilities) == ListenFilter(tools=True)


def test_large_events_give_way_as_many_do() -> None:
    """F-API-14: an event that takes the place of another, or is taken, weighs no more."""
    backlog = Backlog(max_weight=10_000)

    def put(uri: str, size: int) -> None:
        backlog.put(event_of(UPDATED, {"uri": uri, "text": "x" * size}), 0.0)

    for _ in range(5):
        put("a", 6_000)
        put("a", 6_000)
        assert isinstance(backlog.take(0.0), ResourceUpdated)
    put("a", 6_000)
    put("b", 6_000)
    assert (backlog.take(0.0), backlog.take(0.0)) == (EventsMissed(), None)
    tasks = [event_of("notifications/tasks", {"taskId": each}) for each in ("t1", "t2")]
    for task in tasks:
        backlog.put(task, 0.0)
    assert [backlog.take(0.0), backlog.take(0.0)] == tasks
