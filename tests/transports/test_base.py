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
        async def open(self, receiver: Receiver) -> None: ...
        def send(self, outgoing: Outgoing) -> None: ...
        async def close(self) -> None: ...

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


def test_an_error_without_an_id_fails_the_request_that_its_text_answers() -> None:
    """F-WIRE-7: it was lost where another call was under way at the same time."""
    text = '{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "too long"}}'
    inbox = Inbox()
    assert deliver_text(text, inbox, 6) == []
    ((request_id, error),) = inbox.failures
    assert (request_id, getattr(error, "code", None)) == (6, -32600)


def test_json_that_is_not_a_message_is_rejected_with_its_beginning() -> None:
    """F-SHOW-14: so that it can be shown; it answers the request that its text was to answer."""
    inbox = Inbox()
    for text in ('{"hello": "world"}', json.dumps({"a": "x" * 500}).encode()):
        assert deliver_text(text, inbox, 5) == []
    assert [request_id for _, request_id in inbox.rejected] == [5, 5]
    shown, cut = (str(error) for error, _ in inbox.rejected)
    assert shown.endswith('{"hello": "world"}') and cut.endswith('{"a": "' + "x" * 193)
