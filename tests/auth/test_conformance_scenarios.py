"""The auth scenarios of the official suite, each as a flow against servers with its habits."""

from __future__ import annotations

import base64

import pytest

from mcpclient.auth.effects import Authorize, Callback, Fetch, Response
from mcpclient.auth.flow import Authorization
from mcpclient.auth.options import (
    ClientCredentials,
    EnterpriseManaged,
    IdentityProvider,
    OAuth,
    OAuthOptions,
    WorkloadIdentity,
)
from mcpclient.auth.signing import Es256Key
from mcpclient.errors import AuthError, InsufficientScope, TokenRequestFailed

from .world import (
    AuthorizationServerFake,
    ResourceServerFake,
    World,
    call_server,
    decode_jwt,
    form_of,
    json_response,
    query_of,
)

PRM = "https://mcp.example/.well-known/oauth-protected-resource"


def authorized(
    world: World, server: ResourceServerFake, options: OAuthOptions | None = None
) -> Authorization:
    """One call that succeeds after a user's authorization."""
    world.user = server.servers[0].authorize
    authorization = Authorization(server.url, options or OAuth())
    assert call_server(world, authorization, server).status == 200
    return authorization


def assert_resource_everywhere(server: ResourceServerFake, resource: str) -> None:
    issuer = server.servers[0]
    assert [query["resource"] for query in issuer.authorizations] == [resource]
    assert [form["resource"] for form in issuer.token_forms] == [resource]


def test_metadata_default() -> None:
    """F-AUTH-1: the challenge's metadata URL and no other one."""
    world = World()
    server = ResourceServerFake(world, [AuthorizationServerFake(world)])
    authorized(world, server)
    assert world.urls() == [
        f"{PRM}/mcp",
        "https://auth.example/.well-known/oauth-authorization-server",
    ]
    assert_resource_everywhere(server, server.url)


def test_metadata_var1() -> None:
    """F-AUTH-1: no URL in the challenge, and OpenID metadata only."""
    world = World()
    issuer = AuthorizationServerFake(
        world, metadata_url="https://auth.example/.well-known/openid-configuration"
    )
    server = ResourceServerFake(world, [issuer], names_metadata=False)
    authorized(world, server)
    assert world.urls() == [
        f"{PRM}/mcp",
        "https://auth.example/.well-known/oauth-authorization-server",
        "https://auth.example/.well-known/openid-configuration",
    ]


def test_metadata_var2() -> None:
    """F-AUTH-1: metadata at the root; an issuer with a path, never asked at its root."""
    world = World()
    issuer = AuthorizationServerFake(world, issuer="https://auth.example/tenant1")
    server = ResourceServerFake(
        world,
        [issuer],
        names_metadata=False,
        metadata_url=PRM,
        metadata={"resource": "https://mcp.example"},
    )
    authorized(world, server)
    assert world.urls() == [
        f"{PRM}/mcp",
        PRM,
        "https://auth.example/.well-known/oauth-authorization-server/tenant1",
    ]
    assert_resource_everywhere(server, "https://mcp.example")


def test_metadata_var3() -> None:
    """F-AUTH-1: metadata at a custom place; OpenID metadata below the issuer's path."""
    world = World()
    issuer = AuthorizationServerFake(
        world,
        issuer="https://auth.example/tenant1",
        metadata_url="https://auth.example/tenant1/.well-known/openid-configuration",
    )
    custom = "https://mcp.example/custom/metadata/location.json"
    authorized(world, ResourceServerFake(world, [issuer], metadata_url=custom))
    assert world.urls() == [
        custom,
        "https://auth.example/.well-known/oauth-authorization-server/tenant1",
        "https://auth.example/.well-known/openid-configuration/tenant1",
        "https://auth.example/tenant1/.well-known/openid-configuration",
    ]


def test_basic_cimd() -> None:
    """F-AUTH-2: a metadata document's URL is preferred to registration."""
    world = World()
    issuer = AuthorizationServerFake(
        world, metadata={"client_id_metadata_document_supported": True}
    )
    document = "https://conformance-test.local/client-metadata.json"
    authorized(world, ResourceServerFake(world, [issuer]), OAuth(client_metadata_url=document))
    assert issuer.authorizations[0]["client_id"] == document
    assert issuer.token_forms[0]["client_id"] == document
    assert not issuer.registrations


def test_scope_from_www_authenticate() -> None:
    """F-AUTH-4: the challenge's scope is authoritative."""
    world = World()
    issuer = AuthorizationServerFake(world)
    authorized(
        world,
        ResourceServerFake(
            world,
            [issuer],
            challenge='scope="mcp:basic"',
            metadata={"scopes_supported": ["mcp:other"]},
        ),
    )
    assert issuer.authorizations[0]["scope"] == "mcp:basic"


def test_scope_from_scopes_supported() -> None:
    """F-AUTH-4: all scopes of the metadata."""
    world = World()
    issuer = AuthorizationServerFake(world)
    scopes = ["mcp:basic", "mcp:read", "mcp:write"]
    authorized(world, ResourceServerFake(world, [issuer], metadata={"scopes_supported": scopes}))
    assert issuer.authorizations[0]["scope"] == " ".join(scopes)


def test_scope_omitted_when_undefined() -> None:
    """F-AUTH-4: nobody names a scope, so none is asked for."""
    world = World()
    issuer = AuthorizationServerFake(world)
    authorized(world, ResourceServerFake(world, [issuer]))
    assert "scope" not in issuer.authorizations[0]
    assert "scope" not in issuer.token_forms[0]


def test_scope_step_up() -> None:
    """F-AUTH-4: one more authorization with the union, and one retry."""
    world = World()
    issuer = AuthorizationServerFake(world)
    server = ResourceServerFake(
        world,
        [issuer],
        challenge='scope="mcp:basic"',
        metadata={"scopes_supported": ["mcp:profile"]},
    )
    authorization = authorized(world, server)
    server.required_scopes = ["mcp:write"]
    sent = len(server.requests)
    assert call_server(world, authorization, server).status == 200
    assert [query["scope"] for query in issuer.authorizations] == [
        "mcp:basic",
        "mcp:basic mcp:write",
    ]
    assert len(server.requests) == sent + 2


def test_scope_retry_limit() -> None:
    """F-AUTH-4: a scope that never suffices ends in an error of its own."""
    world = World()
    issuer = AuthorizationServerFake(world)
    server = ResourceServerFake(world, [issuer], challenge='scope="mcp:basic"')
    world.user = issuer.authorize
    authorization = Authorization(server.url, OAuth())
    refusal = Response(
        403,
        [("WWW-Authenticate", 'Bearer error="insufficient_scope", scope="mcp:basic"')],
        b"",
    )
    assert call_server(world, authorization, server).status == 200
    request = authorization.request("POST", server.url)
    world.run(request.headers())
    with pytest.raises(InsufficientScope) as caught:
        world.run(request.recover(refusal))
    assert caught.value.required == ("mcp:basic",)
    assert len(issuer.authorizations) == 1


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
def test_token_endpoint_auth(method: str) -> None:
    """F-AUTH-6: the method the server advertises and registers."""
    world = World()
    issuer = AuthorizationServerFake(
        world,
        metadata={"token_endpoint_auth_methods_supported": [method]},
        registration={"client_secret": "s3cret", "token_endpoint_auth_method": method},
    )
    authorized(world, ResourceServerFake(world, [issuer]))
    assert issuer.registrations[0]["token_endpoint_auth_method"] == method
    form, headers = issuer.token_forms[0], issuer.token_requests[0].headers
    basic = "Basic " + base64.b64encode(b"registered-client:s3cret").decode()
    assert headers.get("Authorization") == (basic if method == "client_secret_basic" else None)
    assert form.get("client_secret") == ("s3cret" if method == "client_secret_post" else None)
    assert form.get("client_id") == "registered-client"


def test_pre_registration() -> None:
    """F-AUTH-2: given a client_id, no registration is tried."""
    world = World()
    issuer = AuthorizationServerFake(
        world,
        metadata={
            "registration_endpoint": None,
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        },
    )
    options = OAuth(
        trust_first_issuer=True,
        client_id="pre-registered-client",
        client_secret="pre-registered-secret",
    )
    authorized(world, ResourceServerFake(world, [issuer]), options)
    expected = base64.b64encode(b"pre-registered-client:pre-registered-secret").decode()
    assert issuer.token_requests[0].headers["Authorization"] == f"Basic {expected}"
    assert not issuer.registrations


def test_2025_03_26_metadata_backcompat() -> None:
    """F-AUTH-1: no resource metadata; the server's origin is the issuer, its endpoints count."""
    world = World()
    issuer = AuthorizationServerFake(world, issuer="https://mcp.example", routes="/oauth")
    server = ResourceServerFake(world, [issuer], metadata_url="", names_metadata=False)
    authorized(world, server)
    assert world.urls("POST") == [
        "https://mcp.example/oauth/register",
        "https://mcp.example/oauth/token",
    ]
    assert issuer.authorizations[0]["resource"] == server.url


def test_2025_03_26_endpoint_fallback() -> None:
    """F-AUTH-1: no metadata at all; the default endpoints at the origin."""
    world = World()
    issuer = AuthorizationServerFake(world, issuer="https://mcp.example", metadata_url="")
    server = ResourceServerFake(world, [issuer], metadata_url="", names_metadata=False)
    authorized(world, server)
    assert world.visited[0].url.startswith("https://mcp.example/authorize?")
    assert world.urls("POST") == ["https://mcp.example/register", "https://mcp.example/token"]


def rejected(world: World, server: ResourceServerFake, match: str) -> None:
    world.user = server.servers[0].authorize
    with pytest.raises(AuthError, match=match):
        call_server(world, Authorization(server.url, OAuth()), server)


def test_resource_mismatch() -> None:
    """F-AUTH-1: metadata about another resource ends it before anyone is asked."""
    world = World()
    server = ResourceServerFake(
        world,
        [AuthorizationServerFake(world)],
        metadata={"resource": "https://evil.example.com/mcp"},
    )
    rejected(world, server, "resource metadata is for https://evil")
    assert world.urls() == [f"{PRM}/mcp"]
    assert not world.visited


def test_offline_access_scope() -> None:
    """F-AUTH-4: asked for where the authorization server lists it."""
    world = World()
    issuer = AuthorizationServerFake(
        world,
        metadata={
            "scopes_supported": ["mcp:basic", "offline_access"],
            "client_id_metadata_document_supported": True,
        },
    )
    server = ResourceServerFake(world, [issuer], metadata={"scopes_supported": ["mcp:basic"]})
    authorized(world, server, OAuth(client_metadata_url="https://app.example/client.json"))
    assert issuer.authorizations[0]["scope"] == "mcp:basic offline_access"
    assert issuer.authorizations[0]["prompt"] == "consent"


def test_offline_access_not_supported() -> None:
    """F-AUTH-4: never asked for where it is not listed."""
    world = World()
    issuer = AuthorizationServerFake(world, metadata={"scopes_supported": ["mcp:basic"]})
    server = ResourceServerFake(
        world, [issuer], metadata={"scopes_supported": ["mcp:basic", "offline_access"]}
    )
    authorized(world, server)
    assert issuer.authorizations[0]["scope"] == "mcp:basic"


@pytest.mark.parametrize(
    ("advertised", "sends", "iss"),
    [(True, True, None), (None, False, None), (None, True, None)],
    ids=["iss-supported", "iss-not-advertised", "iss-correct-unadvertised"],
)
def test_iss_accepted(advertised: bool | None, sends: bool, iss: str | None) -> None:
    """F-AUTH-3: RFC 9207: the issuer asked, or none where none is promised."""
    world = World()
    issuer = AuthorizationServerFake(
        world,
        metadata={"authorization_response_iss_parameter_supported": advertised},
        sends_iss=sends,
        iss=iss,
    )
    authorized(world, ResourceServerFake(world, [issuer]))
    assert len(issuer.token_forms) == 1


@pytest.mark.parametrize(
    ("advertised", "sends", "iss", "match"),
    [
        (True, False, None, "does not name its issuer"),
        (True, True, "https://evil.example.com", "another issuer"),
        (None, True, "https://evil.example.com", "another issuer"),
        (True, True, "https://auth.example/", "another issuer"),
    ],
    ids=["iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized"],
)
def test_iss_rejected(advertised: bool | None, sends: bool, iss: str | None, match: str) -> None:
    """F-AUTH-3: RFC 9207: after the user was asked, and before the code goes anywhere."""
    world = World()
    issuer = AuthorizationServerFake(
        world,
        metadata={"authorization_response_iss_parameter_supported": advertised},
        sends_iss=sends,
        iss=iss,
    )
    rejected(world, ResourceServerFake(world, [issuer]), match)
    assert len(world.visited) == 1
    assert not issuer.token_forms


def test_metadata_issuer_mismatch() -> None:
    """F-AUTH-1: metadata of another issuer is not used at all."""
    world = World()
    issuer = AuthorizationServerFake(world, metadata={"issuer": "https://attacker.example"})
    rejected(world, ResourceServerFake(world, [issuer]), "names another issuer")
    assert issuer.metadata_url in world.urls()
    assert not world.urls("POST")
    assert not world.visited


def test_authorization_server_migration() -> None:
    """F-AUTH-2: a new issuer gets a new registration, and nothing of the old one's."""
    world = World()
    first = AuthorizationServerFake(
        world,
        issuer="https://one.example",
        client_id="client-of-one",
        token_fields={"refresh_token": "refresh-of-one"},
    )
    second = AuthorizationServerFake(world, issuer="https://two.example", client_id="client-of-two")
    server = ResourceServerFake(world, [first])
    authorization = authorized(world, server)
    server.servers = [second]
    world.user = second.authorize
    assert call_server(world, authorization, server).status == 200
    assert len(second.registrations) == 1
    assert second.authorizations[0]["client_id"] == "client-of-two"
    assert second.token_forms[0]["client_id"] == "client-of-two"
    sent_to_second = [
        (request.url, request.body, dict(request.headers))
        for request in world.fetched
        if request.url.startswith("https://two.example")
    ]
    assert "of-one" not in repr(sent_to_second)
    assert [form["grant_type"] for form in first.token_forms] == ["authorization_code"]


KEY = Es256Key.from_random(b"x" * 48)


def test_client_credentials_jwt() -> None:
    """F-AUTH-7: the assertion's audience is the issuer, and it is the only request."""
    world = World()
    issuer = AuthorizationServerFake(
        world, metadata={"token_endpoint_auth_methods_supported": ["private_key_jwt"]}
    )
    server = ResourceServerFake(world, [issuer])
    options = ClientCredentials(trust_first_issuer=True, client_id="robot", signer=KEY)
    assert call_server(world, Authorization(server.url, options), server).status == 200
    form = issuer.token_forms[0]
    assert form["grant_type"] == "client_credentials"
    assert form["client_assertion_type"].endswith(":client-assertion-type:jwt-bearer")
    header, claims = decode_jwt(form["client_assertion"])
    assert header["alg"] == "ES256"
    assert claims["iss"] == claims["sub"] == "robot"
    assert claims["aud"] == "https://auth.example"
    assert claims["exp"] == 1_000_300
    assert claims["jti"]
    assert len(issuer.token_forms) == 1


def test_client_credentials_basic() -> None:
    """F-AUTH-7: the pair in the header, as it is."""
    world = World()
    issuer = AuthorizationServerFake(
        world, metadata={"token_endpoint_auth_methods_supported": ["client_secret_basic"]}
    )
    server = ResourceServerFake(world, [issuer])
    options = ClientCredentials(
        trust_first_issuer=True, client_id="robot", client_secret="robot-secret"
    )
    assert call_server(world, Authorization(server.url, options), server).status == 200
    expected = base64.b64encode(b"robot:robot-secret").decode()
    assert issuer.token_requests[0].headers["Authorization"] == f"Basic {expected}"
    assert not world.visited


def test_enterprise_managed_authorization() -> None:
    """F-AUTH-7: the ID token becomes an ID-JAG, and that an access token."""
    world = World()
    issuer = AuthorizationServerFake(
        world, metadata={"token_endpoint_auth_methods_supported": ["client_secret_basic"]}
    )
    server = ResourceServerFake(world, [issuer])
    exchanges: list[dict[str, str]] = []

    def exchange(request: Fetch) -> Response:
        exchanges.append(form_of(request))
        return json_response(
            {
                "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
                "access_token": "the.id.jag",
                "token_type": "N_A",
            }
        )

    world.on("POST", "https://idp.example/token", exchange)
    provider = IdentityProvider(
        "https://idp.example/token", client_id="at-idp", identity_assertion="the.id.token"
    )
    options = EnterpriseManaged(
        trust_first_issuer=True,
        identity_provider=provider,
        client_id="at-as",
        client_secret="secret",
    )
    assert call_server(world, Authorization(server.url, options), server).status == 200
    assert exchanges == [
        {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "audience": "https://auth.example",
            "resource": "https://mcp.example/mcp",
            "subject_token": "the.id.token",
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "client_id": "at-idp",
        }
    ]
    form = issuer.token_forms[0]
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    assert form["assertion"] == "the.id.jag"
    assert issuer.token_requests[0].headers["Authorization"].startswith("Basic ")


def test_workload_identity() -> None:
    """F-AUTH-7: the platform's JWT in exactly one request, without a secret."""
    world = World()
    issuer = AuthorizationServerFake(world, metadata={"registration_endpoint": None})
    server = ResourceServerFake(world, [issuer])
    options = WorkloadIdentity(
        trust_first_issuer=True, assertion="workload.jwt", client_id="workload"
    )
    assert call_server(world, Authorization(server.url, options), server).status == 200
    assert issuer.token_forms == [
        {
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "assertion": "workload.jwt",
            "resource": "https://mcp.example/mcp",
            "client_id": "workload",
        }
    ]
    assert "Authorization" not in issuer.token_requests[0].headers


def test_workload_identity_is_not_retried() -> None:
    """F-AUTH-7: a refusal is final, whatever is called afterwards."""
    world = World()
    issuer = AuthorizationServerFake(world)
    world.on("POST", "https://auth.example/token", json_response({"error": "invalid_grant"}, 400))
    server = ResourceServerFake(world, [issuer])
    authorization = Authorization(
        server.url, WorkloadIdentity(trust_first_issuer=True, assertion="workload.jwt")
    )
    for _ in range(2):
        with pytest.raises(TokenRequestFailed, match="invalid_grant"):
            call_server(world, authorization, server)
    assert world.urls("POST") == ["https://auth.example/token"]


def dpop_world(nonces: bool) -> tuple[World, AuthorizationServerFake, ResourceServerFake]:
    world = World()
    issuer = AuthorizationServerFake(
        world,
        metadata={"dpop_signing_alg_values_supported": ["ES256"]},
        token_fields={"token_type": "DPoP"},
        nonce="as-nonce" if nonces else None,
    )
    server = ResourceServerFake(
        world, [issuer], scheme="DPoP", nonce="rs-nonce" if nonces else None
    )
    return world, issuer, server


def test_dpop() -> None:
    """F-AUTH-7: a fresh proof with every request, never Bearer, one key throughout."""
    world, issuer, server = dpop_world(nonces=False)
    authorization = authorized(world, server)
    call_server(world, authorization, server)
    header, claims = decode_jwt(issuer.token_requests[0].headers["DPoP"])
    assert header["typ"] == "dpop+jwt"
    assert set(header["jwk"]) == {"kty", "crv", "x", "y"}  # type: ignore[call-overload]
    assert claims["htm"] == "POST"
    assert claims["htu"] == "https://auth.example/token"
    assert "ath" not in claims
    proofs = [decode_jwt(sent["DPoP"]) for sent in server.requests if "DPoP" in sent]
    assert len(proofs) == 2
    assert all(proof_header["jwk"] == header["jwk"] for proof_header, _ in proofs)
    assert all("ath" in proof for _, proof in proofs)
    assert len({str(proof["jti"]) for _, proof in proofs} | {str(claims["jti"])}) == 3
    assert all(not sent.get("Authorization", "").startswith("Bearer") for sent in server.requests)


def test_dpop_nonce() -> None:
    """F-AUTH-7: the same code again with the server's nonce; the two servers' nonces apart."""
    world, issuer, server = dpop_world(nonces=True)
    authorization = authorized(world, server)
    assert call_server(world, authorization, server).status == 200
    token_posts = [form_of(request) for request in world.fetched if "/token" in request.url]
    assert len(token_posts) == 2
    assert token_posts[0] == token_posts[1]
    assert len(issuer.authorizations) == 1
    nonces = [decode_jwt(sent["DPoP"])[1].get("nonce") for sent in server.requests[1:]]
    assert nonces == [None, "rs-nonce", "rs-nonce"]
    identifiers = [decode_jwt(sent["DPoP"])[1]["jti"] for sent in server.requests[1:]]
    assert len(set(map(str, identifiers))) == 3


def test_the_user_is_led_to_the_right_place() -> None:
    """F-AUTH-3: what the shell is asked to do, and what the callback leads to."""
    world = World()
    issuer = AuthorizationServerFake(world)
    server = ResourceServerFake(world, [issuer])

    def user(request: Authorize) -> Callback:
        assert query_of(request.url)["state"] == request.state
        return issuer.authorize(request)

    world.user = user
    authorization = Authorization(server.url, OAuth(redirect_uri="http://localhost:3000/cb"))
    assert call_server(world, authorization, server).status == 200
    assert world.redirects[0].configured == "http://localhost:3000/cb"
    assert issuer.registrations[0]["redirect_uris"] == ["http://localhost:3000/cb"]
    assert issuer.registrations[0]["application_type"] == "native"
    assert issuer.registrations[0]["grant_types"] == ["authorization_code", "refresh_token"]
