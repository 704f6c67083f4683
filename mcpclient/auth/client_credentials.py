"""The client credentials grant: a program acts for itself (MCP extension, RFC 6749 4.4)."""

from __future__ import annotations

from .client_authentication import configured_client
from .effects import Flow
from .grants import Grant, GrantRequest
from .options import ClientCredentials


def obtain(request: GrantRequest, options: ClientCredentials) -> Flow[Grant]:
    """The grant a program gets for its own secret or key. Raises TokenRequestFailed."""
    server = request.discovery.server
    client = configured_client(options, options.client_id, server)
    return (yield from request.obtain(client, [("grant_type", "client_credentials")]))
