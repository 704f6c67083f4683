"""The requests of a server, and who answers: F-API-10 (and F-AUTH-12)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mcpclient.client.answers.inbound_requests import Handlers
from mcpclient.errors import (
    ConnectionLost,
    HandlerFailed,
    McpError,
    NotOffered,
    PeerError,
    ProtocolViolation,
    UsageError,
)
from mcpclient.jsonrpc.messages import error_answer
from tests.support.tables import each_row


def answer(handlers: Handlers, method: str, params: Mapping[str, Any] | None = None) -> Any:
    return asyncio.run(handlers.answer(method, params or {}))


@each_row(
    ("error", "told"),
    [
        (PeerError(-1, "no", {"why": 1}), (-1, "no", {"why": 1})),
        (HandlerFailed("roots/list", "it said no", -5), (-5, "it said no", None)),
        (NotOffered("never heard of it"), (-32601, "never heard of it", None)),
        (ProtocolViolation("bad params"), (-32602, "bad params", None)),
        (ConnectionLost("s3cret"), (-32603, "the client could not answer", None)),
        (UsageError("s3cret"), (-32603, "the client could not answer", None)),
    ],
)
def test_what_the_server_is_told(error: McpError, told: tuple[int, str, Any]) -> None:
    """F-API-10: every failure has a code, and nothing of the client's inside gets out."""
    assert error_answer(error) == told
