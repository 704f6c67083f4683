from __future__ import annotations

from typing import Any

import pytest

from mcpclient.auth.discovery import AuthorizationServer, Discovery, ProtectedResource
from mcpclient.auth.effects import token_from
from mcpclient.auth.obtaining import needs_dpop, obtain, resource_for, scopes_for
from mcpclient.auth.options import (
    ClientCredentials,
    EnterpriseManaged,
    IdentityProvider,
    OAuth,
    OAuthOptions,
    WorkloadIdentity,
)
from mcpclient.auth.tokens import AuthorizationChallenge, parse_scope, union
from mcpclient.errors import AuthError, SsrfError, TokenRequestFailed, UsageError

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


def test_dpop_is_used_where_it_must_be() -> None:
    """F-AUTH-7: the user, the challenge or the metadata says so."""
    nothing = AuthorizationChallenge()
    required = ProtectedResource("https://mcp.example", ("https://auth.example",), None, True)
    assert not needs_dpop(OAuth(), FOUND, nothing)
    assert needs_dpop(OAuth(dpop=True), FOUND, nothing)
    assert needs_dpop(OAuth(), FOUND, AuthorizationChallenge(dpop_only=True))
    assert needs_dpop(OAuth(), Discovery(SERVER, required), nothing)


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


def test_the_challenge_comes_first() -> None:
    """F-AUTH-4: challenge, else metadata, else none."""
    assert select(challenged=("a",), resource=("b", "c")) == ("a",)
    assert select(resource=("b", "c")) == ("b", "c")
    assert select() == ()
    assert select(challenged=(), resource=("b",)) == ()
    assert select(held=("held",), has_metadata=False) == ("held",)


def test_configured_scopes_replace_the_metadatas() -> None:
    """F-AUTH-4: a challenge is still obeyed, and what was asked for before is kept."""
    assert select(configured=("mine",), resource=("b",)) == ("mine",)
    assert select(challenged=("a",), configured=("mine",)) == ("a", "mine")
    assert select(challenged=("write",), held=("read",)) == ("read", "write")


def test_offline_access_is_asked_for_where_it_is_offered() -> None:
    """F-AUTH-4: only where the authorization server lists it, and a refresh token is wanted."""
    assert select(("a",), server=("a", "offline_access")) == ("a", "offline_access")
    assert select(("a",), server=("a", "offline_access"), refresh=False) == ("a",)
    assert select(("a",), server=("a",)) == ("a",)
    assert select(resource=("a", "offline_access"), server=("a",)) == ("a",)
    assert select(("a", "offline_access"), server=None) == ("a", "offline_access")


def test_offline_access_that_was_named_is_asked_for() -> None:
    """F-AUTH-4: a challenge says what is needed, whatever the authorization server lists."""
    named = ("a", "offline_access")
    assert select(challenged=named, server=("a",)) == named
    assert select(configured=named, server=("a",)) == named
    assert select(("write",), held=named, server=("a",)) == (*named, "write")
    assert select(challenged=named, server=("a",), refresh=False) == named


def test_offline_access_never_stands_alone() -> None:
    """F-AUTH-4: no scope means the server's default scopes, which it would replace."""
    assert select(server=("offline_access",)) == ()


def test_scopes_are_taken_apart_with_care() -> None:
    """F-AUTH-4: what cannot be a scope is dropped, and there is an end to it."""
    assert parse_scope('a b\ta  c"d é \\ e') == ("a", "b", "e")
    assert parse_scope("x" * 257) == ()
    assert len(union(map(str, range(1000)))) == 200


JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
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


def test_client_credentials() -> None:
    """F-AUTH-7: scope and resource as the extension's example has them, in one request."""
    options = ClientCredentials(
        **TRUSTED,
        client_id="id",
        client_secret="secret",
        token_endpoint_auth_method="client_secret_post",
    )
    (sent,) = run(options, scopes=("mcp:read",), resource="https://mcp.example").fetched
    assert form_of(sent) == {
        "grant_type": "client_credentials",
        "scope": "mcp:read",
        "resource": "https://mcp.example",
        "client_id": "id",
        "client_secret": "secret",
    }


def test_an_enterprises_identity_becomes_a_grant() -> None:
    """F-AUTH-7: the provider is the user's own and may be inside the company."""
    exchange, grant = map(
        form_of, run(enterprise(), JAG, scopes=("a",), resource="https://mcp.example").fetched
    )
    assert exchange == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "audience": "https://auth.example",
        "resource": "https://mcp.example",
        "subject_token": "id-token",
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "scope": "a",
        "client_id": "at-idp",
        "client_secret": "idp-secret",
    }
    assert (grant["grant_type"], grant["assertion"]) == (JWT_BEARER, "jag")
    assert grant["client_id"] == "id"


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


def test_the_providers_refusal_is_told() -> None:
    """F-AUTH-7: policy says no; the assertion is not in the error."""
    with pytest.raises(TokenRequestFailed) as caught:
        run(enterprise(), {"error": "invalid_grant", "error_description": "not id-token"})
    assert caught.value.description == "not …"


def test_an_assertion_does_not_travel_in_the_clear() -> None:
    """F-AUTH-10: http only in local development, also where the user named the URL."""
    world = World()
    with pytest.raises(SsrfError):
        run(enterprise("http://idp.example/token"), world=world)
    assert not world.fetched


def test_a_workloads_assertion_is_asked_for_each_time() -> None:
    """F-AUTH-7: platforms rotate these tokens, so a function gives a fresh one."""
    assertions = iter(["one", "two"])
    options = WorkloadIdentity(**TRUSTED, assertion=lambda: next(assertions))
    for assertion in ("one", "two"):
        (sent,) = run(options, resource="r").fetched
        assert form_of(sent) == {"grant_type": JWT_BEARER, "assertion": assertion, "resource": "r"}
        assert "Authorization" not in sent.headers


def test_a_refused_assertion_is_sent_once() -> None:
    """F-AUTH-7: nothing is tried after a refusal."""
    world = World()
    options = WorkloadIdentity(**TRUSTED, assertion="jwt", client_id="id")
    with pytest.raises(TokenRequestFailed):
        run(options, {"error": "invalid_grant"}, world=world)
    assert [form_of(sent)["client_id"] for sent in world.fetched] == ["id"]


@pytest.mark.parametrize("value", [None, "", 7, b"jwt"])
def test_a_function_must_return_a_string(value: object) -> None:
    """F-AUTH-7: and the error does not show what it returned."""
    with pytest.raises(UsageError, match="must return a string"):
        World().run(token_from(lambda: value))
