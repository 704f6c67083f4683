"""One message on its way out: F-WIRE-1 and F-API-8."""

from __future__ import annotations

from mcpclient.jsonrpc import messages
from mcpclient.protocol.outgoing import Cancel, Outgoing


def test_which_messages_have_a_request_id() -> None:
    """F-WIRE-1: only a request of ours waits for an answer; an answer of ours has an id too."""
    assert Outgoing(messages.request(5, "ping", None)).request_id == 5
    assert Outgoing(messages.request("a", "ping", None)).request_id == "a"
    assert Outgoing(messages.notification("n", None)).request_id is None
    assert Outgoing(messages.response(5, {})).request_id is None
    assert Outgoing(messages.error_response(5, 1, "x")).request_id is None


def test_what_is_not_said_is_harmless() -> None:
    """F-API-8: without an era's word, nothing is cancelled or resumed, and no session begins."""
    outgoing = Outgoing({"method": "m"})
    assert outgoing.cancel is Cancel.NOT_ALLOWED
    assert not outgoing.resumable
    assert not outgoing.opens_session
    assert outgoing.repeatable
    assert dict(outgoing.headers) == {}
    assert dict(outgoing.caller_headers) == {}


def test_repr_shows_no_content() -> None:
    """F-AUTH-12: a log line with an outgoing message tells method and id only."""
    secret = messages.request(5, "tools/call", {"arguments": {"password": "s3cret"}})
    assert repr(Outgoing(secret)) == "<Outgoing tools/call id=5>"
    assert repr(Outgoing(messages.response(6, {"x": "s3cret"}))) == "<Outgoing answer id=6>"
