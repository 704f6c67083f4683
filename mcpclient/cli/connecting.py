"""Clients made from a server and the options of a command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Awaitable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Callable

from ..client.answers.answerers import Elicitation
from ..client.client import Client
from ..client.connection.options import Wiring
from ..errors import UsageError
from ..net.network_options import Negotiate
from .command import Server
from .output import is_terminal
from .parsing import NEEDED, STARTED_HERE, URL_SCHEMES, check_logs, spelled
from .screen import Screen

if TYPE_CHECKING:
    from ..auth.options import Authentication
    from ..config.config import ServerConfig
    from ..sandbox.rights import Sandbox
    from .asking import Asking

# Options of the command line that a client has as well.
_SAME = (
    *("timeout", "max_timeout", "protocol_version", "transport"),
    *("cwd", "trace", "ca_file", "proxy"),
)
# The commands that handle tasks; a session's caller may be one of them.
_WITH_TASKS = ("task", "tasks", "open")
_WITH_HEADERS = ("http://", "https://", "ws://", "wss://")


REFUSING: dict[str, Any] = {
    "elicitation": Elicitation(lambda request: False, lambda request: False),
    "sampling": lambda request: None,
    "roots": [],
}
"""The handlers of a command that only lists, and so is asked nothing.

With them it declares all that any command can do, since servers offer more to clients that do more.
"""


def client_for(
    server: Server, options: argparse.Namespace, screen: Screen, **others: Any
) -> Client:
    """Return a client, not yet connected, with the options of `client_options`."""
    if server.config is not None:
        decision = partial(str, server.config.decision)
        others["_wiring"] = others.get("_wiring", Wiring())._replace(decision=decision)
    return Client(server.target, **client_options(server, options, screen, **others))


def client_options(
    server: Server,
    options: argparse.Namespace,
    screen: Screen,
    *,
    show_login: Callable[[str], Awaitable[bool]] | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Return the options of a client. Raises `UsageError` for an invalid combination.

    The command line takes precedence over the configuration of the server. ``show_login``: shows
    the address of a login, in place of the terminal. ``others``: client options that have no
    counterpart on the command line.
    """
    _check(server, options)
    if options.bearer is not None and not options.bearer.strip():
        raise UsageError("--bearer has an empty token").advise(
            "Set the variable that should hold the token, or leave out --bearer to log in."
        )
    for note in server.notes:
        screen.say(note)
    own, headers, env = server.options, dict(options.header), dict(options.env)
    given = {
        **{name: getattr(options, name) for name in _SAME},
        "headers": _with_headers(own.get("headers", {}), headers) if headers else None,
        "env": {**own.get("env", {}), **env} if env else None,
        "audit": options.audit and (own.get("audit"), options.audit),
        "sandbox": _sandbox(server, options),
        "verify": False if options.insecure else None,
        "proxy_auth": Negotiate() if options.proxy_negotiate else None,
        "tasks": options.command in _WITH_TASKS or getattr(options, "detach", False) or None,
        "auth": options.bearer or _login(server, options, screen, show_login),
    }
    named = {name: value for name, value in given.items() if value is not None}
    merged = {"strict_version": True, **own, **named}
    if options.account:
        if not hasattr(merged.get("auth"), "account"):
            raise _without_effect("account", NEEDED["account"])
        from dataclasses import replace

        merged["auth"] = replace(merged["auth"], account=options.account)
    merged["stderr"] = "discard" if options.quiet else screen.say

    @lru_cache(maxsize=1)  # made, and imported, with the first question
    def asking() -> Asking:
        from .asking import Asking

        return Asking(screen, options.elicit, model=options.model, server=server)

    return {**merged, **answers_of(asking, options), **others}


def _with_headers(own: Any, given: dict[str, str]) -> Any:
    """Return the headers of a configuration, each replaced by a given one of its name."""
    with_headers = getattr(own, "with_headers", None)
    if with_headers is not None:
        return with_headers(given)
    again = {header.lower() for header in given}
    return {**{each: text for each, text in own.items() if each.lower() not in again}, **given}


def _sandbox(server: Server, options: argparse.Namespace) -> Sandbox | None:
    read, write = (
        [os.path.abspath(os.path.expanduser(path)) for path in paths]
        for paths in (options.allow_read, options.allow_write)
    )
    own = server.options.get("sandbox")
    if not (options.sandbox or own):
        for name in ("allow_read", "allow_write", "allow_network"):
            if getattr(options, name):
                raise UsageError(f"{spelled(name)} needs --sandbox").advise(
                    "Without --sandbox the server has all of your rights."
                )
        return None
    from ..sandbox.rights import Sandbox

    given = Sandbox(read, write, options.allow_network)
    return given if own is None else Sandbox.of(own) | given


def with_options(
    config: ServerConfig, options: argparse.Namespace, screen: Screen, **others: Any
) -> ServerConfig:
    """Return a configured server with the options of `client_options`."""
    from dataclasses import replace

    server = Server(config.target, config.options)
    return replace(config, options=client_options(server, options, screen, **others))


def answers_of(asking: Callable[[], Asking], options: argparse.Namespace) -> dict[str, Any]:
    """Return the handlers of a server's questions: the user, a program, or ``--elicit``."""
    form, visit = (lambda request: asking().form(request)), (lambda url: asking().visit(url))
    answers: dict[str, Any] = {"elicitation": Elicitation(form, visit)}
    may_ask = options.elicit == "ask" and is_terminal(sys.stdin) and is_terminal(sys.stderr)
    if options.model or may_ask:
        answers["sampling"] = lambda request: asking().sample(request)
    return answers


def _login(
    server: Server,
    options: argparse.Namespace,
    screen: Screen,
    show_login: Callable[[str], Awaitable[bool]] | None,
) -> Authentication | Negotiate | None:
    """Return the login for a server, or None if other credentials are given."""
    target = server.target
    if options.negotiate:
        return Negotiate()
    if not isinstance(target, str) or not target.lower().startswith(_WITH_HEADERS):
        return None
    from ..framing.uri import parse_url

    if parse_url(target).credentials is not None:
        return None  # of another account than a stored login may have
    own = server.options.get("headers", {})
    if callable(own) or getattr(own, "missing", None):
        return None  # the file names its credentials; the error names the unset variable
    named = [name.lower() for name in (*dict(options.header), *own)]
    if "authorization" in named or server.options.get("auth") is not None:
        return None
    from .auth import login_for

    return login_for(target, screen, show_login)


def _check(server: Server, options: argparse.Namespace) -> None:
    """Refuse an option without effect on this server, and a log that cannot be written."""
    check_logs(options.trace, options.audit)
    url = server.target.lower() if isinstance(server.target, str) else ""
    is_web = url.startswith(_WITH_HEADERS)
    for name, needed in NEEDED.items():
        is_of_use = not url.startswith(URL_SCHEMES) if needed == STARTED_HERE else is_web
        if getattr(options, name) and not is_of_use:
            raise _without_effect(name, needed)


def _without_effect(name: str, needed: str) -> UsageError:
    hint = f"Leave out {spelled(name)}, or name a server that supports it."
    return UsageError(f"{spelled(name)} needs {needed}").advise(hint)
