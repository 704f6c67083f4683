"""Ways to lead a user to a login and back."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import pytest

from mcpclient.auth.effects import Authorize, Callback, ShowDeviceCode
from mcpclient.errors import AuthorizationRequired
from mcpclient.net.login.logins import BrowserLogin, TwoStepLogin
from mcpclient.net.login.storage import MemoryStore
from mcpclient.net.login.terminal import Terminal

PAGE = "https://auth.example/authorize?state=s"


class ScriptedTerminal(Terminal):
    """Keeps its output, and types lines; after the last one nothing, or the end."""

    def __init__(self, *lines: str, interactive: bool = True, ends: bool = False) -> None:
        self.said: list[str] = []
        self._lines = list(lines)
        self._interactive = interactive
        self._ends = ends

    @property
    def is_interactive(self) -> bool:
        return self._interactive

    def say(self, text: str) -> None:
        self.said.append(text)

    async def read_line(self) -> str:
        if self._lines:
            return self._lines.pop(0)
        if self._ends:
            raise EOFError
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]


class ScriptedBrowser:
    """Remembers the pages it was shown; ``comes_back`` adds to the redirect URI and asks for it."""

    def __init__(self, login: Any = None, works: bool = True, comes_back: str = "") -> None:
        self.shown: list[str] = []
        self.pages: list[bytes] = []
        self.redirect_uri = ""
        self._works = works
        self._comes_back = comes_back
        self.tasks: list[Any] = []

    async def __call__(self, url: str) -> bool:
        self.shown.append(url)
        if self._comes_back:
            self.tasks.append(asyncio.ensure_future(self._return()))
        return self._works

    async def _return(self) -> None:
        parts = urlsplit(self.redirect_uri)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        target = f"{parts.path}?{self._comes_back}"
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
        self.pages.append(await reader.read())
        writer.close()


def log_in(
    browser: ScriptedBrowser,
    terminal: ScriptedTerminal | None = None,
    *,
    timeout: float = 20,
    configured: str | None = None,
) -> Callback | None:
    async def main() -> Callback | None:
        login = BrowserLogin(
            MemoryStore(),
            timeout=timeout,
            open_browser=browser,
            terminal=terminal or ScriptedTerminal(interactive=False),
        )
        browser.redirect_uri = await login.open_redirect(configured, ())
        callback = await login.authorize(Authorize(PAGE, "s", browser.redirect_uri))
        await asyncio.gather(*browser.tasks)
        parts = urlsplit(browser.redirect_uri)
        if callback is not None and parts.port is not None:
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection(parts.hostname, parts.port)
        return callback

    return asyncio.run(main())


def test_what_is_pasted_wrongly_is_asked_for_again() -> None:
    """F-AUTH-8: another login's answer is none to this one."""
    terminal = ScriptedTerminal("", "nonsense", "?code=c&state=other", "?code=c&state=s")
    assert log_in(ScriptedBrowser(works=False), terminal) == Callback("c", "s")
    assert len(terminal.said) == 4


def test_the_browser_may_come_back_though_nothing_is_pasted() -> None:
    """F-AUTH-8"""
    browser = ScriptedBrowser(comes_back="code=c&state=s")
    assert log_in(browser, ScriptedTerminal()) == Callback("c", "s")
    browser = ScriptedBrowser(comes_back="code=c&state=s")
    assert log_in(browser, ScriptedTerminal(ends=True)) == Callback("c", "s")


def test_neither_browser_nor_terminal() -> None:
    """F-AUTH-8: no user is there, so no login waits."""
    assert log_in(ScriptedBrowser(works=False)) is None


def test_a_redirect_to_somewhere_else() -> None:
    """F-AUTH-8: no listener is needed; with a terminal the address may be pasted."""
    elsewhere = "https://app.example/callback"
    assert log_in(ScriptedBrowser(), configured=elsewhere) is None
    terminal = ScriptedTerminal(f"{elsewhere}?code=c&state=s")
    assert log_in(ScriptedBrowser(), terminal, configured=elsewhere) == Callback("c", "s")


async def test_the_port_of_a_registration_is_used_again() -> None:
    """F-AUTH-2: which saves another one, unless another program has the port now."""

    async def in_own_task(login: BrowserLogin, registered: tuple[str, ...]) -> str:
        return await asyncio.ensure_future(login.open_redirect(None, registered))

    login = BrowserLogin(MemoryStore(), terminal=ScriptedTerminal())
    uri = await in_own_task(login, ())
    await asyncio.sleep(0)  # the listener ends with its task
    assert await in_own_task(login, ("https://app.example/", uri)) == uri
    await asyncio.sleep(0)
    held = await BrowserLogin(MemoryStore()).open_redirect(uri, ())
    assert held == uri
    assert await in_own_task(login, (uri,)) != uri


@pytest.mark.parametrize("complete", [None, "https://auth.example/device?code=CODE"])
def test_a_device_code_is_shown(complete: str | None) -> None:
    """F-AUTH-8"""
    terminal = ScriptedTerminal()
    request = ShowDeviceCode("CODE", "https://auth.example/device", complete, 60)
    asyncio.run(BrowserLogin(MemoryStore(), terminal=terminal).show_device_code(request))
    (text,) = terminal.said
    assert "https://auth.example/device" in text
    assert "CODE" in text
    assert (complete or "") in text


def test_the_default_store_is_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """F-AUTH-9"""
    monkeypatch.setenv("MCPCLIENT_CREDENTIALS", str(tmp_path / "c.json"))
    assert "c.json" in repr(BrowserLogin().store)


async def test_two_steps_lead_nobody_anywhere() -> None:
    """F-AUTH-8"""
    login = TwoStepLogin(MemoryStore())
    assert await login.authorize(Authorize(PAGE, "s", "r")) is None
    assert await login.open_redirect("https://app.example/c", ("http://x",)) == (
        "https://app.example/c"
    )
    assert await login.open_redirect(None, ("http://127.0.0.1:5/c",)) == "http://127.0.0.1:5/c"
    assert await login.open_redirect(None, ()) == "http://127.0.0.1/callback"
    with pytest.raises(AuthorizationRequired):
        await login.show_device_code(ShowDeviceCode("C", "https://auth.example/d", None, 1))
