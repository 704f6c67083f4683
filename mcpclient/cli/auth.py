"""``mcpclient auth``: log in to a protected server, log out, see where you are logged in."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import stat
import sys
from collections.abc import Awaitable
from typing import Any, Callable

from ..auth.flow import grant_key
from ..auth.grants import Grant, account_url, login_facts, store_name
from ..auth.options import OAuth
from ..auth.url_guard import host_of
from ..errors import AuthError, UsageError
from ..errors.authorization import AuthorizationRequired
from ..framing.uri import LOOPBACK_HOSTS, http_url, parse_url
from ..net.clocks import seconds_since_epoch
from ..net.login.authentication import default_store, finish_auth, log_in, log_out
from ..net.login.browser import open_browser
from ..net.login.logins import BrowserLogin, TwoStepLogin
from .command import Answer, LocalCommand, flag, option, repeated
from .layout import one_line, table
from .parsing import TRACE, check_logs
from .screen import Screen, ScreenTerminal


def login_for(
    url: str, screen: Screen, show_login: Callable[[str], Awaitable[bool]] | None = None
) -> OAuth:
    """Return a login: interactive on a terminal, elsewhere from the credentials of ``auth login``.

    ``show_login``: shows the address in place of the terminal.
    """
    terminal, store = ScreenTerminal(screen), default_store()
    provider: BrowserLogin | TwoStepLogin = TwoStepLogin(store)
    if show_login is not None or terminal.is_interactive:
        show = show_login or open_browser
        provider = BrowserLogin(store, terminal=terminal, open_browser=show)
    return oauth_with(url, provider)


def oauth_with(url: str, provider: BrowserLogin | TwoStepLogin, **options: Any) -> OAuth:
    """Return a login at a server, through ``provider``, with the options of `OAuth`."""
    # A server on this machine has its authorization server here as well.
    is_local = host_of(http_url(parse_url(url))) in LOOPBACK_HOSTS
    return OAuth(local_development=is_local, provider=provider, **options)


_PASTE_SECONDS = 300.0
_KEY = grant_key("OAuth", "")
_USAGE = "login URL | finish URL ADDRESS | logout URL | status [URL]"


@LocalCommand(
    "auth",
    usage=f"[OPTION ...] {_USAGE}",
    options=(
        option("--client-id", "ID", "client id, for servers without client registration"),
        repeated("--scope", "SCOPE", "scope to request in place of the default"),
        option("--account", "NAME", "name of one of several logins at one URL"),
        option("--redirect-uri", "URI", "URI that the browser is redirected to"),
        flag("--device", "log in with a code, where the server supports that"),
        flag("--no-browser", "only show the address to visit"),
        TRACE,
    ),
    details="Other commands use the login by themselves, and ask for one on a terminal. "
    "Credentials are kept in a file that only you may read; MCPCLIENT_CREDENTIALS names another "
    "one.",
)
async def _auth(screen: Screen, options: argparse.Namespace) -> Answer:
    action, *words = options.words or ["status"]
    counts = {"login": 1, "finish": 2, "logout": 1, "status": len(words[:1])}
    if len(words) != counts.get(action):
        raise UsageError(f"auth takes one of: {_USAGE}")
    if options.trace is not None and action != "login":
        raise UsageError(f"--trace is for auth login: auth {action} talks to no server")
    check_logs(options.trace)
    url = http_url(parse_url(words[0])) if words else ""
    if action == "status":
        return await _status(url, options.account, screen)
    if action == "login":
        return await _log_in(url, options, screen)
    auth = _login(url, TwoStepLogin(default_store()), options)
    if action == "finish":
        await finish_auth(url, words[1], auth=auth)
        return _logged_in(url)
    await log_out(url, auth)
    return Answer({"loggedIn": False, "server": url}, f"logged out of {one_line(url)}")


def _login(url: str, provider: BrowserLogin | TwoStepLogin, options: argparse.Namespace) -> OAuth:
    return oauth_with(
        url,
        provider,
        client_id=options.client_id,
        scopes=options.scope or None,
        redirect_uri=options.redirect_uri,
        device=options.device,
        account=options.account,
    )


async def _log_in(url: str, options: argparse.Namespace, screen: Screen) -> Answer:
    async def no_browser(url: str) -> bool:
        return False

    show = no_browser if options.no_browser else open_browser
    terminal = ScreenTerminal(screen)
    provider = BrowserLogin(default_store(), terminal=terminal, open_browser=show)
    auth = _login(url, provider, options)
    try:
        await log_in(url, auth, trace=options.trace)
    except AuthorizationRequired as error:  # no user is here to visit the address
        address = await _piped_address(error.url, screen)
        if address:
            await finish_auth(url, address, auth=auth)
            return _logged_in(url)
        account = f"--account {shlex.quote(options.account)} " if options.account else ""
        finish = f"mcpclient auth finish {account}{shlex.quote(url)} 'ADDRESS'"
        screen.say(f"To log in, visit:\n\n  {error.url}\n")
        screen.say(f"Then finish with the address that the browser ends at:\n\n  {finish}\n")
        raise error.advise(f"Visit the URL, then run: {finish}") from None
    return _logged_in(url)


def _logged_in(url: str) -> Answer:
    return Answer({"loggedIn": True, "server": url}, f"logged in to {one_line(url)}")


async def _piped_address(url: str, screen: Screen) -> str:
    """Return the address that a program writes to our stdin, if that is a pipe, otherwise ""."""
    try:
        is_pipe = sys.stdin is not None and stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode)
    except (OSError, ValueError):  # closed, or replaced by an object without a descriptor
        is_pipe = False
    if not is_pipe:
        return ""
    screen.say(f"To log in, visit:\n\n  {url}\n")
    screen.say("Waiting on stdin for the address that the browser ends at.")
    try:
        return await asyncio.wait_for(ScreenTerminal(screen).read_line(), _PASTE_SECONDS)
    except (EOFError, asyncio.TimeoutError):
        return ""


async def _status(url: str, account: str | None, screen: Screen) -> Answer:
    wanted = store_name(account_url(url, account)) if url else ""
    now, store, logins = seconds_since_epoch(), default_store(), []
    for key in sorted(await store.keys()):
        name = key[len(_KEY) :]
        is_wanted = name == wanted or (not account and name.partition("#")[0] == wanted)
        if key.startswith(_KEY) and (not url or is_wanted):
            grant = Grant.from_record(await store.load(key) or {})
            logins += [{"server": name, **login_facts(grant, now)}] if grant is not None else []
    if url and not logins:
        error = AuthError(f"not logged in to {url}")
        raise error.advise(f"Log in with: mcpclient auth login {shlex.quote(url)}")
    rows = [(login["server"], login["state"], " ".join(login["scopes"])) for login in logins]
    return Answer({"logins": logins}, table((), rows, screen.style, "not logged in anywhere"))
