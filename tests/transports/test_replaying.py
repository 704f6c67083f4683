"""F-SHOW-8: a recorded session in place of a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Callable

import pytest

from mcpclient.client.client import Client
from mcpclient.errors import (
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    NotRecorded,
    PeerError,
    ProcessExited,
    UsageError,
)
from mcpclient.net.recorder import Recorder
from mcpclient.protocol.listen import SUBSCRIPTION_ID
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.protocol.types import Progress
from mcpclient.transports.inprocess import InProcessTransport, ServerEnd
from mcpclient.transports.replaying import Recording, _copied
from tests.net.websocket_peer import TEXT, Peer, websocket_server
from tests.support.http_server import Answer, Handler, HttpServer, Request
from tests.support.inbox import Inbox
from tests.support.mcp_http import LegacyEndpoint, StreamableEndpoint
from tests.support.mcp_server import Json, McpServer
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


KINDS = ["in-process", "http", "http-stream", "sse"]
ERAS = ["handshake", "stateless", "both"]


@pytest.mark.parametrize(
    ("kind", "era"),
    [(kind, era) for kind in KINDS for era in ERAS if (kind, era) != ("sse", "stateless")],
)
def test_a_session_is_the_same_again(kind: str, era: str, taped: Taped) -> None:
    """F-SHOW-8: over every transport, in either era, and without the server."""
    server = McpServer(era)
    if kind == "in-process":
        recorded = taped.record(server, greet)
    elif kind == "sse":
        recorded = taped.record_http(LegacyEndpoint(server).routes, greet)
    else:
        endpoint = StreamableEndpoint(server, json=kind == "http", session="s1", listens=True)
        recorded = taped.record_http(endpoint.routes, greet)
    assert recorded == taped.replay(greet)
    assert recorded[0] == "hi"


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2026-07-28"])
def test_the_revision_is_the_recorded_one(version: str, taped: Taped) -> None:
    """F-SHOW-8: also where it was pinned, and pinned again."""
    era = "stateless" if version == "2026-07-28" else "handshake"
    taped.record(McpServer(era), greet, protocol_version=version)
    assert taped.replay(greet)[1] == version
    assert taped.replay(greet, protocol_version=version)[1] == version


def test_a_revision_that_was_not_recorded(taped: Taped) -> None:
    """F-SHOW-8"""
    taped.record(McpServer("stateless"), greet)
    with pytest.raises(NotRecorded, match=r"initialize .* is not in the recording"):
        taped.replay(greet, protocol_version="2025-11-25")


def test_who_asks_may_have_changed_since(taped: Taped) -> None:
    """F-SHOW-8: another client, with other capabilities."""
    taped.record(McpServer("handshake"), greet)
    options = {"client_info": {"name": "other", "version": "2"}, "roots": ["/"]}
    assert taped.replay(greet, **options)[0] == "hi"


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


def test_the_servers_own_requests_are_answered_before_it_goes_on(taped: Taped) -> None:
    """F-SHOW-8"""
    asked: list[str] = []

    async def answer(request: Any) -> dict[str, Any]:
        await asyncio.sleep(1)
        asked.append(request.message)
        return {"name": "me"}

    async def ask(client: Client) -> str:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        params = {"message": "who?", "requestedSchema": schema}
        arguments = {"method": "elicitation/create", "params": params}
        result = await client.call_tool("ask", arguments)
        assert asked, "the answer came first"
        return result.text

    text = taped.record(McpServer("handshake"), ask, elicitation=answer)
    asked.clear()
    assert taped.replay(ask, elicitation=answer) == text
    assert asked == ["who?"]


def test_what_was_played_is_not_kept(taped: Taped) -> None:
    """F-SHOW-8: a replay as long as one likes takes no more memory."""

    async def play(client: Client) -> None:
        await echo(client)
        await client.call_tool("ask", {"method": "roots/list"})

    taped.record(McpServer("handshake"), play, roots=[])
    recording = Recording(taped.path)

    async def again(client: Client) -> None:
        for _ in range(3):
            await play(client)
        assert not recording._parts
        assert not recording._asking

    run(use(recording, again, roots=[]))


def test_results_may_be_changed_by_whoever_gets_them(taped: Taped) -> None:
    async def spoil(client: Client) -> str:
        result = await client.request("tools/call", {"name": "echo", "arguments": {"text": "hi"}})
        text: str = result["content"][0].pop("text")
        return text

    async def twice(client: Client) -> list[str]:
        return [await spoil(client), await spoil(client)]

    taped.record(McpServer("handshake"), spoil)
    assert taped.replay(twice) == ["hi", "hi"]


def test_what_was_not_recorded_says_so(taped: Taped) -> None:
    """F-SHOW-8: what was asked for, what there is, and what to do."""

    async def several(client: Client) -> None:
        for text in ("hello there", "hi", "other"):
            await echo(client, text)

    async def miss(client: Client) -> str:
        with pytest.raises(NotRecorded) as caught:
            await echo(client, "hello here")
        with pytest.raises(NotRecorded, match=r"ping is not in the recording s\.jsonl, nor is"):
            await client.ping()
        error = caught.value
        assert error.method == "tools/call"
        assert error.params == {"name": "echo", "arguments": {"text": "hello here"}}
        assert error.recorded[0] == {"name": "echo", "arguments": {"text": "hello there"}}
        assert len(error.recorded) == 3
        assert "Record the session again" in error.hint
        return await echo(client, "hi")

    taped.record(McpServer("handshake"), several)
    assert taped.replay(miss) == "hi", "the connection goes on"


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


async def test_what_was_held_back_is_gone_with_the_connection(taped: Taped) -> None:
    """F-SHOW-8: the next one is told once."""
    replayed = Replayed(taped)
    await replayed.begun(replayed.recording)
    await replayed.recording.close()
    inbox = await replayed.begun(replayed.recording)
    replayed.recording.send(replayed.initialized)
    await asyncio.sleep(1)
    assert [message.get("method") for message in inbox.messages] == [None, "ready"]


async def test_a_request_that_was_given_up_is_played_no_further(taped: Taped) -> None:
    """F-SHOW-8: its answer would be nobody's."""
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


# Failures


def test_errors_of_the_server(taped: Taped) -> None:
    """F-SHOW-8"""

    async def refused(client: Client) -> PeerError:
        with pytest.raises(PeerError) as caught:
            await client.call_tool("nope")
        return caught.value

    recorded = taped.record(McpServer("handshake"), refused)
    assert repr(taped.replay(refused)) == repr(recorded)


def test_a_refusal_over_http(taped: Taped) -> None:
    """F-SHOW-8: the status, the headers, the body; and a JSON-RPC error is the server's."""
    server = McpServer("stateless")
    endpoint = StreamableEndpoint(server)

    async def post(request: Request, answer: Answer) -> None:
        name = request.message.get("params", {}).get("name")
        if name == "busy":
            answer.full(503, {"Retry-After": "5"}, b"later")
        elif name == "bad":
            error = {"code": -32602, "message": "no"}
            answer.json({"jsonrpc": "2.0", "id": request.message["id"], "error": error}, 400)
        else:
            await endpoint.post(request, answer)

    async def refused(client: Client) -> tuple[str, str]:
        with pytest.raises(HttpError) as busy:
            await client.call_tool("busy")
        assert busy.value.headers["retry-after"] == "5"
        with pytest.raises(PeerError) as bad:
            await client.call_tool("bad")
        return str(busy.value).replace(str(busy.value.url), ""), repr(bad.value)

    recorded = taped.record_http({"POST /mcp": post}, refused)
    assert taped.replay(refused) == recorded


def test_a_session_that_expired_is_renewed_again(taped: Taped) -> None:
    """F-SHOW-8"""
    server = McpServer("handshake")
    endpoint = StreamableEndpoint(server, session="s1")

    async def work(client: Client) -> tuple[str, str]:
        first = await echo(client, "one")
        endpoint.session = "s2"
        return first, await echo(client, "two")

    assert taped.record_http(endpoint.routes, work) == ("one", "two")
    assert taped.replay(work) == ("one", "two")


def test_a_client_may_go_on_after_a_loss(taped: Taped) -> None:
    """F-SHOW-8: the second connection goes on where the first ended."""

    async def again(client: Client) -> str:
        with pytest.raises(ConnectionLost):
            await echo(client)
        await client.connect()
        return await echo(client)

    server, calls = McpServer("handshake"), []

    async def serve(end: ServerEnd) -> None:
        async for message in end:
            if message.get("method") == "tools/call":
                calls.append(message)
                if len(calls) == 1:
                    return
            server.receive(message, end.send)

    run(use(InProcessTransport(serve), again, trace=taped.path))
    assert taped.replay(again) == "hi"


def test_a_server_that_ended(taped: Taped) -> None:
    """F-SHOW-8"""
    error = {"type": "ProcessExited", "command": ["x"], "exit_code": 3, "stderr": "oh"}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    taped.write(
        {"direction": "sent", "message": request},
        {"direction": "note", "end": "lost", "error": error},
    )
    with pytest.raises(ProcessExited) as caught:
        taped.replay(greet)
    assert (caught.value.exit_code, caught.value.stderr) == (3, "oh")


def test_a_refusal_by_a_server_without_a_url(taped: Taped) -> None:
    """F-SHOW-8: as another recorder may name it."""
    channel = {"channel": "http-1"}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    sent = {"method": "POST", "target": "/mcp", "headers": []}
    refused = {"status": 503, "reason": "", "headers": []}
    taped.write(
        {**channel, "direction": "sent", "http": sent, "message": request},
        {**channel, "direction": "received", "http": refused, "text": "busy"},
        transport="http",
        target="a server",
    )
    with pytest.raises(HttpError, match="503"):
        taped.replay(greet)


def test_a_server_that_could_not_be_reached(taped: Taped) -> None:
    """F-SHOW-8"""
    error = {"type": "ConnectFailed", "target": "t", "reason": "refused"}
    taped.write({"direction": "note", "end": "never opened", "error": error})
    with pytest.raises(ConnectFailed, match="cannot connect to t: refused"):
        taped.replay(greet)


def test_a_probe_that_was_never_answered_costs_no_time(taped: Taped) -> None:
    """F-SHOW-8: an old server that is silent at first is replayed at once."""
    discover = {"jsonrpc": "2.0", "id": 1, "method": "server/discover"}
    opening = {"jsonrpc": "2.0", "id": 2, "method": "initialize"}
    opened = {"protocolVersion": "2025-11-25", "capabilities": {}}
    taped.write(
        {"direction": "sent", "message": discover},
        {"direction": "sent", "message": opening},
        {"direction": "received", "message": {"jsonrpc": "2.0", "id": 2, "result": opened}},
    )

    async def version(client: Client) -> str | None:
        return client.protocol_version

    assert taped.replay(version, timeout=0.5) == "2025-11-25"


def test_a_call_without_an_answer_times_out(taped: Taped) -> None:
    """F-SHOW-8: as it did; and one that is given up is played no further."""

    async def wait(client: Client) -> None:
        with pytest.raises(CallTimeout):
            await client.call_tool("never", timeout=0.1)

    taped.record(McpServer("handshake"), wait)
    taped.replay(wait)


# The file


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


def test_it_is_named_after_its_file(taped: Taped) -> None:
    """F-SHOW-8: among the clients of a program."""
    taped.record(McpServer("handshake"), greet)
    recording = Recording(taped.path)
    assert (recording.name, recording.description) == ("replay", str(taped.path))


def test_a_session_over_websocket_is_the_same_again(taped: Taped) -> None:
    """F-SHOW-8, F-AUTH-12: its opening is in the trace, and no part of what is played."""
    server = McpServer("stateless")

    async def script(peer: Peer) -> None:
        await peer.accept("Sec-WebSocket-Protocol: mcp")
        answers: list[Json] = []
        while True:
            opcode, payload = await peer.receive()
            if opcode != TEXT:
                return
            server.receive(json.loads(payload), answers.append)
            while answers:
                peer.send(TEXT, json.dumps(answers.pop(0)).encode())

    async def main() -> Any:
        async with websocket_server(script) as url:
            options = {"auth": "s3cret-token", "trace": taped.path, "ping_interval": None}
            return await use(f"{url}?key=s3cret-key", greet, **options)

    recorded = run(main())
    trace = taped.path.read_text(encoding="utf-8")
    assert '"target": "/mcp?key=redacted-1"' in trace
    assert '"status": 101' in trace
    assert "s3cret" not in trace
    assert recorded == taped.replay(greet)


def test_a_websocket_that_was_refused(taped: Taped) -> None:
    """F-SHOW-8: what the server said is in the trace, and is said again."""

    async def script(peer: Peer) -> None:
        await peer.read_request()
        peer.writer.write(b"HTTP/1.1 403 No\r\nContent-Length: 7\r\n\r\nnot you")

    async def main() -> None:
        async with websocket_server(script) as url:
            await use(url, greet, trace=taped.path)

    with pytest.raises(HttpError, match="not you"):
        run(main())
    assert '"text": "not you", "end": "complete"' in taped.path.read_text(encoding="utf-8")
    with pytest.raises(HttpError, match="not you") as caught:
        taped.replay(greet)
    assert caught.value.status == 403


def test_an_answer_of_any_depth(taped: Taped) -> None:
    """F-SHOW-8: it is played like any other, and stays the caller's own."""
    deep: Any = "innermost"
    for _ in range(600):
        deep = [deep]
    recorder = Recorder(taped.path)
    recorder.begin("stdio", "server")
    results = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}},
        "deep": {"a": deep},
    }
    for id, (method, result) in enumerate(results.items()):
        request = {"jsonrpc": "2.0", "id": id, "method": method}
        recorder.record("sent", "stdio", {"message": request})
        answer = {"jsonrpc": "2.0", "id": id, "result": result}
        recorder.record("received", "stdio", {"message": answer})

    async def ask(client: Client) -> list[Any]:
        results = []
        for _ in range(2):
            result: Any = (await client.request("deep"))["a"]
            results.append(result)
            while isinstance(result[0], list):
                result = result[0]
            results.append(result[0])
            result[0] = "changed"
        return results[1::2]

    assert taped.replay(ask) == ["innermost", "innermost"]


def test_what_is_too_deep_to_be_copied_is_shared() -> None:
    """F-SHOW-8: but for what is renumbered."""
    result: dict[str, Any] = {"_meta": {}}
    for _ in range(200_000):
        result = {"a": result}
    message = {"id": 1, "result": result}
    copied = _copied(message)
    copied["result"]["b"] = 1
    assert "b" not in result
    assert copied["result"]["a"] is result["a"]
