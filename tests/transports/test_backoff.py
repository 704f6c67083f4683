"""Waiting before trying again, and which failures may pass."""

from __future__ import annotations

import pytest

from mcpclient.errors import (
    CallTimeout,
    ClientClosed,
    CommandNotFound,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    PeerError,
    SessionExpired,
    UsageError,
)
from mcpclient.transports.backoff import may_pass, retry_delay
from tests.support.tables import each_row

pytestmark = pytest.mark.virtual_time


def test_exponential_with_jitter() -> None:
    """F-HTTP-4: each delay twice the one before, a quarter more at most, five tries."""
    for chance, expected in ((0.0, [1, 2, 4, 8, 16]), (1.0, [1.25, 2.5, 5, 10, 20])):
        assert [retry_delay(attempt, chance) for attempt in range(6)] == [*expected, None]


def http_error(status: int, **headers: str) -> HttpError:
    return HttpError(status, headers, b"")


@each_row(
    ("error", "passes"),
    [
        (ConnectionLost("gone"), True),
        (ConnectFailed("there", "refused"), True),
        (CallTimeout("tasks/get", 30), True),
        (CommandNotFound(["x"], "not found", ""), False),
        (http_error(503), True),
        (http_error(429), True),
        (http_error(404), False),
        (SessionExpired(404, {}, b""), True),
        (http_error(401), False),
        (PeerError(-32603, "no"), False),
        (UsageError("no"), False),
        (ClientClosed(), False),
    ],
)
def test_which_failures_may_pass(error: McpError, passes: bool) -> None:
    """F-API-14: silence, a busy server and a forgotten session pass; a refusal does not."""
    assert may_pass(error) is passes
