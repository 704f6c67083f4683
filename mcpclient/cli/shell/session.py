"""What the commands of a shell share: the servers, which one is in use, and the last result."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...client.client import Client
from ...errors import McpError, UsageError
from ...manager.manager import Manager
from ...manager.server import Server
from ...manager.tools import ManagedTool
from ...protocol.types import Prompt, Resource
from ...suggestions import did_you_mean, there_are, there_is_no
from ..screen import Screen
from .jobs import Jobs
from .outcome import Finding


class Session:
    """The state of a shell, between two lines and during one.

    ``is_in_front``: the next line waits for this one; see `behind`. ``server``: the name of the one
    in use. ``result``: what `_` is, None before the first.
    ``prompts`` and ``resources``: what each server was last seen to have. ``traces``: what ends a
    trace that is on. ``is_over``: somebody said ``quit``.
    """

    def __init__(self, manager: Manager, screen: Screen, jobs: Jobs[Finding]) -> None:
        self.manager = manager
        self.screen = screen
        self.jobs = jobs
        self.server: str = next(iter(manager.servers), "")
        self.result: Any = None
        self.prompts: dict[str, list[Prompt]] = {}
        self.resources: dict[str, Mapping[str, str]] = {}
        self.traces: list[Callable[[], None]] = []
        self.is_over = False
        self.is_in_front = True

    def behind(self) -> Session:
        """Return what a line in the background works with: what it changes there does not count."""
        copied = copy.copy(self)
        copied.is_in_front = False
        return copied

    def server_named(self, name: str) -> Server:
        """Return a server. Raises `UsageError` for an unknown name."""
        servers = self.manager.servers
        if name in servers:
            return servers[name]
        if not servers:
            raise UsageError("there is no server; name one, or write a configuration")
        raise UsageError(there_is_no("server", name, servers, otherwise=there_are(servers)))

    async def client(self, server: str | None = None) -> Client:
        """Return the client of a server, by default of the one in use, once it is connected.

        Raises why there is no connection, and `CallTimeout`.
        """
        return await self.server_named(self.server if server is None else server).ready(
            request="connecting"
        )

    def tools_of(self, server: str) -> dict[str, ManagedTool]:
        """Return the tools of a server by the names that it knows them by."""
        return {tool.raw_name: tool for tool in self.manager.servers[server].tools}

    def known_tool(self, name: str) -> ManagedTool | None:
        """Return a tool of the server in use, or ``server.tool``; None when none is known."""
        if self.server in self.manager.servers:
            own = self.tools_of(self.server).get(name)
            if own is not None:
                return own
        server, tool = self.split_name(name)
        return self.tools_of(server).get(tool) if server in self.manager.servers else None

    def split_name(self, name: str) -> tuple[str, str]:
        """Return the server and the tool that a name means, whether or not they exist."""
        fitting = [each for each in self.manager.servers if name.startswith(f"{each}.")]
        server = max(fitting, key=len, default="")
        return (server, name[len(server) + 1 :]) if server else (self.server, name)

    def learn_resources(self, listed: Sequence[Mapping[str, Any]]) -> None:
        """Take note of the resources of the server in use, as it listed them."""
        self.resources[self.server] = {
            item.uri: " ".join((item.description or item.title or item.name).split())
            for item in map(Resource, listed)
        }

    async def find_tool(self, name: str, others: Sequence[str] = ()) -> ManagedTool:
        """Return a tool by its name, once its server is connected.

        Raises `UsageError` when there is none, with what was meant among the tools and ``others``.
        """
        found = self.known_tool(name)
        if found is not None:
            return found
        server, tool = self.split_name(name)
        problem = ""
        try:
            await self.client(server)
        except McpError as error:
            problem = f" ({error})"
        found = self.known_tool(name)
        if found is not None:
            return found
        names = list(self.tools_of(server)) if server in self.manager.servers else []
        prefix = name[: len(name) - len(tool)]
        known = names if prefix else [*names, *others]
        hint = did_you_mean(tool, known, prefix) or "help lists the commands"
        kind = "tool" if prefix or not others else "command or tool"
        raise UsageError(f"there is no {kind} {name!r}{problem}; {hint}")
