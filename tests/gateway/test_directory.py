"""The server that a prompt, a resource or a template of a gateway's host belongs to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.bridging.sides import ServerSide
from tests.gateway.hosts import Upstream, answer_to, gateway, told
from tests.support.mcp_server import refusing

pytestmark = [pytest.mark.needs_posix, pytest.mark.virtual_time]

TEMPLATES = {
    "a": ["n:/{id}"],
    "b": ["n:/deep/{id}/x", "m:/{a}/mid/{b}/z", "o:/{a}/xx/{b}x/", "a:{id}"],
    "c": ["lit:1"],
}


async def test_each_uri_finds_its_server() -> None:
    """F-BRIDGE-2: by the template that says most of it, all of whose parts stand in it."""
    servers = {name: ServerSide(Upstream()) for name in TEMPLATES}
    for name, side in servers.items():
        listed = [{"uriTemplate": each} for each in TEMPLATES[name]]
        side.server.answers["resources/templates/list"] = {"resourceTemplates": listed}
    async with gateway(servers) as host:
        await host.initialize()
        for uri, name, own in (
            ("n:/1", "a", ""),
            ("n:/deep/7/x", "b", ""),
            ("n:/deep/7/y", "a", ""),
            ("m:/1/mid/2/z", "b", ""),
            ("m:/1/z", "", ""),
            ("o:/1/xx/2x/", "b", ""),
            ("o:/1/xx/", "", ""),
            ("lit:1", "c", ""),
            ("lit:2", "", ""),
            ("b:n:/9", "b", "n:/9"),
            ("a:1", "b", ""),
        ):
            answer = await answer_to(host, "resources/read", {"uri": uri})
            read = [each for each in servers if servers[each].server.messages("resources/read")]
            assert read == [name][: len(name)], uri
            if name:
                (message,) = servers[name].server.messages("resources/read")
                assert message["params"]["uri"] == (own or uri)
                servers[name].server.received.clear()
            else:
                assert "say SERVER:URI, with one of a, b, c" in answer["error"]["message"]


async def test_whatever_is_not_listed_belongs_to_the_only_server() -> None:
    """F-BRIDGE-2: with resources; a prompt has its full name, also before there is a list."""
    one, bare = ServerSide(Upstream()), ServerSide(Upstream())
    bare.server.capabilities = {"tools": {}}
    async with gateway({"bare": bare, "one": one}) as host:
        await host.initialize()
        prompt = await answer_to(host, "prompts/get", {"name": "one__ask_me"})
        assert prompt["result"]["description"] == "ask.me"
        read = await answer_to(host, "resources/read", {"uri": "z:1"})
        assert read["result"]["contents"][0]["uri"] == "z:1"
        assert not {"prompts/list", "resources/list"} & set(bare.server.received_methods())
    async with gateway({"one": one}) as host:
        await host.initialize()
        prompt = await answer_to(host, "prompts/get", {"name": "one__ask_me"})
        assert prompt["result"]["description"] == "ask.me"


async def test_a_list_has_what_each_server_said_last(caplog: pytest.LogCaptureFixture) -> None:
    """F-BRIDGE-2: a slow one is waited for five seconds, and its part is announced later."""
    servers = {name: ServerSide(Upstream("handshake", f"{name}:1", "x:1")) for name in "abc"}
    loop = asyncio.get_running_loop()

    async def listed(host: Any) -> list[str]:
        found = (await answer_to(host, "resources/list"))["result"]["resources"]
        return [each["uri"] for each in found[1:]]

    async with gateway(servers) as host:
        await host.initialize()
        whole = ["a:1", "x:1", "b:1", "b:x:1", "c:1", "c:x:1"]
        assert await listed(host) == whole
        await asyncio.sleep(1)
        for name, answer in (("a", refusing(-32603, "no")), ("b", lambda params: None)):
            servers[name].server.answers["resources/list"] = answer
        servers["c"].server.answers["resources/list"] = refusing(-32601, "no")
        began = loop.time()
        assert await listed(host) == whole[:4]
        assert loop.time() - began == pytest.approx(5, abs=0.1)
        assert [each for each in caplog.messages if "failed" in each] == [
            "a: resources/list failed: a answered resources/list with error -32603: no"
        ]
        assert sum("both have x:1" in each for each in caplog.messages) == 1
        host.inbox = asyncio.Queue()
        servers["b"].lose()
        await told(host, "notifications/resources/list_changed")
