"""Every request that names a tool, a prompt or a resource passes the hooks: F-SAFE-5, F-API-23."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import mcpclient
from mcpclient.client.events.around import Call, Proceed
from mcpclient.errors import CallRefused, UsageError
from mcpclient.protocol.types import CallToolResult
from tests.client.scripted_server import HANDSHAKE, STATELESS, ScriptedServer

pytestmark = pytest.mark.virtual_time

TASK = {"taskId": "7", "status": "working", "ttl": None, "createdAt": "", "lastUpdatedAt": ""}
CAPABILITIES: dict[str, Any] = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}


def server() -> ScriptedServer:
    answers: dict[str, Any] = {"tools/call": {"task": TASK}}
    return ScriptedServer(answers, version=HANDSHAKE, capabilities=CAPABILITIES)


async def test_a_refused_task_is_over() -> None:
    """F-API-23: its result is the refusal, as a server's that answers at once."""

    async def refuse(call: Call, proceed: Proceed) -> CallToolResult:
        return mcpclient.refusal("no")

    scripted = server()
    async with scripted.client(around=[refuse]) as client:
        task = await client.call_tool_task("slow")
        result = await client.await_task(task)
        assert (result.is_error, result.text) == (True, "no")
    assert not scripted.sent("tools/call")


READ = {"contents": [{"uri": "mem://1", "text": "r"}]}
ANSWERS: dict[str, Any] = {
    "tools/call": {"content": [{"type": "text", "text": "done"}]},
    "resources/read": READ,
    "resources/subscribe": {},
    "resources/unsubscribe": {},
    "resources/directory/read": {"resources": []},
    "skills/get": {"skill": {}},
    "prompts/get": {"messages": []},
}
EVERYTHING: dict[str, Any] = {
    "tools": {},
    "prompts": {},
    "resources": {"subscribe": True},
    "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": True}},
}


class Asked:
    """A hook that notes the calls, and refuses the ones in ``refused``."""

    def __init__(self, *refused: str) -> None:
        self.calls: list[Call] = []
        self._refused = refused

    @property
    def seen(self) -> list[tuple[str, str]]:
        return [(call.method, call.name) for call in self.calls]

    async def __call__(self, call: Call, proceed: Proceed, /) -> CallToolResult:
        self.calls.append(call)
        if call.name in self._refused:
            return mcpclient.refusal("not this one")
        return await proceed(call)


WAYS: list[tuple[str, Any, tuple[str, str]]] = [
    ("call_tool", lambda c: c.call_tool("x"), ("tools/call", "x")),
    ("call_tools", lambda c: c.call_tools([("x", None)]), ("tools/call", "x")),
    ("raw call", lambda c: c.request("tools/call", {"name": "x"}), ("tools/call", "x")),
    ("read", lambda c: c.read_resource("mem://1"), ("resources/read", "mem://1")),
    (
        "raw read",
        lambda c: c.request("resources/read", {"uri": "mem://1"}),
        ("resources/read", "mem://1"),
    ),
    ("prompt", lambda c: c.get_prompt("p", {"a": "1"}), ("prompts/get", "p")),
    ("subscribe", lambda c: c.subscribe_resource("mem://1"), ("resources/subscribe", "mem://1")),
    (
        "raw subscribe",
        lambda c: c.request("resources/subscribe", {"uri": "mem://1"}),
        ("resources/subscribe", "mem://1"),
    ),
]


@pytest.mark.parametrize(("way", "target"), [each[1:] for each in WAYS], ids=[w[0] for w in WAYS])
async def test_each_way_passes_them_once(way: Any, target: tuple[str, str]) -> None:
    """F-SAFE-5: whichever method makes the request."""
    asked = Asked()
    scripted = ScriptedServer(ANSWERS, version=HANDSHAKE, capabilities=EVERYTHING)
    async with scripted.client(around=[asked]) as client:
        await way(client)
    assert scripted.sent(target[0])
    assert asked.seen == [target]


@pytest.mark.parametrize(("way", "target"), [each[1:] for each in WAYS], ids=[w[0] for w in WAYS])
async def test_what_is_refused_is_not_sent(way: Any, target: tuple[str, str]) -> None:
    """F-SAFE-5: a refused tool call is a result; anything else raises."""
    asked = Asked(target[1])
    scripted = ScriptedServer(ANSWERS, version=HANDSHAKE, capabilities=EVERYTHING)
    async with scripted.client(around=[asked]) as client:
        if target[0] == "tools/call":
            assert "not this one" in repr(getattr(await way(client), "raw", "not this one"))
        else:
            with pytest.raises(CallRefused, match="not this one") as caught:
                await way(client)
            assert (caught.value.method, caught.value.name) == target
        for _ in range(2):  # a subscription that was refused is not open afterwards
            with pytest.raises(CallRefused):
                await client.subscribe_resource(target[1])
    assert not scripted.sent(target[0])


async def test_a_listener_for_resources_is_asked_about_once() -> None:
    """F-SAFE-5: in the stateless era too, where the URIs travel in another request."""
    asked = Asked("mem://no")

    def answer(params: Any) -> None:
        return None

    answers = {"subscriptions/listen": answer}
    scripted = ScriptedServer(answers, version=STATELESS, capabilities=EVERYTHING)
    async with scripted.client(around=[asked]) as client:
        listener = client.listen(uris=["mem://1", "mem://no"])
        with pytest.raises(CallRefused):
            await listener.open()
        with pytest.raises(CallRefused):
            async for _ in client.listen(uris=["mem://no"]):
                pass
    assert not scripted.sent("subscriptions/listen")
    assert asked.seen[:2] == [
        ("resources/subscribe", "mem://1"),
        ("resources/subscribe", "mem://no"),
    ]


async def test_a_hook_changes_a_raw_request() -> None:
    """F-SAFE-5, F-API-23: name, arguments and metadata; what else there is stays."""

    async def change(call: Call, proceed: Proceed) -> CallToolResult:
        assert call.arguments == {"a": "1"} and call.meta == {"m": 1}
        return await proceed(replace(call, name="y", arguments={"a": "2"}, meta={"n": 2}))

    scripted = ScriptedServer(ANSWERS, version=HANDSHAKE, capabilities=EVERYTHING)
    async with scripted.client() as client:
        params = {"name": "x", "arguments": {"a": "1"}, "_meta": {"m": 1}, "more": True}
        result = await client.request("tools/call", params, around=[change])
        assert result["content"][0]["text"] == "done"
        found = await client.get_prompt("x", {"a": "1"}, meta={"m": 1}, around=[change])
        assert found.messages == []
    changed = {"name": "y", "arguments": {"a": "2"}, "_meta": {"n": 2}}
    assert scripted.sent("tools/call") == [{**changed, "more": True}]
    assert scripted.sent("prompts/get") == [changed]


async def test_a_call_cannot_be_disguised() -> None:
    """F-SAFE-5: neither as a notification nor by a name that is not a string."""
    asked = Asked()
    scripted = ScriptedServer(ANSWERS, version=HANDSHAKE, capabilities=EVERYTHING)
    async with scripted.client(around=[asked]) as client:
        with pytest.raises(UsageError, match="is a request, not a notification"):
            await client.notify("tools/call", {"name": "x"})
        with pytest.raises(UsageError, match="resources/read needs a uri"):
            await client.request("resources/read", {"uri": ["mem://1"]})
    assert not scripted.sent("tools/call") and not scripted.sent("resources/read")
    assert not asked.calls
