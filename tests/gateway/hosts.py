"""Hosts of a gateway and the servers behind it, in one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import mcpclient
from mcpclient import Manager, Reconnect
from mcpclient.transports.base import Receiver
from tests.bridging.sides import HostSide, ServerSide, hosted
from tests.support.mcp_server import McpServer

ECHOING = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "never")]


class Upstream(McpServer):
    """A server with a prompt and resources; its tools and their names are set by a test."""

    def __init__(self, era: str = "handshake", *uris: str, **capabilities: Any) -> None:
        super().__init__(era)
        self.instructions = ""
        self.capabilities = {
            "tools": {"listChanged": True},
            "prompts": {},
            "resources": {"subscribe": True, "listChanged": True},
            "completions": {},
            **capabilities,
        }
        self.answers.update(
            {
                "tools/list": {"tools": ECHOING},
                "prompts/list": {"prompts": [{"name": "ask.me"}]},
                "prompts/get": lambda params: {"messages": [], "description": params["name"]},
                "resources/list": {"resources": [{"uri": uri, "name": uri} for uri in uris]},
                "resources/templates/list": {"resourceTemplates": []},
                "resources/read": lambda params: {"contents": [{"uri": params["uri"], "n": 1.5}]},
                "resources/subscribe": {},
                "resources/unsubscribe": {},
                "completion/complete": lambda params: {"completion": {"values": [str(params)]}},
                "logging/setLevel": {},
            }
        )


class Dead(ServerSide):
    """A server that cannot be reached, or that never answers."""

    def __init__(self, error: mcpclient.McpError | None) -> None:
        super().__init__(McpServer())
        self._error = error

    async def open(self, receiver: Receiver) -> None:
        self.opened += 1
        if self._error is not None:
            raise self._error
        await asyncio.get_running_loop().create_future()


class Late(ServerSide):
    """A server that opens only once it may."""

    def __init__(self, server: McpServer) -> None:
        super().__init__(server)
        self.may_open = asyncio.Event()

    async def open(self, receiver: Receiver) -> None:
        await self.may_open.wait()
        await super().open(receiver)


@asynccontextmanager
async def gateway(
    servers: Any, *, expose: Any = "all", wait: float = 1.0, read_only: bool = False, **options: Any
) -> AsyncIterator[HostSide]:
    """A host of a gateway in front of these servers."""
    options.setdefault("reconnect", Reconnect(delays=[0.1]))
    manager = Manager(servers, cache=False, **options)
    about: dict[str, Any] = {"expose": expose, "wait": wait, "read_only": read_only}
    async with hosted(partial(mcpclient.bridge, manager, **about)) as host:
        yield host


async def answer_to(host: HostSide, method: str, params: Any = None) -> Any:
    """Send a request; return its response, whatever comes before it."""
    host.last_id += 1
    host.write({"id": host.last_id, "method": method, "params": params or {}})
    while (message := await host.message()).get("id") != host.last_id:
        pass
    return message


async def told(host: HostSide, method: str) -> Any:
    """Return the next notification or request of a method."""
    while (message := await host.message()).get("method") != method:
        pass
    return message


async def names(host: HostSide, params: Any = None) -> list[str]:
    listed = (await answer_to(host, "tools/list", params))["result"]["tools"]
    return [tool["name"] for tool in listed]
