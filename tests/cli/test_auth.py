"""``mcpclient auth``, and how other commands log in."""

from __future__ import annotations

import asyncio
import io
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcpclient.cli.main import main
from mcpclient.cli.screen import Screen, ScreenTerminal
from mcpclient.net.login.terminal import Terminal
from tests.support.http_server import HttpServer
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.protected import Protected

Capture = pytest.CaptureFixture[str]

pytestmark = pytest.mark.usefixtures("own_credentials")


@contextmanager
def protected_server(**options: Any) -> Iterator[tuple[str, Protected]]:
    """A server in a thread of its own, since a command has an event loop of its own."""
    protected = Protected(StreamableEndpoint(McpServer("both")).routes, **options)
    started: list[Any] = []
    ready = threading.Event()

    async def run() -> None:
        over = asyncio.Event()
        async with HttpServer(protected.routes) as server:
            started.extend([str(server.url()), asyncio.get_running_loop(), over])
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    ready.wait()
    url, loop, over = started
    try:
        yield url, protected
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A user sits there, and pastes where the shown address leads. Returns the output."""
    shown: list[str] = []

    async def read_line(self: Terminal) -> str:
        page = next(line.strip() for line in reversed(shown) if "authorize?" in line)
        return servers[0].authorize(page)

    def say(self: Terminal, text: str) -> None:
        shown.extend(text.splitlines())

    monkeypatch.setattr(ScreenTerminal, "is_interactive", True)
    monkeypatch.setattr(ScreenTerminal, "read_line", read_line)
    monkeypatch.setattr(ScreenTerminal, "say", say)
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSH_CONNECTION", "from elsewhere")  # where a display needs no variable
    return shown


servers: list[Protected] = []


@pytest.fixture
def server() -> Iterator[tuple[str, Protected]]:
    with protected_server() as (url, protected):
        servers[:] = [protected]
        yield url, protected


def test_login_status_and_logout(
    server: tuple[str, Protected], at_a_terminal: list[str], capsys: Capture
) -> None:
    """F-SHOW-1: and what other commands make of it."""
    url, protected = server
    assert main(["auth", "login", url, "--scope", "a", "--scope", "b", "--no-browser"]) == 0
    assert capsys.readouterr().out == f"logged in to {url}\n"
    assert "scope=a+b" in "".join(at_a_terminal)
    assert main(["auth"]) == 0
    assert " ".join(capsys.readouterr().out.split()) == f"{url} logged in, renewed as needed a b"
    assert main(["auth", "status", url, "--json"]) == 0
    (login,) = json.loads(capsys.readouterr().out)["logins"]
    assert (login["server"], login["renewable"], login["scopes"]) == (url, True, ["a", "b"])
    assert "SECRET" not in str(login)
    assert main(["call", url, "echo", "text=hi"]) == 0
    assert protected.counts["authorize"] == 1
    assert main(["auth", "logout", url, "--json"]) == 0
    capsys.readouterr()
    assert main(["auth", "status"]) == 0
    assert capsys.readouterr().out == "not logged in anywhere\n"
    assert main(["auth", "status", url]) == 4
    assert "not logged in" in capsys.readouterr().err


def test_two_accounts_at_one_url(
    server: tuple[str, Protected], at_a_terminal: list[str], capsys: Capture
) -> None:
    """F-SAFE-7: each has its login, and is logged out by itself."""
    url, protected = server
    for account in ("work", "home"):
        assert main(["auth", "login", url, "--account", account, "--no-browser"]) == 0
    assert main(["call", url, "echo", "text=hi", "--account", "work"]) == 0
    assert protected.counts["authorize"] == 2
    assert main(["auth", "logout", url, "--account", "work"]) == 0
    capsys.readouterr()
    assert main(["auth", "status", url, "--json"]) == 0
    (login,) = json.loads(capsys.readouterr().out)["logins"]
    assert login["server"] == f"{url}#home"
    assert main(["auth", "status", url, "--account", "home"]) == 0
    assert main(["auth", "status", url, "--account", "work"]) == 4


def test_any_command_asks_at_a_terminal(
    server: tuple[str, Protected], at_a_terminal: list[str], capsys: Capture
) -> None:
    """F-AUTH-8: and the call goes on."""
    url, protected = server
    assert main(["call", url, "echo", "text=hi"]) == 0
    assert capsys.readouterr().out == "hi\n"
    assert protected.counts["authorize"] == 1


def test_tokens_that_end(
    monkeypatch: pytest.MonkeyPatch, at_a_terminal: list[str], capsys: Capture
) -> None:
    """F-SHOW-1: without a refresh token a login has an end."""
    with protected_server(refreshes=False) as (url, protected):
        servers[:] = [protected]
        assert main(["auth", "login", url]) == 0
        main(["auth", "status"])
        assert "logged in\n" in capsys.readouterr().out.replace("  ", "") + "\n"
        monkeypatch.setattr("mcpclient.cli.auth.seconds_since_epoch", lambda: 1e12)
        main(["auth", "status"])
        assert "expired" in capsys.readouterr().out


def test_a_login_can_be_traced(
    server: tuple[str, Protected], at_a_terminal: list[str], tmp_path: Path, capsys: Capture
) -> None:
    """F-SHOW-6, F-AUTH-12: every step is in the file, and no token, code, verifier or secret."""
    url, protected = server
    path = tmp_path / "login.jsonl"
    assert main(["auth", "login", url, "--no-browser", "--trace", str(path)]) == 0
    trace = path.read_text(encoding="utf-8")
    for step in ("/.well-known/oauth-", "/register", "grant_type=authorization_code", "/token"):
        assert step in trace
    assert "SECRET" not in trace
    assert len(protected.secrets) > 1
    assert not [secret for secret in protected.secrets if secret in trace]
    assert json.loads(trace.splitlines()[0])["target"] == url
    assert main(["replay", str(path)]) == 0
    assert "HTTP 401" in capsys.readouterr().out


def test_a_trace_that_cannot_be_written(tmp_path: Path, capsys: Capture) -> None:
    """F-SHOW-2: nothing is begun."""
    folder = str(tmp_path)
    assert main(["auth", "login", "https://a.example", "--trace", folder]) == 2
    assert "cannot write the trace" in capsys.readouterr().err
    assert main(["auth", "logout", "https://a.example", "--trace", folder]) == 2
    assert "auth logout talks to no server" in capsys.readouterr().err


def screen() -> Screen:
    return Screen(io.StringIO(), io.StringIO(), {})


def test_a_login_without_a_terminal_is_finished_later(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-AUTH-8, F-SHOW-1: the whole address, and what to run then."""
    monkeypatch.setattr(ScreenTerminal, "is_interactive", False)
    with protected_server() as (url, protected):
        assert main(["auth", "login", url, "--no-browser"]) == 4
        said = capsys.readouterr().err
        page = next(line.strip() for line in said.splitlines() if "authorize?" in line)
        assert "state=" in page and "code_challenge=" in page
        assert f"mcpclient auth finish {url} 'ADDRESS'" in said
        assert "mcpclient auth login" not in said
        address = protected.authorize(page)
        assert main(["auth", "finish", url, address]) == 0
        assert capsys.readouterr().out == f"logged in to {url}\n"
        assert main(["tools", url]) == 0


@pytest.mark.needs_posix
def test_the_address_may_come_on_a_pipe(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-8: a program reads the page from stderr, and writes where the browser ends."""
    monkeypatch.setattr(ScreenTerminal, "is_interactive", False)
    reading, writing = os.pipe()
    say = Screen.say
    with os.fdopen(reading) as source, protected_server() as (url, protected):
        monkeypatch.setattr("sys.stdin", source)

        def visit(screen: Screen, text: str) -> None:
            say(screen, text)
            page = next((line.strip() for line in text.splitlines() if "authorize?" in line), None)
            if page is not None:
                os.write(writing, f"{protected.authorize(page)}\n".encode())

        monkeypatch.setattr(Screen, "say", visit)
        assert main(["auth", "login", url, "--no-browser"]) == 0
        assert capsys.readouterr().out == f"logged in to {url}\n"
        assert main(["auth", "status", url]) == 0
    os.close(writing)
