"""Hosts with one address and with several, and the clean-up when dialing is given up.

F-HTTP-12: a server is reached at whichever of its addresses answers first, and nothing is left of
the other attempts.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from mcpclient.net import dialing
from mcpclient.net.dialing import connect_socket


@pytest.fixture
def servers() -> Iterator[list[socket.socket]]:
    """Two listening sockets; their addresses stand for one host's."""
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]


class Host:
    """The answers of the resolver, and the addresses that swallow everything."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *ports: int) -> None:
        self.silent: set[int] = set()
        self.tried: list[tuple[float, int]] = []
        self._ports = ports
        self._connect = asyncio.SelectorEventLoop.sock_connect
        monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", self._sock_connect_of())
        monkeypatch.setattr(asyncio.SelectorEventLoop, "getaddrinfo", self._getaddrinfo_of())

    def _getaddrinfo_of(self) -> Any:
        async def getaddrinfo(loop: Any, host: bytes, port: int, **_: Any) -> list[Any]:
            assert host == b"host"  # text would need a codec
            return [(socket.AF_INET, 0, 0, "", ("127.0.0.1", port)) for port in self._ports]

        return getaddrinfo

    def _sock_connect_of(self) -> Any:
        async def sock_connect(loop: Any, sock: socket.socket, address: tuple[str, int]) -> None:
            self.tried.append((loop.time(), address[1]))
            if address[1] in self.silent:
                await asyncio.sleep(1000)
            await self._connect(loop, sock, address)

        return sock_connect


def port_of(server: socket.socket) -> int:
    return int(server.getsockname()[1])


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("turns", range(8))
@pytest.mark.virtual_time
async def test_cancelling_leaves_no_socket(
    count: int, turns: int, servers: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-API-8: at whichever turn; the guard of the test suite looks for leftovers."""
    monkeypatch.setattr(dialing, "_NEXT_ADDRESS_AFTER", 0)
    Host(monkeypatch, *map(port_of, servers[:count]))
    connecting = asyncio.ensure_future(connect_socket("host", 0))
    for _ in range(turns):
        await asyncio.sleep(0)
    connecting.cancel()
    await asyncio.wait({connecting})
    if not connecting.cancelled():
        connecting.result().close()
