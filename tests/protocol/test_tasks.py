"""Tasks as both designs describe them, and the rule of asking for them: F-API-13."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mcpclient.protocol.tasks import (
    RELATED_TASK,
    Polling,
    Task,
    answered_task,
    created_task,
    declares,
    polling_seconds,
    receiver_capability,
    related_task_of,
    task_support_of,
    with_related_task,
)

CORE = {
    "taskId": "t1",
    "status": "working",
    "statusMessage": "The operation is now in progress.",
    "createdAt": "2025-11-25T10:30:00Z",
    "lastUpdatedAt": "2025-11-25T10:40:00Z",
    "ttl": 60000,
    "pollInterval": 5000,
}
EXTENSION = {"resultType": "task", "taskId": "t1", "status": "working", "ttlMs": 60000}


def test_a_task_of_the_core_reads_in_seconds() -> None:
    """F-API-13: the library's times are seconds."""
    task = Task(CORE)
    assert (task.id, task.status, task.ttl, task.poll_interval) == ("t1", "working", 60.0, 5.0)
    assert task.status_message == "The operation is now in progress."
    assert task.created_at == "2025-11-25T10:30:00Z"
    assert task.last_updated_at == "2025-11-25T10:40:00Z"
    assert not task.is_over


def test_a_task_of_the_extension_reads_the_same() -> None:
    """F-API-13: ttlMs and pollIntervalMs instead of ttl and pollInterval."""
    task = Task({**EXTENSION, "pollIntervalMs": 250})
    assert (task.id, task.ttl, task.poll_interval) == ("t1", 60.0, 0.25)


@pytest.mark.parametrize("value", [None, "60000", True, 0, -5, [], float("nan")])
def test_a_time_that_makes_no_sense_is_not_said(value: object) -> None:
    """F-API-13: absurd times are as none."""
    task = Task({"ttl": value, "pollInterval": value})
    assert task.ttl is None and task.poll_interval is None


def test_an_enormous_time_is_a_number() -> None:
    assert Task({"ttl": 10**400}).ttl == 1e12


@pytest.mark.parametrize(
    ("status", "over"),
    [
        ("working", False),
        ("input_required", False),
        ("completed", True),
        ("failed", True),
        ("cancelled", True),
        ("paused_by_admin", False),
    ],
)
def test_only_three_states_end_a_task(status: str, over: bool) -> None:
    """F-API-13: an unknown status is kept, and the task goes on."""
    task = Task({"taskId": "t", "status": status})
    assert task.status == status
    assert task.is_over is over


def test_what_the_extension_sends_along() -> None:
    """F-API-13: result, error and input requests come with the task."""
    requests = {"name": {"method": "elicitation/create", "params": {}}}
    assert Task({"status": "completed", "result": {"content": []}}).result == {"content": []}
    assert Task({"status": "failed", "error": {"code": 1}}).error == {"code": 1}
    waiting = Task({"status": "input_required", "inputRequests": requests})
    assert waiting.input_requests == requests
    assert Task({"status": "working", "inputRequests": requests}).input_requests == {}
    broken = Task({"status": "input_required", "inputRequests": 1, "result": 2, "error": 3})
    assert (broken.input_requests, broken.result, broken.error) == ({}, None, None)


def test_what_a_model_may_be_told_meanwhile() -> None:
    key = "io.modelcontextprotocol/model-immediate-response"
    created = created_task({"task": CORE, "_meta": {key: "wait a moment"}})
    assert created is not None and created.immediate_response == "wait a moment"
    assert Task({"_meta": {key: 1}}).immediate_response is None


@pytest.mark.parametrize(("result", "raw"), [({"task": CORE}, CORE), (EXTENSION, EXTENSION)])
def test_a_created_task_is_recognised_in_both_designs(result: Any, raw: Any) -> None:
    """F-API-13: and has nothing that the server did not say."""
    task = created_task(result)
    assert task is not None and task.id == "t1"
    assert task.raw == raw


@pytest.mark.parametrize(
    "result",
    [{}, {"task": {}}, {"task": "t"}, {"resultType": "task"}, {"content": []}, {"taskId": "t"}],
)
def test_a_result_is_no_task(result: dict[str, Any]) -> None:
    assert created_task(result) is None


def test_an_answer_at_once_is_a_task_that_is_over() -> None:
    task = answered_task({"content": []})
    assert task.is_over and task.id == "" and task.result == {"content": []}


def test_capabilities_are_found_by_path() -> None:
    capabilities = {"tasks": {"list": {}, "cancel": True, "requests": {"tools": {"call": {}}}}}
    assert declares(capabilities, "tasks", "requests", "tools", "call")
    assert declares(capabilities, "tasks", "list") and declares(capabilities, "tasks", "cancel")
    assert not declares(capabilities, "tasks", "requests", "prompts")
    assert not declares({"tasks": None}, "tasks", "list")
    assert not declares({"tasks": {"list": False}}, "tasks", "list")


@pytest.mark.parametrize(
    ("tool", "support"),
    [
        ({"execution": {"taskSupport": "optional"}}, "optional"),
        ({"execution": {"taskSupport": "required"}}, "required"),
        ({"execution": {}}, "forbidden"),
        ({"execution": 1}, "forbidden"),
        ({}, "forbidden"),
    ],
)
def test_task_support_of_a_tool(tool: dict[str, Any], support: str) -> None:
    assert task_support_of(tool) == support


def test_a_client_declares_what_it_can_turn_into_tasks() -> None:
    """F-API-13: nothing is declared that no handler answers."""
    assert receiver_capability({"roots": {}}) == {}
    assert receiver_capability({"sampling": {}, "elicitation": {}}) == {
        "list": {},
        "cancel": {},
        "requests": {"elicitation": {"create": {}}, "sampling": {"createMessage": {}}},
    }


def test_messages_are_marked_with_their_task() -> None:
    """F-API-22: related-task metadata, beside what else is there."""
    marked = with_related_task({"a": 1, "_meta": {"b": 2}}, "t1")
    assert marked == {"a": 1, "_meta": {"b": 2, RELATED_TASK: {"taskId": "t1"}}}
    assert related_task_of(marked) == "t1"
    assert with_related_task({"_meta": None}, "t") == {"_meta": {RELATED_TASK: {"taskId": "t"}}}


@pytest.mark.parametrize("meta", [None, {}, {RELATED_TASK: "t"}, {RELATED_TASK: {"taskId": 1}}])
def test_a_message_without_a_task(meta: object) -> None:
    assert related_task_of({"_meta": meta}) is None


def test_the_servers_interval_is_respected_within_reason() -> None:
    """F-API-13: the server says how often; never more than ten times a second."""
    polling = Polling()
    assert polling.delay(Task({"pollInterval": 2500})) == 2.5
    assert polling.delay(Task({"pollInterval": 1})) == Polling.MIN_INTERVAL == 0.1
    assert polling.delay(Task({"pollInterval": 10**9})) == Polling.MAX_ASKED_INTERVAL == 3600


def test_pauses_grow_while_nothing_changes() -> None:
    """F-API-13: without an interval of the server's, patience grows, and ends with a change."""
    polling = Polling()
    same = [polling.delay(Task({"status": "working"})) for _ in range(12)]
    assert same[:3] == [0.5, 0.75, 1.125]
    assert same == sorted(same) and same[-1] == Polling.MAX_OWN_INTERVAL
    assert polling.delay(Task({"status": "working", "statusMessage": "half"})) == 0.5


def test_a_task_is_waited_for_as_long_as_it_lives() -> None:
    """F-API-13: a task that never ends is given up when the server may have forgotten it."""
    assert polling_seconds(Task({"status": "working"})) == math.inf
    assert polling_seconds(Task({"ttl": 60000, "pollInterval": 5000})) == 65.0
    assert polling_seconds(Task({"ttl": 60000})) == 60.0 + Polling.MAX_OWN_INTERVAL
