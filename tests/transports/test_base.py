"""Delivering JSON texts, and what a transport may leave undone."""

from __future__ import annotations

import asyncio

import pytest

from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Abandoned, Receiver, Transport, deliver_text
from tests.support.inbox import Inbox


def test_a_batch_is_delivered_one_by_one() -> None:
    """F-HTTP-3: what is no message in it costs only itself, and one report."""
    inbox = Inbox()
    delivered = deliver_text(b'[{"id": 1}, 7, {"method": "x"}, null, []]', inbox, 5)
    assert delivered == inbox.messages == [{"id": 1}, {"method": "x"}]
    ((error, request_id),) = inbox.rejected
    assert request_id == 5
    assert "not a message" in str(error)


@pytest.mark.parametrize("text", ["[]", "null", "7", '"text"', "true", "NaN"])
def test_json_that_is_no_message_is_rejected(text: str) -> None:
    """F-WIRE-7"""
    inbox = Inbox()
    assert deliver_text(text, inbox, 3) == []
    ((error, request_id),) = inbox.rejected
    assert (request_id, inbox.messages) == (3, [])
    assert error.reason == "the server sent JSON that is not a message"


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
