"""Commands and URLs as messages show them: no secret, and still which server it was."""

from __future__ import annotations

import copy
import pickle
import sys
import traceback
from typing import Any

import pytest

import mcpclient
from mcpclient.display import shown_command, shown_url, shown_words
from mcpclient.errors import AuthorizationRequired, CommandNotFound, ProcessExited
from mcpclient.framing.uri import parse_url
from tests.support.tables import each_row

SECRETS = ("hunter2", "sk-live-0123456789abcdef", "S3cr3tS3cr3tS3cr3t")


@each_row(
    ("command", "shown"),
    [
        (["server"], "server"),
        ([], ""),
        (["server", "hunter2"], "server (1 argument)"),
        (["/opt/x/server", "--token", "hunter2", "-v"], "/opt/x/server (3 arguments)"),
        (["npx", "-y", "@scope/server@1.2", "/home"], "npx -y @scope/server@1.2 (1 more argument)"),
        (["npx.cmd", "--token", "hunter2", "x"], "npx.cmd (3 arguments)"),
        (["npx", "sk-live-S3cr3tS3cr3tS3cr3t"], "npx (1 argument)"),
        (["uvx", "mcp-server-git"], "uvx mcp-server-git"),
        (["/usr/bin/python3.12", "-u", "a b/server.py"], "/usr/bin/python3.12 -u a b/server.py"),
        (["python", "-m", "my.server", "hunter2"], "python -m my.server (1 more argument)"),
        (["python", "-c", "token = 'hunter2'"], "python (2 arguments)"),
        (["C:\\Program Files\\node.exe", "dist/i.js"], "C:\\Program Files\\node.exe dist/i.js"),
        (["docker", "run", "-e", "KEY=hunter2", "image"], "docker (4 arguments)"),
        (["server --token hunter2"], "server …"),
        (["server hunter2/hunter2"], "server …"),
        (["KEY=hunter2 server"], "KEY=…"),
        (
            ["https://u:hunter2@x.example/mcp?key=hunter2", "a"],
            "https://x.example/mcp (1 argument)",
        ),
        ([" "], " …"),
    ],
)
def test_a_command(command: list[str], shown: str) -> None:
    """F-AUTH-12: the program, what it runs, and how many arguments."""
    assert shown_command(command) == shown
    assert shown_words(shown_words(command)) == shown_words(command)
    assert len(shown_words(command)) == len(command)


@each_row(
    ("url", "shown"),
    [
        ("https://x.example/a/mcp", "https://x.example/a/mcp"),
        ("https://u:p@x.example/a?b=c#d", "https://x.example/a"),
        ("https://x.example/s/S3cr3tS3cr3tS3cr3t/mcp", "https://x.example/s/…/mcp"),
        ("https://x.example/123e4567-e89b-12d3-a456-426614174000/m", "https://x.example/…/m"),
        ("https://x.example/abcdefghijklmnopqrstuvwxyz", "https://x.example/…"),
        ("https://x.example/sk-live-S3cr3tS3cr3tS3cr3t", "https://x.example/…"),
        ("https://x.example/server-everything-2025-11-25.v2", None),
        ("https://x.example/.well-known/oauth-protected-resource/mcp", None),
        ("https://x.example/repositories_of_this_organization/mcp", None),
    ],
)
def test_a_url(url: str, shown: str | None) -> None:
    """F-AUTH-12: neither userinfo nor query, and no segment of the path that looks like a key."""
    assert shown_url(url) == (shown or url)
    assert parse_url(url).shown == (shown or url)
    assert str(AuthorizationRequired(url)).endswith(f" {shown or url}")


ARGUMENTS = ["--header", f"Authorization: Bearer {SECRETS[0]}", f"--key={SECRETS[1]}", SECRETS[2]]


def everything_told_of(error: BaseException) -> str:
    told = [str(error), repr(error), repr(vars(error)), repr(error.args)]
    told += traceback.format_exception(type(error), error, error.__traceback__)
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        told += [str(again), repr(again)]
    return "\n".join(told)


@pytest.mark.parametrize(
    "error",
    [ProcessExited(["server", *ARGUMENTS], 1, ""), CommandNotFound(["no", *ARGUMENTS], "gone", "")],
)
def test_no_exception_tells_arguments(error: Any) -> None:
    """F-AUTH-12: not in its text, its repr or its fields, which error trackers send away."""
    told = everything_told_of(error)
    assert not [secret for secret in SECRETS if secret in told]
    assert error.command == [error.command[0], "…", "…", "…", "…"]


async def test_no_client_tells_arguments(caplog: pytest.LogCaptureFixture) -> None:
    """F-AUTH-12: neither its repr, nor a hook, nor a line of the log, nor the error."""
    told: list[str] = []
    hooks = mcpclient.Hooks(on_error=lambda **facts: told.append(repr(facts)))
    code = "import sys; print('no message'); sys.exit(3)"
    command = [sys.executable, "-c", code, *ARGUMENTS]
    caplog.set_level("DEBUG", "mcpclient")
    client = mcpclient.Client(command, hooks=hooks)
    told.append(repr(client))
    with pytest.raises(ProcessExited) as raised:
        await client.connect()
    told.append(everything_told_of(raised.value))
    said = "\n".join([*told, *caplog.messages])
    assert "no message" in said
    assert len(told) == 3
    assert not [secret for secret in SECRETS if secret in said]


def test_a_command_line_that_cannot_be_split() -> None:
    """F-AUTH-12"""
    with pytest.raises(mcpclient.UsageError, match="not a command line") as raised:
        mcpclient.Client(f'server --key "{SECRETS[0]}')
    assert SECRETS[0] not in everything_told_of(raised.value)
