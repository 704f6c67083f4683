"""Servers and proxies in the loop of a test, and what listens to a stream."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from typing import Callable

from mcpclient.net.dialing import Dialer
from mcpclient.net.local_http import send_at_once
from mcpclient.net.network_options import NetworkOptions
from mcpclient.net.proxies import ProxyChoice, ProxyRules

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

# Real seconds that nothing in these tests takes; what waits so long waits for ever.
PATIENCE = 20.0

# Bytes of the longest line that a handler may read.
_LINE_LIMIT = 1 << 24


@asynccontextmanager
async def serve(
    handler: Handler,
    *,
    tls: ssl.SSLContext | None = None,
    path: str | os.PathLike[str] | None = None,
    port: int = 0,
) -> AsyncIterator[int]:
    """Serve on a loopback port, 0 for a free one, or on a Unix socket; close all at the end."""
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        send_at_once(writer)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await handler(reader, writer)
        writer.transport.abort()
        tasks.discard(task)

    if path is None:
        server = await asyncio.start_server(handle, "127.0.0.1", port, ssl=tls, limit=_LINE_LIMIT)
    else:
        server = await asyncio.start_unix_server(handle, path, ssl=tls, limit=_LINE_LIMIT)
    port = 0 if path is not None else server.sockets[0].getsockname()[1]
    try:
        yield port
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=PATIENCE)
        for _ in range(5):  # turns in which closed transports release their sockets
            await asyncio.sleep(0)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send back what comes."""
    while True:
        data = await reader.read(65536)
        if not data:
            return
        writer.write(data)
        await writer.drain()


class Recorder:
    """A `StreamReceiver` that a test can wait for."""

    def __init__(self) -> None:
        self.data = b""
        self.resumed = 0
        self.ends: list[Exception | None] = []
        self._changed = asyncio.Event()

    async def until(self, condition: Callable[[Recorder], bool]) -> None:
        """Wait until the condition holds."""
        while not condition(self):
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), PATIENCE)

    async def has(self, data: bytes) -> None:
        await self.until(lambda recorder: recorder.data == data)

    async def has_ended(self) -> None:
        await self.until(lambda recorder: bool(recorder.ends))

    def data_received(self, data: bytes) -> None:
        self.data += data
        self._changed.set()

    def writing_resumed(self) -> None:
        self.resumed += 1
        self._changed.set()

    def stream_ended(self, error: Exception | None) -> None:
        self.ends.append(error)
        self._changed.set()


class Proxy:
    """An HTTP proxy with CONNECT and forwarding, which finds every host on this machine.

    ``answer`` is its answer to everything, in place of its work; b"" closes.
    ``credentials`` is the only value of Proxy-Authorization that it accepts.
    """

    def __init__(self, *, answer: bytes | None = None, credentials: str | None = None) -> None:
        self.requests: list[str] = []
        self._answer = answer
        self._credentials = credentials

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        line, *fields = head.decode().split("\r\n")
        self.requests.append(line)
        if self._answer is not None:
            writer.write(self._answer)
            await writer.drain()
            return
        if self._credentials and f"Proxy-Authorization: {self._credentials}" not in fields:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        method, target, _ = line.split(" ")
        if method == "CONNECT":
            port = int(target.rpartition(":")[2])
            upstream = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            authority = target.split("/")[2]
            upstream = await asyncio.open_connection("127.0.0.1", int(authority.split(":")[1]))
            upstream[1].write(head)
        await join((reader, writer), upstream)


async def join(
    one: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    other: tuple[asyncio.StreamReader, asyncio.StreamWriter],
) -> None:
    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()

    pumps = [asyncio.ensure_future(pump(one[0], other[1]))]
    pumps.append(asyncio.ensure_future(pump(other[0], one[1])))
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in pumps:
            task.cancel()
        other[1].transport.abort()


def dialer_with(
    proxy: ProxyChoice = False,
    *,
    ca_file: str | None = None,
    client_cert: str | None = None,
    verify: bool = True,
    unix_socket: str | os.PathLike[str] | None = None,
) -> Dialer:
    """A dialer with these options and nothing from the environment."""
    return Dialer(
        NetworkOptions(
            ca_file=ca_file,
            client_cert=client_cert,
            verify=verify,
            unix_socket=unix_socket,
            proxies=ProxyRules(proxy, {}),
        )
    )


class SocksProxy:
    """A SOCKS 5 proxy that finds every host on this machine.

    ``login``: the only user and password that it accepts. ``replies``: codes of failures by the
    host that is asked for. ``answer``: what it answers to the greeting instead of doing its work.
    """

    def __init__(
        self,
        *,
        login: bytes | None = None,
        replies: dict[str, int] | None = None,
        answer: bytes | None = None,
    ) -> None:
        self.asked: list[str] = []
        self._login = login
        self._replies = replies or {}
        self._answer = answer

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def take() -> bytes:
            return await reader.readexactly((await reader.readexactly(1))[0])

        await reader.readexactly(1)
        methods = await take()
        if self._answer is not None:
            writer.write(self._answer)
            await writer.drain()
            return
        method = 0 if self._login is None else 2
        writer.write(bytes([5, method if method in methods else 255]))
        if method not in methods:
            return
        if self._login is not None:
            await reader.readexactly(1)
            is_right = await take() + b":" + await take() == self._login
            writer.write(bytes([1, 0 if is_right else 1]))
        kind = (await reader.readexactly(4))[3]
        if kind == 3:
            host = (await take()).decode()
        else:
            family = socket.AF_INET if kind == 1 else socket.AF_INET6
            host = socket.inet_ntop(family, await reader.readexactly(4 if kind == 1 else 16))
        self.asked.append(host)
        port = int.from_bytes(await reader.readexactly(2), "big")
        reply = self._replies.get(host, 0)
        writer.write(bytes([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]))
        await writer.drain()
        if not reply:
            await join((reader, writer), await asyncio.open_connection("127.0.0.1", port))
