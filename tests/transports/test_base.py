"""Delivering JSON, and the optional methods of a transport."""

from __future__ import annotations

import asyncio
import json

from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Abandoned, Receiver, Transport, deliver_text
from tests.support.inbox import Inbox


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


def test_a_batch_of_very_many_messages_is_rejected() -> None:
    """F-WIRE-7: their delivery would hold up all else."""
    inbox = Inbox()
    assert len(deliver_text(json.dumps([{"id": 1}] * 10_000), inbox)) == 10_000
    assert deliver_text(json.dumps([{"id": 1}] * 10_001), inbox, 5) == []
    assert (len(inbox.messages), [request_id for _, request_id in inbox.rejected]) == (10_000, [5])
