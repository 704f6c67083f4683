"""``call --detach``, ``tasks`` and ``task``: calls that go on while nobody waits."""

from __future__ import annotations

import io
from typing import Any

import pytest

from mcpclient import UsageError
from mcpclient.cli.screen import Screen
from tests.cli.in_process import ask

WORKING = {"taskId": "t1", "status": "working", "statusMessage": "half\x1b", "pollInterval": 1}
DONE = {**WORKING, "status": "completed", "createdAt": "2026-01-01"}
ANSWERS: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "serverInfo": {"name": "s", "version": "1"},
        "capabilities": {
            "tools": {},
            "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
        },
    },
    "tools/list": {"tools": [{"name": "slow", "execution": {"taskSupport": "optional"}}]},
    "tools/call": {"task": WORKING},
    "tasks/get": DONE,
    "tasks/list": {"tasks": [WORKING, DONE]},
    "tasks/result": {"content": [{"type": "text", "text": "done"}]},
    "tasks/cancel": {**WORKING, "status": "cancelled"},
}


def test_a_call_goes_on_as_a_task() -> None:
    """F-SHOW-21: its id is all of the output, and the line to wait with is said beside it."""
    errors = io.StringIO()
    screen = Screen(io.StringIO(), errors, {})
    answer = ask("call", "slow", "--detach", answers=ANSWERS, screen=screen)
    assert (answer.text, answer.raw["status"]) == ("t1", "working")
    assert "mcpclient task SERVER t1 --wait" in errors.getvalue()


def test_tasks_are_listed_and_waited_for() -> None:
    """F-SHOW-21"""
    assert ask("tasks", answers=ANSWERS).text.splitlines() == [
        "TASK  STATUS     SINCE       MESSAGE",
        r"t1    working                half\x1b",
        r"t1    completed  2026-01-01  half\x1b",
    ]
    assert ask("tasks", answers={**ANSWERS, "tasks/list": {"tasks": []}}).text == "no tasks"
    assert ask("task", "t1", answers=ANSWERS).text == r"completed: half\x1b"
    assert ask("task", "t1", "--cancel", answers=ANSWERS).raw["status"] == "completed"
    waited = ask("task", "t1", "--wait", answers=ANSWERS)
    assert (waited.text, waited.failed) == ("done", False)


def test_a_server_without_tasks() -> None:
    """F-SHOW-21"""
    for command, words in (("call", ["echo", "message=x", "--detach"]), ("tasks", [])):
        with pytest.raises(UsageError, match="tasks"):
            ask(command, *words)
