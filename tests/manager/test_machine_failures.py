"""What failures say: F-MANY-5, F-AUTH-11."""

from __future__ import annotations

import pytest

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
)
from mcpclient.manager.machine import (
    Event,
    Reconnect,
    Upkeep,
    after_attempt,
    did_not_run,
    lacks_login,
)

LOGIN = AuthorizationRequired("https://auth.example/")
LOST = ConnectionLost("reset")


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (LOGIN, Event.UNAUTHORIZED),
        (HttpError(401, {}, b""), Event.UNAUTHORIZED),
        (AuthorizationDenied("access_denied"), Event.UNAUTHORIZED),
        (ConnectFailed("s", "both", (HttpError(405, {}, b""), LOGIN)), Event.UNAUTHORIZED),
        (ConnectFailed("s", "both", (LOGIN, RegistrationRequired("i", "r"))), Event.UNREGISTERED),
        (InsufficientScope(("write",), ("read",)), Event.UNAUTHORIZED),
        (TokenRequestFailed("invalid_grant", "", 400), Event.UNAUTHORIZED),
        (TokenRequestFailed("server_error", "", 503), Event.FAILED),
        (SsrfError("http://10.0.0.1/", "private"), Event.FAILED),
        (HttpError(403, {}, b""), Event.FAILED),
        (LOST, Event.FAILED),
    ],
)
def test_what_a_failed_attempt_amounts_to(error: McpError, event: Event) -> None:
    """F-MANY-2: of several ways that were tried, the one that asks for a login says most."""
    assert after_attempt(error) is event


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


def test_counting() -> None:
    """F-MANY-5, seed 002 (15.4.2): in a row, which any answer interrupts."""
    count = Upkeep(Reconnect(terminal_errors=3))
    refused = ConnectFailed("s", "refused")
    assert [count.failed(each) for each in (LOST, refused)] == [False, False]
    assert not count.failed(HttpError(500, {}, b""))
    outcomes = [count.failed(each) for each in (LOST, CallTimeout("m", 1.0), refused)]
    assert outcomes == [False, False, True]
    assert not any(Upkeep(None).failed(LOST) for _ in range(9))
