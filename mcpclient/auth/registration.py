"""Becoming a client that the authorization server knows.

Three ways are tried in the order of the MCP specification: the client is pre-registered, or names
its own metadata document, or registers dynamically (RFC 7591). What dynamic registration yields is
stored under the issuer.
"""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from ..errors import AuthError, RegistrationRequired, TokenRequestFailed
from ..framing.uri import LOOPBACK_HOSTS
from .client_authentication import (
    NONE,
    SECRET_BASIC,
    SECRET_POST,
    RegisteredClient,
    choose_method,
    configured_client,
)
from .effects import Flow, StoredItem, load, now, save
from .exchanges import post
from .metadata import AuthorizationServer, parse_object
from .options import OAuth
from .tokens import raise_for_error
from .url_guard import UrlPolicy, host_of, without_query

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"

_NO_REGISTRATION = "it does not register clients by itself"


def identify_client(
    server: AuthorizationServer,
    options: OAuth,
    redirect_uri: str | None,
    scopes: tuple[str, ...],
    policy: UrlPolicy,
) -> Flow[RegisteredClient]:
    """Which client to be at ``server``, registered first if need be.

    ``redirect_uri`` is None for the device grant, in which nobody is redirected. Raises
    RegistrationRequired when there is no way to register, or the server refused, and AuthError for
    a registration without a client_id.
    """
    if options.client_id is not None:
        return configured_client(options, options.client_id, server)
    if options.client_metadata_url is not None and server.client_id_metadata_document_supported:
        return RegisteredClient(options.client_metadata_url, server.issuer)
    stored = yield from _stored_client(server, redirect_uri)
    if stored is not None:
        return stored
    if server.registration_endpoint is None:
        raise RegistrationRequired(server.issuer, _NO_REGISTRATION)
    request = _client_metadata(server, options, redirect_uri, scopes)
    return (yield from _register(server, server.registration_endpoint, request, policy))


def registered_redirects(issuer: str) -> Flow[tuple[str, ...]]:
    """The redirect URIs of the stored registration at ``issuer``, if there is one."""
    record = yield from load(_key(issuer))
    return _redirects(record) if record is not None else ()


def forget_registration(issuer: str) -> Flow[None]:
    """Drop the registration at ``issuer``: the server does not know it any more."""
    yield from save(_key(issuer), None)


def _key(issuer: str) -> str:
    return f"client {issuer}"


def _redirects(record: StoredItem) -> tuple[str, ...]:
    uris = record.get("redirect_uris")
    return tuple(uri for uri in uris if isinstance(uri, str)) if isinstance(uris, list) else ()


def _stored_client(
    server: AuthorizationServer, redirect_uri: str | None
) -> Flow[RegisteredClient | None]:
    record = yield from load(_key(server.issuer))
    if record is None:
        return None
    redirects = _redirects(record)
    if redirect_uri not in redirects and (redirect_uri is not None or redirects):
        return None
    expires_at = record.get("secret_expires_at")
    if isinstance(expires_at, (int, float)) and 0 < expires_at <= (yield from now()):
        return None
    client = RegisteredClient.from_record(record)
    return client if client is not None and client.issuer == server.issuer else None


def _register(
    server: AuthorizationServer,
    endpoint: str,
    request: StoredItem,
    policy: UrlPolicy,
) -> Flow[RegisteredClient]:
    response = yield from post(endpoint, server.issuer, policy, {}, json.dumps(request).encode())
    fields = parse_object(response.body) or {}
    try:
        raise_for_error(response, fields, ())
    except TokenRequestFailed as error:
        said = error.error if fields.get("error") else f"HTTP {response.status}"
        reason = f"it refused to register the client ({said}) {error.description}".strip()
        # The endpoint may be a guess, where the server has no metadata.
        is_there = response.status not in (404, 405)
        raise RegistrationRequired(
            server.issuer, reason if is_there else _NO_REGISTRATION
        ) from None
    client = _registered_client(server, fields)
    yield from save(
        _key(server.issuer),
        {
            **client.to_record(),
            "redirect_uris": request.get("redirect_uris", []),
            "secret_expires_at": fields.get("client_secret_expires_at"),
        },
    )
    return client


def _client_metadata(
    server: AuthorizationServer, options: OAuth, redirect_uri: str | None, scopes: tuple[str, ...]
) -> dict[str, object]:
    metadata: dict[str, object] = {
        "client_name": options.client_name,
        "token_endpoint_auth_method": _registration_method(server, options),
    }
    if redirect_uri is None:
        metadata["grant_types"] = [DEVICE_GRANT, "refresh_token"]
        metadata["response_types"] = []
        metadata["application_type"] = "native"
    else:
        metadata["grant_types"] = ["authorization_code", "refresh_token"]
        metadata["response_types"] = ["code"]
        metadata["redirect_uris"] = [redirect_uri]
        metadata["application_type"] = _application_type(redirect_uri)
    if scopes:
        metadata["scope"] = " ".join(scopes)
    return metadata


def _registration_method(server: AuthorizationServer, options: OAuth) -> str:
    if options.token_endpoint_auth_method is not None:
        return options.token_endpoint_auth_method
    supported = server.token_endpoint_auth_methods_supported or (NONE,)
    # A program on a user's machine keeps no secret, so it is a public client where it may be one.
    preferred = (NONE, SECRET_BASIC, SECRET_POST)
    return next((method for method in preferred if method in supported), NONE)


def _application_type(redirect_uri: str) -> str:
    """What OpenID Connect Registration section 2 calls the kind of client behind the URI."""
    if urlsplit(redirect_uri).scheme not in ("http", "https"):
        return "native"
    return "native" if host_of(redirect_uri) in LOOPBACK_HOSTS else "web"


def _registered_client(server: AuthorizationServer, fields: StoredItem) -> RegisteredClient:
    client_id, secret = fields.get("client_id"), fields.get("client_secret")
    if not isinstance(client_id, str) or not client_id:
        raise AuthError(
            f"{without_query(server.issuer)} registered the client, but named no client_id"
        )
    if not isinstance(secret, str) or not secret:
        secret = None
    method = fields.get("token_endpoint_auth_method")
    if not isinstance(method, str):
        method = choose_method(
            server.token_endpoint_auth_methods_supported, has_secret=secret is not None
        )
    if secret is None and method in (SECRET_BASIC, SECRET_POST):
        method = NONE
    return RegisteredClient(client_id, server.issuer, method, secret)
