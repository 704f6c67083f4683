"""Every error says what to do about it, in one sentence."""

from __future__ import annotations

import copy
import inspect

import pytest

from mcpclient import errors
from mcpclient.cures import CURES, cure_for
from mcpclient.errors import (
    CallTimeout,
    CommandNotFound,
    ConnectFailed,
    HttpError,
    McpError,
    PeerError,
    ProcessExited,
    ProtocolViolation,
    TokenRequestFailed,
    UsageError,
)
from mcpclient.framing.headers import Headers


def test_every_kind_of_error_has_a_cure_and_no_other() -> None:
    """F-SHOW-1: also one that is added later."""
    kinds = {
        name
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, McpError)
    }
    assert set(CURES) == kinds
    assert all(cure[0].isupper() for cure in CURES.values() if isinstance(cure, str))


def http(status: int, body: bytes = b"") -> HttpError:
    return HttpError(status, Headers(), body, "https://h/")


@pytest.mark.parametrize(
    ("error", "cure"),
    [
        (CommandNotFound(["@scope/server-x"], "no", ""), "run it with npx -y @scope/server-x"),
        (CommandNotFound(["example.com/mcp"], "no", ""), "write https://example.com/mcp"),
        (CommandNotFound(["localhost:3000"], "no", ""), "write http://localhost:3000"),
        (CommandNotFound(["https:/h.example/x"], "no", ""), "write https://h.example/x"),
        (CommandNotFound(["server.py"], "no", ""), "path of the script"),
        (CommandNotFound(["bin/server"], "no", ""), "relative one begins in the current folder"),
        (CommandNotFound(["server --token x"], "no", ""), "a list with one item for each word"),
        (CommandNotFound(["cd", "x"], "no", ""), "no shell that reads this"),
        (CommandNotFound(["A=1", "x"], "no", ""), "variables as env="),
        (CommandNotFound(["~/x"], "no", ""), "Write the path out"),
        (CommandNotFound(["x"], "x is not executable", ""), "chmod +x"),
        (ConnectFailed("h", "the certificate of h has expired"), "get a new certificate"),
        (ConnectFailed("h", "the certificate is not one for h (x)"), "Connect by a name"),
        (ProcessExited(["x"], -9, ""), "by force"),
        (PeerError(-32603, "oops"), "look at its log"),
        (CommandNotFound(["server"], "no", ""), "npx -y server, one of PyPI with uvx server"),
        (CommandNotFound(["my.server"], "no", ""), "Install it"),
        (ConnectFailed("h", "the certificate of h is self-signed"), "ca_file="),
        (ConnectFailed("h", "h port 1 does not speak TLS"), "Write http://"),
        (ConnectFailed("h", "odd"), "Check that the server runs"),
        (TokenRequestFailed("invalid_grant", "", 400), "log in again"),
        (TokenRequestFailed("invalid_response", "", 404), "Try again later"),
        (ProcessExited(["x"], 0, ""), "until its stdin is closed"),
        (ProcessExited(["x"], 1, ""), "in a terminal"),
        (CallTimeout("initialize", 3, "connect"), "connect_timeout="),
        (CallTimeout("tools/call", 3), "Raise timeout="),
        (CallTimeout("tools/call", 3, "total"), "Raise max_timeout="),
        (
            ProtocolViolation("the server sent JSON that is not a JSON-RPC message: 1"),
            "/mcp or /sse",
        ),
        (ProtocolViolation("odd"), "author of the server"),
        (http(401), "Give auth="),
        (http(404), "MCP endpoint"),
        (http(418), "MCP endpoint"),
        (http(500), "look at its log"),
        (http(400, b"The plain HTTP request was sent to HTTPS port"), "write https://"),
        (PeerError(-32601, "x"), "what it offers"),
        (PeerError(1, "x"), "as the server says"),
        (UsageError("x"), "Change the call"),
    ],
)
def test_what_to_do(error: McpError, cure: str) -> None:
    """F-SHOW-1"""
    assert cure in error.cure
    assert "\n" not in error.cure
    assert copy.copy(error).cure == error.cure


def test_noise_on_stdout_is_what_to_mend() -> None:
    """F-SHOW-1"""
    error = CallTimeout("initialize", 3, "connect")
    error.target, error.output, error.stderr = "python x.py", "Starting…", "warming up"
    assert error.cure == "Servers must log to stderr: to stdout go messages, and nothing else."
    assert str(error) == (
        "python x.py: not connected within 3 s (connect_timeout), waiting for initialize\n"
        "it wrote to stdout what is no message:\nStarting…\n"
        "last stderr output:\nwarming up"
    )


def test_better_advice_stays_with_the_error() -> None:
    error = UsageError("x").advise("Do that.")
    assert error.cure == error.again().cure == "Do that."


def test_an_error_of_the_callers_own_kind_and_any_other() -> None:
    class Mine(UsageError):
        pass

    assert Mine("x").cure == UsageError("x").cure
    assert cure_for(ValueError("x")) == ""
