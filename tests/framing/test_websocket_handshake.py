"""The opening handshake (RFC 6455 section 4)."""

from __future__ import annotations

import re

import pytest

from mcpclient.errors import UsageError
from mcpclient.framing.headers import Headers
from mcpclient.framing.websocket import WebSocketHandshake
from tests.support.tables import each_row

# The key and the accept key of the RFC's example, section 1.3.
NONCE = b"the sample nonce"
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def handshake() -> WebSocketHandshake:
    return WebSocketHandshake(random_bytes=lambda size: NONCE[:size])


def answer(**changes: str | None) -> Headers:
    """The header fields of a right answer, with changes; None leaves a field out."""
    fields: dict[str, str | None] = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Accept": ACCEPT,
        "Sec-WebSocket-Protocol": "mcp",
    }
    for name, value in changes.items():
        fields[name.replace("_", "-")] = value
    return Headers((name, value) for name, value in fields.items() if value is not None)


def test_the_request_of_the_rfc() -> None:
    """F-WIRE-6, F-WS-1: the key is the RFC's example."""
    assert handshake().headers == [
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Protocol", "mcp"),
        ("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits"),
    ]


@each_row(
    ("changes", "reason"),
    [
        ({"Upgrade": None}, "'websocket'"),
        ({"Upgrade": "h2c"}, "'websocket'"),
        ({"Connection": None}, "'Connection: Upgrade'"),
        ({"Connection": "close, upgraded"}, "'Connection: Upgrade'"),
        ({"Sec_WebSocket_Accept": None}, "is '', not"),
        ({"Sec_WebSocket_Accept": "dGhlIHNhbXBsZSBub25jZQ=="}, "is 'dGhl"),
        ({"Sec_WebSocket_Accept": ACCEPT.lower()}, "Sec-WebSocket-Accept"),
        ({"Sec_WebSocket_Accept": f"{ACCEPT}, {ACCEPT}"}, "Sec-WebSocket-Accept"),
        ({"Sec_WebSocket_Protocol": "graphql-ws"}, "'graphql-ws'; only 'mcp'"),
        ({"Sec_WebSocket_Protocol": "MCP"}, "'MCP'; only 'mcp'"),
        ({"Sec_WebSocket_Protocol": ""}, "''; only 'mcp'"),
        ({"Sec_WebSocket_Protocol": "mcp, mcp"}, "'mcp, mcp'; only 'mcp'"),
        ({"Sec_WebSocket_Extensions": "permessage-bzip2"}, "'permessage-bzip2'"),
        ({"Sec_WebSocket_Extensions": "permessage-deflate; level=9"}, "'level=9'"),
    ],
)
def test_a_wrong_answer_names_what_is_wrong(changes: dict[str, str | None], reason: str) -> None:
    """F-WIRE-6, F-WS-1"""
    with pytest.raises(ValueError, match=re.escape(reason)):
        handshake().check_response(answer(**changes))


def test_a_python_that_refuses_sha1_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-VEND-4: some systems in FIPS mode allow it for no purpose at all."""

    def refuse(*arguments: object, **options: object) -> None:
        raise ValueError("[digital envelope routines] unsupported")

    monkeypatch.setattr("hashlib.sha1", refuse)
    with pytest.raises(UsageError, match=r"refuses SHA-1.*http or https URL"):
        handshake()
