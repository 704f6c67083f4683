"""A server's answer to a WebSocket handshake: accepted or rejected with a reason."""

from __future__ import annotations

from mcpclient.errors import ProtocolViolation
from mcpclient.framing.headers import parse_fields
from mcpclient.framing.websocket import WebSocketHandshake


def target(data: bytes) -> None:
    try:
        headers = parse_fields(data.decode("latin-1") + "\n")
    except ProtocolViolation:
        return
    handshake = WebSocketHandshake(random_bytes=bytes)
    try:
        handshake.check_response(headers)
    except ValueError as fault:
        assert str(fault)
    else:
        assert headers.get("sec-websocket-protocol", "mcp") == "mcp"
