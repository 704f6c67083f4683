"""The authorization code grant with PKCE: out to the user's browser, and back with a code.

Sources: OAuth 2.1, RFC 7636 (PKCE), RFC 8707 (resource), RFC 9207 (iss). Between the way out and
the way back a `Pending` record is stored, so that another process can continue with the callback.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from ..errors import AuthError, AuthorizationDenied, UsageError
from . import effects
from .challenge import OFFLINE_ACCESS
from .clients import identify_client, registered_redirects
from .discovery import AuthorizationServer
from .effects import Callback, Flow, StoredItem
from .grants import (
    Grant,
    GrantRequest,
    GrantTerms,
    Keep,
    string_of,
    strings_of,
    terms_from,
)
from .options import OAuth
from .signing import base64url
from .tokens import safe_text
from .url_guard import UrlPolicy, without_query

# How many unfinished authorizations of one server are remembered, and for how many seconds.
_MAX_PENDING = 4
_PENDING_LIFETIME = 3600

_MAX_CALLBACK_LENGTH = 65536


@dataclass(frozen=True, repr=False)
class Pending(GrantTerms):
    """An authorization between the way out and the way back.

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

    @classmethod
    def from_record(cls, record: StoredItem, options: OAuth) -> Pending | None:
        """Read a record of `to_record`; None when it is damaged."""
        terms = terms_from(record, secret=options.client_secret, signer=options.signer)
        state, verifier = string_of(record, "state"), string_of(record, "verifier")
        redirect_uri, created_at = string_of(record, "redirect_uri"), record.get("created_at")
        if terms is None or state is None or verifier is None or redirect_uri is None:
            return None
        if strings_of(record, "requested_scopes") is None:
            return None
        if not isinstance(created_at, (int, float)):
            return None
        return cls(
            **vars(terms),
            state=state,
            verifier=verifier,
            redirect_uri=redirect_uri,
            iss_expected=record.get("iss_expected") is True,
            created_at=created_at,
        )


def obtain(request: GrantRequest, options: OAuth) -> Flow[Grant]:
    """Obtain the grant that a user gives in a browser.

    Raises AuthorizationRequired (from the runner) when the program does not wait for the user,
    AuthorizationDenied when the user declines, AuthError when the server does not support PKCE or
    the callback has an unknown state; and as registration and token requests do.
    """
    server = request.discovery.server
    authorization_endpoint = _checked_endpoint(server)
    registered = yield from registered_redirects(server.issuer)
    redirect_uri = yield from effects.OpenRedirect(options.redirect_uri, registered)
    client = yield from identify_client(
        server, options, redirect_uri, request.scopes, request.policy
    )
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
    recent = [record for record in known if _created_at(record) > oldest]
    records = [*recent, pending.to_record()][-_MAX_PENDING:]
    yield from effects.Save(_key(server_name), {"pending": records})


def _created_at(record: StoredItem) -> float:
    value = record.get("created_at")
    return value if isinstance(value, (int, float)) else 0.0


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
