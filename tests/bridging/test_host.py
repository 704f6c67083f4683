"""The host's side of a bridge: odd hosts, slow ones, and those that leave."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from mcpclient import Client, ConnectionLost
from mcpclient.bridging.bridge import Bridge
from mcpclient.client.connection.limits import RequestOptions
from tests.bridging.sides import HostSide, ServerSide, bridged, modern
from tests.support.mcp_server import McpServer
from tests.support.properties import examples
from tests.support.virtual_time import run

pytestmark = [pytest.mark.needs_posix, pytest.mark.virtual_time]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"pi', -32700),
        (b"\x00", -32700),
        (b"\xff\xfe{}", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}}', -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b"{}", -32600),
        (b'{"id":1}', -32600),
        (b'{"id":1,"method":7}', -32600),
        (b'{"id":null,"method":"ping"}', -32600),
        (b'{"id":1.5,"method":"ping"}', -32600),
        (b'{"id":true,"method":"ping"}', -32600),
        (b'{"id":{"a":1},"method":"ping"}', -32600),
        (rb'{"id":"\ud800","method":"ping"}', -32600),
        (rb'{"id":"\ud800","method":nothing}', -32700),
        (b'{"id":1,"method":"ping","params":[1]}', -32602),
        (b'{"id":1,"method":"ping","params":"x"}', -32602),
    ],
)
async def test_an_invalid_line_is_refused_and_the_next_is_served(line: bytes, code: int) -> None:
    """F-BRIDGE-1: a bad message costs itself only."""
    async with bridged(McpServer("handshake")) as (host, _):
        host.write(line + b'\n{"id":"next","method":"ping"}')
        assert (await host.message())["error"]["code"] == code
        assert (await host.message())["id"] == "next"
        await host.initialize()
        assert (await host.call("echo", text="hi"))["result"]["content"][0]["text"] == "hi"


@pytest.mark.quick_rows(2)
@pytest.mark.parametrize(
    ("line", "filling", "code", "request_id"),
    [
        (b'{"id":7,"method":"x","params":{"a":"%b"}}', (b"x", 2**26), -32600, 7),
        (b'{"method":"x","params":%b,"jsonrpc":"2.0","id":"y"}', (b"[", 2**17), -32700, "y"),
        (b'{"id":7,"result":{"a":"%b"}}', (b"x", 2**26), -32600, None),
        (b'{"id":7,"result":%b}', (b"nothing", 1), -32700, None),
    ],
)
async def test_a_request_that_cannot_be_read_is_answered(
    line: bytes, filling: tuple[bytes, int], code: int, request_id: int | str | None
) -> None:
    """F-BRIDGE-1: under its id, so that its caller does not wait; a response has no answer."""
    async with bridged(McpServer("handshake")) as (host, _):
        piece, count = filling
        host.write(line % (piece * count))
        refused = await host.message()
        assert (refused["error"]["code"], refused["id"]) == (code, request_id)


async def test_requests_in_an_array_are_served_one_by_one() -> None:
    """F-BRIDGE-1: revision 2025-03-26 has them, and no other."""
    async with bridged(McpServer("handshake")) as (host, _):
        host.write('[{"id":1,"method":"ping"},{"id":"2","method":"ping"}, 3]')
        answers = [await host.message() for _ in range(3)]
        assert sorted(str(each["id"]) for each in answers) == ["1", "2", "None"]


async def test_an_id_is_used_once_at_a_time() -> None:
    """F-BRIDGE-1: and unknown responses and cancellations are ignored."""
    async with bridged(McpServer("handshake")) as (host, _):
        await host.initialize()
        host.write({"id": 5, "result": {}})
        host.write({"id": None, "error": {"code": 1, "message": "x"}})
        for request_id in (77, None, [1], "x"):
            cancelled = {"method": "notifications/cancelled", "params": {"requestId": request_id}}
            host.write(cancelled)
        for _ in range(2):
            host.write({"id": 9, "method": "tools/call", "params": {"name": "never"}})
        refused = await host.message()
        assert (refused["id"], refused["error"]["message"]) == (9, "its id is in use")
        assert "initialize" in (await host.request("initialize"))["error"]["message"]


async def test_a_host_that_leaves_ends_everything() -> None:
    """F-BRIDGE-1: the calls under way are cancelled, and the server is closed."""
    server = McpServer("handshake")
    async with bridged(server) as (host, side):
        await host.initialize()
        host.write({"id": 9, "method": "tools/call", "params": {"name": "never"}})
        await side.came("never")
    assert server.messages("notifications/cancelled")
    assert side.receiver is None


async def test_a_host_that_does_not_read_stops_the_server() -> None:
    """F-BRIDGE-1: nothing is lost meanwhile, and the order stays."""
    async with bridged(McpServer("handshake")) as (host, side):
        await host.initialize()
        host.reader.hold(is_held=True)
        padding = "x" * 1000
        count = 0
        while not side.is_held:
            side.say('{"method":"n","params":{"n":%d,"x":"%s"}}' % (count, padding))  # noqa: UP031
            count += 1
            await asyncio.sleep(0)
        assert count < 1000  # the pipe, and 64 KiB
        host.reader.hold(is_held=False)
        found = [(await host.message())["params"]["n"] for _ in range(count)]
        assert found == [*range(count)]
        assert not side.is_held


async def test_a_server_that_is_brought_back_waits_for_the_host_as_well() -> None:
    """F-BRIDGE-1: the host reads no sooner, only because the server has fallen over."""
    async with bridged(McpServer("handshake")) as (host, side):
        await host.initialize()
        host.reader.hold(is_held=True)
        while not side.is_held:
            side.say('{"method":"n","params":{"x":"%s"}}' % ("x" * 1000))
            await asyncio.sleep(0)
        side.lose()
        await asyncio.sleep(5)
        assert (side.opened, side.is_held) == (2, True)
        host.reader.hold(is_held=False)


async def test_a_server_that_does_not_read_stops_the_host() -> None:
    """F-BRIDGE-1: and its messages are passed on when the server reads again."""
    async with bridged(McpServer("handshake")) as (host, side):
        await host.initialize()
        side.congested = asyncio.Event()
        for number in range(2):
            host.write({"method": f"n/{number}"})
            await side.came("n/0")
        host.write({"method": "n/2", "params": {"x": "x" * 300_000}})
        await asyncio.sleep(5)
        assert not side.server.messages("n/2")
        side.congested.set()
        await side.came("n/2")


async def test_a_host_that_leaves_while_it_is_not_read_is_noticed() -> None:
    """F-BRIDGE-1: though its end of input is not read either."""
    async with bridged(McpServer("handshake")) as (host, side):
        await host.initialize()
        side.congested = asyncio.Event()
        host.write({"method": "n/0"})
        await side.came("n/0")
        await asyncio.sleep(5)
    assert side.receiver is None


def test_threads_move_the_bytes_where_no_loop_can() -> None:
    """F-BRIDGE-1: as on Windows, and where stdin is a file."""

    async def scenario(threads: bool) -> None:
        server = ServerSide(McpServer("handshake"))
        bridge = Bridge(
            lambda **others: Client(server, cache=False, **others),
            str,
            str,
            RequestOptions(None, None),
        )
        host_reads, bridge_writes = os.pipe()
        file = os.memfd_create("stdin")
        params = {"protocolVersion": "2025-11-25", "capabilities": {}}
        line = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        os.write(file, json.dumps(line).encode() + b"\n")
        os.lseek(file, 0, os.SEEK_SET)
        stdout = os.fdopen(bridge_writes, "wb", 0)
        await bridge.serve(os.fdopen(file, "rb", 0), stdout, threads=threads)
        with os.fdopen(host_reads, "rb") as output:
            for found in output.read().splitlines():
                assert json.loads(found)["id"] == 1

    asyncio.run(scenario(threads=True))
    asyncio.run(scenario(threads=False))


@pytest.mark.parametrize("method", ["x", "completion/complete"])
@pytest.mark.parametrize("is_modern", [False, True])
async def test_a_number_that_json_does_not_have_costs_itself(method: str, is_modern: bool) -> None:
    """F-BRIDGE-1: not the message around it, by a task or not; ``1e400`` is JSON, and passes."""
    server = McpServer("handshake")
    server.answers[method] = lambda params: None
    async with bridged(server) as (host, side):
        await (host.request("server/discover", modern()) if is_modern else host.initialize())
        for sent, told in (
            ('"result":{"a":-Infinity}', '"a":null'),
            ('"error":{"code":-1,"message":"no","data":NaN}', '"data":null'),
            ('"result":{"a":1e400}', '"a":null' if is_modern else '"a":1e400'),
            ('"error":{"code":-1, "message":"no","data":1e400,"x":1.0}', '"data":1e400,"x":1.0}'),
        ):
            side.lines.clear()
            host.write({"id": 7, "method": method, "params": modern() if is_modern else {}})
            asked = await side.came(f'"method":"{method}"')
            side.say('{"method":"n","params":{"a":NaN}}')
            side.say(f'{{"id":{asked["id"]},{sent}}}')
            assert b'"a":null' in await host.line()
            assert told.encode() in await host.line()


async def test_what_else_a_message_says_is_passed_on() -> None:
    """F-BRIDGE-1: in initialize, in cancellations either way, and in errors."""
    server = McpServer("handshake")
    async with bridged(server) as (host, side):
        opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "x": 1, "_meta": {"y": 2}}
        await host.request("initialize", opening)
        sent = server.messages("initialize")[0]["params"]
        assert (sent["x"], sent["_meta"]) == (1, {"y": 2})
        for method in ("tools/call", "x/slow"):
            side.lines.clear()
            server.answers["x/slow"] = lambda params: None
            host.write({"id": 1, "method": method, "params": {"name": "never"}})
            asked = await side.came(method)
            withdrawn = {"requestId": 1, "reason": f"enough of {method}"}
            host.write({"method": "notifications/cancelled", "params": withdrawn})
            told = await side.came("enough of")
            assert told["params"] == {**withdrawn, "requestId": asked["id"]}
        side.say('{"jsonrpc":"2.0","id":8,"method":"roots/list"}')
        question = await host.message()
        refused = {"code": 5, "message": "no", "x": {"y": 1}}
        host.write({"id": question["id"], "error": refused})
        assert (await side.came('"y": 1'))["error"] == refused
        side.say('{"jsonrpc":"2.0","id":9,"method":"roots/list"}')
        question = await host.message()
        withdrawn = {"requestId": 9, "reason": "too late"}
        side.say(json.dumps({"method": "notifications/cancelled", "params": withdrawn}))
        assert (await host.message())["params"] == {**withdrawn, "requestId": question["id"]}


async def test_a_host_that_says_no_more_gets_its_answers() -> None:
    """F-BRIDGE-5: whole, also when it reads slowly; not its subscriptions, and nothing for ever."""
    server = McpServer("handshake")
    server.answers["slow"] = lambda params: None
    text = "x" * 1_000_000
    async with bridged(server) as (host, side):
        await host.initialize()
        host.reader.hold(is_held=True)
        host.write({"id": "a", "method": "slow"})
        host.write({"id": "b", "method": "tools/call", "params": {"name": "never"}})
        asked = await side.came('"slow"')
        host.writer.close()
        await asyncio.sleep(3)
        side.say('{"jsonrpc":"2.0","id":9,"method":"roots/list"}')
        assert "closed its end" in (await side.came('"id":9'))["error"]["message"]
        side.say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"x": text}}))
        await asyncio.sleep(3)
        host.reader.hold(is_held=False)
        assert (await host.message())["result"] == {"x": text}
        await side.came("the host has left")
    assert side.receiver is None


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
METHODS = st.sampled_from(
    [
        *("initialize", "ping", "tools/list", "tools/call", "logging/setLevel", "server/discover"),
        *("subscriptions/listen", "resources/subscribe", "resources/unsubscribe", "prompts/get"),
        *("notifications/initialized", "notifications/cancelled", "notifications/progress", "x"),
        *("roots/list", "elicitation/create", "sampling/createMessage", "tasks/get"),
        *("notifications/tools/list_changed", "notifications/subscriptions/acknowledged"),
    ]
)
IDS = st.sampled_from([0, 1, 2, "a", "1", None, 1.5, True, -7, 10**30])
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0"),
        "id": IDS,
        "method": METHODS | st.none(),
        "params": JUNK | st.dictionaries(st.sampled_from(["name", "uri", "_meta", "level"]), JUNK),
        "result": JUNK,
        "error": JUNK | st.fixed_dictionaries({"code": st.integers(), "message": st.text()}),
    },
)


def as_line(message: Any, cut: int) -> bytes:
    text = json.dumps(message).encode("utf-8", "surrogatepass").replace(b"\n", b" ")
    return text[:cut] if cut < len(text) else text


LINES = st.builds(as_line, MESSAGES, st.integers(1, 60) | st.just(10**6))


@pytest.mark.quick_rows(1)
@pytest.mark.parametrize("era", ["handshake", "stateless"])
@pytest.mark.parametrize("is_modern", [False, True])
@examples(75, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.tuples(st.sampled_from("hhs"), LINES), max_size=12), dies=st.integers(0, 20)
)
@example(steps=[("s", b'{"id": 0, "method": "roots/list", "params": {"a": Infinity}}')], dies=20)
def test_hostile_hosts_and_servers(
    era: str, is_modern: bool, steps: list[tuple[str, bytes]], dies: int
) -> None:
    """F-BRIDGE-1: only messages are written, and a good request is served after all of that."""

    async def scenario() -> None:
        async with bridged(McpServer(era)) as (host, side):
            if is_modern:
                await host.request("server/discover", modern())
            else:
                await host.initialize()
            for number, (who, line) in enumerate(steps):
                if who == "h":
                    host.write(line)
                elif side.receiver is not None:
                    side.say(line)
                if number == dies and side.receiver is not None:
                    side.receiver.connection_lost(ConnectionLost("gone"))
                await asyncio.sleep(0)
            await still_serves(host, is_modern=is_modern)

    run(scenario())


async def still_serves(host: HostSide, *, is_modern: bool) -> None:
    call = {"name": "echo", "arguments": {"text": "still here"}}
    params = modern(call) if is_modern else call
    host.write({"id": "the last", "method": "tools/call", "params": params})
    while True:
        message = await host.message()
        assert isinstance(message, dict)
        if message.get("id") == "the last":
            break
        if message.get("method") and "id" in message:  # a question of the hostile server
            host.write({"id": message["id"], "result": {}})
    result = message["result"]
    if result.get("resultType") == "input_required":
        answers: dict[str, Any] = {key: {} for key in result["inputRequests"]}
        retry = {**params, "inputResponses": answers, "requestState": result["requestState"]}
        host.write({"id": "again", "method": "tools/call", "params": retry})
        while message.get("id") != "again":
            message = await host.message()
        result = message["result"]
    assert result["content"][0]["text"] == "still here"
