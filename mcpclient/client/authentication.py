"""The values of ``auth=``, and functions to log in and out by hand.

Each value extends its options in `mcpclient.auth.options` by what it needs to act on them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from ..auth import options
from ..auth.authorization_code import parse_callback
from ..auth.authorized_request import StaticAuthorization
from ..auth.effects import AuthProvider, Callback, CredentialStore, Fetch, Response
from ..auth.flow import Authorization
from ..auth.grants import account_url
from ..errors import UsageError
from ..framing.uri import parse_url
from ..net.guarded_fetch import GuardedFetcher
from ..net.login.logins import BrowserLogin
from ..net.login.storage import FileStore, MemoryStore, credentials_path
from ..net.network_options import NetworkOptions
from ..net.recorder import Recorder, TraceTarget
from ..protocol.negotiation import LATEST_HANDSHAKE
from ..transports.authorized import Credentials, http_url
from .login.forgetting import forget_variables
from .login.needs_auth import NeedsAuthMemory, memory_of
from .login.runner import OAuthAuthorizer, StaticAuthorizer, result_at_once

# Any request will do: what matters is how a server refuses it. A ping is harmless if it does not.
_PROBE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()


@dataclass(frozen=True)
class OAuth(options.OAuth):
    """A user's login: once in a browser, and afterwards with the refresh token.

    All options may be left out.

    - ``client_id``, with ``client_secret`` or ``signer`` if it has one: a client that the
      authorization server knows. ``client_metadata_url``: the https URL of the client's own
      metadata document. Without either the client registers itself, as ``client_name``.
    - ``scopes``: asked for instead of those that the server names. ``redirect_uri``: where the
      browser comes back to. ``device``: prefer the device grant where the server offers it.
    - ``provider``: leads the user to the login and keeps credentials (by default a `BrowserLogin`).
    - ``token_endpoint_auth_method``: only needed where the server's metadata does not tell.
    - ``issuer``: the only authorization server to accept. ``endpoints``: an `Endpoints`, used
      instead of metadata. ``trust_first_issuer``: give the secret to the authorization server that
      is named first, and to no other. With a secret or signer, one of the three is needed.
    - ``resource``: the resource indicator to send ("": none).
      ``allowed_hosts``: hosts where endpoints may be, besides the issuer's. ``local_development``:
      allow http and private hosts. ``ssl_context``: for TLS with authorization servers, to which
      the client's ``verify=False`` and ``ssl_context=`` do not apply. ``dpop``: insist on tokens
      that are bound to a key.
    - ``account``: a name of your choice for one of several accounts at one URL: each has a login of
      its own. A stored login is used only by options that ask for its account, scopes, resource and
      key.
    """

    provider: AuthProvider | None = field(default=None, repr=False, compare=False)

    def authorizer(self, server_url: str, network: NetworkOptions | None = None) -> OAuthAuthorizer:
        """What authorizes requests to ``server_url``."""
        return _authorizer(self, server_url, network, self.provider or _login_with(default_store()))

    def credentials(self, server_url: str, network: NetworkOptions) -> OAuthAuthorizer:
        """Return what requests to ``server_url`` are to carry."""
        return self.authorizer(server_url, network)


@dataclass(frozen=True)
class ClientCredentials(options.ClientCredentials):
    """A program that acts for itself: ``client_id`` with ``client_secret`` or ``signer``.

    ``issuer``, ``endpoints`` or ``trust_first_issuer=True`` says which authorization server they
    are for; without, a UsageError is raised.
    ``store``: keeps tokens (by default a file that only this user may read). Further options:
    ``scopes``, ``token_endpoint_auth_method``, and the last two groups of `OAuth`'s.
    """

    store: CredentialStore | None = field(default=None, repr=False, compare=False)

    def credentials(self, server_url: str, network: NetworkOptions) -> OAuthAuthorizer:
        """Return what requests to ``server_url`` are to carry."""
        return _authorizer(self, server_url, network, self.store or default_store())


@dataclass(frozen=True)
class EnterpriseManaged(options.EnterpriseManaged):
    """Access granted by an enterprise's ``identity_provider`` (an `IdentityProvider`).

    ``client_id`` and ``client_secret`` (or ``signer``) are those at the server's own authorization
    server. ``store``: keeps tokens (by default a file that only this user may read). Further
    options: ``scopes``, ``token_endpoint_auth_method``, and the last two groups of `OAuth`'s.
    """

    store: CredentialStore | None = field(default=None, repr=False, compare=False)

    def credentials(self, server_url: str, network: NetworkOptions) -> OAuthAuthorizer:
        """Return what requests to ``server_url`` are to carry."""
        return _authorizer(self, server_url, network, self.store or default_store())


@dataclass(frozen=True)
class WorkloadIdentity(options.WorkloadIdentity):
    """A workload known by a JWT of its platform: ``assertion``, or a function that gives one.

    ``store``: keeps tokens (by default a file that only this user may read). Further options:
    ``client_id``, ``scopes``, and the last two groups of `OAuth`'s.
    """

    store: CredentialStore | None = field(default=None, repr=False, compare=False)

    def credentials(self, server_url: str, network: NetworkOptions) -> OAuthAuthorizer:
        """Return what requests to ``server_url`` are to carry."""
        return _authorizer(self, server_url, network, self.store or default_store())


@dataclass(frozen=True)
class BearerToken(options.BearerToken):
    """A ``token`` from elsewhere, or a function, plain or async, called before every request."""

    def credentials(self, server_url: str, network: NetworkOptions) -> Credentials:
        """Return what requests to ``server_url`` are to carry."""
        return _static(self, self.token, server_url)


@dataclass(frozen=True)
class ApiKey(options.ApiKey):
    """A ``key``, or a function that gives one before every request, sent in its own ``header``."""

    def credentials(self, server_url: str, network: NetworkOptions) -> Credentials:
        """Return what requests to ``server_url`` are to carry."""
        return _static(self, self.key, server_url)


async def log_in(
    server_url: str, auth: OAuth | None = None, *, trace: TraceTarget | None = None
) -> None:
    """Lead the user through a login now, even if there was one before.

    ``trace``: where a transcript of it goes, as of `Client`.

    Raises what a call that needs a login raises.
    """
    parsed = parse_url(server_url)
    url = str(parsed)
    options = auth or OAuth()
    recorder = None if trace is None else Recorder(trace)
    if recorder is not None:
        recorder.begin("http", parsed.shown)
    network = _network(recorder)
    authorizer = options.authorizer(url, network)
    try:
        await authorizer.log_in(await _refusal_of(url, options, network))
    finally:
        await authorizer.close()


async def _refusal_of(url: str, options: OAuth, network: NetworkOptions) -> Response | None:
    """Return how the server refuses an unauthorized request, which says where to log in."""
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    request = Fetch("POST", url, headers, _PROBE, options.url_policy(url), 64 * 1024)
    response = await GuardedFetcher(network, ssl_context=options.ssl_context).fetch(request)
    return response if response.status == 401 else None


async def log_out(
    server_url: str,
    auth: OAuth | ClientCredentials | EnterpriseManaged | WorkloadIdentity | None = None,
) -> None:
    """Forget the login to a server, and revoke it there where the server offers that (RFC 7009).

    ``auth``: the options it was made with. An authorization server that was trusted first for them
    (``trust_first_issuer``) is forgotten as well. Does nothing when there was no login. A server
    that cannot be reached, or takes more than 5 s, is left alone: here the login is forgotten.
    """
    await (auth or OAuth()).credentials(str(parse_url(server_url)), _network()).log_out()


async def finish_auth(
    server_url: str,
    code: str,
    state: str | None = None,
    *,
    iss: str | None = None,
    auth: OAuth | None = None,
) -> None:
    """Finish a login after `AuthorizationRequired`, with what the browser came back with.

    ``code``, ``state`` and ``iss`` are parameters of the address that the browser was sent to, or
    ``code`` alone is that whole address. ``auth``: the same options as before, in this process or
    another one with the same store. Afterwards connect again.

    Raises UsageError for an address without a code, AuthError when ``state`` belongs to no login
    begun here, AuthorizationDenied, TokenRequestFailed.
    """
    try:
        callback = parse_callback(code) if state is None else Callback(code, state, iss)
    except UsageError as error:
        forget_variables(error)
        raise
    finally:
        del code, state, iss  # so that no traceback holds them: see forget_variables
    authorizer = (auth or OAuth()).authorizer(str(parse_url(server_url)))
    await authorizer.finish(callback)


async def awaiting_login(servers: Mapping[str, object]) -> set[str]:
    """Return the URLs of servers that needed a login less than 15 minutes ago and got none.

    ``servers``: what ``auth=`` is for each URL. Those that share a store are looked up in one read.
    """
    by_memory: dict[NeedsAuthMemory, dict[str, str]] = {}
    for url, auth in servers.items():
        if isinstance(auth, OAuth):  # nothing else needs a human
            memory = memory_of(auth.provider or _login_with(default_store()))
            by_memory.setdefault(memory, {})[_account_url(url, auth)] = url
    found: set[str] = set()
    for memory, urls in by_memory.items():
        found |= {urls[url] for url in await memory.remembered(urls)}
    return found


async def expect_login(server_url: str, auth: OAuth) -> None:
    """Forget that a server needed a login and got none: the user wants to try again."""
    memory = memory_of(auth.provider or _login_with(default_store()))
    await memory.clear(_account_url(server_url, auth))


def _account_url(server_url: str, auth: OAuth) -> str:
    return account_url(http_url(parse_url(server_url)), auth.account)


def _network(recorder: Recorder | None = None) -> NetworkOptions:
    return NetworkOptions.of(recorder=recorder, environ=os.environ)


def _authorizer(
    auth: options.OAuthOptions,
    server_url: str,
    network: NetworkOptions | None,
    provider: AuthProvider | CredentialStore,
) -> OAuthAuthorizer:
    authorization = Authorization(server_url, auth, protocol_version=LATEST_HANDSHAKE)
    fetcher = GuardedFetcher(network or _network(), ssl_context=auth.ssl_context)
    return OAuthAuthorizer(authorization, provider, fetcher)


def _static(
    auth: options.BearerToken | options.ApiKey, source: options.TokenSource, server_url: str
) -> Credentials:
    authorization = StaticAuthorization(server_url, auth)
    if isinstance(source, str):
        return result_at_once(authorization.request("POST", server_url).headers())
    return StaticAuthorizer(authorization, MemoryStore(), GuardedFetcher())


def default_store() -> FileStore:
    """The file of this user's credentials."""
    return _store_at(credentials_path(os.environ))


# One object for one file, so that logins to many servers come one after the other.


@lru_cache(maxsize=16)
def _store_at(path: Path) -> FileStore:
    return FileStore(path)


@lru_cache(maxsize=16)
def _login_with(store: FileStore) -> BrowserLogin:
    return BrowserLogin(store)
