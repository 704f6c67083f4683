"""A blocking client of a server in the same process, whose tools are functions."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Callable

from mcpclient import InProcessTransport, ServerEnd, sync
from tests.client.scripted_server import HANDSHAKE, ScriptedServer

Json = dict[str, Any]


class ToolServer(ScriptedServer):
    """Its tools are functions, plain or async, of the arguments; what they return is the text."""

    def __init__(self, version: str = HANDSHAKE, **tools: Callable[[Json], Any]) -> None:
        super().__init__(version=version, capabilities={"tools": {}})
        self.ended = threading.Event()
        self.tools = {"echo": lambda arguments: arguments["message"], "never": never, **tools}
        self.answers["tools/call"] = self._call
        self.answers["tools/list"] = lambda params: {
            "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools]
        }

    async def serve(self, end: ServerEnd) -> None:
        try:
            await super().serve(end)
        finally:
            self.ended.set()

    async def _call(self, params: Json) -> Json:
        text = self.tools[params["name"]](params.get("arguments") or {})
        if asyncio.iscoroutine(text):
            text = await text
        return {"content": [{"type": "text", "text": str(text)}]}

    def transport(self) -> InProcessTransport:
        return InProcessTransport(self.serve)

    def connected(self, **options: Any) -> sync.Client:
        """Return a client that is connected."""
        options.setdefault("protocol_version", self.version)
        return sync.connect(self.transport(), **options)


async def never(arguments: Json) -> None:
    await asyncio.Event().wait()


def thread_name() -> str:
    return threading.current_thread().name


def beginning(began: threading.Event) -> Callable[[Json], Any]:
    """A tool that says when it was called, and never answers."""

    async def begin(arguments: Json) -> None:
        began.set()
        await asyncio.Event().wait()

    return begin
