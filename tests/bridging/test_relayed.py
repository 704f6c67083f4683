"""Requests that a bridge passes on without a task."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpclient import ConnectionLost
from mcpclient.transports.base import deliver_text
from tests.bridging.sides import ServerSide, bridged
from tests.support.mcp_server import McpServer

pytestmark = [pytest.mark.needs_posix, pytest.mark.virtual_time]


class PromptSide(ServerSide):
    """A server whose responses are there before `send` returns."""

    def say(self, text: str | bytes) -> None:
        assert self.receiver is not None
        deliver_text(text.encode() if isinstance(text, str) else text, self.receiver)


async def test_a_response_is_written_in_the_turn_in_which_it_is_read() -> None:
    """F-BRIDGE-1: the loop does not run between the two."""
    side = PromptSide(McpServer("handshake"))
    async with bridged(side) as (host, _):
        await host.initialize()
        host.write({"id": 7, "method": "tools/call", "params": {"name": "never"}})
        asked = await side.came("never")
        side.say(f'{{"jsonrpc":"2.0","id":{asked["id"]},"result":{{}}}}')
        host.reader.sweep()
        assert json.loads(host.inbox.get_nowait()) == {"jsonrpc": "2.0", "id": 7, "result": {}}
        assert (await host.call("echo", text="hi"))["result"]["content"][0]["text"] == "hi"


async def test_a_request_that_only_reads_is_repeated_after_a_loss() -> None:
    """F-BRIDGE-1: and its response arrives once."""
    server = McpServer("handshake")
    server.answers["prompts/get"] = lambda params: None
    async with bridged(server) as (host, side):
        await host.initialize()
        host.write({"id": 7, "method": "prompts/get", "params": {"name": "p"}})
        await side.came("prompts/get")
        server.answers["prompts/get"] = {"messages": []}
        assert side.receiver is not None
        side.receiver.connection_lost(ConnectionLost("it fell over"))
        while (answer := await host.message()).get("id") != 7:
            assert answer["method"].endswith("list_changed")
        assert answer["result"] == {"messages": []}
        assert len(server.messages("prompts/get")) == 2


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ('"error":{"code":-7,"message":"no","data":[1]}', {"code": -7, "message": "no"}),
        ('"error":7', {"code": -32603}),
        ('"result":[]', {"code": -32603}),
    ],
)
async def test_a_failure_is_told_once(result: str, message: dict[str, Any]) -> None:
    """F-BRIDGE-1: errors pass as they are, and output that is not a response becomes one."""
    async with bridged(McpServer("handshake")) as (host, side):
        await host.initialize()
        host.write({"id": 7, "method": "tools/call", "params": {"name": "never"}})
        asked = await side.came("never")
        side.say(f'{{"jsonrpc":"2.0","id":{asked["id"]},{result}}}')
        answer = await host.message()
        assert answer["id"] == 7
        assert message.items() <= answer["error"].items()
        host.write({"method": "notifications/cancelled", "params": {"requestId": 7}})
        await host.request("ping")
        assert not side.server.messages("notifications/cancelled")


async def test_params_that_only_python_reads_are_refused() -> None:
    """F-BRIDGE-1: the server does not see them, and the next call is served."""
    async with bridged(McpServer("handshake")) as (host, side):
        await host.initialize()
        host.write('{"id":7,"method":"tools/call","params":{"name":"x","arguments":{"a":NaN}}}')
        answer = await host.message()
        assert answer["id"] == 7
        assert "cannot be sent as JSON" in answer["error"]["message"]
        assert not side.server.messages("tools/call")
        await host.call("echo", text="hi")


async def test_a_transport_that_fails_costs_one_request() -> None:
    """F-BRIDGE-1: the host learns of it, and the next call is served."""
    async with bridged(McpServer("handshake")) as (host, _):
        await host.initialize()
        nameless = await host.request("tools/call", {})  # the server of the tests raises KeyError
        assert nameless["error"] == {"code": -32603, "message": "KeyError"}
        assert (await host.call("echo", text="hi"))["result"]["content"][0]["text"] == "hi"
