"""What every way of obtaining a grant shares: whom to ask, for what, and by which grant type."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from . import authorization_code, client_credentials, device_grant, enterprise, workload_identity
from .challenge import AuthorizationChallenge
from .discovery import Discovery
from .effects import Flow
from .grants import Grant, GrantRequest
from .options import ClientCredentials, EnterpriseManaged, OAuth, OAuthOptions, WorkloadIdentity
from .scopes import select_scopes


def obtain(request: GrantRequest, options: OAuthOptions) -> Flow[Grant]:
    """The grant that ``options`` lead to. Raises what its grant type raises."""
    if isinstance(options, ClientCredentials):
        return (yield from client_credentials.obtain(request, options))
    if isinstance(options, EnterpriseManaged):
        return (yield from enterprise.obtain(request, options))
    if isinstance(options, WorkloadIdentity):
        return (yield from workload_identity.obtain(request, options))
    device_endpoint = request.discovery.server.device_authorization_endpoint
    if options.device and device_endpoint is not None:
        return (yield from device_grant.obtain(request, options, device_endpoint))
    return (yield from authorization_code.obtain(request, options))


def scopes_for(
    options: OAuthOptions,
    discovery: Discovery,
    challenge: AuthorizationChallenge,
    held: tuple[str, ...],
) -> tuple[str, ...]:
    """The scopes to ask for; ``held`` are those asked for before."""
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
    """The resource indicator to send (RFC 8707), None for none.

    It is byte for byte as the metadata has it. Without metadata, or where the user named endpoints,
    it is the server's own URL, as it is required "regardless of whether authorization servers
    support it" (MCP authorization, resource parameter implementation).
    """
    if options.resource is not None:
        return options.resource or None
    return canonical(server_url) if discovery.resource is None else discovery.resource.resource


def canonical(server_url: str) -> str:
    """The URL of a server as it names the resource: without query, fragment and a lone slash."""
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
