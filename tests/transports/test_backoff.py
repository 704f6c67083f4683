"""Waiting before trying again, and which failures may pass."""

from __future__ import annotations

import random

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
from mcpclient.transports.backoff import MAX_TRIES, delays, may_pass

pytestmark = pytest.mark.virtual_time


@pytest.mark.parametrize(
    ("chance", "expected"), [(0.0, [1.0, 2.0, 4.0, 8.0, 16.0]), (1.0, [1.25, 2.5, 5.0, 10.0, 20.0])]
)
def test_exponential_with_jitter(
    chance: float, expected: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-HTTP-4: each delay twice the one before, a quarter more at most, five tries."""
    monkeypatch.setattr(random, "random", lambda: chance)
    assert list(delays()) == expected
    assert len(expected) == MAX_TRIES


def http_error(status: int, **headers: str) -> HttpError:
    return HttpError(status, headers, b"")


@pytest.mark.parametrize(
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
