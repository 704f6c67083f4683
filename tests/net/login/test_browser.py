"""Whether there is a browser, and how it opens a page."""

from __future__ import annotations

import asyncio
import stat
import sys
import webbrowser
from pathlib import Path

import pytest

from mcpclient.net.login.browser import has_browser, open_browser

URL = "https://auth.example/authorize?a=b"


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"BROWSER": "firefox"}, "linux", True),
        ({}, "darwin", True),
        ({"SSH_CONNECTION": "1 2 3 4"}, "darwin", False),
        ({"SSH_CONNECTION": "1 2 3 4", "BROWSER": "mine"}, "darwin", True),
        ({}, "win32", True),
    ],
)
def test_whether_there_is_a_browser(environ: dict[str, str], platform: str, expected: bool) -> None:
    """F-AUTH-8: none that would take over the terminal, none on another user's desk."""
    assert has_browser(environ, platform) is expected


@pytest.fixture(autouse=True)
def _a_browser_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER", "something")


def test_a_secret_address_is_in_a_file_and_in_no_argument(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """F-SAFE-6, F-SHOW-10: arguments of programs are seen by every user of the machine."""
    opened: list[str] = []

    def opening(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", opening)
    page, url = tmp_path / "a folder" / "x.html", "http://127.0.0.1:1/#t=SECRET&b"
    assert asyncio.run(open_browser(url, through=page))
    assert opened == [page.as_uri()]
    assert "0;url=http://127.0.0.1:1/#t=SECRET&amp;b" in page.read_text()
    if sys.platform != "win32":
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    # What exists, or leads elsewhere, is not written into.
    assert not asyncio.run(open_browser(url, through=page))
    assert len(opened) == 1


@pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:alert(1)", "-remote", ""])
def test_only_pages_of_the_web_are_opened(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """F-AUTH-10: a server names the address."""
    monkeypatch.setattr(webbrowser, "open", lambda _: pytest.fail("opened"))
    assert not asyncio.run(open_browser(url))


def test_a_desktop_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-8"""

    def failing(url: str) -> bool:
        raise webbrowser.Error("no such browser")

    monkeypatch.setattr(webbrowser, "open", failing)
    assert not asyncio.run(open_browser(URL))
