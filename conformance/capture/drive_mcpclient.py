"""Runs a script through this library: for reactions that no client of an SDK has.

Usage: ``python -m conformance.capture.drive_mcpclient < task.json``. It prints what `steps.mjs`
prints. What it does is recorded, and judged by the clause of the specification that its script
names.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

from conformance.capture.notes import note
from conformance.capture.records import AUTH_PORT, PORT
from conformance.capture.taps import with_port
from conformance.replay.user import User
from conformance.situation import follow

_ANY_NUMBER = 1000


class NotingUser(User):
    """A user who gives the answers of the script."""

    def _notified(self, method: str, params: Mapping[str, Any]) -> None:
        told = len(self.notifications)
        super()._notified(method, params)
        for notification in self.notifications[told:]:
            note({"notification": notification})


class Watcher:
    """Notes the user's acts, and goes where he is sent."""

    def __init__(self, behind: Mapping[str, int]) -> None:
        self._behind = behind

    async def begins(self, number: int, do: str) -> None:
        note({"step": number, "do": do, "begins": True})

    def ends(self, number: int, outcome: dict[str, Any]) -> None:
        note({"step": number, "outcome": outcome})

    async def visit(self, url: str) -> str | None:
        behind = url
        for port, server_port in self._behind.items():
            behind = behind.replace(f":{port}/", f":{server_port}/")
        location = await follow(behind)  # past the tap: it is not the client's traffic
        for port, server_port in self._behind.items():
            location = location and location.replace(f":{server_port}", f":{port}")
        note({"visited": {"url": url, "location": location}})
        return location

    def played(self, text: str) -> str:
        for port, shown in zip(self._behind, (PORT, AUTH_PORT)):
            text = with_port(text.encode(), shown, int(port)).decode()
        return text


async def main() -> None:
    """Connect, do the steps, close."""
    task = json.load(sys.stdin)
    target, script = task["target"], task["script"]
    user = NotingUser(script, None, _ANY_NUMBER, Watcher(target.get("behind", {})))
    where: Any = target.get("url")
    if where is None:
        process = target["process"]
        where = [process["command"], *process["args"]]
    connected = await user.connect(where, target["transport"], task["clientInfo"])
    note({"connected": connected})
    if "failed" not in connected and "error" not in connected:
        await user.run()
    await user.close()
    note({"closed": True})


if __name__ == "__main__":
    asyncio.run(main())
