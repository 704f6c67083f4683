"""The user of an official scenario, whose driver acts as it did in the recording."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import mcpclient
from conformance.client_driver import SCENARIOS
from conformance.situation import Situation

from .user import Outcome, Watcher, failure_of

__all__ = ["ScenarioUser"]


class ScenarioUser:
    """Runs the only step of a script: a scenario connects and closes by itself."""

    def __init__(self, step: Mapping[str, Any], watcher: Watcher) -> None:
        self.notifications: list[dict[str, Any]] = []
        self.questions = 0
        self._step = step
        self._watcher = watcher
        self._url = ""

    async def connect(self, target: Any, transport: str, info: object) -> None:
        """Record the server."""
        self._url = target

    async def run(self) -> None:
        """Do the scenario."""
        await self._watcher.begins(0, "scenario")
        context = json.loads(self._watcher.played(json.dumps(self._step["context"])))
        situation = Situation(self._url, context, self._watcher.visit)
        try:
            await SCENARIOS[self._step["name"]](situation)
            outcome: Outcome = {"result": {"revision": situation.revision}}
        except mcpclient.McpError as error:
            outcome = failure_of(error)
        self._watcher.ends(0, outcome)

    async def close(self) -> None:
        """Do nothing: the scenario has closed everything."""
