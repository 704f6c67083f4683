"""The blocking manager of many servers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..manager import events, managed_client, server
from ..manager.manager import Manager as AsyncManager
from .client import TWINS, Blocking, Client, Owned, twin_of
from .loop_thread import close_soon

if TYPE_CHECKING:
    from ..client.connection.reconnection import Status
    from ..config.config import ServerConfig
    from ..manager.pins import Mismatch

TWINS[managed_client.ManagedClient] = Client


_OF_SERVER = (
    *("trusted", "tools", "instructions", "is_connected", "loss"),
    *("client", "connect", "disconnect"),
)


class Server(Blocking, of=server.Server, only=_OF_SERVER):
    """One server of a manager. See `mcpclient.Server`."""

    name: str
    config: ServerConfig
    status: Status
    error: Exception | None
    since: float
    next_try: float | None
    stale: bool
    mismatches: tuple[Mismatch, ...]


class EventStream(Blocking, of=events.EventStream, only=("__aiter__", "__anext__")):
    """The events of a manager from now on, in order; it ends when the manager is closed."""


class Manager(Owned, of=AsyncManager):
    """The servers of an agent, with calls that block: `mcpclient.Manager` for plain programs.

    ``with Manager(servers, …) as manager`` connects and closes; so do ``manager =
    connect_all(servers, …)`` and ``manager.close()``. For the arguments see
    `mcpclient.Manager`. What is said of threads, handlers and forks at `Client` holds here, too.
    """

    _connecting = "open"

    def __del__(self) -> None:
        try:
            if self._process_id == os.getpid():
                close_soon(self._object)
        except Exception:  # at interpreter shutdown module globals may be gone already
            pass

    @property
    def async_manager(self) -> AsyncManager:
        """The asynchronous manager underneath, for coroutines."""
        manager: AsyncManager = self._object
        return manager

    @property
    def servers(self) -> Mapping[str, Server]:
        """The servers by name, in the order of the configuration, as of now."""
        found = self._object.servers.items()
        return MappingProxyType({name: twin_of(each, self) for name, each in found})


def connect_all(*arguments: Any, **options: Any) -> Manager:
    """Connect to many servers and return the `Manager`, whose arguments these are.

    Raises what `Manager.open` does.
    """
    manager = Manager(*arguments, **options)
    manager.open()
    return manager
