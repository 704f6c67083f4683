"""Delivering JSON texts, and what a transport may leave undone."""

from __future__ import annotations

import asyncio

import pytest

from mcpclient.errors import PeerError
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports import base
from mcpclient.transports.base import Abandoned, Receiver, Transport, deliver_text
from tests.support.inbox import Inbox


def test_a_message_is_delivered() -> None:
    """F-WIRE-8: whatever is in it."""
    inbox = Inbox()
    message = {"jsonrpc": "9.9", "id": 1, "result": {}, "vendor": [1]}
    assert deliver_text('{"jsonrpc": "9.9", "id": 1, "result": {}, "vendor": [1]}', inbox) == [
        message
    ]
    assert inbox.messages == [message]


def test_json_that_is_no_message_is_rejected_with_its_beginning() -> None:
    """F-SHOW-14: so that it can be shown; it answers the request that its text was to answer."""
    inbox = Inbox()
    for text in ('{"hello": "world"}', b'{"hello": "world"}'):
        assert deliver_text(text, inbox, 5) == []
    assert [request_id for _, request_id in inbox.rejected] == [5, 5]
    assert all('{"hello": "world"}' in str(error) for error, _ in inbox.rejected)


def test_a_batch_is_delivered_one_by_one() -> None:
    """F-HTTP-3: what is no message in it costs only itself, and one report."""
    inbox = Inbox()
    delivered = deliver_text(b'[{"id": 1}, 7, {"method": "x"}, null, []]', inbox, 5)
    assert delivered == inbox.messages == [{"id": 1}, {"method": "x"}]
    ((error, request_id),) = inbox.rejected
    assert request_id == 5
    assert "not a message" in str(error)


def test_a_batch_of_more_than_anybody_sends_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-WIRE-7: while millions of messages were delivered, nothing else would happen."""
    monkeypatch.setattr(base, "_MAX_BATCH", 3)
    inbox = Inbox()
    assert len(deliver_text('[{"id": 1}, {"id": 2}, {"id": 3}]', inbox)) == 3
    assert deliver_text('[{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}]', inbox, 5) == []
    ((error, request_id),) = inbox.rejected
    assert (len(inbox.messages), request_id) == (3, 5)
    assert "not a message" in str(error)


@pytest.mark.parametrize("text", ["[]", "null", "7", '"text"', "true", "NaN"])
def test_json_that_is_no_message_is_rejected(text: str) -> None:
    """F-WIRE-7"""
    inbox = Inbox()
    assert deliver_text(text, inbox, 3) == []
    ((error, request_id),) = inbox.rejected
    assert (request_id, inbox.messages) == (3, [])
    assert error.reason == "the server sent JSON that is not a message"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"id": 4, "result": {', "not JSON"),
        (b'{"id": 4, "result": "\xff"}', "not UTF-8"),
        (b'{"id": 4, "result": ' + b"[" * 100_000, "nested too deeply"),
    ],
    ids=["half", "not utf-8", "nested"],
)
def test_a_broken_message_is_rejected_in_the_name_of_its_request(text: bytes, reason: str) -> None:
    """F-WIRE-7: the id is found in the wreck, or known from elsewhere."""
    inbox = Inbox()
    deliver_text(text, inbox)
    deliver_text(text.replace(b'"id": 4, ', b""), inbox, 6)
    deliver_text(text.replace(b'"id": 4, ', b'"id": 0, '), inbox, 6)
    (first, first_id), (_, second_id), (_, third_id) = inbox.rejected
    assert (first_id, second_id, third_id) == (4, 6, 0)
    assert reason in str(first)


def test_an_error_without_an_id_fails_the_request_that_the_text_answers() -> None:
    """F-WIRE-7: it was lost where another call was under way at the same time."""
    text = '{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "too long"}}'
    inbox = Inbox()
    assert deliver_text(text, inbox, 6) == []
    ((request_id, error),) = inbox.failures
    assert request_id == 6
    assert isinstance(error, PeerError) and error.code == -32600
    deliver_text(text, inbox)
    assert len(inbox.failures) == 1
    assert len(inbox.messages) == 2


def test_nan_duplicate_keys_and_lone_surrogates_are_let_through() -> None:
    """F-WIRE-7"""
    inbox = Inbox()
    deliver_text(r'{"id": 1, "a": 1, "a": NaN, "b": "\ud800", "c": -Infinity}', inbox)
    (message,) = inbox.messages
    assert message["a"] != message["a"]
    assert message["b"] == "\ud800"


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
