"""Connecting a TCP socket to a host that may have several addresses.

asyncio can do that as well. But if its `create_connection` is cancelled while it tries addresses
side by side, a connected socket can be left behind, on every Python up to 3.13 at least.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from contextlib import suppress
from typing import NamedTuple

# How long the first address of a host is tried before the next is tried beside it (RFC 8305).
_NEXT_ADDRESS_AFTER = 0.25


class Address(NamedTuple):
    """One address of a host: its family, and what a socket of it connects to."""

    family: int
    name: tuple[object, ...]


async def connect_socket(host: str, port: int) -> socket.socket:
    """Return a socket that is connected to ``host``, a name or an IP address.

    Raises `OSError` when none of its addresses can be reached: the first error there was. Safe to
    cancel.
    """
    addresses = await addresses_of(host, port)
    if len(addresses) == 1:
        return await _connect(addresses[0])
    return await _race(deque(addresses))


async def addresses_of(host: str, port: int) -> list[Address]:
    """Return the addresses of a host, those of both families in turn (RFC 8305, section 4).

    Raises `OSError` for a name that cannot be resolved.
    """
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError):
            socket.inet_pton(family, host)
            return [Address(family, (host, port))]
    # As bytes: for text, the resolver's thread would look up the codec "idna", which has errors of
    # its own, and on Python 3.9 is not always found while another thread imports something.
    name = host.encode("ascii")
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return _alternating([Address(family, name) for family, _, _, _, name in found])


def _alternating(addresses: list[Address]) -> list[Address]:
    """Order addresses so that both families have their turn early."""
    preferred = [address for address in addresses if address.family == addresses[0].family]
    others = [address for address in addresses if address.family != addresses[0].family]
    ordered = []
    for index in range(max(len(preferred), len(others))):
        ordered += preferred[index : index + 1] + others[index : index + 1]
    return ordered


async def _connect(address: Address) -> socket.socket:
    connecting = socket.socket(address.family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        connecting.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connecting, address.name)
    except BaseException:
        connecting.close()
        raise
    return connecting


async def _race(waiting: deque[Address]) -> socket.socket:
    """Try one address after another, each a moment after the one before; the first wins."""
    loop = asyncio.get_running_loop()
    attempts: set[asyncio.Task[socket.socket]] = set()
    errors: list[BaseException] = []
    try:
        while waiting or attempts:
            if waiting:
                attempts.add(loop.create_task(_connect(waiting.popleft())))
            timeout = _NEXT_ADDRESS_AFTER if waiting else None
            done, _ = await asyncio.wait(
                attempts, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
            for attempt in done:
                attempts.remove(attempt)
                error = attempt.exception()
                if error is None:
                    return attempt.result()
                errors.append(error)
    finally:
        for attempt in attempts:
            attempt.cancel()
            if attempt.done():
                _close_result(attempt)
            else:
                attempt.add_done_callback(_close_result)
    raise errors[0]


def _close_result(attempt: asyncio.Task[socket.socket]) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()
