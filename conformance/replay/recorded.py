"""The facts in a transcript about the session as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conformance.scripts import MCPCLIENT, STATELESS
from mcpclient.recording.transcript import Transcript, bytes_of_event, bytes_of_payload

__all__ = ["elicitations_in", "is_paced", "progress_in", "revision_offered", "size_of", "without"]


def size_of(transcript: Transcript) -> int:
    """Return how many bytes the server sent, without its heads."""
    return sum(
        len(bytes_of_event(record) if "event" in record else bytes_of_payload(record))
        for record in transcript.records
        if record["direction"] == "received" and record["channel"] != "stderr"
    )


def revision_offered(transcript: Transcript) -> str | None:
    """Return the revision that the recorded client asked for; None: it tried the newest first."""
    offered = []
    for record in transcript.records:
        message = record.get("message")
        if isinstance(message, dict) and message.get("method") == "initialize":
            offered.append(str(message["params"]["protocolVersion"]))
        elif isinstance(message, dict) and message.get("method") == "server/discover":
            offered.append(STATELESS)
    return offered[0] if len(set(offered)) == 1 else None


def is_paced(transcript: Transcript) -> bool:
    """Whether the session shows how long the client waits when progress comes."""
    steps = transcript.header.get("script", {}).get("steps", ())
    return any(step.get("progress") and "timeout" in step for step in steps)


def elicitations_in(transcript: Transcript) -> int:
    """Return how often the server asks the user: this library's also by an error (-32042)."""
    said = [json.dumps(each) for each in transcript.records if each["direction"] == "received"]
    asked = sum(text.count('"elicitation/create"') for text in said)
    if transcript.header["script"].get("driver") != MCPCLIENT:
        return asked
    return asked + sum(text.count('"elicitationId"') for text in said if "-32042" in text)


def progress_in(transcript: Transcript) -> list[list[Any]]:
    """Return all progress that was sent, for each token."""
    progress: dict[Any, list[Any]] = {}
    for record in transcript.records:
        event = record.get("event", {})
        message = record.get("message", event.get("data"))
        if record["direction"] != "received" or not isinstance(message, dict):
            continue
        if message.get("method") == "notifications/progress":
            params = message["params"]
            steps = progress.setdefault(params["progressToken"], [])
            steps.append(without(params, "progressToken", "_meta"))
    return list(progress.values())


def without(members: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return an object without some of its members."""
    return {name: value for name, value in members.items() if name not in names}
