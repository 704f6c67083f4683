"""The common parts of the scripts: steps, and how the user of the client answers."""

from __future__ import annotations

from typing import Any

from conformance.scripts import Step

MODEL_ANSWER = {
    "role": "assistant",
    "model": "a-model",
    "content": {"type": "text", "text": "It rains."},
    "stopReason": "endTurn",
}
MODEL_USES_TOOL = {
    "role": "assistant",
    "model": "a-model",
    "content": [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "use-1", "name": "weather", "input": {"place": "Ghent"}},
    ],
    "stopReason": "toolUse",
}
ANSWERED_FORM = {
    "action": "accept",
    "content": {"name": "Ada", "age": 36, "share": 0.25, "agreed": True, "colour": "red"},
}
REFUSED = {"error": {"code": -1, "message": "User rejected sampling request"}}
FOLDER = {"uri": "file:///home/ada/project", "name": "project"}
OTHER_FOLDER = {"uri": "file:///home/ada/other"}

EVERYTHING_DECLARED: dict[str, Any] = {
    "sampling": {"tools": {}, "context": {}},
    "elicitation": {"form": {}, "url": {}},
    "roots": {"listChanged": True},
}


def call(name: str, /, *, progress: bool = False, **arguments: Any) -> Step:
    """Return a step that calls a tool."""
    asking = {"progress": True} if progress else {}
    return {"do": "call_tool", "name": name, "arguments": arguments, **asking}


def wait(method: str, count: int = 1) -> Step:
    """Return a step that waits for notifications."""
    return {"do": "wait_for", "method": f"notifications/{method}", "count": count}
