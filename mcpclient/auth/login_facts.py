"""What may be told of a login: nothing secret."""

from __future__ import annotations

from typing import Any

from .grants import Grant


def login_facts(grant: Grant, now: float) -> dict[str, Any]:
    """Return what may be told of the login that gave ``grant``, as JSON can carry it.

    ``expiresAt``: seconds since the epoch, None where the server did not say. ``scopes``: those
    granted or, where the server did not say, those asked for. ``now``: seconds since the epoch.
    """
    tokens = grant.tokens
    if tokens.refresh_token is not None:
        state = "logged in, renewed as needed"
    else:
        state = "expired" if tokens.has_expired(now) else "logged in"
    return {
        "issuer": grant.client.issuer,
        "clientId": grant.client.client_id,
        "state": state,
        "expiresAt": tokens.expires_at,
        "renewable": tokens.refresh_token is not None,
        "scopes": list(tokens.scopes or grant.requested_scopes),
    }
