"""What every way of obtaining a grant shares: whom to ask, for what, and by which grant type."""

from __future__ import annotations

from ..errors import RegistrationRequired
from . import authorization_code, client_credentials, device_grant, enterprise, workload_identity
from .challenge import AuthorizationChallenge
from .discovery import Discovery
from .effects import Flow, load, save
from .grants import Grant, GrantRequest
from .options import ClientCredentials, EnterpriseManaged, OAuth, OAuthOptions, WorkloadIdentity
from .scopes import select_scopes

__all__ = [
    "bind_credentials",
    "needs_dpop",
    "obtain",
    "resource_for",
    "scopes_for",
    "unbind_credentials",
]


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


def resource_for(options: OAuthOptions, discovery: Discovery) -> str | None:
    """The resource indicator to send (RFC 8707), None for none."""
    if options.resource is not None:
        return options.resource or None
    # Byte for byte as the metadata has it; servers older than that metadata know no resource.
    return None if discovery.resource is None else discovery.resource.resource


def needs_dpop(
    options: OAuthOptions, discovery: Discovery, challenge: AuthorizationChallenge
) -> bool:
    """Whether the tokens are to be bound to a key (RFC 9449, and RFC 9728 section 2)."""
    resource = discovery.resource
    required = resource is not None and resource.dpop_bound_access_tokens_required
    return options.dpop or challenge.dpop_only or required


def bind_credentials(options: OAuthOptions, server_name: str, issuer: str) -> Flow[None]:
    """Bind credentials the user configured to the first authorization server that sees them.

    Raises RegistrationRequired when another one would: the server has moved, or lies.
    """
    if options.client_id is None or options.issuer is not None:
        return
    record = yield from load(_key(server_name))
    if record is None or record.get("client_id") != options.client_id:
        yield from save(_key(server_name), {"client_id": options.client_id, "issuer": issuer})
    elif record.get("issuer") != issuer:
        raise RegistrationRequired(
            issuer,
            f"the configured credentials are those of {record.get('issuer')}; "
            "log out, or name the right issuer=, to use them with another one",
        )


def unbind_credentials(server_name: str) -> Flow[None]:
    """Forget which authorization server the configured credentials belong to."""
    yield from save(_key(server_name), None)


def _key(server_name: str) -> str:
    return f"issuer {server_name}"
