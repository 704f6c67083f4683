"""Notifications for the host of a gateway: each once, and no others."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.bridging.sides import PREFIX, HostSide, ServerSide, modern
from tests.gateway.hosts import Upstream, answer_to, gateway, names, told

pytestmark = [pytest.mark.needs_posix, pytest.mark.virtual_time]

STATUS = "gateway://servers"
UPDATED = "notifications/resources/updated"


async def heard(host: HostSide) -> list[tuple[str, Any]]:
    """Return the notifications that have come after a second, each with its params."""
    await asyncio.sleep(1)
    lines = [json.loads(host.inbox.get_nowait()) for _ in range(host.inbox.qsize())]
    return [(each["method"], each.get("params")) for each in lines if "method" in each]


def changed(kind: str) -> str:
    return json.dumps({"method": f"notifications/{kind}/list_changed"})


def update(uri: str) -> str:
    return json.dumps({"method": UPDATED, "params": {"uri": uri}})


async def test_a_handshake_host_hears_what_it_has_subscribed_to() -> None:
    """F-BRIDGE-2: once, by its own URIs, and until it unsubscribes from each."""
    one, two = (
        ServerSide(Upstream("handshake", "x:1", "x:2")),
        ServerSide(Upstream("handshake", "x:1")),
    )
    async with gateway({"one": one, "two": two}) as host:
        await host.initialize()
        for kind in ("tools", "resources"):
            await answer_to(host, f"{kind}/list")
        await heard(host)
        for side in (one, two):
            side.say(update("x:1"))
        assert await heard(host) == []
        host.write({"id": "a", "method": "resources/subscribe", "params": {"uri": "x:1"}})
        for uri in ("x:1", "x:2", "two:x:1"):
            await answer_to(host, "resources/subscribe", {"uri": uri})
        await answer_to(host, "resources/unsubscribe", {"uri": "x:2"})
        for side in (one, two):
            side.say(update("x:1"))
        one.say(update("x:2"))
        one.say('{"method": "notifications/cancelled", "params": {"requestId": 77}}')
        assert await heard(host) == [(UPDATED, {"uri": "x:1"}), (UPDATED, {"uri": "two:x:1"})]
        one.lose()
        assert UPDATED not in dict(await heard(host))
        await answer_to(host, "resources/subscribe", {"uri": STATUS})
        two.lose()
        assert (UPDATED, {"uri": STATUS}) in await heard(host)
        assert STATUS not in str(one.lines + two.lines)


async def test_changes_of_lists_are_gathered() -> None:
    """F-BRIDGE-2: for all servers; a change of tools is reported also if nothing differs."""
    one, two = ServerSide(Upstream()), ServerSide(Upstream("stateless"))
    async with gateway({"one": one, "two": two}, wait=0) as host:
        await host.initialize()
        assert {"notifications/prompts/list_changed", "notifications/resources/list_changed"} <= {
            method for method, _ in await heard(host)
        }
        assert "toolsListChanged" in str(two.server.messages("subscriptions/listen"))
        new = {"tools": [{"name": "new", "inputSchema": {}}]}
        for kind, tools in (("prompts", {}), ("tools", new), ("tools", new)):
            one.server.answers["tools/list"] = tools
            for _ in range(2):
                one.say(changed(kind))
            assert [method for method, _ in await heard(host)] == [
                f"notifications/{kind}/list_changed"
            ]
            await asyncio.sleep(5)
        host.write({"method": "notifications/roots/list_changed"})
        await one.came("notifications/roots/list_changed")
    async with gateway({"one": one}, expose="search") as host:
        await host.initialize()
        await heard(host)
        one.say(changed("tools"))
        assert await heard(host) == []


async def test_each_subscription_of_a_stateless_host_is_its_own() -> None:
    """F-BRIDGE-2: a resource that is gone costs the others nothing."""
    one = ServerSide(Upstream("handshake", "x:1", "x:2"))
    async with gateway({"one": one, "two": ServerSide(Upstream("handshake", "x:3"))}) as host:
        await host.request("server/discover", modern())
        await names(host, modern())
        for name, filters in (
            ("A", {"resourceSubscriptions": ["gone:1", "x:1"]}),
            ("B", {"resourceSubscriptions": ["x:2"], "promptsListChanged": True}),
        ):
            params = modern({"notifications": filters})
            host.write({"id": name, "method": "subscriptions/listen", "params": params})
            agreed = await told(host, "notifications/subscriptions/acknowledged")
            about = {PREFIX + "subscriptionId": name}
            assert agreed["params"] == {"_meta": about, "notifications": filters}
        one.say(changed("prompts"))
        one.say(changed("resources"))
        ((_, params),) = await heard(host)
        assert params["_meta"] == about
        host.write({"method": "notifications/cancelled", "params": {"requestId": "B"}})
        await one.came("resources/unsubscribe")
        for uri in ("x:1", "x:2"):
            one.say(update(uri))
        ((_, params),) = await heard(host)
        assert params == {"uri": "x:1", "_meta": {PREFIX + "subscriptionId": "A"}}
