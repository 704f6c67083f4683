"""F-SHOW-8: a failure that was recorded is raised again when the recording is replayed."""

from __future__ import annotations

import json

from mcpclient import errors
from mcpclient.errors import (
    AuthError,
    CommandNotFound,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    McpError,
    MessageTooLarge,
    ProcessExited,
    ProtocolViolation,
    UsageError,
)
from mcpclient.framing.headers import Headers
from mcpclient.recording.redaction import Redactor
from mcpclient.recording.transcript import error_facts, error_of
from tests.support.tables import each_row

EXAMPLES: list[McpError] = [
    ConnectionLost("gone"),
    ConnectFailed("https://h/", "refused", [OSError()]),
    MessageTooLarge(5),
    ProcessExited(["server"], -9, "last words"),
    ProtocolViolation("no message"),
    UsageError("cannot be sent"),
    AuthError("no"),
    HttpError(500, Headers([("A", "b")]), b"body", "https://h/"),
]


@each_row("error", EXAMPLES)
def test_there_and_back(error: McpError) -> None:
    facts = json.loads(json.dumps(error_facts(error, Redactor())))
    made = error_of(facts)
    assert type(made) is type(error)
    assert str(made) == str(error)
    assert facts["type"] == type(error).__name__


def test_arguments_of_a_command_and_the_search_path_are_not_told() -> None:
    """F-AUTH-12: an argument may be a key."""
    exited = error_facts(ProcessExited(["server", "--key", "s3cret"], 1, "words"), Redactor())
    assert exited == {
        "type": "ProcessExited",
        "text": "the server exited with code 1: server",
        "command": ["server"],
        "exit_code": 1,
        "stderr": "words",
    }
    missing = error_facts(CommandNotFound(["npx", "s3cret"], "no such file", "/home"), Redactor())
    assert "s3cret" not in str(missing) and "/home" not in str(missing)
    made = error_of(missing)
    assert isinstance(made, CommandNotFound)
    assert (made.command, made.reason) == (["npx"], "no such file")


def test_what_an_error_says_is_redacted() -> None:
    """F-AUTH-12"""
    redactor = Redactor()
    redactor.name_of("long-s3cret")
    headers = {"Set-Cookie": "a=b", "WWW-Authenticate": "Bearer"}
    facts = error_facts(HttpError(401, headers, b"not long-s3cret", "https://h/"), redactor)
    assert "long-s3cret" not in str(facts)
    assert facts["headers"] == [["Set-Cookie", "a=redacted-2"], ["WWW-Authenticate", "Bearer"]]


def test_every_class_has_a_form() -> None:
    for name in errors.__all__:
        made = error_of({"type": name, "text": "x"})
        assert isinstance(made, McpError), name
