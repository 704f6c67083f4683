"""A lane whose server is one of a manager's: only the manager itself connects anew."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mcpclient import Hooks, Manager, Reconnect, Subscription
from mcpclient.client.connection.session import Session
from mcpclient.client.requests import connection_of

from .lanes import KINDS, LADDER, SERVER, Lane

MANAGED = (
    ("stdio", "handshake"),
    ("http sse", "handshake"),
    ("http json", "stateless"),
    ("websocket", "stateless"),
)
"""The transports and eras that are used through a manager as well."""


class ManagedLane(Lane):
    """A lane that calls by full name, and never says that there is a connection to be made."""

    prefix = "managed "

    def _in_flight(self, session: Session) -> int:
        """The number of tool calls under way; the manager lists tools and listens on its own."""
        return sum(pending.method == "tools/call" for pending in session.correlator)

    def _make_client(self, hooks: Hooks) -> Any:
        target: Any = [*SERVER, str(self._ledger.path)]
        options = {**self._options, "hooks": hooks}
        if self.kind == "stdio":
            options.update(stderr="discard", stop_ladder=LADDER)
        else:
            target = KINDS[self.kind].format(self._port)
        return ManagedServer(
            Manager({"soak": target}, reconnect=Reconnect(delays=(0.05, 0.1, 0.2)), **options)
        )


class ManagedServer:
    """One server of a manager in the form of a client."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._is_closed = False

    @property
    def is_connected(self) -> bool:
        server = self._manager.servers.get("soak")
        return server is not None and server.is_connected

    @property
    def _connection(self) -> Any:
        server = self._manager.servers.get("soak")
        if self._is_closed or server is None:  # nothing to disturb
            return SimpleNamespace(is_open=False)
        return connection_of(server.client)

    async def connect(self) -> None:
        """Wait for the manager, which connects by itself once it has been connected."""
        if self._is_closed:
            return
        await self._manager
        server = self._manager.servers["soak"]
        if not server.is_connected:
            await server.ready(2.5)

    async def close(self) -> None:
        self._is_closed = True
        await self._manager.close()

    async def call_tool(self, name: str, arguments: Any, **options: Any) -> Any:
        return await self._manager.call_tool(f"soak__{name}", arguments, **options)

    async def call_tool_task(self, name: str, arguments: Any, **options: Any) -> Any:
        return await self._manager["soak"].call_tool_task(name, arguments, **options)

    async def await_task(self, task: Any, **options: Any) -> Any:
        return await self._manager["soak"].await_task(task, **options)

    def listen(self, **what: Any) -> Subscription:
        return self._manager["soak"].listen(**what)
