"""F-SHOW-6, F-SHOW-10: a client that is at work can be watched, and does not notice."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpclient import CallTimeout, Client, PeerError, Recording
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


async def test_it_ends_when_it_is_told_to() -> None:
    """F-SHOW-10: and other transcripts go on."""
    server = ScriptedServer({**TOOLS, "ping": {}}, version=HANDSHAKE)
    whole, part = Lines(), Lines()
    async with server.client(trace=whole.append) as client:
        end = client.trace_to(part.append)
        await client.ping()
        end()
        end()
        await client.ping()
    assert part.said[:3] == [
        "sent recalled initialize",
        "received recalled opening",
        "sent in-process ping",
    ]
    assert len(part.said) == 4
    assert sum("ping" in line for line in whole.said) == 2


async def test_it_may_begin_before_there_is_a_connection() -> None:
    """F-SHOW-10: then nothing is recalled, and nothing is missing."""
    server = ScriptedServer(version=HANDSHAKE)
    lines = Lines()
    client = server.client()
    client.trace_to(lines.append)
    async with client:
        pass
    assert lines.records[0]["transcript"] == 1
    assert lines.said[0] == "sent in-process initialize"
    assert lines.records[-1]["end"] == "closed"


async def test_what_fails_is_written_too() -> None:
    """F-SHOW-10: refusals, what nobody waits for any more, and the end of the connection."""

    def refuse(params: Any) -> None:
        raise PeerError(-32000, "no")

    server = ScriptedServer({"x/refuse": refuse, "x/never": lambda _: None}, version=HANDSHAKE)
    lines = Lines()
    lost = asyncio.Event()
    async with server.client(on_close=lambda error: lost.set()) as client:
        client.trace_to(lines.append)
        with pytest.raises(PeerError):
            await client.request("x/refuse")
        with pytest.raises(CallTimeout):
            await client.request("x/never", timeout=1)
        server.notify("notifications/message", level="info", data="said")
        server.lose()
        await lost.wait()
    assert lines.said[4:] == [
        "sent in-process x/never",
        "note in-process abandoned",
        "sent in-process notifications/cancelled",
        "received in-process notifications/message",
        "note in-process error",
    ]


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
    """F-SHOW-10: what it had written to its stderr, and what it writes from now on."""
    lines = Lines()

    async def main() -> None:
        client = Client(
            [sys.executable, "-c", TALKATIVE],
            protocol_version=HANDSHAKE,
            stderr="discard",
            env={"API_KEY": "s3cret-key"},
        )
        async with client:
            session = client._connection.session
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
