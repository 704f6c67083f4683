from __future__ import annotations

from typing import Any

import pytest

from mcpclient.auth.discovery import AuthorizationServer, Discovery, ProtectedResource
from mcpclient.auth.effects import token_from
from mcpclient.auth.obtaining import obtain, resource_for, scopes_for
from mcpclient.auth.options import (
    EnterpriseManaged,
    IdentityProvider,
    OAuth,
    OAuthOptions,
    WorkloadIdentity,
)
from mcpclient.auth.tokens import AuthorizationChallenge
from mcpclient.errors import AuthError, UsageError

from .world import TOKEN, AuthorizationServerFake, World, form_of, grant_request, json_response

ISSUER = "https://auth.example"
SERVER = AuthorizationServer(ISSUER, TOKEN)
RESOURCE = ProtectedResource("https://mcp.example/MCP", ("https://auth.example",), ("a",))
FOUND = Discovery(SERVER, RESOURCE)


def test_the_resource_is_byte_exact_overridden_or_omitted() -> None:
    """F-AUTH-3: as the metadata has it, as the user says, or not at all."""
    url = "https://mcp.example/mcp?key=1"
    assert resource_for(OAuth(), FOUND, url) == "https://mcp.example/MCP"
    assert resource_for(OAuth(resource="api://app"), FOUND, url) == "api://app"
    assert resource_for(OAuth(resource=""), FOUND, url) is None


def select(
    challenged: tuple[str, ...] | None = None,
    configured: tuple[str, ...] | None = None,
    resource: tuple[str, ...] | None = None,
    server: tuple[str, ...] | None = None,
    held: tuple[str, ...] = (),
    refresh: bool = True,
    has_metadata: bool = True,
) -> tuple[str, ...]:
    options: OAuthOptions = OAuth(scopes=configured)
    if not refresh:
        options = WorkloadIdentity(ISSUER, assertion="jwt", scopes=configured)
    found = Discovery(
        AuthorizationServer(ISSUER, TOKEN, scopes_supported=server),
        ProtectedResource("https://r.example", (ISSUER,), resource) if has_metadata else None,
    )
    return scopes_for(options, found, AuthorizationChallenge(scopes=challenged), held)


def test_offline_access_is_asked_for_where_it_is_offered() -> None:
    """F-AUTH-4: only where the authorization server lists it, and a refresh token is wanted."""
    assert select(("a",), server=("a", "offline_access")) == ("a", "offline_access")
    assert select(("a",), server=("a", "offline_access"), refresh=False) == ("a",)
    assert select(("a",), server=("a",)) == ("a",)
    assert select(resource=("a", "offline_access"), server=("a",)) == ("a",)
    assert select(("a", "offline_access"), server=None) == ("a", "offline_access")


IDP = "https://10.0.0.7/token"
JAG = {
    "access_token": "jag",
    "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
    "token_type": "N_A",
}
TRUSTED: Any = {"trust_first_issuer": True}


def enterprise(endpoint: str = IDP, secret: str | None = "idp-secret") -> EnterpriseManaged:
    provider = IdentityProvider(endpoint, "at-idp", lambda: "id-token", secret)
    return EnterpriseManaged(**TRUSTED, identity_provider=provider, client_id="id")


def run(options: OAuthOptions, *answers: object, world: World | None = None, **asked: Any) -> World:
    """Obtain a grant; the provider and the authorization server give these answers in turn."""
    world = world or World()
    following = iter([*answers, {"access_token": "t"}])
    for url in (IDP, TOKEN):
        world.on("POST", url, lambda _: json_response(next(following)))
    policy = options.url_policy("https://mcp.example/mcp")
    grant = world.run(obtain(grant_request(policy=policy, **asked), options))
    assert grant.tokens.access_token == "t"
    return world


@pytest.mark.parametrize(
    ("options", "grant_type"),
    [
        (OAuth(), "authorization_code"),
        (OAuth(device=True), "urn:ietf:params:oauth:grant-type:device_code"),
    ],
)
def test_a_user_gives_a_code(options: OAuthOptions, grant_type: str) -> None:
    """F-AUTH-7: in the browser, or on another device; the other options are below."""
    world = World()
    device = "https://auth.example/device"
    issuer = AuthorizationServerFake(world, metadata={"device_authorization_endpoint": device})
    world.user = issuer.authorize
    codes = {"device_code": "d", "user_code": "U", "verification_uri": "https://auth.example/d"}
    world.on("POST", device, json_response(codes))
    world.run(obtain(grant_request(issuer), options))
    assert form_of(world.fetched[-1])["grant_type"] == grant_type


def test_the_resource_is_always_named_to_the_provider() -> None:
    """F-AUTH-7: required there, even where the other side wants none."""
    world = run(enterprise(secret=None), {"access_token": "jag"})
    exchange, grant = map(form_of, world.fetched)
    assert exchange["resource"] == "https://mcp.example/mcp"
    assert "client_secret" not in exchange
    assert "resource" not in grant


def test_another_kind_of_token_is_refused() -> None:
    """F-AUTH-7: an access token for something else must not travel on."""
    other = {**JAG, "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}
    world = World()
    with pytest.raises(AuthError, match="ID-JAG"):
        run(enterprise(), other, world=world)
    assert len(world.fetched) == 1


@pytest.mark.parametrize("value", [None, "", 7, b"jwt"])
def test_a_function_must_return_a_string(value: object) -> None:
    """F-AUTH-7: and the error does not show the response."""
    with pytest.raises(UsageError, match="must return a string"):
        World().run(token_from(lambda: value))
