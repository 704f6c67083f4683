"""What a failure says about a connection, and about whether the call may have run."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import (
    AuthorizationDenied,
    AuthorizationRequired,
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    InsufficientScope,
    McpError,
    RegistrationRequired,
    TokenRequestFailed,
)
from .machine import Event

_UNAUTHORIZED = 401


def lacks_login(error: BaseException) -> bool:
    """Whether somebody has to log in before another call can succeed."""
    if isinstance(error, HttpError):
        return error.status == _UNAUTHORIZED
    return isinstance(error, AuthorizationRequired)


def after_attempt(error: McpError) -> Event:
    """Return what a failed attempt to connect amounts to.

    Where several ways were tried, one that was refused for lack of authorization says most.
    """
    reasons = [error, *getattr(error, "attempts", ())]
    if any(isinstance(each, RegistrationRequired) for each in reasons):
        return Event.UNREGISTERED
    if any(lacks_login(each) or _is_refused(each) for each in reasons):
        return Event.UNAUTHORIZED
    return Event.FAILED


def _is_refused(error: BaseException) -> bool:
    if isinstance(error, TokenRequestFailed):
        return error.is_refusal
    return isinstance(error, (AuthorizationDenied, InsufficientScope))


def did_not_run(error: McpError) -> bool:
    """Whether a call that failed so surely never reached the server, so that it may be repeated."""
    return isinstance(error, ConnectFailed)


@dataclass
class FailureCount:
    """Counts calls in a row that failed because of the network.

    A connection reset, timed out, refused or unreachable, a broken pipe, a stream that is gone: all
    are a `ConnectionLost` or a `ConnectFailed` here. A call timeout counts among them as long as
    the server says nothing else meanwhile.
    """

    limit: int
    count: int = 0

    def failed(self, error: McpError) -> bool:
        """Count a failed call; return whether the limit is reached."""
        if not isinstance(error, (ConnectionLost, ConnectFailed, CallTimeout)):
            self.count = 0  # it answered
            return False
        self.count += 1
        return self.count >= self.limit
