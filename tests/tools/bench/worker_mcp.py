"""The column of the official Python SDK, `mcp` 2."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from .worker import Adapter, Client, Target, serve

mcp_client = importlib.import_module("mcp.client")
mcp_stdio = importlib.import_module("mcp.client.stdio")


class OfficialAdapter(Adapter):
    """The high-level client of the SDK with its defaults."""

    def connect(
        self, target: Target, era: str, on_notification: Callable[[], None]
    ) -> AbstractAsyncContextManager[Client]:
        async def on_log(_params: object) -> None:
            on_notification()

        where: Any = target.get("url")
        if where is None:
            command, *arguments = target["command"]
            where = mcp_stdio.StdioServerParameters(command=command, args=arguments)
        mode = "legacy" if era == "handshake" else "auto"
        client: AbstractAsyncContextManager[Client] = mcp_client.Client(
            where, mode=mode, logging_callback=on_log
        )
        return client

    def text(self, result: Any) -> str:
        return str(result.content[0].text)


if __name__ == "__main__":
    serve(OfficialAdapter())
