"""The calls of the floor through the `websockets` package: what its own framing costs.

As in the floor there are `json`, one future per call, and nothing else around it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from .worker import Adapter, Client, Target, serve
from .worker_floor import INITIALIZED, FloorClient


class WebSocketsClient(FloorClient):
    """A task that receives, and a future for each id."""

    def __init__(self, era: str, connection: Any, on_notification: Callable[[], None]) -> None:
        super().__init__(era)
        self.connection = connection
        self.on_notification = on_notification
        self.waiting: dict[int, asyncio.Future[Any]] = {}

    async def receive(self) -> None:
        """Hand every message to whoever waits for it."""
        async for text in self.connection:
            message = json.loads(text)
            if "id" in message:
                self.waiting.pop(message["id"]).set_result(message["result"])
            else:
                self.on_notification()

    async def exchange(self, method: str, message: bytes, name: str = "") -> Any:
        answer = asyncio.get_running_loop().create_future()
        self.waiting[self.last_id] = answer
        await self.connection.send(message, text=True)
        return await answer

    async def initialized(self) -> None:
        await self.connection.send(INITIALIZED, text=True)


class WebSocketsAdapter(Adapter):
    """The column `websockets`."""

    @asynccontextmanager
    async def connect(
        self, target: Target, era: str, on_notification: Callable[[], None]
    ) -> AsyncIterator[Client]:
        connect = import_module("websockets.asyncio.client").connect
        async with connect(target["url"], max_size=None, proxy=None) as connection:
            client = WebSocketsClient(era, connection, on_notification)
            receiving = asyncio.ensure_future(client.receive())
            await client.open()
            yield client
            receiving.cancel()

    def text(self, result: Any) -> str:
        return str(result["content"][0]["text"])


if __name__ == "__main__":
    serve(WebSocketsAdapter())
