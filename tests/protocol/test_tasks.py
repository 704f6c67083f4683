"""Tasks as both designs describe them, and the rule of asking for them: F-API-13."""

from __future__ import annotations

from mcpclient.protocol.tasks import Task, created_task, receiver_capability

CORE = {
    "taskId": "t1",
    "status": "working",
    "statusMessage": "The operation is now in progress.",
    "createdAt": "2025-11-25T10:30:00Z",
    "lastUpdatedAt": "2025-11-25T10:40:00Z",
    "ttl": 60000,
    "pollInterval": 5000,
}


def test_what_a_model_may_be_told_meanwhile() -> None:
    key = "io.modelcontextprotocol/model-immediate-response"
    created = created_task({"task": CORE, "_meta": {key: "wait a moment"}})
    assert created is not None and created.immediate_response == "wait a moment"
    assert Task({"_meta": {key: 1}}).immediate_response is None


def test_a_client_declares_what_it_can_turn_into_tasks() -> None:
    """F-API-13: nothing is declared that no handler answers."""
    assert receiver_capability({"roots": {}}) == {}
    assert receiver_capability({"sampling": {}, "elicitation": {}}) == {
        "list": {},
        "cancel": {},
        "requests": {"elicitation": {"create": {}}, "sampling": {"createMessage": {}}},
    }
