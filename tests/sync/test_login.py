"""F-API-18, F-AUTH-8: logging in and out by hand, blocking."""

from __future__ import annotations

import pytest

import mcpclient
from mcpclient import OAuth, UsageError, sync
from mcpclient.net.login.logins import TwoStepLogin
from mcpclient.net.login.storage import MemoryStore

URL = "https://example.com/mcp"


def test_what_is_wrong_is_raised_here() -> None:
    auth = OAuth(provider=TwoStepLogin(MemoryStore()))
    with pytest.raises(UsageError):
        sync.finish_auth(URL, "https://example.com/callback?nothing=1", auth=auth)
    with pytest.raises(mcpclient.AuthError):
        sync.finish_auth(URL, "code", "unknown-state", auth=auth)
    with pytest.raises(UsageError):
        sync.log_in("no url at all", auth)


def test_logging_out_without_a_login_does_nothing() -> None:
    auth = OAuth(provider=TwoStepLogin(MemoryStore()))
    sync.log_out(URL, auth)
