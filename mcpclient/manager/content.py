"""Resources and prompts of all servers, asked for side by side."""

from __future__ import annotations

import abc
from collections.abc import Coroutine, Mapping
from typing import Any, Callable, TypeVar

from ..client.client import Client
from ..errors import McpError
from ..framing.logs import logger_for
from ..net.futures import side_by_side
from ..protocol.types import GetPromptResult, ReadResourceResult
from .resources import ManagedPrompt, ManagedResource, find_resource_server, split_prompt_name
from .server import Server

__all__ = ["Content"]

T = TypeVar("T")

_logger = logger_for("mcpclient.manager")


class Content(abc.ABC):
    """What a `Manager` offers beside tools."""

    _servers: dict[str, Server]

    @abc.abstractmethod
    def _server(self, name: str) -> Server:
        """Return the server of a name. Raises `UsageError`."""

    async def list_resources(self) -> list[ManagedResource]:
        """Return the resources of all connected servers, in their order.

        A server that cannot list them is left out, with a line in the log.
        """
        found = await self._of_all("resources", lambda client: client.list_resources())
        return [
            ManagedResource(each.raw, server) for server, listed in found.items() for each in listed
        ]

    async def list_prompts(self) -> list[ManagedPrompt]:
        """Return the prompts of all connected servers, in their order; see `list_resources`."""
        found = await self._of_all("prompts", lambda client: client.list_prompts())
        return [
            ManagedPrompt(each.raw, server) for server, listed in found.items() for each in listed
        ]

    async def read_resource(self, uri: str, *, server: str | None = None) -> ReadResourceResult:
        """Read a resource of ``server``, or of the one that lists it; also ``server:uri``.

        Raises `UsageError` when several servers list it, and what `Client.read_resource` raises.
        """
        if server is None:
            found = await self._of_all("resources", lambda client: client.list_resources())
            offered = {name: {each.uri for each in listed} for name, listed in found.items()}
            server, uri = find_resource_server(uri, offered, self._servers)
        client = await self._ready(server)
        return await client.read_resource(uri)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None
    ) -> GetPromptResult:
        """Get a prompt by ``server:prompt``. Raises what `Client.get_prompt` raises."""
        server, prompt = split_prompt_name(name, self._servers)
        client = await self._ready(server)
        return await client.get_prompt(prompt, arguments)

    async def _ready(self, name: str) -> Client:
        return await self._server(name).ready()

    async def _of_all(
        self, capability: str, ask: Callable[[Client], Coroutine[Any, Any, list[T]]]
    ) -> dict[str, list[T]]:
        """Ask every connected server that declares a capability, side by side."""
        asked = [
            server
            for server in self._servers.values()
            if server.is_connected and capability in server.client.capabilities
        ]
        outcomes = await side_by_side(ask(server.client) for server in asked)
        answers: dict[str, list[T]] = {}
        for server, outcome in zip(asked, outcomes):
            if isinstance(outcome, McpError):
                _logger.warning("%s: its %s were not listed: %s", server.name, capability, outcome)
            else:
                answers[server.name] = outcome
        return answers
