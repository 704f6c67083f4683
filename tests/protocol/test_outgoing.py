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


def test_headers_are_made_of_the_message_and_once() -> None:
    """F-WIRE-1: most transports have none, and then they are never made."""
    asked = []

    def headers(message: messages.Message) -> dict[str, str]:
        asked.append(message)
        return {"Mcp-Method": message["method"]}

    outgoing = Outgoing(messages.request(5, "ping", None), headers=headers)
    assert asked == []
    assert outgoing.headers == {"Mcp-Method": "ping"}
    assert outgoing.headers == {"Mcp-Method": "ping"}
    assert asked == [outgoing.message]


def test_the_text_is_the_message() -> None:
    """F-WIRE-1"""
    plain = Outgoing(messages.request(5, "ping", {"a": 1}))
    assert plain.encode() == b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":1}}'


def test_repr_shows_no_content() -> None:
    """F-AUTH-12: a log line with an outgoing message tells method and id only."""
    secret = messages.request(5, "tools/call", {"arguments": {"password": "s3cret"}})
    assert repr(Outgoing(secret)) == "<Outgoing tools/call id=5>"
    assert repr(Outgoing(messages.response(6, {"x": "s3cret"}))) == "<Outgoing answer id=6>"
