"""Subscriptions: which events are whose, and what a slow consumer finds: F-API-14."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mcpclient.protocol.listen import (
    Backlog,
    ChangePace,
    EventsMissed,
    ListenEvent,
    ListenFilter,
    PromptsChanged,
    ResourcesChanged,
    ResourceUpdated,
    Stream,
    TaskChanged,
    ToolsChanged,
    event_of,
)

TOOLS = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
ALL = ListenFilter(True, True, True, ("file:///a",), ("t1",))
ALL_ON_THE_WIRE = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["file:///a"],
    "taskIds": ["t1"],
}


def marked(subscription: object, **params: Any) -> dict[str, Any]:
    return {"_meta": {"io.modelcontextprotocol/subscriptionId": subscription}, **params}


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        (TOOLS, ToolsChanged),
        ("notifications/prompts/list_changed", PromptsChanged),
        ("notifications/resources/list_changed", ResourcesChanged),
        (UPDATED, ResourceUpdated),
        ("notifications/tasks", TaskChanged),
        ("notifications/tasks/status", TaskChanged),
        ("notifications/weather", ListenEvent),
    ],
)
def test_a_notification_becomes_the_event_of_its_kind(method: str, kind: type[ListenEvent]) -> None:
    """F-API-14, F-WIRE-8: an unknown kind is handed on."""
    event = event_of(method, {"x": 1})
    assert type(event) is kind
    assert (event.method, event.raw) == (method, {"x": 1})
    assert len({event, event_of(method, {"x": 1}), event_of("other", {})}) == 2


def test_events_say_what_they_are_about() -> None:
    updated = event_of(UPDATED, {"uri": "file:///a"})
    assert isinstance(updated, ResourceUpdated) and updated.uri == "file:///a"
    broken = event_of(UPDATED, {"uri": 5})
    assert isinstance(broken, ResourceUpdated) and broken.uri == ""
    task = event_of("notifications/tasks", {"taskId": "t1", "status": "working"})
    assert isinstance(task, TaskChanged) and task.task.status == "working"


def test_a_filter_goes_over_the_wire_and_back() -> None:
    assert ALL.to_wire() == ALL_ON_THE_WIRE
    assert ListenFilter.from_wire(ALL_ON_THE_WIRE) == ALL
    assert ListenFilter(tools=True).to_wire() == {"toolsListChanged": True}


@pytest.mark.parametrize(
    "wire", [None, 1, {}, {"toolsListChanged": "yes", "resourceSubscriptions": "file:///a"}]
)
def test_what_makes_no_sense_is_not_granted(wire: object) -> None:
    assert not ListenFilter.from_wire(wire)


def test_what_is_granted_is_compared_with_what_was_asked() -> None:
    """F-API-14: what a server does not support is told."""
    granted = ListenFilter(tools=True, uris=("file:///b",))
    refused = ALL.without(granted)
    assert refused == ListenFilter(False, True, True, ("file:///a",), ("t1",))
    assert str(refused) == "prompts, resources, uris file:///a, tasks t1"
    assert not ALL.without(ALL)
    assert not ListenFilter(tools=True).without(ListenFilter(tools=True))
    assert not ListenFilter(prompts=True).without(ListenFilter(prompts=True))


def test_a_handshake_server_offers_what_its_capabilities_say() -> None:
    capabilities = {"tools": {"listChanged": True}, "prompts": {"listChanged": "yes"}, "x": 1}
    assert ListenFilter.offered(capabilities) == ListenFilter(tools=True)
    assert not ListenFilter.offered({"tools": None, "resources": {}})


@pytest.mark.parametrize(
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
    """F-API-14: a server may tell of a part of the resource subscribed to."""
    assert wanted.wants(event_of(method, params)) is wants


def test_a_stream_takes_only_what_is_marked_as_its_own() -> None:
    """F-API-14: on a shared channel, the subscription id tells the listeners apart."""
    stream = Stream(7, ALL)
    assert isinstance(stream.take(TOOLS, marked(7)), ToolsChanged)
    assert isinstance(stream.take(TOOLS, marked("7")), ToolsChanged)
    assert stream.take(TOOLS, marked(8)) is None
    assert stream.take(TOOLS, marked({"id": 7})) is None
    assert type(stream.take("notifications/weather", marked(7))) is ListenEvent


def test_an_unmarked_event_belongs_to_whoever_wants_it() -> None:
    assert isinstance(Stream(7, ALL).take(TOOLS, {}), ToolsChanged)
    assert Stream(7, ListenFilter(prompts=True)).take(TOOLS, {"_meta": None}) is None
    assert Stream(7, ALL).take("notifications/message", {"data": 1}) is None


def test_the_first_acknowledgement_counts() -> None:
    """F-API-14: what the server agreed to."""
    stream = Stream(7, ALL)
    assert stream.take(ACKNOWLEDGED, marked(8, notifications=ALL_ON_THE_WIRE)) is None
    assert stream.acknowledged is None
    stream.take(ACKNOWLEDGED, marked(7, notifications={"toolsListChanged": True}))
    stream.take(ACKNOWLEDGED, marked(7, notifications=ALL_ON_THE_WIRE))
    assert stream.acknowledged == ListenFilter(tools=True)


def test_a_server_may_take_a_stream_down() -> None:
    stream = Stream(7, ALL)
    assert stream.ended_by("notifications/cancelled", {"requestId": 7})
    assert not stream.ended_by("notifications/cancelled", {"requestId": 8})
    assert not stream.ended_by("notifications/cancelled", {})
    assert not stream.ended_by(TOOLS, {"requestId": 7})


def test_events_wait_in_order_and_like_ones_merge() -> None:
    """F-API-14: a slow consumer loses no change; of two alike it gets the later."""
    backlog = Backlog()
    events: list[tuple[str, dict[str, Any]]] = [
        (UPDATED, {"uri": "a", "n": 1}),
        (TOOLS, {}),
        (UPDATED, {"uri": "b"}),
        (UPDATED, {"uri": "a", "n": 2}),
        ("notifications/tasks", {"taskId": "t1", "status": "working"}),
        ("notifications/tasks", {"taskId": "t1", "status": "completed"}),
        ("notifications/weather", {}),
        ("notifications/news", {}),
    ]
    for method, params in events:
        backlog.put(event_of(method, params), 0.0)
    found = []
    while (event := backlog.take(1.0)) is not None:
        found.append((event.method, event.raw))
    assert found == [
        (UPDATED, {"uri": "a", "n": 2}),
        (TOOLS, {}),
        (UPDATED, {"uri": "b"}),
        ("notifications/tasks", {"taskId": "t1", "status": "completed"}),
        ("notifications/weather", {}),
        ("notifications/news", {}),
    ]


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


def test_large_events_give_way_as_many_do() -> None:
    """F-API-14: memory is bounded by bytes as well, also where one event takes it all."""
    backlog = Backlog(max_weight=10_000)
    for number in range(600):
        backlog.put(event_of(UPDATED, {"uri": str(number), "text": "x" * 3_000}), 0.0)
        assert len(backlog._waiting) <= 4
        assert backlog._weight <= 10_000
    found = [backlog.take(0.0) for _ in range(5)]
    assert found[0] == EventsMissed()
    assert found[-1] is None
    assert backlog._weight == 0
    backlog.put(event_of(UPDATED, {"uri": "a", "text": "x" * 5_000}), 0.0)
    for _ in range(5):  # takes the place of the one before
        backlog.put(event_of(UPDATED, {"uri": "a", "text": "x" * 6_000}), 0.0)
    assert isinstance(backlog.take(0.0), ResourceUpdated)
    backlog.put(event_of(UPDATED, {"uri": "a", "text": "x" * 10_000}), 0.0)
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


def test_changes_that_go_on_are_reported_ever_less_often() -> None:
    """F-API-14: a server that announces a change after each listing is not asked without end."""
    pace, now, reports = ChangePace(), 0.0, []
    while now < 300.0:
        now = pace.due(now + 0.001)
        pace.reported(now)
        reports.append(now)
    assert sum(report < 3 for report in reports) == 3
    assert reports[-1] - reports[-2] == pytest.approx(ChangePace.LONGEST_PAUSE)
    assert pace.due(now + 31) == now + 31 + ChangePace.GATHERING
    quiet = now + 61
    assert pace.due(quiet) == quiet + ChangePace.GATHERING
    pace.reported(quiet)
    assert pace.due(quiet + 0.001) < quiet + 1, "it has begun anew"
