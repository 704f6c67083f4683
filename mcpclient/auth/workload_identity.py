"""Workload identity: a JWT from the platform is exchanged for a token (RFC 7523 section 2.1)."""

from __future__ import annotations

from ..errors import UsageError
from .client_authentication import RegisteredClient
from .effects import Flow, ask
from .grants import Grant, GrantRequest
from .options import TokenSource, WorkloadIdentity

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


def obtain(request: GrantRequest, options: WorkloadIdentity) -> Flow[Grant]:
    """The grant for the workload's JWT, in exactly one token request.

    Raises TokenRequestFailed; nothing is tried after a refusal.
    """
    assertion = yield from token_from(options.assertion)
    form = [("grant_type", JWT_BEARER), ("assertion", assertion)]
    client = RegisteredClient(options.client_id or "", request.discovery.server.issuer)
    return (yield from request.obtain(client, form))


def token_from(source: TokenSource) -> Flow[str]:
    """The token that ``source`` is or gives. Raises UsageError when it gives no text."""
    token = source if isinstance(source, str) else (yield from ask(source))
    if not isinstance(token, str) or not token:
        raise UsageError("the function for a token did not return a text")
    return token
