"""A bridge between a host of one era and a server of the other."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcpclient.bridging.rounds import Rounds
from tests.bridging.sides import PREFIX, bridged, modern
from tests.support.mcp_server import STATELESS, McpServer

pytestmark = [pytest.mark.needs_posix, pytest.mark.virtual_time]

SUBSCRIPTION = PREFIX + "subscriptionId"
FORM = {"mode": "form", "message": "who?", "requestedSchema": {"type": "object", "properties": {}}}


class StatelessServer(McpServer):
    """It asks for input in rounds, and tells the changes that are listened for."""

    def __init__(self) -> None:
        super().__init__("stateless")
        self.capabilities = {
            "tools": {"listChanged": True},
            "resources": {"subscribe": True},
            "logging": {},
        }

    def take_other(self, message: Any, params: Any, send: Any) -> None:
        if message["method"] == "subscriptions/listen":
            meta = {SUBSCRIPTION: message["id"]}
            wanted = params["notifications"]
            told = {"_meta": meta, "notifications": wanted}
            self.tell(send, "notifications/subscriptions/acknowledged", told)
            if "toolsListChanged" in wanted:
                self.tell(send, "notifications/tools/list_changed", {"_meta": meta})
            for uri in wanted.get("resourceSubscriptions", ()):
                told = {"_meta": {**meta, "x": 1}, "uri": uri}
                self.tell(send, "notifications/resources/updated", told)
        else:
            super().take_other(message, params, send)

    def tell(self, send: Any, method: str, params: Any) -> None:
        send({"jsonrpc": "2.0", "method": method, "params": params})

    def call_tool(self, message: Any, name: str, arguments: Any, send: Any) -> None:
        params = message["params"]
        if name != "ask" or "inputResponses" in params:
            said = {"text": str(params.get("inputResponses"))}
            super().call_tool(message, "echo", said, send)
            return
        result = {
            "resultType": "input_required",
            "inputRequests": {
                "who": {"method": "elicitation/create", "params": FORM},
                "where": {"method": "roots/list"},
            },
            "requestState": "s",
        }
        send({"jsonrpc": "2.0", "id": message["id"], "result": result})


async def test_a_handshake_host_in_front_of_a_stateless_server() -> None:
    """F-BRIDGE-1: input rounds become requests, and subscriptions a request that stays open."""
    server = StatelessServer()
    async with bridged(server) as (host, side):
        opened = await host.initialize(elicitation={"form": {}}, roots={})
        assert opened["protocolVersion"] == "2025-11-25"
        assert opened["serverInfo"]["name"] == "test-server"
        assert opened["capabilities"] == server.capabilities
        changed = await host.message()
        assert changed == {
            "jsonrpc": "2.0",
            "method": "notifications/tools/list_changed",
            "params": {},
        }
        assert (await host.request("ping"))["result"] == {}
        assert (await host.request("logging/setLevel", {"level": "info"}))["result"] == {}

        host.write({"id": "c", "method": "tools/call", "params": {"name": "ask"}})
        asked = {each["method"]: each for each in [await host.message(), await host.message()]}
        assert asked["elicitation/create"]["params"] == FORM
        answer = {"action": "accept", "content": {"name": "Ada"}}
        host.write({"id": asked["elicitation/create"]["id"], "result": answer})
        host.write({"id": asked["roots/list"]["id"], "result": {"roots": []}})
        result = (await host.message())["result"]
        assert result["content"][0]["text"] == str({"who": answer, "where": {"roots": []}})
        sent = server.messages("tools/call")[-1]["params"]
        assert sent["requestState"] == "s"
        assert sent["_meta"][PREFIX + "clientCapabilities"]["elicitation"] == {"form": {}}
        assert sent["_meta"][PREFIX + "logLevel"] == "info"

        for number in (1, 2):  # two at once are one subscription
            host.write({"id": number, "method": "resources/subscribe", "params": {"uri": "x:1"}})
        told = [await host.message() for _ in range(3)]
        assert [each["result"] for each in told if "result" in each] == [{}, {}]
        (updated,) = (each for each in told if "method" in each)
        assert updated["method"] == "notifications/resources/updated"
        assert updated["params"] == {"uri": "x:1", "_meta": {"x": 1}}
        assert (await host.request("resources/unsubscribe", {"uri": "x:1"}))["result"] == {}
        await side.came("notifications/cancelled")
        host.write({"method": "notifications/roots/list_changed"})
        host.write({"method": "vendor/note"})
        await side.came("vendor/note")
        assert not server.messages("notifications/roots/list_changed")  # its era has none


async def test_a_stateless_host_in_front_of_a_handshake_server() -> None:
    """F-BRIDGE-1: it discovers the server, and is asked in rounds by the calls it makes."""
    server = McpServer("handshake")
    server.capabilities = {"tools": {"listChanged": True}, "logging": {}, "tasks": {}}
    async with bridged(server) as (host, side):
        found = (await host.request("server/discover", modern(roots={})))["result"]
        assert found["supportedVersions"] == [STATELESS]
        assert found["resultType"] == "complete"
        assert found["capabilities"] == {"tools": {"listChanged": True}, "logging": {}}
        assert found["_meta"][PREFIX + "serverInfo"]["name"] == "test-server"
        assert found["instructions"] == "Be gentle."
        assert server.messages("initialize")[0]["params"]["capabilities"] == {"roots": {}}

        listed = (await host.request("tools/list", modern()))["result"]
        assert (listed["resultType"], listed["ttlMs"]) == ("complete", 0)
        assert server.messages("tools/list")[0]["params"] == {}

        call = {"name": "ask", "arguments": {"method": "roots/list"}, "x": 1}
        params = modern(call)
        params["_meta"][PREFIX + "logLevel"] = "error"
        params["_meta"]["progressToken"] = 7
        asked = (await host.request("tools/call", params))["result"]
        assert server.messages("logging/setLevel")[0]["params"] == {"level": "error"}
        assert server.messages("tools/call")[0]["params"] == {**call, "_meta": {"progressToken": 7}}
        assert asked["resultType"] == "input_required"
        ((key, question),) = asked["inputRequests"].items()
        assert question == {"method": "roots/list", "params": {}}
        answers = {"inputResponses": {key: {"roots": []}}, "requestState": asked["requestState"]}
        done = (await host.request("tools/call", modern({**call, **answers})))["result"]
        assert done["resultType"] == "complete"
        assert done["content"][0]["text"] == "{'roots': []}"
        assert len(server.messages("tools/call")) == 1
        for kind in ("message", "progress"):  # its log level was named
            side.say(f'{{"jsonrpc":"2.0","method":"notifications/{kind}","params":{{"data":1}}}}')
            assert (await host.message())["method"] == f"notifications/{kind}"


async def test_a_question_outside_of_calls_waits_for_the_next_call() -> None:
    """F-BRIDGE-1: and leaves the queue when the server withdraws it, or no call is left."""
    server = McpServer("handshake")
    async with bridged(server) as (host, side):
        await host.request("server/discover", modern(roots={}))
        side.say('{"jsonrpc":"2.0","id":1,"method":"roots/list"}')
        side.say('{"jsonrpc":"2.0","id":2,"method":"roots/list"}')
        await asyncio.sleep(1)
        side.say('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}')
        call = {"name": "echo", "arguments": {"text": "hi"}}
        asked = (await host.request("tools/call", modern(call)))["result"]
        assert len(asked["inputRequests"]) == 1
        retry = {**call, "inputResponses": {}, "requestState": asked["requestState"]}
        done = (await host.request("tools/call", modern(retry)))["result"]
        assert done["content"][0]["text"] == "hi"
        assert (await side.came('"error"'))["id"] == 1
        side.say('{"jsonrpc":"2.0","id":3,"method":"roots/list"}')
        await asyncio.sleep(61)  # virtual seconds
        assert (await side.came('"id":3'))["error"]["message"] == "no call of the host is in flight"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"method": "tools/list"}, -32600),
        (
            {
                "method": "tools/list",
                "params": {"_meta": {PREFIX + "protocolVersion": "2099-01-01"}},
            },
            -32022,
        ),
    ],
)
async def test_a_request_of_no_known_era_is_refused(message: Any, code: int) -> None:
    """F-BRIDGE-1: without a handshake, or with a revision that is not known."""
    async with bridged(McpServer("handshake")) as (host, side):
        host.write({"id": 1, **message})
        assert (await host.message())["error"]["code"] == code
        assert side.opened == 0
        assert (await host.request("ping"))["result"] == {}


async def test_a_stateless_host_stays_one() -> None:
    """F-BRIDGE-1: as a server of its era would, the bridge has no other requests for it."""
    async with bridged(McpServer("handshake")) as (host, side):
        await host.request("server/discover", modern())
        for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe"):
            refused = await host.request(method, modern({"level": "info", "uri": "x:1"}))
            assert refused["error"]["code"] == -32601
        incomplete = [{}, {"_meta": {PREFIX + "protocolVersion": STATELESS}}]
        for params in incomplete:
            assert (await host.request("tools/list", params))["error"]["code"] == -32602
        params = {"_meta": {PREFIX + "protocolVersion": "2099-01-01"}}
        data = (await host.request("tools/list", params))["error"]["data"]
        assert data == {"supported": [STATELESS], "requested": "2099-01-01"}
        call = {"name": "echo", "arguments": {"text": "hi"}}
        side.say('{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}')
        side.say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
        assert "result" in await host.request("tools/call", modern(call))
        assert len(side.server.messages("initialize")) == 1


async def test_a_call_may_ask_more_than_once_and_be_cancelled_meanwhile() -> None:
    """F-BRIDGE-1: each retry continues the same call of the server, and an end cancels it."""
    server = McpServer("handshake")
    async with bridged(server) as (host, side):
        await host.request("server/discover", modern(roots={}))
        call = {"name": "never"}
        host.write({"id": "c", "method": "tools/call", "params": modern(call)})
        await side.came("never")
        for number in (1, 2):
            side.say(f'{{"jsonrpc":"2.0","id":{number},"method":"roots/list"}}')
            asked = (await host.message())["result"]
            (key,) = asked["inputRequests"]
            state = {"inputResponses": {key: {"roots": []}}, "requestState": asked["requestState"]}
            host.write(
                {"id": f"r{number}", "method": "tools/call", "params": modern({**call, **state})}
            )
            await side.came(f'"id":{number},"result"')
        host.write({"method": "notifications/cancelled", "params": {"requestId": "r2"}})
        await side.came("notifications/cancelled")
        assert len(server.messages("tools/call")) == 1


async def test_a_question_that_comes_just_as_a_call_begins_to_wait_is_asked() -> None:
    """F-BRIDGE-1."""
    rounds, never = Rounds(), asyncio.get_running_loop().create_future()

    async def work() -> Any:
        return await never

    calling = asyncio.ensure_future(rounds.call("tools/call", {"name": "ask"}, work()))
    asking = asyncio.ensure_future(rounds.ask("roots/list", {}))  # its first step is the next
    asked = (await calling)["inputRequests"]
    assert [*asked.values()] == [{"method": "roots/list", "params": {}}]
    await rounds.close()
    await asyncio.wait({asking})
    assert asking.cancelled()


async def test_a_retry_is_bound_to_its_call_and_used_once() -> None:
    """F-BRIDGE-5: any other is refused, and no tool runs for it."""
    server = McpServer("handshake")
    async with bridged(server) as (host, _):
        await host.request("server/discover", modern(roots={}))
        call = {"name": "ask", "arguments": {"method": "roots/list"}}
        asked = (await host.request("tools/call", modern(call)))["result"]
        good = {"requestState": asked["requestState"], "inputResponses": {}}
        forgeries: dict[str, dict[str, Any]] = {
            "forged": {"requestState": "s"},
            "of another kind": {"requestState": [asked["requestState"]]},
            "without a state": {"requestState": None},
            "of another tool": {"name": "echo"},
            "with other arguments": {"arguments": {"method": "ping"}},
            "with more": {"x": 1},
        }
        for name, changed in forgeries.items():
            retry = modern({**call, **good, **changed})
            refused = await host.request("tools/call", retry)
            assert refused.get("error", {}).get("code") == -32602, name
        foreign = await host.request("prompts/get", modern({**call, **good}))
        assert foreign["error"]["code"] == -32602
        retry = modern({**call, **good})
        assert "content" in (await host.request("tools/call", retry))["result"]
        assert (await host.request("tools/call", retry))["error"]["code"] == -32602
        assert len(server.messages("tools/call")) == 1


async def test_calls_that_are_never_retried_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-BRIDGE-1: at most a number of them wait, and the end of the host cancels the rest."""
    monkeypatch.setattr("mcpclient.bridging.rounds._MAX_HELD", 1)
    server = McpServer("handshake")
    async with bridged(server) as (host, side):
        await host.request("server/discover", modern(roots={}))
        for number in (1, 2):
            host.write(
                {
                    "id": number,
                    "method": "tools/call",
                    "params": modern({"name": "never", "x": f"call {number}"}),
                }
            )
            await side.came(f"call {number}")
            side.say(f'{{"jsonrpc":"2.0","id":{number},"method":"roots/list"}}')
            assert (await host.message())["result"]["resultType"] == "input_required"
        await side.came("notifications/cancelled")
        assert len(server.messages("notifications/cancelled")) == 1
    assert len(server.messages("notifications/cancelled")) == 2


async def test_a_stateless_host_hears_that_a_lost_server_is_back() -> None:
    """F-BRIDGE-1: whatever it listens for may have changed."""
    server = McpServer("handshake")
    server.capabilities = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}
    server.answers["resources/subscribe"] = {}
    server.answers["resources/unsubscribe"] = {}
    async with bridged(server) as (host, side):
        wanted = {"toolsListChanged": True, "resourceSubscriptions": ["x:1"]}
        params = modern({"notifications": wanted})
        host.write({"id": 1, "method": "subscriptions/listen", "params": params})
        await host.message()
        side.lose()
        told = [await host.message(), await host.message()]
        assert [each["method"] for each in told] == [
            "notifications/tools/list_changed",
            "notifications/resources/updated",
        ]
        assert told[1]["params"] == {"uri": "x:1", "_meta": {SUBSCRIPTION: 1}}
        await host.request("ping", modern())


async def test_a_large_message_crosses_the_eras_whole() -> None:
    """F-BRIDGE-1"""
    async with bridged(McpServer("handshake")) as (host, _):
        call = {"name": "echo", "arguments": {"text": "x" * (5 << 20)}}
        host.write({"id": 1, "method": "tools/call", "params": modern(call)})
        result = (await host.message())["result"]
        assert result["resultType"] == "complete"
        assert len(result["content"][0]["text"]) == 5 << 20


async def test_a_host_that_does_not_wait_for_its_probe_gets_one_era() -> None:
    """F-BRIDGE-1: a server may take longer to start than the probe of its host may wait."""
    async with bridged(McpServer("handshake")) as (host, _):
        host.write({"id": 1, "method": "server/discover", "params": modern()})
        params = {"protocolVersion": "2025-06-18", "capabilities": {}}
        host.write({"id": 2, "method": "initialize", "params": params})
        answers = {each["id"]: each for each in [await host.message(), await host.message()]}
        assert answers[1]["error"]["code"] == -32601
        assert answers[2]["result"]["serverInfo"]["name"] == "test-server"
        assert (await host.call("echo", text="hi"))["result"]["content"][0]["text"] == "hi"


async def test_only_what_reads_is_asked_again_across_the_eras() -> None:
    """F-BRIDGE-1: after a loss; a call that may have run is not made twice."""
    server = McpServer("handshake")
    server.answers["prompts/get"] = lambda params: None
    async with bridged(server) as (host, side):
        await host.request("server/discover", modern())
        for method, name in (("tools/call", "never"), ("prompts/get", "p")):
            host.write({"id": method, "method": method, "params": modern({"name": name})})
            await side.came(f'"name":"{name}"')
        server.answers["prompts/get"] = {"messages": []}
        side.lose()
        answers = {each["id"]: each for each in [await host.message(), await host.message()]}
        assert "it fell over" in answers["tools/call"]["error"]["message"]
        assert answers["prompts/get"]["result"]["messages"] == []
        assert len(server.messages("tools/call")) == 1
        assert len(server.messages("prompts/get")) == 2


async def test_the_id_of_a_subscription_may_be_used_again() -> None:
    """F-BRIDGE-5: by a call, whose answer a host that has closed its end still gets."""
    server = StatelessServer()
    server.answers["slow"] = lambda params: None
    async with bridged(server) as (host, side):
        lists = {"notifications": {"toolsListChanged": True}}
        host.write({"id": "a", "method": "subscriptions/listen", "params": modern(lists)})
        assert (await host.message())["method"].endswith("/acknowledged")
        host.write({"method": "notifications/cancelled", "params": {"requestId": "a"}})
        host.write({"id": "a", "method": "slow", "params": modern()})
        asked = await side.came('"slow"')
        host.writer.close()
        await asyncio.sleep(3)
        side.say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"x": 1}}))
        assert (await host.message())["result"] == {"x": 1}
