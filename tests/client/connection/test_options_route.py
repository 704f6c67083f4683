"""The way to one server: F-AUTH-13."""

from __future__ import annotations

import pytest

from mcpclient.client.answers.inbound_requests import Handlers
from mcpclient.client.connection.limits import DEFAULT, Timeouts
from mcpclient.client.connection.options import Options, refuse
from mcpclient.client.events.callbacks import Events
from mcpclient.errors import UsageError


def options(auth: str | None) -> Options:
    timeouts = Timeouts.of(DEFAULT, DEFAULT, DEFAULT, 5.0, {})
    return Options(timeouts, {}, Handlers(), Events(), auth=auth)


def test_credentials_that_cannot_be_shown_are_refused() -> None:
    """F-AUTH-13: nobody is to believe they were sent; without any there is nothing to refuse."""
    refuse(options(None), ("auth",), "a command")
    with pytest.raises(UsageError, match="auth needs an HTTP or WebSocket URL, not a command"):
        refuse(options("token"), ("auth",), "a command")
