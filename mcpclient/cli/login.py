"""How any command logs in."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Callable

from ..auth.options import OAuth
from ..auth.url_guard import host_of
from ..framing.uri import LOOPBACK_HOSTS, http_url, parse_url
from ..net.login.authentication import default_store
from ..net.login.logins import BrowserLogin, TwoStepLogin
from .screen import Screen
from .terminal import ScreenTerminal


def login_for(
    url: str,
    screen: Screen,
    show_login: Callable[[str], Awaitable[bool]] | None = None,
    account: str | None = None,
) -> OAuth:
    """Return the login: on a terminal by asking, elsewhere with what ``auth login`` left.

    ``show_login``: shows the address to visit in another way. ``account``: as of `OAuth`.
    """
    terminal = ScreenTerminal(screen)
    store = default_store()
    if show_login is not None:
        provider = BrowserLogin(store, terminal=terminal, open_browser=show_login)
        return oauth_with(url, provider, account=account)
    if terminal.is_interactive:
        return oauth_with(url, BrowserLogin(store, terminal=terminal), account=account)
    return oauth_with(url, TwoStepLogin(store), account=account)


def oauth_with(url: str, provider: BrowserLogin | TwoStepLogin, **options: Any) -> OAuth:
    """Return a login at a server, through ``provider``, with the options of `OAuth`."""
    # A server on this machine has its authorization server here as well.
    is_local = host_of(http_url(parse_url(url))) in LOOPBACK_HOSTS
    return OAuth(local_development=is_local, provider=provider, **options)
