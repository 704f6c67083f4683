"""Resources and prompts of all servers, asked for side by side."""

from __future__ import annotations

import abc
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Callable, TypeVar

from ..client.client import Client
from ..client.events.around import Around
from ..errors import McpError, PeerError
from ..framing.logs import logger_for
from ..jsonrpc.messages import ErrorCode
from ..net.futures import gather_outcomes
from ..protocol.types import GetPromptResult, ReadResourceResult, ResourceTemplate
from .resources import (
    ManagedPrompt,
    ManagedResource,
    ManagedResourceTemplate,
    find_resource_server,
    split_prompt_name,
)
from .server import Server
from .status import Status

T = TypeVar("T")

_logger = logger_for("mcpclient.manager")


class Content(abc.ABC):
    """What a `Manager` offers beside tools."""

    _servers: dict[str, Server]
    _uris: dict[str, frozenset[str]]  # the resources that each server listed last

    @abc.abstractmethod
    def _server(self, name: str) -> Server:
        """Return the server of a name. Raises `UsageError`."""

    async def list_resources(self) -> list[ManagedResource]:
        """Return the resources of all connected servers, in their order.

        A server that cannot list them is left out, with a line in the log.
        """
        found = await self._of_all("resources", lambda client: client.list_resources())
        for server, listed in found.items():
            self._uris[server] = frozenset(each.uri for each in listed)
        return [
            ManagedResource(each.raw, server) for server, listed in found.items() for each in listed
        ]

    async def list_resource_templates(self) -> list[ManagedResourceTemplate]:
        """Return the resource templates of all connected servers; see `list_resources`."""
        found = await self._of_all("resources", _templates_of)
        return [
            ManagedResourceTemplate(each.raw, server)
            for server, listed in found.items()
            for each in listed
        ]

    async def list_prompts(self) -> list[ManagedPrompt]:
        """Return the prompts of all connected servers, in their order; see `list_resources`."""
        found = await self._of_all("prompts", lambda client: client.list_prompts())
        return [
            ManagedPrompt(each.raw, server) for server, listed in found.items() for each in listed
        ]

    async def read_resource(
        self, uri: str, *, server: str | None = None, around: Sequence[Around] = ()
    ) -> ReadResourceResult:
        """Read a resource of ``server``, or of the one that lists it; also ``server:uri``.

        ``around``: as of `Client.read_resource`. Raises `UsageError` when it may be one of several
        servers', also of one whose list is not known yet, and what `Client.read_resource` raises.
        """
        if server is None:
            await self.list_resources()
            listed = {name: uris for name, uris in self._uris.items() if name in self._servers}
            unsure = [
                each.name
                for each in self._servers.values()
                if each.name not in listed and _may_have_resources(each)
            ]
            server, uri = find_resource_server(uri, listed, self._servers, unsure)
        client = await self._ready(server, "resources/read")
        return await client.read_resource(uri, around=around)

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        server: str | None = None,
        around: Sequence[Around] = (),
    ) -> GetPromptResult:
        """Get a prompt by ``server:prompt``, or by its own name when ``server`` is given.

        ``around``: as of `Client.get_prompt`. Raises `UsageError` for a name that fits several
        servers, and what `Client.get_prompt` raises.
        """
        if server is None:
            server, name = split_prompt_name(name, self._servers)
        client = await self._ready(server, "prompts/get")
        return await client.get_prompt(name, arguments, around=around)

    async def _ready(self, name: str, request: str) -> Client:
        return await self._server(name).ready(request=request)

    async def _of_all(
        self, capability: str, ask: Callable[[Client], Coroutine[Any, Any, list[T]]]
    ) -> dict[str, list[T]]:
        """Ask every connected server that declares a capability, side by side."""
        asked = [
            server
            for server in self._servers.values()
            if server.is_connected and capability in server.client.capabilities
        ]
        outcomes = await gather_outcomes(ask(server.client) for server in asked)
        answers: dict[str, list[T]] = {}
        for server, outcome in zip(asked, outcomes):
            if isinstance(outcome, McpError):
                _logger.warning("%s: its %s were not listed: %s", server.name, capability, outcome)
            else:
                answers[server.name] = outcome
        return answers


async def _templates_of(client: Client) -> list[ResourceTemplate]:
    try:
        return await client.list_resource_templates()
    except PeerError as error:
        if error.code == ErrorCode.METHOD_NOT_FOUND:  # a server need not have this method
            return []
        raise


def _may_have_resources(server: Server) -> bool:
    """Whether a server is there, or about to be, and may list resources."""
    if server.is_connected:
        return "resources" in server.client.capabilities
    return server.status in (Status.CONNECTING, Status.RECONNECTING)
