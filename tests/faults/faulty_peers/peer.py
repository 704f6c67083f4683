"""The common base of the faulty servers of all transports."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mcpclient.net.local_http import send_at_once
from tests.faults.faulty_peers.script import Script


class Peer:
    """Serves a script over one transport, for as long as the context lasts.

    ``target``: what a client connects to; ``options``: how. ``folder``: for files it needs.
    """

    options: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, script: Script, folder: Path) -> None:
        self.script = script
        self.folder = folder
        self.target: Any = None
        self.stack = AsyncExitStack()

    @property
    def held(self) -> int:
        """The number of open connections of clients."""
        return 0

    async def start(self) -> None:
        """Begin to serve."""

    async def __aenter__(self) -> Peer:
        await self.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.stack.aclose()


class SocketPeer(Peer, ABC):
    """A peer that accepts connections; each is a call of `serve`, which ends when its client goes.

    When the step is ``connect``, the fault strikes the first connection, in `meet`.
    """

    def __init__(self, script: Script, folder: Path) -> None:
        super().__init__(script, folder)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._path: Path | None = None

    @property
    def held(self) -> int:
        return len(self._tasks)

    async def listen(self, path: Path | None = None) -> int:
        """Listen on a loopback port, or on a Unix socket."""
        if path is not None:
            server = await asyncio.start_unix_server(self._accept, str(path))
        else:
            server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.stack.push_async_callback(self._stop, server)
        return 0 if path is not None else int(server.sockets[0].getsockname()[1])

    async def _stop(self, server: asyncio.AbstractServer) -> None:
        server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for _ in range(5):  # turns in which closed transports release their sockets
            await asyncio.sleep(0)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        send_at_once(writer)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self.serve(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    @abstractmethod
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
