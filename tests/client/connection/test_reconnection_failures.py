"""Messages of failures, and the pauses after them: F-MANY-5, F-AUTH-11."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.client.connection.reconnection import (
    Reconnect,
    Status,
    after_attempt,
    did_not_run,
    lacks_login,
)
from mcpclient.errors import (
    AuthorizationDenied,
    AuthorizationRequired,
    CallTimeout,
    CommandNotFound,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    InsufficientScope,
    McpError,
    PeerError,
    ProcessExited,
    RegistrationRequired,
    SsrfError,
    TokenRequestFailed,
    UsageError,
)
from tests.support.tables import each_row

LOGIN = AuthorizationRequired("https://auth.example/")
LOST = ConnectionLost("reset")


@each_row(
    ("error", "status"),
    [
        (LOGIN, Status.NEEDS_AUTH),
        (HttpError(401, {}, b""), Status.NEEDS_AUTH),
        (AuthorizationDenied("access_denied"), Status.NEEDS_AUTH),
        (ConnectFailed("s", "both", (HttpError(405, {}, b""), LOGIN)), Status.NEEDS_AUTH),
        (
            ConnectFailed("s", "both", (LOGIN, RegistrationRequired("i", "r"))),
            Status.NEEDS_CLIENT_REGISTRATION,
        ),
        (InsufficientScope(("write",), ("read",)), Status.NEEDS_AUTH),
        (TokenRequestFailed("invalid_grant", "", 400), Status.NEEDS_AUTH),
        (TokenRequestFailed("server_error", "", 503), Status.FAILED),
        (SsrfError("http://10.0.0.1/", "private"), Status.FAILED),
        (HttpError(403, {}, b""), Status.FAILED),
        (LOST, Status.FAILED),
    ],
)
def test_what_a_failed_attempt_amounts_to(error: McpError, status: Status) -> None:
    """F-MANY-2: of several ways that were tried, the one that asks for a login says most."""
    assert after_attempt(error) is status


def test_calls_that_surely_did_not_run() -> None:
    """F-MANY-5: nothing was ever sent; everything else may have run."""
    assert did_not_run(ConnectFailed("s", "refused"))
    assert did_not_run(CommandNotFound(["x"], "not found", ""))
    for error in (LOST, ProcessExited(["x"], 1, ""), CallTimeout("m", 1.0), PeerError(1, "x")):
        assert not did_not_run(error)


def test_which_calls_need_a_login() -> None:
    """F-AUTH-11"""
    assert lacks_login(LOGIN) and lacks_login(HttpError(401, {}, b""))
    assert not lacks_login(HttpError(403, {}, b"")) and not lacks_login(LOST)


def test_pauses() -> None:
    """F-MANY-5, seed 001 (500, 1000, 2000, 4000 ms): then doubled, up to 30 s, and it stays so."""
    delays = [Reconnect().delay(attempt, 0.5) for attempt in range(9)]
    assert delays == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert Reconnect().delay(10**6, 0.5) == 30
    assert [Reconnect((60,)).delay(attempt, 0.5) for attempt in (0, 1, 2)] == [60, 60, 60]
    assert Reconnect(delays=(0,), terminal_errors=1).delay(0, 1.0) == 0  # the least there is


def test_chance() -> None:
    """F-MANY-5: a quarter shorter or longer, so that clients do not return together."""
    assert (Reconnect().delay(2, 0.0), Reconnect().delay(2, 1.0)) == (1.5, 2.5)


@each_row(
    "given",
    [{"delays": ()}, {"delays": (-1,)}, {"delays": (float("nan"),)}, {"terminal_errors": 0}],
)
def test_nonsense(given: Any) -> None:
    with pytest.raises(UsageError):
        Reconnect(**given)
