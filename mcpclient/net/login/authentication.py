"""The authorizer of a value of ``auth=``, and functions to log in and out by hand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import get_args

from ...auth.effects import AuthProvider, Callback
from ...auth.flow import Authorization
from ...auth.grants import account_url
from ...auth.obtaining import parse_callback
from ...auth.options import ApiKey, Authentication, BearerToken, OAuth, OAuthOptions
from ...auth.tokens import StaticRequest
from ...errors import UsageError
from ...framing.uri import http_url, parse_url
from ...protocol.negotiation import LATEST_HANDSHAKE
from ..guarded_fetch import GuardedFetcher
from ..network_options import NetworkOptions
from ..recorder import Recorder, TraceTarget
from .logins import BrowserLogin
from .runner import OAuthAuthorizer, StaticAuthorizer, forget_variables, result_at_once
from .storage import FileStore, NeedsAuthMemory, credentials_path, memory_of


def credentials_for(
    auth: Authentication, server_url: str, network: NetworkOptions
) -> Mapping[str, str] | StaticAuthorizer | OAuthAuthorizer:
    """Return the fixed headers, or the authorizer, that requests to ``server_url`` carry.

    ``server_url``: an http or https URL. Raises UsageError when ``auth`` is of another type.
    """
    if not isinstance(auth, get_args(Authentication)):
        # Its repr may show a secret, so only its type is named.
        given = f"the class {auth.__name__}" if isinstance(auth, type) else type(auth).__name__
        raise UsageError(f"auth is a token as a string, or an object such as OAuth(), not {given}")
    if isinstance(auth, (BearerToken, ApiKey)):
        if isinstance(auth.token if isinstance(auth, BearerToken) else auth.key, str):
            return result_at_once(StaticRequest(server_url, auth, server_url).headers())
        return StaticAuthorizer(server_url, auth)
    return authorizer_for(auth, server_url, network)


def authorizer_for(
    auth: OAuthOptions, server_url: str, network: NetworkOptions | None = None
) -> OAuthAuthorizer:
    """Return the authorizer of requests to ``server_url``."""
    authorization = Authorization(server_url, auth, protocol_version=LATEST_HANDSHAKE)
    fetcher = GuardedFetcher(network or _network(), ssl_context=auth.ssl_context)
    provider = _provider_of(auth) if isinstance(auth, OAuth) else auth.store or default_store()
    return OAuthAuthorizer(authorization, provider, fetcher)


async def log_in(
    server_url: str, auth: OAuth | None = None, *, trace: TraceTarget | None = None
) -> None:
    """Lead the user through a login now, even if there was one before.

    ``trace``: the target of a transcript, as of `Client`. Raises as a call that needs a login does.
    """
    url = parse_url(server_url)
    recorder = None if trace is None else Recorder(trace)
    if recorder is not None:
        recorder.begin("http", url.shown)
    authorizer = authorizer_for(auth or OAuth(), str(url), _network(recorder))
    try:
        await authorizer.log_in()
    finally:
        await authorizer.close()


async def log_out(server_url: str, auth: OAuthOptions | None = None) -> None:
    """Forget the login to a server, and revoke it there where the server offers that (RFC 7009).

    ``auth``: the options it was made with. An authorization server that was trusted first for them
    (``trust_first_issuer``) is forgotten as well. Does nothing without a login. Does not raise when
    the server cannot be reached, or takes more than 5 s to revoke it.
    """
    await authorizer_for(auth or OAuth(), str(parse_url(server_url))).log_out()


async def finish_auth(
    server_url: str,
    code: str,
    state: str | None = None,
    *,
    iss: str | None = None,
    auth: OAuth | None = None,
) -> None:
    """Finish a login after `AuthorizationRequired`; afterwards connect again.

    ``code``, ``state`` and ``iss`` are parameters of the address that the browser was sent back to,
    or ``code`` alone is that whole address. ``auth``: the same options as before, in this process
    or another one with the same store.

    Raises UsageError for an address without a code, AuthError when ``state`` belongs to no login
    begun here, AuthorizationDenied, TokenRequestFailed.
    """
    try:
        callback = parse_callback(code) if state is None else Callback(code, state, iss)
    except UsageError as error:
        forget_variables(error)
        raise
    finally:
        del code, state, iss  # keeps them out of tracebacks: see forget_variables
    authorizer = authorizer_for(auth or OAuth(), str(parse_url(server_url)))
    await authorizer.finish(callback)


async def awaiting_login(servers: Mapping[str, object]) -> set[str]:
    """Return the URLs of servers that needed a login less than 15 minutes ago and got none.

    ``servers``: the value of ``auth=`` for each URL. Each store is read once for all its servers.
    """
    by_memory: dict[NeedsAuthMemory, dict[str, str]] = {}
    for url, auth in servers.items():
        if isinstance(auth, OAuth):  # the other ways do not need a human
            memory = memory_of(_provider_of(auth))
            by_memory.setdefault(memory, {})[_account_url(url, auth)] = url
    found: set[str] = set()
    for memory, urls in by_memory.items():
        found |= {urls[url] for url in await memory.remembered(urls)}
    return found


async def expect_login(server_url: str, auth: OAuth) -> None:
    """Forget that a server needed a login, because the user wants to try again."""
    memory = memory_of(_provider_of(auth))
    await memory.clear(_account_url(server_url, auth))


def _account_url(server_url: str, auth: OAuth) -> str:
    return account_url(http_url(parse_url(server_url)), auth.account)


def _network(recorder: Recorder | None = None) -> NetworkOptions:
    return NetworkOptions(recorder=recorder).with_proxy(None, os.environ)


def _provider_of(auth: OAuth) -> AuthProvider:
    return auth.provider or _login_with(default_store())


def default_store() -> FileStore:
    """Return the store in the file of this user's credentials."""
    return _store_at(credentials_path(os.environ))


# One object for each file, so that logins to several servers happen one at a time.


@lru_cache(maxsize=16)
def _store_at(path: Path) -> FileStore:
    return FileStore(path)


@lru_cache(maxsize=16)
def _login_with(store: FileStore) -> BrowserLogin:
    return BrowserLogin(store)
