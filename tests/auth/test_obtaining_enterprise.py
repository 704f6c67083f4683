from __future__ import annotations

import pytest

from mcpclient.auth.discovery import AuthorizationServer, Discovery
from mcpclient.auth.grants import Grant, GrantRequest
from mcpclient.auth.obtaining import by_enterprise
from mcpclient.auth.options import EnterpriseManaged, IdentityProvider
from mcpclient.errors import AuthError, SsrfError, TokenRequestFailed

from .world import World, form_of, json_response

TOKEN = "https://auth.example/token"
IDP = "https://10.0.0.7/token"
JAG = {
    "access_token": "jag",
    "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
    "token_type": "N_A",
}


def run(
    world: World,
    provider: IdentityProvider,
    scopes: tuple[str, ...] = (),
    resource: str | None = None,
) -> Grant:
    options = EnterpriseManaged(trust_first_issuer=True, identity_provider=provider, client_id="id")
    server_url = "https://mcp.example/mcp"
    request = GrantRequest(
        server_url=server_url,
        server_name=server_url,
        discovery=Discovery(AuthorizationServer("https://auth.example", TOKEN), None),
        scopes=scopes,
        resource=resource,
        policy=options.url_policy(server_url),
    )
    return world.run(by_enterprise(request, options))


def provider(endpoint: str = IDP, secret: str | None = "idp-secret") -> IdentityProvider:
    return IdentityProvider(
        endpoint,
        client_id="at-idp",
        client_secret=secret,
        identity_assertion=lambda: "id-token",
    )


def test_two_requests() -> None:
    """F-AUTH-7: the provider is the user's own and may be inside the company."""
    world = World()
    world.on("POST", IDP, json_response(JAG))
    world.on("POST", TOKEN, json_response({"access_token": "t"}))
    assert run(world, provider(), ("a",), "r").tokens.access_token == "t"
    exchange, grant = map(form_of, world.fetched)
    assert exchange["client_secret"] == "idp-secret"
    assert exchange["audience"] == "https://auth.example"
    assert (exchange["scope"], exchange["resource"]) == ("a", "r")
    assert exchange["subject_token"] == "id-token"
    assert grant["assertion"] == "jag"
    assert grant["client_id"] == "id"


def test_the_resource_is_always_named_to_the_provider() -> None:
    """F-AUTH-7: required there, even where the other side wants none."""
    world = World()
    world.on("POST", IDP, json_response({"access_token": "jag"}))
    world.on("POST", TOKEN, json_response({"access_token": "t"}))
    run(world, provider(secret=None))
    exchange, grant = map(form_of, world.fetched)
    assert exchange["resource"] == "https://mcp.example/mcp"
    assert "resource" not in grant


def test_another_kind_of_token_is_refused() -> None:
    """F-AUTH-7: an access token for something else must not travel on."""
    world = World()
    other = "urn:ietf:params:oauth:token-type:access_token"
    world.on("POST", IDP, json_response({**JAG, "issued_token_type": other}))
    with pytest.raises(AuthError, match="ID-JAG"):
        run(world, provider())
    assert len(world.fetched) == 1


def test_the_providers_refusal_is_told() -> None:
    """F-AUTH-7: policy says no; the assertion is not in the error."""
    world = World()
    answer = {"error": "invalid_grant", "error_description": "not id-token"}
    world.on("POST", IDP, json_response(answer, 400))
    with pytest.raises(TokenRequestFailed) as caught:
        run(world, provider())
    assert caught.value.description == "not …"


def test_an_assertion_does_not_travel_in_the_clear() -> None:
    """F-AUTH-10: http only in local development, also where the user named the URL."""
    world = World()
    with pytest.raises(SsrfError):
        run(world, provider("http://idp.example/token"))
    assert not world.fetched
