"""Every error has its exit code, and all its fields in JSON: F-SHOW-2."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from mcpclient import (
    AuthorizationRequired,
    CallTimeout,
    CommandNotFound,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    MessageTooLarge,
    PeerError,
    ProcessExited,
    ProtocolViolation,
    RegistrationRequired,
    SessionExpired,
    UsageError,
)
from mcpclient.cli.running import error_as_json, error_text, exit_code
from tests.support.tables import each_row


@each_row(
    ("error", "code"),
    [
        (UsageError("no"), 2),
        (ConnectFailed("x", "no"), 3),
        (CommandNotFound(["x"], "no", "/bin"), 3),
        (ConnectionLost("gone"), 3),
        (ProcessExited(["x"], 1, ""), 3),
        (HttpError(401, {}, b""), 4),
        (HttpError(403, {}, b""), 4),
        (AuthorizationRequired("https://example.com/"), 4),
        (HttpError(500, {}, b""), 5),
        (SessionExpired(404, {}, b""), 5),
        (PeerError(-32601, "no"), 5),
        (ProtocolViolation("no"), 5),
        (MessageTooLarge(10), 5),
        (CallTimeout("ping", 1), 124),
    ],
)
def test_exit_codes(error: McpError, code: int) -> None:
    """F-SHOW-2"""
    assert exit_code(error) == code


def test_an_error_in_json_has_its_fields() -> None:
    """F-SHOW-2"""
    assert error_as_json(PeerError(-32602, "no", {"a": [1]})) == {
        "type": "PeerError",
        "text": "the server answered with error -32602: no",
        **dict.fromkeys(
            ("hint", "cure"),
            "Compare the arguments with what this shows: mcpclient tools SERVER TOOL",
        ),
        "code": -32602,
        "message": "no",
        "data": {"a": [1]},
        **dict.fromkeys(("method", "subject", "target"), ""),
        "raw": None,
    }


def test_fields_of_any_kind_become_json() -> None:
    """F-SHOW-2: bytes, mappings, exceptions, and what JSON does not know."""
    inner = HttpError(404, {"Server": "x"}, b"\xff", "http://host/")
    shown = error_as_json(ConnectFailed("host", "no", [inner, OSError(1, "denied")]))
    assert shown["attempts"][0]["headers"] == {"Server": "x"}
    assert shown["attempts"][0]["body"] == "\ufffd"
    assert shown["attempts"][1] == {"type": "PermissionError", "text": "[Errno 1] denied"}
    error = UsageError("x")
    error.path = PurePosixPath("/a")  # type: ignore[attr-defined]
    error._own = "nobody's business"  # type: ignore[attr-defined]
    assert error_as_json(error)["path"] == "/a"
    assert "_own" not in error_as_json(error)
    json.dumps(shown)


def test_a_token_of_ones_own_is_another_way_in() -> None:
    """F-SHOW-2: a server may want a token, and have no way to register a client."""
    error = RegistrationRequired("https://auth.example", "there is no endpoint to register at")
    error.__cause__ = HttpError(401, {}, b"", "https://mcp.example")
    cause, cure = error_text(error, stderr_was_shown=True).splitlines()
    assert "HTTP 401" in cause
    assert "a token: give it as --bearer TOKEN" in cure
    challenge = {"www-authenticate": 'Bearer resource_metadata="https://mcp.example/m"'}
    error.__cause__ = HttpError(401, challenge, b"", "https://mcp.example")
    first, cause, cure = error_text(error, stderr_was_shown=True).splitlines()
    assert "a client_id for" in first and "HTTP 401" in cause and "client_id, or" in cure


def test_stderr_that_was_shown_is_not_repeated() -> None:
    """F-SHOW-18"""
    error = ProcessExited(["server"], 2, "usage: …")
    first = "the server exited with code 2: server"
    shown = error_text(error, stderr_was_shown=True)
    assert shown.splitlines()[0] == first
    assert "usage" not in shown
    assert error_text(error, stderr_was_shown=False).startswith(f"{first}\nlast stderr output")
    assert error_text(UsageError("a\nb"), stderr_was_shown=True) == "a\nb"


def test_an_error_that_is_too_deep_is_shown_all_the_same() -> None:
    """F-SHOW-2, F-WIRE-7: `--json` prints JSON, and no traceback."""
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    shown = error_as_json(PeerError(-32000, "no", deep))
    assert shown["data"] == "<list, nested too deeply to be shown>"
    assert shown["code"] == -32000
    json.dumps(shown)
