"""One message on its way out: F-WIRE-1 and F-API-8."""

from __future__ import annotations

from mcpclient.jsonrpc import messages
from mcpclient.protocol.outgoing import Outgoing


def test_repr_shows_no_content() -> None:
    """F-AUTH-12: a log line with an outgoing message tells method and id only."""
    secret = messages.request(5, "tools/call", {"arguments": {"password": "s3cret"}})
    assert repr(Outgoing(secret)) == "<Outgoing tools/call id=5>"
    assert repr(Outgoing(messages.response(6, {"x": "s3cret"}))) == "<Outgoing answer id=6>"


def test_headers_are_made_once() -> None:
    """F-WIRE-1: and never for a transport without headers."""
    asked = []

    def headers(message: messages.Message) -> dict[str, str]:
        asked.append(message)
        return {"a": "b"}

    outgoing = Outgoing(messages.request(5, "ping", None), headers=headers)
    assert asked == []
    assert outgoing.headers == outgoing.headers == {"a": "b"}
    assert asked == [outgoing.message]
