"""Ways to lead a user to a login and back."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit

import pytest

from mcpclient.auth.effects import Authorize, Callback, ShowDeviceCode
from mcpclient.errors import AuthError, AuthorizationRequired
from mcpclient.net.login.logins import BrowserLogin, TwoStepLogin
from mcpclient.net.login.storage import MemoryStore
from mcpclient.net.login.terminal import Terminal

PAGE = "https://auth.example/authorize?state=s"


class ScriptedTerminal(Terminal):
    """Says what it was told, and types lines; after the last one nothing, or the end."""

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
    """Remembers what it was shown; ``comes_back`` adds to the redirect URI and asks for it."""

    def __init__(self, login: Any = None, works: bool = True, comes_back: str = "") -> None:
        self.shown: list[str] = []
        self.pages: list[bytes] = []
        self.redirect_uri = ""
        self._works = works
        self._comes_back = comes_back
        self._tasks: list[Any] = []

    async def __call__(self, url: str) -> bool:
        self.shown.append(url)
        if self._comes_back:
            self._tasks.append(asyncio.ensure_future(self._return()))
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
        await asyncio.gather(*browser._tasks)
        assert callback is None or not login._listeners
        return callback

    return asyncio.run(main())


def test_a_browser_comes_back() -> None:
    """F-AUTH-8: and the address is shown as well, in case it did not open."""
    browser = ScriptedBrowser(comes_back="code=c&state=s")
    terminal = ScriptedTerminal(interactive=False)
    assert log_in(browser, terminal) == Callback("c", "s")
    assert browser.shown == [PAGE]
    assert b"You are logged in" in browser.pages[0]
    assert PAGE in terminal.said[0]
    assert "paste" not in terminal.said[0]


@pytest.mark.parametrize("works", [True, False])
async def test_a_browser_is_back_before_its_opener_returns(works: bool) -> None:
    """F-AUTH-8: the answer counts, and an opener that hangs holds nothing up."""
    browser = ScriptedBrowser(comes_back="code=c&state=s")

    async def opener(url: str) -> bool:
        await browser(url)
        await asyncio.shield(browser._tasks[0])
        if works:
            await asyncio.get_running_loop().create_future()
        return False

    login = BrowserLogin(
        MemoryStore(), open_browser=opener, terminal=ScriptedTerminal(interactive=False)
    )
    browser.redirect_uri = await login.open_redirect(None, ())
    callback = await login.authorize(Authorize(PAGE, "s", browser.redirect_uri))
    await asyncio.gather(*browser._tasks)
    assert callback == Callback("c", "s")
    assert b"You are logged in" in browser.pages[0]


async def test_an_opener_that_fails_is_told_of() -> None:
    """F-AUTH-8"""

    async def opener(url: str) -> bool:
        raise OSError("no desktop")

    login = BrowserLogin(MemoryStore(), open_browser=opener, terminal=ScriptedTerminal())
    with pytest.raises(OSError, match="no desktop"):
        await login.authorize(Authorize(PAGE, "s", "https://app.example/callback"))


def test_a_pasted_address_without_a_browser() -> None:
    """F-AUTH-8: over SSH."""
    browser = ScriptedBrowser(works=False)
    terminal = ScriptedTerminal("http://127.0.0.1:1/callback?code=c&state=s&iss=i")
    assert log_in(browser, terminal) == Callback("c", "s", "i")
    assert PAGE in terminal.said[0]
    assert "paste" in terminal.said[0]


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
    """F-AUTH-8: nobody is there, so nobody waits."""
    assert log_in(ScriptedBrowser(works=False)) is None


def test_a_user_who_takes_too_long() -> None:
    """F-AUTH-8"""
    assert log_in(ScriptedBrowser(), timeout=0.01) is None


def test_a_redirect_to_somewhere_else() -> None:
    """F-AUTH-8: nobody listens; with a terminal the address may be pasted."""
    elsewhere = "https://app.example/callback"
    assert log_in(ScriptedBrowser(), configured=elsewhere) is None
    terminal = ScriptedTerminal(f"{elsewhere}?code=c&state=s")
    assert log_in(ScriptedBrowser(), terminal, configured=elsewhere) == Callback("c", "s")


async def test_a_redirect_to_this_machine() -> None:
    """F-AUTH-8: the caller's own port."""
    first = BrowserLogin(MemoryStore(), terminal=ScriptedTerminal())
    uri = await first.open_redirect(None, ())
    with pytest.raises(AuthError, match="cannot listen on"):
        await first.open_redirect(uri, ())


async def test_the_port_of_a_registration_is_used_again() -> None:
    """F-AUTH-2: which saves another one, unless somebody else has the port now."""

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


async def test_the_listener_ends_with_the_task_that_wanted_it() -> None:
    """F-AUTH-8: also when no login came of it."""
    login = BrowserLogin(MemoryStore(), terminal=ScriptedTerminal())
    uri = await asyncio.ensure_future(login.open_redirect(None, ()))
    await asyncio.sleep(0)
    with pytest.raises(OSError, match=r"Connect call failed|refused"):
        await asyncio.open_connection("127.0.0.1", urlsplit(uri).port)
    assert not login._listeners


async def test_logins_come_one_after_the_other() -> None:
    """F-AUTH-11: many servers do not open many pages at once."""
    open_now: list[str] = []
    order: list[str] = []

    async def browse(url: str) -> bool:
        assert not open_now
        open_now.append(url)
        order.append(url)
        await asyncio.sleep(0)
        open_now.clear()
        return False

    login = BrowserLogin(
        MemoryStore(), open_browser=browse, terminal=ScriptedTerminal(interactive=False)
    )
    await asyncio.gather(
        *(login.authorize(Authorize(f"https://{n}.example/", "s", "r")) for n in range(3))
    )
    assert len(order) == 3


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


async def test_the_store_is_the_callers() -> None:
    """F-AUTH-9"""
    store = MemoryStore()
    for login in (BrowserLogin(store), TwoStepLogin(store)):
        await login.save("key", {"a": 1})
        assert await store.load("key") == await login.load("key") == {"a": 1}
        async with login.lock("name"):
            pass


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
