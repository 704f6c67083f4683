"""An inspector over the showcase, with its client, for tests with and without a browser."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Callable

from mcpclient import Client
from mcpclient.inspector.board import Board, Questions
from mcpclient.inspector.inspector import Inspector
from mcpclient.inspector.servers import ClientSource
from tests.inspector.showcase import Showcase

__all__ = ["Reaching", "Scene", "until"]


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
        source = ClientSource(self.make(), lambda name, target: self.make())
        self.inspector = Inspector(source, allow=allow, questions=self.questions)
        (self.name,) = source.states()
        self.client = source._clients[self.name]

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

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> Any:
        await self.inspector.close()
        await self.client.close()


class Reaching(Scene):
    """A scene whose client is made by a test."""

    def __init__(self, make: Callable[[Scene], Client]) -> None:
        super().__init__()
        self._make_client = make

    async def __aenter__(self) -> Scene:
        self.client = self._make_client(self)
        source = ClientSource(self.client, lambda name, target: self.client)
        self.name = self.client.target
        self.inspector = Inspector(source, questions=self.questions)
        await self.inspector.open()
        self.inspector.connect_all()
        return self
