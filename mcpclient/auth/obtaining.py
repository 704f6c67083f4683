"""Obtaining a grant: the grant type that fits the options, and each of the grant types.

Client credentials (RFC 6749 section 4.4), workload identity (RFC 7523 section 2.1),
enterprise-managed authorization (RFC 8693, then RFC 7523), the device grant (RFC 8628), and the
authorization code grant with PKCE (RFC 7636), resource (RFC 8707) and iss (RFC 9207), which sends
the user's browser to a page and gets it back with a code. In between, a `Pending` record is stored,
so that another process can continue with the callback.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from ..errors import AuthError, NetworkError, UsageError
from ..errors.authorization import AuthorizationDenied, TokenRequestFailed
from . import clients, effects
from .discovery import AuthorizationServer, Discovery
from .effects import Callback, Flow, StoredItem, number_in
from .grants import Grant, GrantRequest, GrantTerms, Keep
from .options import ClientCredentials, EnterpriseManaged, OAuth, OAuthOptions, WorkloadIdentity
from .signing import base64url
from .tokens import OFFLINE_ACCESS, AuthorizationChallenge, safe_text, union
from .url_guard import UrlPolicy, assert_safe_url, without_query


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
    return (yield from by_code(request, options))


def scopes_for(
    options: OAuthOptions,
    discovery: Discovery,
    challenge: AuthorizationChallenge,
    held: tuple[str, ...],
) -> tuple[str, ...]:
    """Return the scopes for a token request; an empty tuple leaves the parameter out.

    The scopes that the challenge named are used, or else the scopes in the resource's metadata.
    Scopes of the options replace the metadata's, and are added to a challenge's. ``held``, asked
    for before, are always kept, so that a step-up loses nothing. ``offline_access`` is added where
    a refresh token is wanted and the authorization server lists it; where that server lists its
    scopes without it, it is asked for only when a challenge or the user named it.
    """
    named = union(held, challenge.scopes or (), options.scopes or ())
    wanted, resource, listed = named, discovery.resource, discovery.server.scopes_supported
    if challenge.scopes is None and options.scopes is None and resource is not None:
        wanted = union(held, resource.scopes_supported or ())
    if listed is not None and OFFLINE_ACCESS not in (*listed, *named):
        return tuple(scope for scope in wanted if scope != OFFLINE_ACCESS)
    # Alone it would replace the scopes a server grants by default.
    is_offered = listed is not None and OFFLINE_ACCESS in listed
    if is_offered and isinstance(options, OAuth) and wanted:
        return union(wanted, (OFFLINE_ACCESS,))
    return wanted


def resource_for(options: OAuthOptions, discovery: Discovery, server_url: str) -> str | None:
    """Return the resource indicator to send (RFC 8707), or None.

    It is exactly the metadata's; without metadata, the server's own URL, required
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
    """Whether to bind the tokens to a key (RFC 9449, and RFC 9728 section 2)."""
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
    assertion = yield from effects.token_from(options.assertion)
    form = [("grant_type", JWT_BEARER), ("assertion", assertion)]
    client = clients.RegisteredClient(options.client_id or "", request.discovery.server.issuer)
    return (yield from request.obtain(client, form))


_TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


def by_enterprise(request: GrantRequest, options: EnterpriseManaged) -> Flow[Grant]:
    """Exchange the user's identity assertion for an ID-JAG, and that for a grant."""
    server = request.discovery.server
    provider = options.identity_provider
    subject = yield from effects.token_from(provider.identity_assertion)
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
    client = yield from clients.identify_client(request, options, None)
    scopes = [("scope", " ".join(request.scopes))] if request.scopes else []
    resource = [] if request.resource is None else [("resource", request.resource)]
    # Without the key: there is no token yet to bind to it.
    terms = replace(request.terms(client), prover=None)
    fields = yield from terms.fields_of(endpoint, scopes + resource, request.policy)
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
    return _SLOW_DOWN  # a temporary failure: the user may still be entering the code


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
    seconds = number_in(value) or 0.0
    return min(seconds, _MAX_LIFETIME) if seconds > 0 else default


# The most unfinished authorizations stored for one server, and the seconds they are kept.
_MAX_PENDING = 4
_PENDING_LIFETIME = 3600

_MAX_CALLBACK_LENGTH = 65536


@dataclass(frozen=True, repr=False)
class Pending(GrantTerms):
    """An authorization that waits for its callback.

    ``client.issuer`` is the issuer the user was sent to; ``iss_expected``: its callbacks always
    name it (RFC 9207). ``created_at``: in seconds since the epoch.
    """

    state: str
    verifier: str
    redirect_uri: str
    iss_expected: bool
    created_at: float

    def __repr__(self) -> str:
        return f"Pending(issuer={self.client.issuer!r})"


def by_code(request: GrantRequest, options: OAuth) -> Flow[Grant]:
    """Obtain the grant that a user gives in a browser.

    Raises AuthorizationRequired (from the runner) when the program does not wait for the user,
    AuthorizationDenied when the user declines, AuthError when the server does not support PKCE or
    the callback has an unknown state; and as registration and token requests do.
    """
    server = request.discovery.server
    authorization_endpoint = _checked_endpoint(server)
    registered = yield from clients.registered_redirects(server.issuer)
    redirect_uri = yield from effects.OpenRedirect(options.redirect_uri, registered)
    client = yield from clients.identify_client(request, options, redirect_uri)
    pending = Pending(
        **vars(request.terms(client)),
        state=base64url((yield from effects.RandomBytes(32))),
        verifier=base64url((yield from effects.RandomBytes(32))),
        redirect_uri=redirect_uri,
        iss_expected=server.authorization_response_iss_parameter_supported,
        created_at=(yield from effects.Now()),
    )
    url = _authorization_url(authorization_endpoint, pending)
    yield from _remember(request.server_name, pending)
    callback = yield from effects.Authorize(url, pending.state, redirect_uri)
    pending = yield from take_pending(request.server_name, callback.state, options)
    return (yield from finish(pending, callback, request.policy, request.keep))


def finish(
    pending: Pending, callback: Callback, policy: UrlPolicy, keep: Keep | None = None
) -> Flow[Grant]:
    """Exchange the code in ``callback``, whose state chose ``pending``, for a grant; store it.

    Raises AuthError when its ``iss`` is not the issuer this authorization was begun with,
    AuthorizationDenied when it reports an error, TokenRequestFailed when the code is refused.
    """
    form = [
        ("grant_type", "authorization_code"),
        ("code", _code(pending, callback)),
        ("redirect_uri", pending.redirect_uri),
        ("code_verifier", pending.verifier),
    ]
    return (yield from pending.exchange(form, policy, keep))


def code_challenge(verifier: str) -> str:
    """Return the S256 challenge for ``verifier`` (RFC 7636 section 4.2)."""
    return base64url(hashlib.sha256(verifier.encode("ascii")).digest())


def parse_callback(text: str) -> Callback:
    """Parse the address that a user pastes, whole or only its query. Raises UsageError."""
    text = text.strip()
    query = text.partition("?")[2].partition("#")[0] if "?" in text else text
    try:
        parameters = parse_qs(query[:_MAX_CALLBACK_LENGTH], max_num_fields=100)
    except ValueError:
        parameters = {}
    names = ("code", "state", "iss", "error", "error_description")
    if not parameters.keys() & {"code", "error"} or any(
        len(parameters.get(name, ())) > 1 for name in names
    ):
        raise UsageError(
            "not the address that the browser was sent back to, which has code= and state= in it"
        )
    return Callback(*(parameters.get(name, [None])[0] for name in names))


def take_pending(server_name: str, state: str | None, options: OAuth) -> Flow[Pending]:
    """Remove the authorization of ``state`` from the store and return it. Raises AuthError."""
    kept: list[StoredItem] = []
    found = None
    for record in (yield from _pending_records(server_name)):
        if found is None and state is not None and same_state(str(record.get("state")), state):
            found = Pending.from_record(record, options)
        else:
            kept.append(record)
    if found is None:
        raise AuthError(
            "the state in the callback belongs to no login that was begun here; log in again"
        )
    yield from effects.Save(_key(server_name), {"pending": kept} if kept else None)
    return found


def forget_pending(server_name: str) -> Flow[None]:
    """Drop every unfinished authorization of the server."""
    yield from effects.Save(_key(server_name), None)


def same_state(text: str, other: str) -> bool:
    """Compare two states in constant time, so that neither can be guessed byte by byte."""
    return hmac.compare_digest(text.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _key(server_name: str) -> str:
    return f"pending {server_name}"


def _pending_records(server_name: str) -> Flow[list[StoredItem]]:
    record = yield from effects.Load(_key(server_name))
    records = record.get("pending") if record is not None else None
    return [item for item in records if isinstance(item, dict)] if isinstance(records, list) else []


def _remember(server_name: str, pending: Pending) -> Flow[None]:
    oldest = pending.created_at - _PENDING_LIFETIME
    known = yield from _pending_records(server_name)
    recent = [each for each in known if (number_in(each.get("created_at")) or 0.0) > oldest]
    records = [*recent, pending.to_record()][-_MAX_PENDING:]
    yield from effects.Save(_key(server_name), {"pending": records})


def _checked_endpoint(server: AuthorizationServer) -> str:
    if server.authorization_endpoint is None:
        raise AuthError("the authorization server has no authorization_endpoint")
    # Absent means unsupported, and a client must refuse then (MCP authorization).
    if "S256" not in (server.code_challenge_methods_supported or ()):
        raise AuthError(
            f"the authorization server {without_query(server.issuer)} does not offer PKCE with "
            "S256 (code_challenge_methods_supported); if you know that it does, name its endpoints"
        )
    return server.authorization_endpoint


def _authorization_url(endpoint: str, pending: Pending) -> str:
    parameters = [
        ("response_type", "code"),
        ("client_id", pending.client.client_id),
        ("redirect_uri", pending.redirect_uri),
        ("state", pending.state),
        ("code_challenge", code_challenge(pending.verifier)),
        ("code_challenge_method", "S256"),
    ]
    if pending.requested_scopes:
        parameters.append(("scope", " ".join(pending.requested_scopes)))
    if OFFLINE_ACCESS in pending.requested_scopes:
        # Without prompt=consent the scope is ignored (OpenID Connect Core section 11).
        parameters.append(("prompt", "consent"))
    if pending.resource is not None:
        parameters.append(("resource", pending.resource))
    parts = urlsplit(endpoint)
    # An endpoint may have a query of its own, which must be kept (RFC 6749 section 3.1).
    query = "&".join(part for part in (parts.query, urlencode(parameters)) if part)
    return urlunsplit(parts._replace(query=query, fragment=""))


def _code(pending: Pending, callback: Callback) -> str:
    # The issuer comes first: an error of another server is not even shown (RFC 9207 section 2.4).
    if callback.iss is None:
        if pending.iss_expected:
            raise AuthError("the callback does not name its issuer, as this server always does")
    elif callback.iss != pending.client.issuer:
        raise AuthError(
            f"the callback names another issuer than {without_query(pending.client.issuer)}, "
            "which was asked; it is not used"
        )
    if callback.error is not None:
        secrets = (pending.verifier, pending.state)
        raise AuthorizationDenied(
            safe_text(callback.error, secrets), safe_text(callback.error_description, secrets)
        )
    if not callback.code:
        raise AuthError("the callback has no code")
    return callback.code
