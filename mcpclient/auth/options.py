"""The values of ``auth=``: the options by which a caller identifies itself to a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Union
from urllib.parse import urlsplit

from ..errors import UsageError
from ..framing.uri import LOOPBACK_HOSTS
from .effects import AuthProvider, CredentialStore
from .signing import Signer
from .url_guard import UrlPolicy, host_of, origin_of

if TYPE_CHECKING:
    from ssl import SSLContext

# A token, or a function without arguments that returns one or an awaitable of one, called each time
# one is needed.
TokenSource = Union[str, Callable[[], object]]


@dataclass(frozen=True)
class Endpoints:
    """Endpoints of an authorization server whose metadata is missing or wrong.

    They are used unchecked, and the user vouches that the server supports PKCE with S256.
    """

    token_endpoint: str
    authorization_endpoint: str | None = None
    registration_endpoint: str | None = None
    device_authorization_endpoint: str | None = None
    revocation_endpoint: str | None = None


@dataclass(frozen=True)
class ServerTrust:
    """The options of every way to authorize: which servers to trust, and where they are.

    - ``issuer``: the only authorization server to accept, by its exact issuer identifier. It may
      differ from the one in the resource's metadata, since the user vouches for it. Default: the
      one that the metadata names.
    - ``endpoints``: an `Endpoints`, used in place of all metadata.
    - ``trust_first_issuer``: give a secret, a signature or an assertion to the authorization server
      that the first server names. It is remembered for these credentials after the first success,
      and no other one gets them, whatever server names it; `log_out` forgets it. With a secret, one
      of these three is needed.
    - ``resource``: the resource indicator to send (RFC 8707) in place of the one in the metadata;
      "" sends none, for servers that refuse it.
    - ``allowed_hosts``: hosts where endpoints may be, besides the issuer's own.
    - ``local_development``: allow http, and hosts that are loopback, private or link-local.
    - ``ssl_context``: for TLS with authorization servers. Without it they need certificates of an
      authority that the system trusts, or of the client's ``ca_file``. The client's
      ``verify=False`` and ``ssl_context=`` are for the origin of the MCP server alone.
    - ``dpop``: True requires tokens bound to a key (RFC 9449); by default they are used where the
      server accepts no others.
    - ``account``: a name of the user's own choice for one of several accounts at one URL, so that
      each has a login of its own. A stored login is used only by options that ask for its account,
      scopes, resource and key.
    """

    issuer: str | None = None
    endpoints: Endpoints | None = None
    trust_first_issuer: bool = False
    resource: str | None = None
    allowed_hosts: Sequence[str] = ()
    local_development: bool = False
    ssl_context: SSLContext | None = field(default=None, repr=False)
    dpop: bool = False
    account: str | None = None

    @property
    def holds_secret(self) -> bool:
        """Whether the authorization server gets a secret, a signature or an assertion."""
        return True

    @property
    def knows_issuer(self) -> bool:
        """Whether the user named the authorization server."""
        return self.issuer is not None or self.endpoints is not None

    def _check_issuer(self) -> None:
        if self.holds_secret and not self.knows_issuer and not self.trust_first_issuer:
            raise UsageError(
                f"{type(self).__name__} with a secret needs issuer=, the authorization server that "
                "may have it; or endpoints=; or trust_first_issuer=True, to trust the one that the "
                "MCP server names first"
            )

    def url_policy(self, server_url: str) -> UrlPolicy:
        """Return the guard's policy for ``server_url``; hosts the user named may be private."""
        named = [server_url, *self._named_urls()]
        return UrlPolicy(
            allow_insecure_http=self.local_development,
            allow_loopback=self.local_development,
            allowed_hosts=frozenset(self.allowed_hosts),
            trusted_origins=frozenset(origin_of(url) for url in named if url is not None),
            server_origin=origin_of(server_url),
        )

    def _named_urls(self) -> list[str | None]:
        return [self.issuer, *(vars(self.endpoints).values() if self.endpoints else ())]


@dataclass(frozen=True)
class OAuth(ServerTrust):
    """A user's login: once in a browser (authorization code with PKCE), then by refresh token.

    All options may be left out.

    - ``client_id``, with ``client_secret`` or ``signer`` (private_key_jwt) if it has one: a client
      that the authorization server knows. ``client_metadata_url``: the https URL of the client's
      own metadata document. Without either the client registers itself, as ``client_name``.
    - ``scopes``: requested instead of those that the server names. ``redirect_uri``: the address of
      the callback, needed where the server knows the client. ``device``: prefer the device
      grant (RFC 8628) where the server offers it.
    - ``provider``: leads the user to the login and keeps credentials. Default: a `BrowserLogin`.
    - ``token_endpoint_auth_method``: only needed where the server's metadata does not name one.
    - ``issuer``, ``endpoints``, ``trust_first_issuer``: which authorization server to trust; with a
      secret or signer, one of the three is needed. They and ``resource``, ``allowed_hosts``,
      ``local_development``, ``ssl_context``, ``dpop`` and ``account``: see `ServerTrust`.
    """

    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    signer: Signer | None = field(default=None, repr=False)
    client_metadata_url: str | None = None
    client_name: str = "mcpclient"
    redirect_uri: str | None = None
    scopes: Sequence[str] | None = None
    token_endpoint_auth_method: str | None = None
    device: bool = False
    provider: AuthProvider | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.client_id is None and (self.client_secret or self.signer):
            raise UsageError("client_secret and signer need a client_id")
        if self.client_metadata_url is not None:
            parts = urlsplit(self.client_metadata_url)
            if parts.scheme != "https" or parts.path in ("", "/"):
                raise UsageError("client_metadata_url must be an https URL with a path")
        redirect_uri = self.redirect_uri or ""
        if redirect_uri.startswith("http://") and host_of(redirect_uri) not in LOOPBACK_HOSTS:
            raise UsageError("redirect_uri must use https, unless it leads to this machine")
        self._check_issuer()

    @property
    def holds_secret(self) -> bool:
        """Whether the client is one with a secret or a key."""
        return self.client_secret is not None or self.signer is not None


@dataclass(frozen=True)
class ClientCredentials(ServerTrust):
    """A program that acts for itself: ``client_id`` with ``client_secret`` or ``signer``.

    ``issuer``, ``endpoints`` or ``trust_first_issuer=True`` names the authorization server that may
    have them; without one of these, a UsageError is raised. ``store``: keeps tokens (default: a
    file that only this user may read). ``token_endpoint_auth_method``: only needed where the
    server's metadata does not name one. Further options: ``scopes``, and the options of
    `ServerTrust`.
    """

    client_id: str = ""
    client_secret: str | None = field(default=None, repr=False)
    signer: Signer | None = field(default=None, repr=False)
    scopes: Sequence[str] | None = None
    token_endpoint_auth_method: str | None = None
    store: CredentialStore | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.client_id or (self.client_secret is None) == (self.signer is None):
            raise UsageError("ClientCredentials needs a client_id and a client_secret or a signer")
        self._check_issuer()


@dataclass(frozen=True)
class IdentityProvider:
    """An enterprise's identity provider, shared by the servers that opt in.

    ``identity_assertion`` is the user's ID token or SAML assertion (or a function that gives one).
    """

    token_endpoint: str
    client_id: str
    identity_assertion: TokenSource = field(repr=False)
    client_secret: str | None = field(default=None, repr=False)
    assertion_type: str = "urn:ietf:params:oauth:token-type:id_token"


def _missing_provider() -> IdentityProvider:
    # A field after fields with defaults needs one too, although none makes sense here.
    raise UsageError("enterprise-managed authorization needs an identity_provider")


@dataclass(frozen=True)
class EnterpriseManaged(ServerTrust):
    """Access granted by an enterprise's ``identity_provider`` (ID-JAG, "cross-app access").

    ``client_id`` and ``client_secret`` (or ``signer``) are those at the MCP server's own
    authorization server. ``store``: keeps tokens (default: a file that only this user may read).
    Further options: ``scopes``, ``token_endpoint_auth_method``, and the options of `ServerTrust`.
    """

    identity_provider: IdentityProvider = field(default_factory=_missing_provider)
    client_id: str = ""
    client_secret: str | None = field(default=None, repr=False)
    signer: Signer | None = field(default=None, repr=False)
    scopes: Sequence[str] | None = None
    token_endpoint_auth_method: str | None = None
    store: CredentialStore | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.client_id:
            raise UsageError("enterprise-managed authorization needs a client_id")
        self._check_issuer()

    def _named_urls(self) -> list[str | None]:
        return [*super()._named_urls(), self.identity_provider.token_endpoint]


@dataclass(frozen=True)
class WorkloadIdentity(ServerTrust):
    """A workload that identifies itself by a JWT from its platform (jwt-bearer, RFC 7523).

    ``assertion`` is that JWT, or a function that gives a fresh one. Exactly one token request is
    made for each authorization; a refusal is final. ``store``: keeps tokens (default: a file that
    only this user may read). Further options: ``client_id``, ``scopes`` and the options of
    `ServerTrust`.
    """

    client_secret: ClassVar[None] = None
    signer: ClassVar[None] = None
    assertion: TokenSource = field(default="", repr=False)
    client_id: str | None = None
    scopes: Sequence[str] | None = None
    store: CredentialStore | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.assertion:
            raise UsageError("a workload identity needs an assertion")
        self._check_issuer()


@dataclass(frozen=True)
class BearerToken:
    """A ``token`` from elsewhere, or a function, plain or async, called before every request."""

    token: TokenSource = field(repr=False)


@dataclass(frozen=True)
class ApiKey:
    """A ``key``, or a function that gives one before every request, sent in its own ``header``."""

    key: TokenSource = field(repr=False)
    header: str = "X-API-Key"


OAuthOptions = Union[OAuth, ClientCredentials, EnterpriseManaged, WorkloadIdentity]

Authentication = Union[OAuthOptions, BearerToken, ApiKey]
"""The values of ``auth=``, apart from a bearer token as a string."""
