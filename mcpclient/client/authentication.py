"""The values of ``auth=``, each with what it needs to act, and logging in and out by hand."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from ..auth import options
from ..auth.authorization_code import parse_callback
from ..auth.effects import Callback, Fetch, Response
from ..auth.flow import Authorization
from ..auth.provider import AuthProvider, CredentialStore
from ..auth.static import StaticAuthorization
from ..framing.uri import parse_url
from ..net.guarded_fetch import GuardedFetcher
from ..net.logins import BrowserLogin
from ..net.network_options import NetworkOptions
from ..net.storage import FileStore, MemoryStore, credentials_path
from ..protocol.versions import LATEST_HANDSHAKE
from ..transports.authorized import Credentials
from .authorize import OAuthAuthorizer, StaticAuthorizer, settled

__all__ = [
    "ApiKey",
    "BearerToken",
    "ClientCredentials",
    "EnterpriseManaged",
    "OAuth",
    "WorkloadIdentity",
    "default_store",
    "finish_auth",
    "log_in",
    "log_out",
]

# Harmless wherever it is understood; what matters is how it is refused.
_KNOCK = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()


@dataclass(frozen=True)
class OAuth(options.OAuth):
    """A user's login, once in a browser; afterwards its refresh token is used.

    Every option is optional. ``client_id`` with ``client_secret`` or ``signer``: a client that the
    authorization server knows; ``client_metadata_url``: the https URL of the client's own metadata
    document; without them the client registers itself. ``scopes``: instead of those that the server
    names. ``redirect_uri``: where the browser comes back to. ``device``: prefer the device grant.
    ``provider``: leads the user and keeps credentials (`BrowserLogin`). Further: ``client_name``,
    ``token_endpoint_auth_method``, and the options of `ServerTrust`: ``issuer``, ``endpoints``,
    ``resource``, ``allowed_hosts``, ``local_development``, ``dpop``.
    """

    provider: AuthProvider | None = field(default=None, repr=False, compare=False)

    def authorizer(self, server_url: str, network: NetworkOptions | None = None) -> OAuthAuthorizer:
        """What authorizes requests to ``server_url``."""
        return _authorizer(self, server_url, network, self.provider or _login_with(default_store()))

    def credentials(self, server_url: str, network: NetworkOptions) -> Credentials:
        """What a client of ``server_url`` sends."""
        return self.authorizer(server_url, network)


@dataclass(frozen=True)
class ClientCredentials(options.ClientCredentials):
    """A program that acts for itself: ``client_id`` with ``client_secret`` or ``signer``.

    ``store``: keeps tokens (a file of mode 0600). Further options: ``scopes``,
    ``token_endpoint_auth_method``, and those of `ServerTrust`.
    """

    store: CredentialStore | None = field(default=None, repr=False, compare=False)

    def credentials(self, server_url: str, network: NetworkOptions) -> Credentials:
        """What a client of ``server_url`` sends."""
        return _authorizer(self, server_url, network, self.store or default_store())


@dataclass(frozen=True)
class EnterpriseManaged(options.EnterpriseManaged):
    """Access granted by an enterprise's ``identity_provider`` (an `IdentityProvider`).

    ``client_id`` and ``client_secret`` (or ``signer``) are those at the server's own authorization
    server. ``store``: keeps tokens (a file of mode 0600). Further options: ``scopes``,
    ``token_endpoint_auth_method``, and those of `ServerTrust`.
    """

    store: CredentialStore | None = field(default=None, repr=False, compare=False)

    def credentials(self, server_url: str, network: NetworkOptions) -> Credentials:
        """What a client of ``server_url`` sends."""
        return _authorizer(self, server_url, network, self.store or default_store())


@dataclass(frozen=True)
class WorkloadIdentity(options.WorkloadIdentity):
    """A workload known by a JWT of its platform: ``assertion``, or a function that gives one.

    ``store``: keeps tokens (a file of mode 0600). Further options: ``client_id``, ``scopes``, and
    those of `ServerTrust`.
    """

    store: CredentialStore | None = field(default=None, repr=False, compare=False)

    def credentials(self, server_url: str, network: NetworkOptions) -> Credentials:
        """What a client of ``server_url`` sends."""
        return _authorizer(self, server_url, network, self.store or default_store())


@dataclass(frozen=True)
class BearerToken(options.BearerToken):
    """A ``token`` from elsewhere; a function, plain or async, is asked before every request."""

    def credentials(self, server_url: str, network: NetworkOptions) -> Credentials:
        """What a client of ``server_url`` sends."""
        return _static(self, self.token, server_url)


@dataclass(frozen=True)
class ApiKey(options.ApiKey):
    """A ``key`` sent in a ``header`` of its own; a function is asked before every request."""

    def credentials(self, server_url: str, network: NetworkOptions) -> Credentials:
        """What a client of ``server_url`` sends."""
        return _static(self, self.key, server_url)


async def log_in(server_url: str, auth: OAuth | None = None) -> None:
    """Lead the user through a login now, even if there was one before.

    Raises what a call that needs a login raises.
    """
    url = str(parse_url(server_url))
    options = auth or OAuth()
    authorizer = options.authorizer(url)
    try:
        await authorizer.log_in(await _refusal_of(url, options))
    finally:
        await authorizer.close()


async def _refusal_of(url: str, options: OAuth) -> Response | None:
    """What the server answers to a stranger: it says where to log in."""
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    request = Fetch("POST", url, headers, _KNOCK, options.url_policy(url), 64 * 1024)
    response = await GuardedFetcher(_network()).fetch(request)
    return response if response.status == 401 else None


async def log_out(server_url: str, auth: OAuth | None = None) -> None:
    """Forget what a login to the server has brought."""
    await (auth or OAuth()).authorizer(str(parse_url(server_url))).log_out()


async def finish_auth(
    server_url: str,
    code: str,
    state: str | None = None,
    *,
    iss: str | None = None,
    auth: OAuth | None = None,
) -> None:
    """Go on after `AuthorizationRequired`, with what the browser was sent back with.

    ``code``, ``state`` and ``iss`` are parameters of the address it came to; ``code`` alone may
    also be that whole address. ``auth``: the same options as before, in this process or another
    one with the same store. Afterwards connect again.

    Raises AuthError for a state of no login begun here, AuthorizationDenied, TokenRequestFailed.
    """
    callback = parse_callback(code) if state is None else Callback(code, state, iss)
    authorizer = (auth or OAuth()).authorizer(str(parse_url(server_url)))
    await authorizer.finish(callback)


def _network() -> NetworkOptions:
    return NetworkOptions.of(environ=os.environ)


def _authorizer(
    auth: options.OAuthOptions,
    server_url: str,
    network: NetworkOptions | None,
    provider: AuthProvider | CredentialStore,
) -> OAuthAuthorizer:
    authorization = Authorization(server_url, auth, protocol_version=LATEST_HANDSHAKE)
    return OAuthAuthorizer(authorization, provider, GuardedFetcher(network or _network()))


def _static(
    auth: options.BearerToken | options.ApiKey, source: options.TokenSource, server_url: str
) -> Credentials:
    authorization = StaticAuthorization(server_url, auth)
    if isinstance(source, str):
        return settled(authorization.request("POST", server_url).headers())
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
