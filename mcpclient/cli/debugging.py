"""The lines of ``--debug`` and ``MCP_DEBUG``, which begin with the name of the server."""

from __future__ import annotations

import asyncio
import json
import logging

from ..client.client import Client
from ..client.connection.target_names import derive_name
from ..errors import UsageError
from ..net.clocks import seconds_since_epoch
from .command import Server
from .screen import Screen

_ROOT = "mcpclient."


class DebugLines(logging.Formatter):
    """A formatter of log records: server, seconds since the start, part, message."""

    def __init__(self, name: str) -> None:
        super().__init__("[MCP:%(server)s] %(seconds)8.3fs %(part)s: %(message)s")
        self._name = name
        self._started = seconds_since_epoch()

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line."""
        record.server = self._name
        record.seconds = max(0.0, record.created - self._started)
        record.part = record.name[len(_ROOT) :] or record.name
        return super().format(record)


def name_for(server: Server | None) -> str:
    """Return the name of a server in the lines: its own, its host or its command."""
    if server is None:
        return "mcpclient"
    try:
        return str(server.options.get("name") or derive_name(server.target))
    except UsageError:
        return "server"


async def connect_loudly(client: Client, server: Server, screen: Screen) -> None:
    """Connect, and show the time that it took and the capabilities of the server."""
    prefix = f"[MCP:{name_for(server)}]"
    loop = asyncio.get_running_loop()
    started = loop.time()
    screen.say(f"{prefix} connecting to {client.target}")
    await client.connect()
    milliseconds = (loop.time() - started) * 1000
    info = client.server_info
    screen.say(
        f"{prefix} connected (transport: {client.transport_name}, "
        f"revision: {client.protocol_version}) in {milliseconds:.0f}ms to "
        f"{info.name or 'a server without a name'} {info.version or ''}".rstrip()
    )
    screen.say(f"{prefix} capabilities: {json.dumps(client.capabilities)}")
