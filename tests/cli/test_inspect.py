"""``mcpclient inspect``: F-SHOW-10."""

from __future__ import annotations

import asyncio
import json
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from mcpclient import UsageError
from mcpclient.cli import connecting
from mcpclient.cli import inspect as module
from mcpclient.cli.parsing import understand
from mcpclient.cli.screen import Screen
from mcpclient.inspector.inspector import Inspector, inspect
from mcpclient.net.login import browser

TOP = Path(__file__).parents[2]
SERVER = ["--", sys.executable, str(TOP / "mcpclient" / "testing" / "demo_server.py")]
RECORDING = str(next((TOP / "conformance" / "transcripts").rglob("*.jsonl")))


def work(words: list[str], screen: Screen) -> Any:
    """Return the command's work, which `asyncio` has to do."""
    request = understand(["inspect", *words])
    assert request.server is None
    return request.function(screen, request.options)


def serve(words: list[str], until: Any, errors: StringIO | None = None) -> str:
    """Run the command until ``until`` holds for its inspector; return its output."""
    out = StringIO()
    made: list[Any] = []
    opened = Inspector.open

    async def noticed(inspector: Any) -> Any:
        made.append(inspector)
        return await opened(inspector)

    async def run() -> None:
        working = asyncio.ensure_future(work(words, Screen(out, errors or StringIO(), {})))
        while not (made and until(made[0])):
            assert not working.done(), working.exception()
            await asyncio.sleep(0.005)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Inspector, "open", noticed)
        asyncio.run(asyncio.wait_for(run(), 20))
    return out.getvalue()


def statuses(inspector: Any) -> set[str]:
    return {state.status for state in inspector.room.source.states().values()}


def test_a_server_is_started_watched_and_ended() -> None:
    def connected(inspector: Any) -> bool:
        return statuses(inspector) == {"connected"}

    printed = serve(["--no-browser", *SERVER], connected)
    assert printed.startswith("http://127.0.0.1:")
    assert "#t=" in printed


def test_a_server_that_cannot_be_reached_is_shown_all_the_same() -> None:
    def failed(inspector: Any) -> bool:
        return statuses(inspector) == {"failed"}

    printed = serve(["--json", "--no-browser", "http://127.0.0.1:1/mcp"], failed)
    assert json.loads(printed)["url"].startswith("http://127.0.0.1:")


def test_all_that_are_configured(tmp_path: Path) -> None:
    """F-SHOW-10, F-MANY-1: a server that fails is shown beside one that works."""
    path = tmp_path / "mcp.json"
    good = {"command": SERVER[1], "args": SERVER[2:]}
    bad = {"url": "http://127.0.0.1:1/mcp"}
    path.write_text(json.dumps({"mcpServers": {"good": good, "bad": bad, "odd": {"comand": "x"}}}))
    errors = StringIO()

    def settled(inspector: Any) -> bool:
        return statuses(inspector) == {"connected", "failed"}

    assert "#t=" in serve(["--no-browser", "--config", str(path)], settled, errors)
    assert "a server needs a command or a url" in errors.getvalue()
    path.write_text('{"mcpServers": {}}')
    with pytest.raises(UsageError, match="no server is configured"):
        work(["--config", str(path)], Screen(StringIO(), StringIO(), {}))


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions that show the address of a login, for each client that is made, in order."""
    found: list[Any] = []
    chosen = connecting.client_options

    def noting(server: Any, options: Any, screen: Any, **others: Any) -> Any:
        found.append(others["show_login"])
        return chosen(server, options, screen, **others)

    monkeypatch.setattr(connecting, "client_options", noting)
    return found


async def log_in(show_login: Any) -> None:
    """Be a login that is never finished."""
    await show_login("https://id.example/")
    await asyncio.get_running_loop().create_future()


def logins(inspector: Any) -> set[str]:
    items = inspector.room.board.since(0)
    return {item.name for item in items if item.kind == "login" and item.value}


def test_each_configured_server_has_a_login_of_its_own(tmp_path: Path, ways: list[Any]) -> None:
    """F-SHOW-10, F-AUTH-12"""
    showing: list[Any] = []

    def are_shown(inspector: Any) -> bool:
        if not showing:
            showing.extend(asyncio.ensure_future(log_in(way)) for way in ways)
        return logins(inspector) == {"one", "two"}

    path = tmp_path / "mcp.json"
    servers = {name: {"url": f"http://127.0.0.1:1/{name}"} for name in ("one", "two")}
    path.write_text(json.dumps({"mcpServers": servers}))
    serve(["--no-browser", "--config", str(path)], are_shown)


def test_a_server_that_is_added_has_a_login_of_its_own(ways: list[Any]) -> None:
    """F-SHOW-10, F-AUTH-12: under the name it was given; the first one under its address."""
    begun: list[Any] = []

    def are_shown(inspector: Any) -> bool:
        if not begun:
            adding = inspector.room.source.add("more", "http://127.0.0.1:1/more")
            begun.append(asyncio.ensure_future(adding))
        if len(begun) == 1 and len(ways) == 2 and statuses(inspector) == {"failed"}:
            begun.extend(asyncio.ensure_future(log_in(way)) for way in ways)
        return logins(inspector) == {"http://127.0.0.1:1/mcp", "more"}

    serve(["--no-browser", "--allow", "add", "http://127.0.0.1:1/mcp"], are_shown)


def test_recordings(nothing_configured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    pages: list[Path] = []

    async def show(url: str, *, through: Path) -> bool:
        shown.append(url)
        pages.append(through)
        browser._write_redirect(through, url)
        return True

    allowed: list[str] = []
    inspected = inspect

    def noting(source: Any, *, allow: str, **options: Any) -> Inspector:
        allowed.append(allow)
        return inspected(source, allow=allow, **options)

    monkeypatch.setattr(module, "open_browser", show)
    monkeypatch.setattr(module, "inspect", noting)
    printed = serve(["--replay", RECORDING, "--replay", RECORDING], lambda _: bool(shown))
    assert shown == [printed.strip()]
    assert not pages[0].exists()
    assert allowed == ["look"]
