"""Hosts with one address and with several, and what is left when it is all given up.

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
from tests.support.virtual_time import run


@pytest.fixture
def servers() -> Iterator[list[socket.socket]]:
    """Two listening sockets; their addresses stand for those of one host."""
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Host:
    """What the resolver says, and which addresses swallow everything."""

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


def connect(host: str, port: int = 0) -> int:
    """Connect, and return the port that was reached."""

    async def main() -> int:
        with await connect_socket(host, port) as connected:
            assert connected.proto == socket.IPPROTO_TCP  # else asyncio sets no TCP_NODELAY
            assert not connected.getblocking()  # a silent host would stop the whole loop
            return int(connected.getpeername()[1])

    return run(main())


def test_an_address_needs_no_resolver(servers: list[socket.socket]) -> None:
    assert connect("127.0.0.1", port_of(servers[0])) == port_of(servers[0])


def test_an_ipv6_address_is_one_too() -> None:
    assert dialing.Address(socket.AF_INET6, ("::1", 5)) in run(dialing.addresses_of("::1", 5))


def test_a_name_is_resolved(servers: list[socket.socket]) -> None:
    assert connect("localhost", port_of(servers[0])) == port_of(servers[0])


def test_a_name_that_cannot_be_one_is_an_os_error() -> None:
    """Never anything else, such as an error of a codec."""
    with pytest.raises(socket.gaierror):
        connect("x" * 70 + ".example")


def test_the_first_address_wins(
    servers: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(monkeypatch, *map(port_of, servers))
    assert connect("host") == port_of(servers[0])
    assert len(host.tried) == 1


def test_a_silent_address_does_not_hold_up_the_next(
    servers: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """RFC 8305"""
    host = Host(monkeypatch, *map(port_of, servers))
    host.silent.add(port_of(servers[0]))
    assert connect("host") == port_of(servers[1])
    assert [time for time, _ in host.tried] == [0, 0.25]


def test_a_refusing_address_does_not_hold_up_the_next_either(
    servers: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(monkeypatch, closed_port(), port_of(servers[0]))
    assert connect("host") == port_of(servers[0])
    assert [time for time, _ in host.tried] == [0, 0]


def test_when_none_can_be_reached_the_first_reason_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Host(monkeypatch, closed_port(), closed_port())
    with pytest.raises(ConnectionRefusedError):
        connect("host")


def test_a_second_winner_is_closed(
    servers: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both connect in one turn of the loop; the guard of the test suite looks for the other."""
    monkeypatch.setattr(dialing, "_NEXT_ADDRESS_AFTER", 0)
    Host(monkeypatch, *map(port_of, servers))
    assert connect("host") in map(port_of, servers)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("turns", range(8))
@pytest.mark.virtual_time
async def test_cancelling_leaves_no_socket(
    count: int, turns: int, servers: list[socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-API-8: at whichever turn; the guard of the test suite looks for what is left."""
    monkeypatch.setattr(dialing, "_NEXT_ADDRESS_AFTER", 0)
    Host(monkeypatch, *map(port_of, servers[:count]))
    connecting = asyncio.ensure_future(connect_socket("host", 0))
    for _ in range(turns):
        await asyncio.sleep(0)
    connecting.cancel()
    await asyncio.wait({connecting})
    if not connecting.cancelled():
        connecting.result().close()


def test_families_alternate() -> None:
    """RFC 8305, section 4"""
    given = [dialing.Address(family, (family, n)) for family in (6, 4) for n in range(3)]
    given.pop()
    assert [address.family for address in dialing._alternating(given)] == [6, 4, 6, 4, 6]
