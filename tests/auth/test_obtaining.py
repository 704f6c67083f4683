from __future__ import annotations

import pytest

from mcpclient.auth.discovery import AuthorizationServer, Discovery, ProtectedResource
from mcpclient.auth.grants import GrantRequest
from mcpclient.auth.obtaining import (
    needs_dpop,
    obtain,
    resource_for,
    scopes_for,
)
from mcpclient.auth.options import (
    ClientCredentials,
    EnterpriseManaged,
    IdentityProvider,
    OAuth,
    OAuthOptions,
    WorkloadIdentity,
)
from mcpclient.auth.tokens import AuthorizationChallenge
from mcpclient.auth.url_guard import UrlPolicy

from .world import AuthorizationServerFake, World, form_of, json_response

SERVER = AuthorizationServer("https://auth.example", "https://auth.example/token")
RESOURCE = ProtectedResource("https://mcp.example/MCP", ("https://auth.example",), ("a",))
FOUND = Discovery(SERVER, RESOURCE)


def test_the_resource_is_byte_exact_overridden_or_omitted() -> None:
    """F-AUTH-3: as the metadata has it, as the user says, or not at all."""
    url = "https://mcp.example/mcp?key=1"
    assert resource_for(OAuth(), FOUND, url) == "https://mcp.example/MCP"
    assert resource_for(OAuth(resource="api://app"), FOUND, url) == "api://app"
    assert resource_for(OAuth(resource=""), FOUND, url) is None


@pytest.mark.parametrize(
    ("server_url", "resource"),
    [
        ("https://mcp.example/mcp?key=1", "https://mcp.example/mcp"),
        ("HTTPS://MCP.example:8443/mcp/", "https://mcp.example:8443/mcp/"),
        ("https://mcp.example/", "https://mcp.example"),
    ],
)
def test_the_resource_is_named_without_metadata_too(server_url: str, resource: str) -> None:
    """F-AUTH-3: with endpoints= and for servers of 2025-03-26: the server's own URL, canonical."""
    assert resource_for(OAuth(), Discovery(SERVER, None), server_url) == resource


def test_scopes_come_from_options_challenge_and_metadata() -> None:
    """F-AUTH-4: the strategy of scopes.py with what was found."""
    nothing = AuthorizationChallenge()
    assert scopes_for(OAuth(), FOUND, nothing, ()) == ("a",)
    assert scopes_for(OAuth(scopes=["mine"]), FOUND, nothing, ()) == ("mine",)
    assert scopes_for(OAuth(), Discovery(SERVER, None), nothing, ("held",)) == ("held",)


def test_dpop_is_used_where_it_must_be() -> None:
    """F-AUTH-7: the user, the challenge or the metadata says so."""
    nothing = AuthorizationChallenge()
    required = ProtectedResource("https://mcp.example", ("https://auth.example",), None, True)
    assert not needs_dpop(OAuth(), FOUND, nothing)
    assert needs_dpop(OAuth(dpop=True), FOUND, nothing)
    assert needs_dpop(OAuth(), FOUND, AuthorizationChallenge(dpop_only=True))
    assert needs_dpop(OAuth(), Discovery(SERVER, required), nothing)


@pytest.mark.parametrize(
    ("options", "grant_type"),
    [
        (
            ClientCredentials(trust_first_issuer=True, client_id="c", client_secret="s"),
            "client_credentials",
        ),
        (
            EnterpriseManaged(
                trust_first_issuer=True,
                client_id="c",
                identity_provider=IdentityProvider(
                    "https://idp.example/token", client_id="i", identity_assertion="a"
                ),
            ),
            "urn:ietf:params:oauth:grant-type:jwt-bearer",
        ),
        (
            WorkloadIdentity(trust_first_issuer=True, assertion="a"),
            "urn:ietf:params:oauth:grant-type:jwt-bearer",
        ),
        (OAuth(), "authorization_code"),
        (OAuth(device=True), "urn:ietf:params:oauth:grant-type:device_code"),
    ],
)
def test_each_option_has_its_grant_type(options: OAuthOptions, grant_type: str) -> None:
    """F-AUTH-7: which grant type the user's options lead to."""
    world = World()
    issuer = AuthorizationServerFake(
        world, metadata={"device_authorization_endpoint": "https://auth.example/device"}
    )
    world.user = issuer.authorize
    world.on("POST", "https://idp.example/token", json_response({"access_token": "jag"}))
    codes = {"device_code": "d", "user_code": "U", "verification_uri": "https://auth.example/d"}
    world.on("POST", "https://auth.example/device", json_response(codes))
    request = GrantRequest(
        server_url="https://mcp.example/mcp",
        server_name="https://mcp.example/mcp",
        discovery=Discovery(AuthorizationServer.parse(issuer.document), None),
        scopes=(),
        resource=None,
        policy=UrlPolicy(),
    )
    world.run(obtain(request, options))
    assert form_of(world.fetched[-1])["grant_type"] == grant_type
