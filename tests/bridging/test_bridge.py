"""A bridge between a host and a server of the same era, and between eras."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcpclient import CallToolResult, McpError, ServerUnavailable
from mcpclient.client.connection.limits import RequestOptions
from mcpclient.client.events.around import Call, Proceed
from tests.bridging.sides import ServerSide, bridged
from tests.support.mcp_server import McpServer, Refusal, refusing

pytestmark = [pytest.mark.needs_posix, pytest.mark.virtual_time]

CANCELLED = "notifications/cancelled"
ODD = '{ "n": 1.10, "e": 1E5, "z": -0, "s": "\\u00e9\\/", "big": 12345678901234567890123 }'


async def test_a_handshake_host_and_server_see_each_other_s_own_bytes() -> None:
    """F-BRIDGE-1: params and results are not rewritten, whatever their notation is."""
    server = McpServer("handshake")
    async with bridged(server) as (host, side):
        opened = await host.initialize(roots={"listChanged": True})
        assert opened["serverInfo"] == {"name": "test-server", "version": "1"}
        sent = server.messages("initialize")[0]["params"]
        assert sent["clientInfo"] == {"name": "host", "version": "1"}
        assert sent["capabilities"] == {"roots": {"listChanged": True}}
        server.answers["x/y"] = {}
        params = f'{{"a": {ODD} , "_meta": {{"progressToken": 1e1}}}}'
        host.write(f'{{"jsonrpc":"2.0","id":"q","method":"x/y","params":{params}}}')
        await host.line()
        assert params.encode() in side.lines[-1]
        server.answers["x/z"] = lambda params: None
        host.write({"id": "r", "method": "x/z"})
        asked = await side.came("x/z")
        side.say(f'{{"id": {asked["id"]}, "result": {ODD} , "jsonrpc": "2.0"}}')
        told = f'{{"jsonrpc":"2.0","id":"r","result":{ODD}}}'
        assert await host.line() == told.encode()


@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_a_log_message_right_behind_the_opening_is_not_lost(era: str) -> None:
    """F-BRIDGE-1: though the client does not count as connected yet."""

    class Eager(ServerSide):
        def say(self, text: str | bytes) -> None:
            super().say(text)
            if b"capabilities" in (text if isinstance(text, bytes) else text.encode()):
                super().say('{"jsonrpc":"2.0","method":"notifications/message","params":{"n":1}}')

    async with bridged(Eager(McpServer(era))) as (host, _):
        await host.initialize()
        assert (await host.message())["params"] == {"n": 1}


async def test_either_side_cancels_and_reports_progress() -> None:
    """F-BRIDGE-1: tokens stay as they are, ids belong to each hop."""
    server = McpServer("handshake")
    async with bridged(server) as (host, side):
        await host.initialize(sampling={})
        params = {"name": "progress", "arguments": {"steps": 1}, "_meta": {"progressToken": "t"}}
        host.write({"id": 1, "method": "tools/call", "params": params})
        told = await host.message()
        assert told["method"] == "notifications/progress"
        assert told["params"]["progressToken"] == "t"
        assert (await host.message())["id"] == 1

        host.write({"id": 2, "method": "tools/call", "params": {"name": "never"}})
        asked = await side.came("never")
        cancelled = {"requestId": 2, "reason": "enough"}
        host.write({"method": "notifications/cancelled", "params": cancelled})
        withdrawn = await side.came("notifications/cancelled")
        assert withdrawn["params"]["requestId"] == asked["id"]

        side.say('{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}')
        question = await host.message()
        cancelled = {"requestId": 9}
        side.say(json.dumps({"jsonrpc": "2.0", "method": CANCELLED, "params": cancelled}))
        told = await host.message()
        assert told["method"] == CANCELLED
        assert told["params"]["requestId"] == question["id"]
        host.write({"method": "notifications/roots/list_changed"})
        await side.came("notifications/roots/list_changed")


async def test_a_lost_server_is_brought_back_and_the_host_hears_of_it() -> None:
    """F-BRIDGE-1: as of a change; subscriptions, whichever still can, and the log level return."""

    def subscribe(params: Any) -> dict[str, Any]:
        if params["uri"] == "x:gone" and len(server.messages("initialize")) > 1:
            raise Refusal(-32002, "it is gone")
        return {}

    server = McpServer("handshake")
    server.capabilities = {"tools": {}, "resources": {"subscribe": True}, "logging": {}}
    server.answers.update({"resources/subscribe": subscribe, "resources/unsubscribe": {}})
    async with bridged(server) as (host, side):
        await host.initialize()
        for uri in ("x:gone", "x:1", "x:left"):
            await host.request("resources/subscribe", {"uri": uri})
        await host.request("resources/unsubscribe", {"uri": "x:left"})
        await host.request("logging/setLevel", {"level": "error"})
        host.write({"id": "lost", "method": "tools/call", "params": {"name": "never"}})
        await side.came("never")
        side.lose()
        failed = await host.message()
        assert failed["id"] == "lost"
        assert "it fell over" in failed["error"]["message"]
        told = [await host.message() for _ in range(4)]
        assert [each["method"] for each in told] == [
            "notifications/tools/list_changed",
            "notifications/resources/list_changed",
            "notifications/resources/updated",
            "notifications/resources/updated",
        ]
        assert [each["params"].get("uri") for each in told[2:]] == ["x:gone", "x:1"]
        assert side.opened == 2
        assert len(server.messages("resources/subscribe")) == 5
        assert len(server.messages("logging/setLevel")) == 2
        answer = await host.call("echo", text="again")
        assert answer["result"]["content"][0]["text"] == "again"


async def test_a_large_result_keeps_its_bytes() -> None:
    """F-BRIDGE-1"""
    server = McpServer("handshake")
    server.answers["x"] = lambda params: None
    async with bridged(server) as (host, side):
        await host.initialize()
        text = "y" * (5 << 20)
        host.write(f'{{"id":7,"method":"x","params": {{"a": 1.0, "b":"{text}" }} }}')
        asked = await side.came('"method":"x"')
        assert f'{{"a": 1.0, "b":"{text}" }}'.encode() in side.lines[-1]
        side.say(f'{{"id":{asked["id"]},"result": {{"c": 1e1, "d":"{text}" }} }}')
        told = f'{{"jsonrpc":"2.0","id":7,"result":{{"c": 1e1, "d":"{text}" }}}}'
        assert await host.line() == told.encode()


async def test_tools_that_are_not_offered_are_neither_listed_nor_called() -> None:
    """F-BRIDGE-1, F-SAFE-5: the call does not reach the server."""
    server = McpServer("handshake")
    async with bridged(server, offers=lambda name: name != "echo") as (host, _):
        await host.initialize()
        assert (await host.request("tools/list"))["result"] == {"tools": []}
        refused = (await host.call("echo", text="hi"))["result"]
        assert refused["isError"]
        assert not server.messages("tools/call")


async def test_hooks_see_each_request_once_and_whole() -> None:
    """F-BRIDGE-1, F-SAFE-5: also a large one."""
    seen: list[int] = []

    async def around(call: Call, proceed: Proceed) -> CallToolResult:
        seen.append(len(call.arguments["text"]))
        return await proceed(call)

    async with bridged(McpServer("handshake"), around=[around]) as (host, _):
        await host.initialize()
        await host.call("echo", text="x" * (5 << 20))
    assert seen == [5 << 20]


async def test_a_server_that_may_not_start_again_stays_away() -> None:
    """F-BRIDGE-1: its entry is judged before each start."""
    refusals: list[McpError] = []

    def judge() -> str:
        if refusals:
            raise refusals[0]
        return ""

    async with bridged(McpServer("handshake"), judge=judge) as (host, side):
        await host.initialize()
        refusals.append(ServerUnavailable("it", "denied", "a policy forbids it"))
        side.lose()
        refused = await host.call("echo", text="hi")
        assert "a policy forbids it" in refused["error"]["message"]
        await asyncio.sleep(100)
        assert side.opened == 1


async def test_a_server_that_falls_over_again_is_brought_back_later() -> None:
    """F-BRIDGE-1: after each loss in a minute twice as late as before."""
    loop = asyncio.get_running_loop()
    async with bridged(McpServer("handshake")) as (host, side):
        await host.initialize()
        pauses = []
        for steady in (0, 0, 61):
            await asyncio.sleep(steady)
            began = loop.time()
            side.lines.clear()
            side.lose()
            await side.came('"initialize"')
            pauses.append(loop.time() - began)
        assert [0.3 < pauses[0] < 0.7, 0.7 < pauses[1] < 1.3, 0.3 < pauses[2] < 0.7] == [True] * 3


async def test_a_handshake_that_has_failed_can_be_made_again() -> None:
    """F-BRIDGE-1: as by a host whose user has mended the server."""
    server = McpServer("handshake")
    server.answers["initialize"] = refusing(-32603, "not yet")
    async with bridged(server) as (host, _):
        params = {"protocolVersion": "2025-11-25", "capabilities": {}}
        assert "not yet" in (await host.request("initialize", params))["error"]["message"]
        del server.answers["initialize"]
        assert (await host.initialize())["serverInfo"]["name"] == "test-server"


async def test_what_comes_before_a_host_is_ready_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-BRIDGE-1: in order, and in bounded memory."""
    monkeypatch.setattr("mcpclient.bridging.host._MAX_EARLY", 2)
    async with bridged(McpServer("handshake")) as (host, side):
        await host.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
        for number in range(3):
            side.say(f'{{"method":"n/{number}"}}')
        await asyncio.sleep(1)
        assert host.inbox.empty()
        host.write({"method": "notifications/initialized"})
        assert [(await host.message())["method"] for _ in range(2)] == ["n/0", "n/1"]
        assert (await host.request("ping"))["result"] == {}


async def test_a_call_has_the_limit_of_its_server() -> None:
    """F-BRIDGE-1, F-API-7: whoever waits for it has another one."""
    async with bridged(McpServer("handshake"), limits=RequestOptions(5.0, None)) as (host, _):
        await host.initialize()
        assert "within 5 s" in (await host.call("never"))["error"]["message"]
