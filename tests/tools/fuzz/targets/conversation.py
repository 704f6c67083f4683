"""A whole conversation: what a server says to a client, one message in each line.

A message with a method is the server's own. Any other one answers the client's next request, under
the id of that. When there are no lines left, a request gets the answer of a polite server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterator
from typing import Any

from mcpclient.client.client import Client
from mcpclient.errors import McpError
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Receiver, Transport
from tests.support.virtual_time import run

from ..inputs import json_lines_of

MOST_LINES = 30
POLITE: dict[str, Any] = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}},
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {}, "serverInfo": {}},
}


class ScriptedTransport(Transport):
    """Says the next lines whenever it is asked something."""

    def __init__(self, lines: Iterator[Any]) -> None:
        self._lines = lines

    async def open(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def send(self, outgoing: Outgoing) -> None:
        if outgoing.request_id is None:
            return
        deliver = asyncio.get_running_loop().call_soon
        for line in self._lines:
            if isinstance(line, dict) and "method" in line:
                deliver(self._receiver.message_received, line)
            elif isinstance(line, dict):
                answer = {"jsonrpc": "2.0", **line, "id": outgoing.request_id}
                deliver(self._receiver.message_received, answer)
                return
        result = POLITE.get(outgoing.message["method"], {})
        message = {"jsonrpc": "2.0", "id": outgoing.request_id, "result": result}
        deliver(self._receiver.message_received, message)

    async def close(self) -> None:
        pass


def target(data: bytes) -> None:
    logging.disable(logging.CRITICAL)
    try:
        for version in ("2025-11-25", "2026-07-28", None):
            run(converse(iter(json_lines_of(data, MOST_LINES)), version))
    finally:
        logging.disable(logging.NOTSET)


async def converse(lines: Iterator[Any], version: str | None) -> None:
    """Use everything there is. What goes wrong is an `McpError`, and nothing goes wrong unseen."""
    unseen: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
    client = Client(
        ScriptedTransport(lines),
        protocol_version=version,
        timeout=1,
        max_timeout=5,
        elicitation=lambda request: True,
        sampling=lambda request: "words",
        roots=["/a"],
        tasks=True,
        validate="strict",
        on_notification=lambda method, params: None,
        on_log=lambda message: str(message.data),
        on_error=lambda error: None,
    )
    await outcome_of(client.connect())
    for work in (
        client.list_tools(),
        client.call_tool("t", {"a": 1}, on_progress=lambda progress: repr(progress)),
        client.call_tool_task("t", {}),
        client.list_resources(),
        client.read_resource("file:///a"),
        client.get_prompt("p"),
        client.complete({"type": "ref/prompt", "name": "p"}, "a", "v"),
        client.list_skills(),
        client.list_tasks(),
        client.ping(),
    ):
        await outcome_of(work)
    for value in (client.server_info, client.capabilities, client.extensions, client.instructions):
        repr(value)
    await client.close()
    assert not unseen, unseen


async def outcome_of(work: Awaitable[Any]) -> None:
    try:
        repr(await work)
    except McpError as error:
        assert str(error)
