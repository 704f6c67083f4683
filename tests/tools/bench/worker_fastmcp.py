"""The column of `fastmcp` 4."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from .worker import Adapter, Client, Target, serve

fastmcp = importlib.import_module("fastmcp")
transports = importlib.import_module("fastmcp.client.transports")


class FastmcpAdapter(Adapter):
    """Its client with the defaults, over a process that ends with the connection."""

    def connect(
        self, target: Target, era: str, on_notification: Callable[[], None]
    ) -> AbstractAsyncContextManager[Client]:
        async def on_log(_message: object) -> None:
            on_notification()

        where: Any = target.get("url")
        if where is None:
            command, *arguments = target["command"]
            where = transports.StdioTransport(command, arguments, keep_alive=False)
        mode = "legacy" if era == "handshake" else "auto"
        client: AbstractAsyncContextManager[Client] = fastmcp.Client(
            where, mode=mode, log_handler=on_log
        )
        return client

    def text(self, result: Any) -> str:
        return str(result.content[0].text)


if __name__ == "__main__":
    serve(FastmcpAdapter())
