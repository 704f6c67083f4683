"""Enterprise-managed authorization: the identity provider vouches for the user (MCP extension).

The user's identity assertion is exchanged for an ID-JAG at the identity provider (RFC 8693), and
that for an access token at the MCP server's authorization server (RFC 7523).
"""

from __future__ import annotations

from ..errors import AuthError
from .client_authentication import NONE, SECRET_POST, RegisteredClient, configured_client
from .effects import Flow
from .grants import Grant, GrantRequest, TokenEndpoint, request_token
from .options import EnterpriseManaged
from .workload_identity import JWT_BEARER, token_from

_TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


def obtain(request: GrantRequest, options: EnterpriseManaged) -> Flow[Grant]:
    """The grant the identity provider's policy allows. Raises TokenRequestFailed of either side."""
    server = request.discovery.server
    assertion = yield from _exchange(request, options)
    client = configured_client(options, options.client_id, server)
    form = [("grant_type", JWT_BEARER), ("assertion", assertion)]
    return (yield from request.obtain(client, form))


def _exchange(request: GrantRequest, options: EnterpriseManaged) -> Flow[str]:
    provider = options.identity_provider
    subject = yield from token_from(provider.identity_assertion)
    form = [
        ("grant_type", _TOKEN_EXCHANGE),
        ("requested_token_type", _ID_JAG),
        ("audience", request.discovery.server.issuer),
        ("resource", request.resource or request.server_url),
        ("subject_token", subject),
        ("subject_token_type", provider.assertion_type),
    ]
    if request.scopes:
        form.append(("scope", " ".join(request.scopes)))
    endpoint = TokenEndpoint(provider.token_endpoint, provider.token_endpoint, request.policy)
    method = NONE if provider.client_secret is None else SECRET_POST
    client = RegisteredClient(
        provider.client_id, provider.token_endpoint, method, provider.client_secret
    )
    fields = yield from request_token(endpoint, client, form, None)
    if fields.get("issued_token_type") not in (_ID_JAG, None):
        raise AuthError("the identity provider gave another token than an ID-JAG")
    return str(fields["access_token"])
