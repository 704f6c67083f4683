"""An inspector over the showcase, with its client, for tests with and without a browser."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, Callable

from mcpclient import Client
from mcpclient.inspector.board import Board, Questions
from mcpclient.inspector.inspector import Inspector
from mcpclient.inspector.servers import ClientSource
from tests.client.scripted_server import HANDSHAKE, ScriptedServer
from tests.client.task_servers import CORE_TASKS, DONE, OPTIONAL
from tests.inspector.showcase import Showcase

FAULTY = str(Path(__file__).parent / "faulty_server.py")


async def until(condition: Callable[[], object]) -> None:
    """Let others work until something holds."""
    for _ in range(100_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came")


class Scene:
    """An inspector with a client of its own, as ``mcpclient inspect`` makes one."""

    def __init__(self, showcase: Showcase | None = None, *, allow: str = "call") -> None:
        self.showcase = showcase or Showcase()
        self.questions = Questions(Board())
        self.client = self.make()
        source = ClientSource(self.client, lambda name, target: self.make())
        self.inspector = Inspector(source, allow=allow, questions=self.questions)
        (self.name,) = source.states()

    def make(self) -> Client:
        """A client whose questions the page answers."""
        return Client(
            self.showcase.transport,
            protocol_version="2025-11-25",
            elicitation=self.questions.elicitation,
            sampling=self.questions.sampling,
            roots=[],
        )

    @property
    def url(self) -> str:
        return self.inspector.url

    async def __aenter__(self) -> Scene:
        await self.inspector.open()
        self.inspector.room.observe()
        await self.client.connect()
        return self

    async def __aexit__(self, *exception: object) -> Any:
        await self.inspector.close()
        await self.client.close()


class Reaching(Scene):
    """A scene with this client, which is connected while the page is opened."""

    def __init__(self, client: Client, questions: Questions | None = None) -> None:
        self.questions = questions or Questions(Board())
        self.client, self.name = client, client.target
        source = ClientSource(client, lambda name, target: client)
        self.inspector = Inspector(source, questions=self.questions)

    async def __aenter__(self) -> Scene:
        await self.inspector.open()
        self.inspector.connect_all()
        return self


def faulty(*arguments: str) -> Reaching:
    """A scene with the server that misbehaves, whose stderr is only on the wire."""
    command = [sys.executable, FAULTY, *arguments]
    client = Client(command, protocol_version="2025-11-25", stderr=lambda line: None)
    return Reaching(client)


class TaskServer(ScriptedServer):
    """A server whose tool may be called as a task, which is in the state ``status``."""

    def __init__(self) -> None:
        self.status = "working"
        tool = {"name": "research", "inputSchema": {"type": "object"}, **OPTIONAL}
        answers: dict[str, Any] = {
            "tools/list": {"tools": [tool]},
            "tools/call": lambda _: {"task": self.state()},
            "tasks/get": lambda _: self.state(),
            "tasks/result": lambda _: DONE,
            "tasks/cancel": self.cancel,
        }
        super().__init__(answers, version=HANDSHAKE, capabilities={"tools": {}, **CORE_TASKS})

    def state(self) -> dict[str, Any]:
        times = {"createdAt": "2026-01-01T00:00:00Z", "ttl": 60000, "pollInterval": 10}
        return {"taskId": "t1", "status": self.status, "statusMessage": "reading", **times}

    def cancel(self, _: Any) -> dict[str, Any]:
        self.status = "cancelled"
        return self.state()
