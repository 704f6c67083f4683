"""The identity of the client at one authorization server, and its proof at the token endpoint.

The client is pre-registered, or names its own metadata document, or registers dynamically (RFC
7591), which is stored under the issuer.

Credentials for which the user named no issuer are bound to the first one. A secret cannot be
revoked once it was sent, so it is bound by credential: no other authorization server gets it,
whichever server names that. A client without a secret is bound server by server. Both are stored
only once a grant was obtained: one wrong response must not lock out the user.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote, urlsplit

from ..errors import AuthError
from ..errors.authorization import RegistrationRequired, TokenRequestFailed
from ..framing.uri import LOOPBACK_HOSTS
from . import effects
from .discovery import AuthorizationServer
from .effects import Flow, StoredItem, number_in, read_record, strings_in
from .options import ClientCredentials, EnterpriseManaged, OAuth, OAuthOptions
from .signing import Signer, base64url, sign_jwt
from .tokens import raise_for_error
from .url_guard import UrlPolicy, host_of, without_query

if TYPE_CHECKING:
    from .grants import GrantRequest

NONE = "none"
SECRET_BASIC = "client_secret_basic"
SECRET_POST = "client_secret_post"
PRIVATE_KEY_JWT = "private_key_jwt"

# Seconds that an assertion is valid; it is used at once.
_ASSERTION_LIFETIME = 300

_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


@dataclass(frozen=True)
class RegisteredClient:
    """A client identity, valid at one ``issuer`` only (except for a metadata document's URL).

    ``method`` is how it authenticates at the token endpoint. The secret of a client that the caller
    configured (``is_configured``) is never stored, and neither is any ``signer``.
    """

    client_id: str
    issuer: str
    method: str = NONE
    client_secret: str | None = field(default=None, repr=False)
    signer: Signer | None = field(default=None, repr=False)
    is_configured: bool = False

    def to_record(self) -> dict[str, object]:
        """Return a JSON object, with the secret of a dynamic registration."""
        values = {name: value for name, value in vars(self).items() if name != "signer"}
        return {**values, "client_secret": None if self.is_configured else self.client_secret}

    @classmethod
    def from_record(
        cls, record: StoredItem, options: OAuthOptions | None = None
    ) -> RegisteredClient | None:
        """Read a record of `to_record`, and the configured secrets; None when it is damaged."""
        client = read_record(cls, record, signer=None)
        if client is None or not client.is_configured:
            return client
        secret = None if options is None else options.client_secret
        signer = None if options is None else options.signer
        return replace(client, client_secret=secret, signer=signer)


def configured_client(
    options: OAuth | ClientCredentials | EnterpriseManaged,
    client_id: str,
    server: AuthorizationServer,
) -> RegisteredClient:
    """Return the client that the caller configured, with its method at ``server``."""
    method = options.token_endpoint_auth_method or choose_method(
        server.token_endpoint_auth_methods_supported,
        has_secret=options.client_secret is not None,
        signer=options.signer,
    )
    return RegisteredClient(
        client_id, server.issuer, method, options.client_secret, options.signer, is_configured=True
    )


def choose_method(
    supported: Sequence[str] | None, *, has_secret: bool, signer: Signer | None = None
) -> str:
    """Choose the token endpoint authentication method that fits the client and the server.

    ``supported``: the methods in the server's metadata; None means Basic (RFC 8414 section 2).
    """
    if signer is not None:
        return PRIVATE_KEY_JWT
    if not has_secret:
        return NONE
    if supported is None:
        return SECRET_BASIC
    return _first_of((SECRET_BASIC, SECRET_POST, NONE), supported)


def _first_of(preferred: Sequence[str], supported: Sequence[str]) -> str:
    return next((method for method in preferred if method in supported), preferred[0])


def authenticate(
    client: RegisteredClient, form: list[tuple[str, str]], headers: dict[str, str]
) -> Flow[None]:
    """Add the client's proof of its identity to ``form`` and ``headers``. Raises AuthError."""
    if client.method == NONE:
        # A workload's assertion may identify its client as well.
        if client.client_id:
            form.append(("client_id", client.client_id))
    elif client.method == PRIVATE_KEY_JWT:
        if client.signer is None:
            raise AuthError("private_key_jwt needs a signer")
        form.append(("client_assertion_type", _ASSERTION_TYPE))
        form.append(("client_assertion", (yield from _assertion(client, client.signer))))
    elif client.client_secret is None:
        raise AuthError(f"{client.method} needs a client_secret")
    elif client.method == SECRET_POST:
        form += [("client_id", client.client_id), ("client_secret", client.client_secret)]
    elif client.method == SECRET_BASIC:
        # Form-encoded before base64, by RFC 6749 section 2.3.1.
        pair = f"{quote(client.client_id, safe='')}:{quote(client.client_secret, safe='')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
        # The official Python SDK's server requires it here too; section 3.2.1 allows it.
        form.append(("client_id", client.client_id))
    else:
        raise AuthError(f"the client authentication method {client.method!r} is not supported")


def _assertion(client: RegisteredClient, signer: Signer) -> Flow[str]:
    issued_at = int((yield from effects.Now()))
    claims: dict[str, object] = {
        "iss": client.client_id,
        "sub": client.client_id,
        # The issuer, not the token endpoint: a token endpoint from an attacker's metadata must not
        # get an assertion that another server accepts.
        "aud": client.issuer,
        "iat": issued_at,
        "exp": issued_at + _ASSERTION_LIFETIME,
        "jti": base64url((yield from effects.RandomBytes(16))),
    }
    return sign_jwt({"typ": "JWT"}, claims, signer)


DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"

_NO_REGISTRATION = "it does not register clients by itself"


def identify_client(
    request: GrantRequest, options: OAuth, redirect_uri: str | None
) -> Flow[RegisteredClient]:
    """Return the client to use for a grant, registered first if need be.

    ``redirect_uri``: None for the device grant, which does not redirect. Raises
    RegistrationRequired when there is no way to register, or the server refused; AuthError.
    """
    server = request.discovery.server
    if options.client_id is not None:
        return configured_client(options, options.client_id, server)
    if options.client_metadata_url is not None and server.client_id_metadata_document_supported:
        return RegisteredClient(options.client_metadata_url, server.issuer)
    stored = yield from _stored_client(server, redirect_uri)
    if stored is not None:
        return stored
    if server.registration_endpoint is None:
        raise RegistrationRequired(server.issuer, _NO_REGISTRATION)
    metadata = _client_metadata(request, options, redirect_uri)
    return (yield from _register(server, server.registration_endpoint, metadata, request.policy))


def registered_redirects(issuer: str) -> Flow[tuple[str, ...]]:
    """Return the redirect URIs of the stored registration at ``issuer``."""
    record = yield from effects.Load(_client_key(issuer))
    return strings_in((record or {}).get("redirect_uris")) or ()


def forget_registration(issuer: str) -> Flow[None]:
    """Drop the registration at ``issuer``, which the server has forgotten."""
    yield from effects.Save(_client_key(issuer), None)


def _client_key(issuer: str) -> str:
    return f"client {issuer}"


def _stored_client(
    server: AuthorizationServer, redirect_uri: str | None
) -> Flow[RegisteredClient | None]:
    record = yield from effects.Load(_client_key(server.issuer))
    if record is None:
        return None
    redirects = strings_in(record.get("redirect_uris")) or ()
    if redirect_uri not in redirects and (redirect_uri is not None or redirects):
        return None
    expires_at = number_in(record.get("secret_expires_at")) or 0.0
    if 0 < expires_at <= (yield from effects.Now()):
        return None
    client = RegisteredClient.from_record(record)
    return client if client is not None and client.issuer == server.issuer else None


def _register(
    server: AuthorizationServer, endpoint: str, metadata: StoredItem, policy: UrlPolicy
) -> Flow[RegisteredClient]:
    response = yield from effects.post(
        endpoint, server.issuer, policy, {}, json.dumps(metadata).encode()
    )
    fields = effects.parse_object(response.body) or {}
    try:
        raise_for_error(response, fields, ())
    except TokenRequestFailed as error:
        said = error.error if fields.get("error") else f"HTTP {response.status}"
        reason = f"it refused to register the client ({said}) {error.description}".strip()
        if response.status in (404, 405):  # a guess, where the server has no metadata
            reason = _NO_REGISTRATION
        raise RegistrationRequired(server.issuer, reason) from None
    client_id, secret = fields.get("client_id"), fields.get("client_secret")
    if not isinstance(client_id, str) or not client_id:
        shown = without_query(server.issuer)
        raise AuthError(f"{shown} registered the client, but named no client_id")
    secret = secret if isinstance(secret, str) and secret else None
    method = fields.get("token_endpoint_auth_method")
    if not isinstance(method, str):
        supported = server.token_endpoint_auth_methods_supported
        method = choose_method(supported, has_secret=secret is not None)
    if secret is None and method in (SECRET_BASIC, SECRET_POST):
        method = NONE
    client = RegisteredClient(client_id, server.issuer, method, secret)
    yield from effects.Save(
        _client_key(server.issuer),
        {
            **client.to_record(),
            "redirect_uris": metadata.get("redirect_uris", []),
            "secret_expires_at": fields.get("client_secret_expires_at"),
        },
    )
    return client


def _client_metadata(
    request: GrantRequest, options: OAuth, redirect_uri: str | None
) -> dict[str, object]:
    supported = request.discovery.server.token_endpoint_auth_methods_supported
    # A program on a user's machine keeps no secret, so it is a public client where it may be one.
    method = options.token_endpoint_auth_method or _first_of(
        (NONE, SECRET_BASIC, SECRET_POST), supported or (NONE,)
    )
    grant = DEVICE_GRANT if redirect_uri is None else "authorization_code"
    metadata: dict[str, object] = {
        "client_name": options.client_name,
        "token_endpoint_auth_method": method,
        "grant_types": [grant, "refresh_token"],
        "response_types": [] if redirect_uri is None else ["code"],
        "application_type": "native",
    }
    if redirect_uri is not None:
        metadata["redirect_uris"] = [redirect_uri]
        # Everything on the web but this machine (OpenID Connect Registration section 2).
        is_web = urlsplit(redirect_uri).scheme in ("http", "https")
        if is_web and host_of(redirect_uri) not in LOOPBACK_HOSTS:
            metadata["application_type"] = "web"
    if request.scopes:
        metadata["scope"] = " ".join(request.scopes)
    return metadata


T = TypeVar("T")


def bound(options: OAuthOptions, server_name: str, issuer: str, flow: Flow[T]) -> Flow[T]:
    """Run ``flow``, which shows credentials to ``issuer``, unless they belong to another issuer.

    The lock is needed where several servers try the same unbound secret at once: the first one is
    trusted before the next may try. Raises RegistrationRequired.
    """

    def checked() -> Flow[T]:
        yield from check_binding(options, server_name, issuer)
        return (yield from flow)

    key = _credential_key(options)
    yield from check_binding(options, server_name, issuer)
    if key is None or (yield from effects.Load(key)) is not None:
        return (yield from flow)
    return (yield from effects.Exclusive(key, checked()))


def check_binding(options: OAuthOptions, server_name: str, issuer: str) -> Flow[None]:
    """Raise RegistrationRequired when the credentials belong to another issuer."""
    record = yield from _binding(options, server_name)
    if record is None or record.get("issuer") == issuer:
        return
    raise RegistrationRequired(
        issuer,
        f"the configured credentials belong to {record.get('issuer')}, trusted first for "
        f"{record.get('server', server_name)}; to use them with another one, log out there "
        "(mcpclient auth logout), or name the right issuer=",
    )


def bind(options: OAuthOptions, server_name: str, issuer: str) -> Flow[None]:
    """Remember that ``issuer`` has accepted the credentials."""
    if options.knows_issuer or not (options.client_id or options.holds_secret):
        return
    key = _credential_key(options)
    if (yield from _binding(options, server_name)) is not None:
        return
    yield from effects.Save(
        _server_key(server_name),
        {"client_id": options.client_id, "issuer": issuer, "credential": key},
    )
    if key is not None:
        yield from effects.Save(key, {"issuer": issuer, "server": server_name})


def unbind(options: OAuthOptions, server_name: str) -> Flow[None]:
    """Forget the issuer of these credentials, and of those first trusted for this server."""
    record = yield from effects.Load(_server_key(server_name))
    first_trusted = None if record is None else record.get("credential")
    for key in {_credential_key(options), first_trusted, _server_key(server_name)}:
        if isinstance(key, str):
            yield from effects.Save(key, None)


def _binding(options: OAuthOptions, server_name: str) -> Flow[StoredItem | None]:
    if options.knows_issuer:
        return None
    key = _credential_key(options)
    if key is not None:
        return (yield from effects.Load(key))
    record = yield from effects.Load(_server_key(server_name))
    is_same = record is not None and record.get("client_id") == options.client_id
    return record if is_same and options.client_id is not None else None


def _server_key(server_name: str) -> str:
    return f"issuer {server_name}"


def _credential_key(options: OAuthOptions) -> str | None:
    """Return the name of the secret in the store, the same for a newer secret."""
    if options.knows_issuer or not options.holds_secret:
        return None
    return f"credential {options.client_id or type(options).__name__}"
