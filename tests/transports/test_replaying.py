"""F-SHOW-8: a recorded session in place of a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Callable

import pytest

from mcpclient.client.client import Client
from mcpclient.errors import ConnectFailed, McpError, NotRecorded, UsageError
from mcpclient.protocol.listen import SUBSCRIPTION_ID
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.protocol.types import Progress
from mcpclient.transports.inprocess import InProcessTransport
from mcpclient.transports.replaying import Recording, _copied
from tests.support.http_server import Handler, HttpServer
from tests.support.inbox import Inbox
from tests.support.mcp_server import McpServer
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time

Use = Callable[[Client], Awaitable[Any]]


async def use(target: Any, work: Use, **options: Any) -> Any:
    async with Client(target, **options) as client:
        return await work(client)


class Taped:
    """Records sessions with a server into a file, and replays them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "s.jsonl"

    def record(self, server: McpServer, work: Use, **options: Any) -> Any:
        return run(use(InProcessTransport(server.serve), work, trace=self.path, **options))

    def record_http(self, routes: dict[str, Handler], work: Use, **options: Any) -> Any:
        async def main() -> Any:
            async with HttpServer(routes) as server:
                return await use(str(server.url()), work, trace=self.path, **options)

        return run(main())

    def replay(self, work: Use, **options: Any) -> Any:
        return run(use(Recording(self.path), work, **options))

    def write(
        self, *records: dict[str, Any], transport: str = "stdio", target: str = "http://h/mcp"
    ) -> None:
        timed = [{"time": 0.0, "channel": "stdio", **record} for record in records]
        header = {"transcript": 1, "transport": transport, "target": target}
        lines = [json.dumps(value) + "\n" for value in (header, *timed)]
        self.path.write_text("".join(lines), encoding="utf-8")


@pytest.fixture
def taped(tmp_path: Path) -> Taped:
    return Taped(tmp_path)


async def echo(client: Client, text: str = "hi") -> str:
    return (await client.call_tool("echo", {"text": text})).text


async def greet(client: Client) -> tuple[str, str | None, list[str]]:
    tools = await client.list_tools()
    return await echo(client), client.protocol_version, [tool.name for tool in tools]


def test_progress_arrives_under_the_token_of_the_day(taped: Taped) -> None:
    """F-SHOW-8"""
    steps: list[float] = []

    def show(progress: Progress) -> None:
        steps.append(progress.progress)

    async def count(client: Client) -> str:
        result = await client.call_tool("progress", {"steps": 2}, on_progress=show)
        return result.text

    async def later(client: Client) -> str:
        await client.ping()
        return await count(client)

    async def record(client: Client) -> str:
        text = await count(client)
        await client.ping()
        return text

    taped.record(McpServer("handshake"), record)
    steps.clear()
    assert taped.replay(later) == "done"
    assert steps == [1, 2]


def test_progress_that_nobody_asks_for_is_left_out(taped: Taped) -> None:
    """F-SHOW-8"""
    heard: list[str] = []

    async def count(client: Client) -> str:
        result = await client.call_tool("progress", {"steps": 2}, on_progress=print)
        return result.text

    async def call(client: Client) -> str:
        return (await client.call_tool("progress", {"steps": 2})).text

    taped.record(McpServer("handshake"), count)
    options = {"on_notification": lambda method, params: heard.append(method)}
    assert (taped.replay(call, **options), heard) == ("done", [])


def test_secrets_and_metadata_do_not_count(taped: Taped) -> None:
    """F-SHOW-8, F-AUTH-12: they are not in the recording; nor does an error show them."""

    async def log_in(client: Client, password: str, name: str = "me") -> str:
        arguments = {"text": name, "password": password}
        result = await client.call_tool("echo", arguments, meta={"trace": "1"})
        return result.text

    taped.record(McpServer("handshake"), lambda client: log_in(client, "first-s3cret"))
    assert "first-s3cret" not in taped.path.read_text()
    assert taped.replay(lambda client: log_in(client, "other-s3cret")) == "me"
    with pytest.raises(NotRecorded) as caught:
        taped.replay(lambda client: log_in(client, "other-s3cret", "you"))
    assert "s3cret" not in str(caught.value)


def test_messages_that_nobody_asked_for(taped: Taped) -> None:
    """F-SHOW-8: they come after the call that they came after, in their order."""
    heard: list[str] = []

    def note(method: str) -> dict[str, Any]:
        return {"direction": "received", "message": {"jsonrpc": "2.0", "method": method}}

    def ask(id: int, method: str) -> dict[str, Any]:
        return {"direction": "sent", "message": {"jsonrpc": "2.0", "id": id, "method": method}}

    def result(id: int, **result: Any) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": id, "result": result}
        return {"direction": "received", "message": message}

    taped.write(
        note("early"),
        ask(1, "initialize"),
        result(1, protocolVersion="2025-11-25", capabilities={}),
        note("ready"),
        ask(2, "ping"),
        result(2),
        note("after-1"),
        {"direction": "note", "error": {"type": "ProtocolViolation", "text": "a banner"}},
        note("after-2"),
    )

    async def ping(client: Client) -> None:
        await client.ping()
        await client.notify("x")
        await asyncio.sleep(0)

    errors: list[McpError] = []
    taped.replay(
        ping, on_notification=lambda method, _: heard.append(method), on_error=errors.append
    )
    assert heard == ["early", "ready", "after-1", "after-2"]
    assert [str(error) for error in errors] == ["a banner"]


class Replayed:
    """A recording, replayed without a client, of a server that speaks when its client is ready."""

    def __init__(self, taped: Taped) -> None:
        opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
        agreed = {"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {}}}
        ready = {"jsonrpc": "2.0", "method": "ready"}
        taped.write(
            {"direction": "sent", "message": opening},
            {"direction": "received", "message": agreed},
            {"direction": "received", "message": ready},
        )
        self.recording = Recording(taped.path)
        self.initialize = Outgoing(opening)
        self.initialized = Outgoing({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def begun(self, recording: Recording) -> Inbox:
        inbox = Inbox()
        await recording.open(inbox)
        recording.send(self.initialize)
        await inbox.until(lambda: inbox.messages)
        return inbox


async def test_what_is_held_back_for_one_client_is_for_no_other(taped: Taped) -> None:
    """F-SHOW-8: a second one is ready when it says so itself."""
    replayed = Replayed(taped)
    another = replayed.recording.another()
    first = await replayed.begun(replayed.recording)
    second = await replayed.begun(another)
    another.send(replayed.initialized)
    await second.until(lambda: len(second.messages) == 2)
    assert [message.get("method") for message in second.messages] == [None, "ready"]
    assert len(first.messages) == 1


async def test_a_request_that_was_given_up_is_played_no_further(taped: Taped) -> None:
    """F-SHOW-8: its answer would belong to no request."""
    replayed, inbox = Replayed(taped), Inbox()
    await replayed.recording.open(inbox)
    replayed.recording.send(replayed.initialize)
    replayed.recording.abandon(replayed.initialize)
    await asyncio.sleep(1)
    assert inbox.messages == []


async def test_a_subscription_bears_the_id_of_the_day(taped: Taped) -> None:
    """F-SHOW-8: by which the new client knows whose change it is."""
    listen = {"jsonrpc": "2.0", "id": 2, "method": "subscriptions/listen"}
    params = {"_meta": {SUBSCRIPTION_ID: 2}}
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": params}
    taped.write(
        {"direction": "sent", "message": listen}, {"direction": "received", "message": changed}
    )
    recording, inbox = Recording(taped.path), Inbox()
    await recording.open(inbox)
    recording.send(Outgoing({**listen, "id": 9}))
    await inbox.until(lambda: inbox.messages)
    assert inbox.messages[0]["params"] == {"_meta": {SUBSCRIPTION_ID: 9}}


def test_a_server_that_could_not_be_reached(taped: Taped) -> None:
    """F-SHOW-8"""
    error = {"type": "ConnectFailed", "target": "t", "reason": "refused"}
    taped.write({"direction": "note", "end": "never opened", "error": error})
    with pytest.raises(ConnectFailed, match="cannot connect to t: refused"):
        taped.replay(greet)


def test_a_file_that_is_no_recording(tmp_path: Path) -> None:
    """F-SHOW-8"""
    with pytest.raises(UsageError, match="cannot read the recording"):
        Recording(tmp_path / "none.jsonl")
    (tmp_path / "image").write_bytes(b"\x89PNG\xff")
    with pytest.raises(UsageError, match="cannot read the recording"):
        Recording(tmp_path / "image")
    (tmp_path / "x.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="should be the header"):
        Recording(tmp_path / "x.jsonl")


def test_what_is_too_deep_to_be_copied_is_shared() -> None:
    """F-SHOW-8: but for the renumbered ids."""
    result: dict[str, Any] = {"_meta": {}}
    for _ in range(200_000):
        result = {"a": result}
    message = {"id": 1, "result": result}
    copied = _copied(message)
    copied["result"]["b"] = 1
    assert "b" not in result
    assert copied["result"]["a"] is result["a"]
