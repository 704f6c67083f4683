"""F-API-18, F-AUTH-8: logging in and out by hand, blocking."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

import pytest

import mcpclient
from mcpclient import OAuth, UsageError, sync
from mcpclient.net.login.logins import TwoStepLogin
from mcpclient.net.login.storage import MemoryStore
from tests.recording.test_secret_arguments import ECHOING, TOOL, secret, shown_by

URL = "https://example.com/mcp"
PACKAGE = str(Path(mcpclient.__file__).parent)


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


def test_no_traceback_holds_the_secret_arguments_of_a_tool() -> None:
    """F-AUTH-12: those that its schema marks, in the thread of the caller."""
    command = [sys.executable, "-c", ECHOING, json.dumps(TOOL), "dies"]
    with sync.connect(command, protocol_version="2025-11-25") as client:
        client.list_tools()
        with pytest.raises(mcpclient.ProcessExited) as caught:
            client.call_tool("log_on", secret())
    assert "SECRETONE" not in shown_by(caught.value)


def test_no_traceback_holds_the_code() -> None:
    """F-AUTH-12: services that collect errors send the variables of every frame."""
    auth = OAuth(provider=TwoStepLogin(MemoryStore()))
    for given in (("https://example.com/callback?nothing=SECRET",), ("SECRET", "unknown-state")):
        with pytest.raises(mcpclient.McpError) as caught:
            sync.finish_auth(URL, *given, auth=auth)
        frames = traceback.StackSummary.extract(
            traceback.walk_tb(caught.value.__traceback__), capture_locals=True
        )
        ours = [frame for frame in frames if frame.filename.startswith(PACKAGE)]
        assert {"run", "finish_auth"} <= {frame.name for frame in ours}
        assert "SECRET" not in str([frame.locals for frame in ours])
