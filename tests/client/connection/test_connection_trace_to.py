"""F-SHOW-6, F-SHOW-10: a client that is at work can be watched, and does not notice."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient import Client, Recording
from mcpclient.client.requests import connection_of
from tests.client.scripted_server import HANDSHAKE, STATELESS, ScriptedServer
from tests.net.process_helpers import until
from tests.support.http_server import HttpServer
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer

pytestmark = pytest.mark.virtual_time

TOOLS = {"tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}}


# A server that writes to its stderr, not always whole lines.
TALKATIVE = """
import json, sys

def say(text):
    print(text, end="", file=sys.stderr, flush=True)

say("ready with s3cret-key\\nand wait")
for line in sys.stdin:
    message = json.loads(line)
    result = {}
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}
    elif message["method"] == "ping":
        say("ing\\ngot a ping\\n")
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


class Lines(list):  # type: ignore[type-arg]
    """A transcript in memory."""

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self]

    @property
    def said(self) -> list[str]:
        """Direction, channel, and what each record is about."""
        return [
            f"{record['direction']} {record['channel']} {_subject(record)}"
            for record in self.records
            if "transcript" not in record
        ]


def _subject(record: dict[str, Any]) -> str:
    if "message" in record and "http" not in record:
        return str(record["message"].get("method", record["message"].get("id")))
    others = ("http", "event", "error", "abandoned", "end", "text")
    return next(name for name in others if name in record)


@pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])
async def test_what_is_written_from_the_middle_on_can_be_replayed(
    version: str, tmp_path: Path
) -> None:
    """F-SHOW-8, F-SHOW-10: the opening stands there as it is remembered."""
    server = ScriptedServer(TOOLS, version=version, capabilities={"tools": {}})
    path = tmp_path / "late.jsonl"
    async with server.client() as client:
        before = len(server.received)
        client.trace_to(path)
        assert len(server.received) == before
        await client.list_tools()
    async with Client(Recording(path)) as again:
        assert [tool.name for tool in await again.list_tools()] == ["echo"]
        assert again.protocol_version == version


async def test_a_stream_that_is_open_already_is_heard() -> None:
    """F-SHOW-10: over HTTP, the server's own channel was opened before anybody watched."""
    server = McpServer()
    endpoint = StreamableEndpoint(server, listens=True)
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    lines = Lines()
    heard: list[str] = []
    async with HttpServer(endpoint.routes) as http:
        client = Client(
            str(http.url("/mcp")),
            protocol_version=HANDSHAKE,
            on_notification=lambda method, _: heard.append(method),
        )
        async with client:
            client.trace_to(lines.append)
            await client.call_tool("echo", {"text": "hi"})
            assert endpoint.channel is not None
            endpoint.channel.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            while not heard:
                await client.ping()
    events = [record["event"]["data"] for record in lines.records if "event" in record]
    assert [json.loads(data) if isinstance(data, str) else data for data in events] == [changed]
    gets = [record for record in lines.records if record.get("http", {}).get("method") == "GET"]
    assert len(gets) == 1
    assert {"sent recalled initialize", "received recalled opening"} < set(lines.said)


def test_what_the_process_says_is_heard_by_who_comes_later() -> None:
    """F-SHOW-10: its earlier stderr, and its stderr from now on."""
    lines = Lines()

    async def main() -> None:
        client = Client(
            [sys.executable, "-c", TALKATIVE],
            protocol_version=HANDSHAKE,
            stderr="discard",
            env={"API_KEY": "s3cret-key"},
        )
        async with client:
            session = connection_of(client).session
            await until(lambda: "and wait" in session.transport.stderr_tail, "its first words")
            end = client.trace_to(lines.append)
            await client.ping()
            await until(lambda: any("got a ping" in line for line in lines), "its next words")
            end()

    asyncio.run(asyncio.wait_for(main(), 60))
    said = [record for record in lines.records if record.get("channel") == "stderr"]
    assert [(record["text"], "recalled" in record) for record in said] == [
        ("ready with redacted-1", True),
        ("and wait", True),
        ("ing", False),
        ("got a ping", False),
    ]
