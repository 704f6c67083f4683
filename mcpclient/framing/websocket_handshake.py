"""The opening handshake of a WebSocket client (RFC 6455 section 4): request and response.

HTTP itself is written and read elsewhere: this module gives the header fields of the request and
judges the status and header fields of the answer.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from os import urandom
from typing import NamedTuple

from ..errors import UsageError
from .websocket_deflate import OFFER, DeflateParameters, parse_extension_answer

# Section 1.3: it makes the accept key one that no other kind of server would send.
_ACCEPT_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_SUBPROTOCOL = "mcp"


class Accepted(NamedTuple):
    """The connection is a WebSocket now.

    ``subprotocol`` is the one the server chose, None if it named none. ``deflate``: the
    agreed compression, None for none.
    """

    subprotocol: str | None
    deflate: DeflateParameters | None


class Rejected(NamedTuple):
    """The connection is not a WebSocket and has to be closed.

    ``status`` is the HTTP status of the answer: with 101 the server broke the protocol, with any
    other it declined. ``reason`` is a sentence for the user.
    """

    status: int
    reason: str


class WebSocketHandshake:
    """One opening handshake, which offers the subprotocol of MCP and permessage-deflate.

    ``random_bytes`` makes the key.

    ``headers``: the fields to send with a GET request, beside ``Host`` and the caller's own.
    """

    def __init__(self, *, random_bytes: Callable[[int], bytes] = urandom) -> None:
        key = base64.b64encode(random_bytes(16))
        try:
            digest = hashlib.sha1(key + _ACCEPT_GUID, usedforsecurity=False).digest()
        except ValueError as error:  # OpenSSL of a system that allows no SHA-1 for any purpose
            raise UsageError(
                "this Python refuses SHA-1, which the handshake of a WebSocket needs: "
                "use the server's http or https URL"
            ) from error
        self._accept = base64.b64encode(digest).decode()
        self.headers: list[tuple[str, str]] = [
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Key", key.decode()),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Protocol", _SUBPROTOCOL),
            ("Sec-WebSocket-Extensions", OFFER),
        ]

    def check_response(self, status: int, headers: Mapping[str, str]) -> Accepted | Rejected:
        """Judge the server's answer by RFC 6455 section 4.1. Never raises for it.

        ``headers`` is looked up by names in lower case; values of one name are joined by commas.
        A server that names no subprotocol is accepted: the RFC lets it decline the offer and
        forbids only one that was not offered.
        """
        fault = self._find_fault(status, headers)
        if fault is not None:
            return Rejected(status, fault)
        try:
            deflate = _read_extensions(headers.get("sec-websocket-extensions"))
        except ValueError as error:
            return Rejected(status, str(error))
        return Accepted(headers.get("sec-websocket-protocol"), deflate)

    def _find_fault(self, status: int, headers: Mapping[str, str]) -> str | None:
        if status != 101:
            return f"the server answered HTTP {status} to a WebSocket request instead of 101"
        if headers.get("upgrade", "").strip().lower() != "websocket":
            return "the server's 101 answer does not name the upgrade 'websocket'"
        connection = headers.get("connection", "").lower().split(",")
        if "upgrade" not in (token.strip() for token in connection):
            return "the server's 101 answer has no 'Connection: Upgrade'"
        accept = headers.get("sec-websocket-accept", "").strip()
        if accept != self._accept:
            return (
                f"the server's Sec-WebSocket-Accept is {accept!r}, not {self._accept!r}; "
                "it did not read this request as a WebSocket handshake"
            )
        subprotocol = headers.get("sec-websocket-protocol", _SUBPROTOCOL)
        if subprotocol != _SUBPROTOCOL:
            return (
                f"the server chose the subprotocol {subprotocol!r}; "
                f"only {_SUBPROTOCOL!r} was offered"
            )
        return None


def _read_extensions(answer: str | None) -> DeflateParameters | None:
    if answer is None or not answer.strip():
        return None
    return parse_extension_answer(answer)
