"""Delivering JSON, and the optional methods of a transport."""

from __future__ import annotations

import asyncio

from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Abandoned, Receiver, Transport


def test_a_transport_needs_three_methods() -> None:
    """F-EXT-1: the rest has a meaning that fits most."""

    class Smallest(Transport):
        async def open(self, receiver: Receiver) -> None:
            pass

        def send(self, outgoing: Outgoing) -> None:
            pass

        async def close(self) -> None:
            pass

    transport = Smallest()
    assert (transport.name, transport.description) == ("custom", "custom")
    assert not transport.carries_headers
    assert (transport.cookies, transport.skipped, transport.stderr_tail) == ("", (), "")
    assert transport.abandon(Outgoing({"id": 1, "method": "x"})) is Abandoned.STILL_OPEN
    transport.abort()
    asyncio.run(transport.listen({}))
