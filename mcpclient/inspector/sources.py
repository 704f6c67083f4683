"""Where the servers of an inspector come from: a client, a manager, or recordings."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Protocol

from ..client.client import Client
from ..errors import AuthError, McpError, UsageError
from ..suggestions import there_is_no
from ..transports.replaying import Recording
from .login import expect_login

if TYPE_CHECKING:
    from ..manager.manager import Manager
    from ..manager.server import Server


@dataclass(frozen=True)
class ServerState:
    """How it stands with one server.

    ``status``: ``connected``, ``connecting``, ``failed``, ``needs_auth``, ``closed``, ``recorded``,
    or another one of a manager's. ``error``: why it is not connected. ``since``: since when, in
    seconds since the epoch, where that is known.
    """

    status: str
    client: Client | None = None
    recording: Recording | None = None
    error: BaseException | None = None
    since: float | None = None


class Source(Protocol):
    """Gives the servers to be shown, and connects them."""

    def states(self) -> Mapping[str, ServerState]:
        """How it stands with each server now, by name, in order."""
        ...

    async def connect(self, name: str) -> None:
        """Connect a server, or try again. What fails is told by its state."""

    async def disconnect(self, name: str) -> None:
        """Close the connection to a server."""

    async def add(self, name: str, target: Any) -> None:
        """Connect to one more server. Raises `UsageError` for a name or target that cannot be."""

    async def close(self) -> None:
        """Close what this source has opened itself."""


MakeClient = Callable[[str, Any], Client]
"""Returns a client for a server's name and target, not yet connected."""


class ClientSource:
    """A client, and those that the page adds.

    ``make``: how clients are made, the first one among them; None: the first is a program's own.
    """

    def __init__(self, client: Client, make: MakeClient | None = None) -> None:
        self._make = make or (lambda name, target: Client(target))
        self._clients = {client.target: client}
        # Clients that are made here are closed here.
        self._own = [] if make is None else [client]
        self._connecting: set[str] = set()
        self._errors: dict[str, McpError] = {}

    def states(self) -> Mapping[str, ServerState]:
        """How it stands with each client."""
        return {name: self._state(name, client) for name, client in self._clients.items()}

    def _state(self, name: str, client: Client) -> ServerState:
        if client.is_connected:
            return ServerState("connected", client)
        if name in self._connecting:
            return ServerState("connecting", client)
        error = self._errors.get(name)
        if error is None:
            return ServerState("closed", client)
        status = "needs_auth" if isinstance(error, AuthError) else "failed"
        return ServerState(status, client, error=error)

    async def connect(self, name: str) -> None:
        """Connect a client, unless it is connected."""
        client = self._client_of(name)
        self._connecting.add(name)
        try:
            await expect_login(client)
            if name in self._connecting:
                await client.connect()
            self._errors.pop(name, None)
        except McpError as error:
            if name in self._connecting:
                self._errors[name] = error
        finally:
            self._connecting.discard(name)

    async def disconnect(self, name: str) -> None:
        """Close a client, and give up connecting it."""
        client = self._client_of(name)
        self._connecting.discard(name)
        await client.close()

    def _client_of(self, name: str) -> Client:
        client = self._clients.get(name)
        if client is None:
            raise UsageError(there_is_no("server", name, self._clients))
        return client

    async def add(self, name: str, target: Any) -> None:
        """Connect to one more server."""
        if not name or name in self._clients:
            raise UsageError(f"there is a server {name!r} already" if name else "it needs a name")
        client = self._make(name, target)
        self._clients[name] = client
        self._own.append(client)
        await self.connect(name)

    async def close(self) -> None:
        """Close the clients that were made here."""
        await asyncio.gather(*(client.close() for client in self._own))


class ManagerSource:
    """The servers of a manager, which stays the program's."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    def states(self) -> Mapping[str, ServerState]:
        """How it stands with each server."""
        return {name: _managed(server) for name, server in self._manager.servers.items()}

    async def connect(self, name: str) -> None:
        """Have the manager connect a server; it keeps the reason of a failure."""
        try:
            await self._manager.connect(name)
        except UsageError:
            raise
        except McpError:
            pass

    async def disconnect(self, name: str) -> None:
        """Have the manager disconnect a server."""
        await self._manager.disconnect(name)

    async def add(self, name: str, target: Any) -> None:
        """Have the manager add a server."""
        await self._manager.add(name, target)

    async def close(self) -> None:
        """Leave everything to the program."""


def _managed(server: Server) -> ServerState:
    try:
        client: Client | None = server.client
    except McpError:  # it may not be connected, or cannot be
        client = None
    return ServerState(server.status.value, client, error=server.error, since=server.since)


class RecordingSource:
    """Recorded sessions. There is nothing to connect."""

    def __init__(self, recordings: Sequence[Recording]) -> None:
        self._states: dict[str, ServerState] = {}
        for recording in recordings:
            name = file = os.path.basename(recording.description)
            count = 1
            while name in self._states:
                count += 1
                name = f"{file} ({count})"
            self._states[name] = ServerState("recorded", recording=recording)

    def states(self) -> Mapping[str, ServerState]:
        """The recordings by the names of their files."""
        return self._states

    async def connect(self, name: str) -> None:
        """Refuse it."""
        raise UsageError("a recording has no server to connect to")

    async def disconnect(self, name: str) -> None:
        """Refuse it."""
        raise UsageError("a recording has no server to disconnect from")

    async def add(self, name: str, target: Any) -> None:
        """Refuse it."""
        raise UsageError("servers cannot be added to recordings")

    async def close(self) -> None:
        """There is nothing to close."""
