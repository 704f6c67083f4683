"""Obtaining a grant: the grant type that fits the options, and those without a browser here.

Client credentials (RFC 6749 section 4.4), workload identity (RFC 7523 section 2.1),
enterprise-managed authorization (RFC 8693, then RFC 7523) and the device grant (RFC 8628).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from ..errors import AuthError, AuthorizationDenied, NetworkError, TokenRequestFailed
from . import authorization_code, clients, effects
from .challenge import AuthorizationChallenge, select_scopes
from .discovery import Discovery
from .effects import Flow, parse_object, post, token_from
from .grants import Grant, GrantRequest, GrantTerms
from .options import (
    ClientCredentials,
    EnterpriseManaged,
    OAuth,
    OAuthOptions,
    WorkloadIdentity,
)
from .tokens import raise_for_error
from .url_guard import assert_safe_url


def obtain(request: GrantRequest, options: OAuthOptions) -> Flow[Grant]:
    """Obtain a grant by the grant type of ``options``. Raises as that does."""
    if isinstance(options, ClientCredentials):
        return (yield from by_client_credentials(request, options))
    if isinstance(options, EnterpriseManaged):
        return (yield from by_enterprise(request, options))
    if isinstance(options, WorkloadIdentity):
        return (yield from by_workload_identity(request, options))
    device_endpoint = request.discovery.server.device_authorization_endpoint
    if options.device and device_endpoint is not None:
        return (yield from by_device(request, options, device_endpoint))
    return (yield from authorization_code.obtain(request, options))


def scopes_for(
    options: OAuthOptions,
    discovery: Discovery,
    challenge: AuthorizationChallenge,
    held: tuple[str, ...],
) -> tuple[str, ...]:
    """Return the scopes to request; ``held`` are those requested before."""
    resource = discovery.resource
    return select_scopes(
        challenged=challenge.scopes,
        configured=None if options.scopes is None else tuple(options.scopes),
        resource_supported=None if resource is None else resource.scopes_supported,
        server_supported=discovery.server.scopes_supported,
        held=held,
        wants_refresh_token=isinstance(options, OAuth),
    )


def resource_for(options: OAuthOptions, discovery: Discovery, server_url: str) -> str | None:
    """Return the resource indicator to send (RFC 8707), None for none.

    It is byte for byte as the metadata has it; without metadata, the server's own URL, required
    "regardless of whether authorization servers support it" (MCP authorization).
    """
    if options.resource is not None:
        return options.resource or None
    return canonical(server_url) if discovery.resource is None else discovery.resource.resource


def canonical(server_url: str) -> str:
    """Return the URL of a server as a resource: without query, fragment and a lone slash."""
    parts = urlsplit(server_url)
    path = "" if parts.path == "/" else parts.path
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), path, "", ""))


def needs_dpop(
    options: OAuthOptions, discovery: Discovery, challenge: AuthorizationChallenge
) -> bool:
    """Whether the tokens are to be bound to a key (RFC 9449, and RFC 9728 section 2)."""
    resource = discovery.resource
    required = resource is not None and resource.dpop_bound_access_tokens_required
    return options.dpop or challenge.dpop_only or required


def by_client_credentials(request: GrantRequest, options: ClientCredentials) -> Flow[Grant]:
    """Obtain a grant for the program's own secret or key. Raises TokenRequestFailed."""
    client = clients.configured_client(options, options.client_id, request.discovery.server)
    return (yield from request.obtain(client, [("grant_type", "client_credentials")]))


JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


def by_workload_identity(request: GrantRequest, options: WorkloadIdentity) -> Flow[Grant]:
    """Obtain a grant for the workload's JWT, in exactly one request. Raises TokenRequestFailed."""
    assertion = yield from token_from(options.assertion)
    form = [("grant_type", JWT_BEARER), ("assertion", assertion)]
    client = clients.RegisteredClient(options.client_id or "", request.discovery.server.issuer)
    return (yield from request.obtain(client, form))


_TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


def by_enterprise(request: GrantRequest, options: EnterpriseManaged) -> Flow[Grant]:
    """Exchange the user's identity assertion for an ID-JAG, and that for a grant.

    Raises TokenRequestFailed, of the identity provider or of the authorization server.
    """
    server = request.discovery.server
    provider = options.identity_provider
    subject = yield from token_from(provider.identity_assertion)
    form = [
        ("grant_type", _TOKEN_EXCHANGE),
        ("requested_token_type", _ID_JAG),
        ("audience", server.issuer),
        ("resource", request.resource or request.server_url),
        ("subject_token", subject),
        ("subject_token_type", provider.assertion_type),
    ]
    if request.scopes:
        form.append(("scope", " ".join(request.scopes)))
    method = clients.NONE if provider.client_secret is None else clients.SECRET_POST
    url = provider.token_endpoint
    client = clients.RegisteredClient(provider.client_id, url, method, provider.client_secret)
    terms = GrantTerms(client, url, None, (), None, None, None)
    fields = yield from terms.request(form, request.policy)
    if fields.get("issued_token_type") not in (_ID_JAG, None):
        raise AuthError("the identity provider issued another token than an ID-JAG")
    form = [("grant_type", JWT_BEARER), ("assertion", str(fields["access_token"]))]
    client = clients.configured_client(options, options.client_id, server)
    return (yield from request.obtain(client, form))


_DEFAULT_INTERVAL = 5.0
_SLOW_DOWN = 5.0
_MIN_INTERVAL, _MAX_INTERVAL = 1.0, 60.0
_MAX_LIFETIME = 3600.0

_USER_CODE = re.compile(r"[!-~]{1,64}", re.ASCII)


def by_device(request: GrantRequest, options: OAuth, endpoint: str) -> Flow[Grant]:
    """Obtain a grant that the user gives by entering the code that is shown.

    ``endpoint`` is the server's device_authorization_endpoint. Raises AuthorizationDenied when the
    user declines or the code expires, and what registration and token requests raise.
    """
    server = request.discovery.server
    client = yield from clients.identify_client(
        server, options, None, request.scopes, request.policy
    )
    fields = yield from _request_codes(request, client, endpoint)
    device_code, prompt = _read_codes(fields, request)
    yield from prompt
    interval = _seconds(fields.get("interval"), _DEFAULT_INTERVAL)
    interval = min(max(interval, _MIN_INTERVAL), _MAX_INTERVAL)
    deadline = (yield from effects.Now()) + prompt.expires_in
    form = [("grant_type", clients.DEVICE_GRANT), ("device_code", device_code)]
    while True:
        yield from effects.Wait(interval)
        if (yield from effects.Now()) > deadline:
            raise AuthorizationDenied("expired_token", "the code was not entered in time")
        try:
            return (yield from request.terms(client).exchange(form, request.policy, request.keep))
        except TokenRequestFailed as error:
            interval += _slower(error)
        except NetworkError:
            # RFC 8628 section 3.5: after a timeout a client must poll less often.
            interval = min(interval * 2, _MAX_INTERVAL)


def _slower(error: TokenRequestFailed) -> float:
    """Return the seconds to add to the interval; raise when polling must end."""
    if error.error == "authorization_pending":
        return 0.0
    if error.error == "slow_down":
        return _SLOW_DOWN
    if error.error in ("access_denied", "expired_token"):
        raise AuthorizationDenied(error.error, error.description) from None
    if error.is_refusal or error.status < 400:
        raise error
    return _SLOW_DOWN  # the server fails for now, while the user may be entering the code


def _request_codes(
    request: GrantRequest, client: clients.RegisteredClient, endpoint: str
) -> Flow[Mapping[str, object]]:
    headers: dict[str, str] = {}
    form = [("scope", " ".join(request.scopes))] if request.scopes else []
    if request.resource is not None:
        form.append(("resource", request.resource))
    yield from clients.authenticate(client, form, headers)
    response = yield from post(endpoint, client.issuer, request.policy, headers, form)
    fields = parse_object(response.body) or {}
    raise_for_error(response, fields, (client.client_secret,) if client.client_secret else ())
    return fields


def _read_codes(
    fields: Mapping[str, object], request: GrantRequest
) -> tuple[str, effects.ShowDeviceCode]:
    device_code, user_code = fields.get("device_code"), fields.get("user_code")
    # Google's name for the field is older than the standard.
    address = fields.get("verification_uri", fields.get("verification_url"))
    complete = fields.get("verification_uri_complete")
    if not isinstance(device_code, str) or not isinstance(address, str):
        raise AuthError("the device authorization response lacks device_code or verification_uri")
    if not isinstance(user_code, str) or not _USER_CODE.fullmatch(user_code):
        raise AuthError("the device authorization response has no printable user_code")
    # The user opens it as an authorization endpoint; often it is a short URL on another host.
    assert_safe_url(address, None, request.policy)
    if isinstance(complete, str):
        assert_safe_url(complete, None, request.policy)
    prompt = effects.ShowDeviceCode(
        user_code=user_code,
        verification_uri=address,
        verification_uri_complete=complete if isinstance(complete, str) else None,
        expires_in=_seconds(fields.get("expires_in"), _MAX_LIFETIME),
    )
    return device_code, prompt


def _seconds(value: object, default: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        return default
    return float(min(value, _MAX_LIFETIME))
