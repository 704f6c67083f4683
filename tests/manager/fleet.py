"""Servers by script for tests of the manager, all in the same process and in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mcpclient import Manager
from mcpclient.errors import ConnectFailed
from mcpclient.transports.base import Receiver
from mcpclient.transports.inprocess import InProcessTransport
from tests.client.scripted_server import HANDSHAKE, Answer, Json, ScriptedServer


def tool(name: str, **fields: Any) -> Json:
    return {"name": name, "inputSchema": {"type": "object"}, **fields}


class Member(InProcessTransport):
    """One server of a fleet, and the transport that leads to it.

    ``refusals``: how many attempts to connect fail. ``seconds``: how long connecting takes.
    ``calls``: the names of the tools that were run.
    """

    def __init__(
        self,
        *tools: str | Json,
        answers: Mapping[str, Answer] | None = None,
        capabilities: Json | None = None,
        version: str = HANDSHAKE,
        refusals: float = 0,
        seconds: float = 0.0,
    ) -> None:
        self.offered = [tool(each) if isinstance(each, str) else each for each in tools]
        self.calls: list[str] = []
        self.attempts = 0
        self.refusals = refusals
        self.seconds = seconds
        self.script = ScriptedServer(
            {
                "tools/list": lambda params: {"tools": self.offered},
                "tools/call": self._call,
                **(answers or {}),
            },
            version=version,
            capabilities={"tools": {}} if capabilities is None else capabilities,
        )
        super().__init__(self.script.serve)

    def _call(self, params: Json) -> Json:
        self.calls.append(params["name"])
        return {"content": [{"type": "text", "text": params["name"]}]}

    async def open(self, receiver: Receiver) -> None:
        self.attempts += 1
        if self.seconds:
            await asyncio.sleep(self.seconds)
        if self.refusals > 0:
            self.refusals -= 1
            raise ConnectFailed("the server", "connection refused")
        await super().open(receiver)


def statuses(manager: Manager) -> dict[str, str]:
    return {server.name: server.status.value for server in manager.servers.values()}
