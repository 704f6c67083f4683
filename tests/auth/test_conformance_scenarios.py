"""The auth scenarios of the official suite that take several steps, each as a whole flow."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import AuthError

from .world import TOKEN, AuthorizationServerFake, Scene, decode_jwt, form_of

MCP, AUTH = "https://mcp.example", "https://auth.example"
PRM = f"{MCP}/.well-known/oauth-protected-resource"
SERVER_METADATA = f"{AUTH}/.well-known/oauth-authorization-server"
OPENID_METADATA = f"{AUTH}/.well-known/openid-configuration"
TENANT_METADATA = f"{AUTH}/tenant1/.well-known/openid-configuration"
CUSTOM = f"{MCP}/custom/metadata/location.json"
UNNAMED: Any = {"names_metadata": False}
# As servers of revision 2025-03-26, which have no metadata of a resource.
OLD: Any = {**UNNAMED, "metadata_url": ""}


@pytest.mark.parametrize(
    ("issuer", "server", "asked", "posted"),
    [
        ({}, {}, [f"{PRM}/mcp", SERVER_METADATA], AUTH),
        (
            {"metadata_url": OPENID_METADATA},
            UNNAMED,
            [f"{PRM}/mcp", SERVER_METADATA, OPENID_METADATA],
            AUTH,
        ),
        (
            {"issuer": f"{AUTH}/tenant1"},
            {**UNNAMED, "metadata_url": PRM, "metadata": {"resource": MCP}},
            [f"{PRM}/mcp", PRM, f"{SERVER_METADATA}/tenant1"],
            AUTH,
        ),
        (
            {"issuer": f"{AUTH}/tenant1", "metadata_url": TENANT_METADATA},
            {"metadata_url": CUSTOM},
            [CUSTOM, f"{SERVER_METADATA}/tenant1", f"{OPENID_METADATA}/tenant1", TENANT_METADATA],
            AUTH,
        ),
        ({"issuer": MCP, "routes": "/oauth"}, OLD, None, f"{MCP}/oauth"),
        ({"issuer": MCP, "metadata_url": ""}, OLD, None, MCP),
    ],
    ids=["default", "var1", "var2", "var3", "2025-03-26 metadata", "2025-03-26 fallback"],
)
def test_where_the_endpoints_are_found(
    issuer: Any, server: Any, asked: list[str] | None, posted: str
) -> None:
    """F-AUTH-1: by the challenge and no other place, or in the order of the specification."""
    scene = Scene(None, issuer, **server)
    assert scene.call().status == 200
    assert asked is None or scene.world.urls() == asked
    assert scene.world.visited[0].url.startswith(f"{posted}/authorize?")
    assert scene.world.urls("POST") == [f"{posted}/register", f"{posted}/token"]
    resource = scene.server.document()["resource"]
    for sent in (*scene.issuer.authorizations, *scene.issuer.token_forms):
        assert sent["resource"] == resource
        assert "scope" not in sent, "nobody has named one"


def test_scope_step_up() -> None:
    """F-AUTH-4: one more authorization with the union, and one retry."""
    basic, profile = 'scope="mcp:basic"', {"scopes_supported": ["mcp:profile"]}
    scene = Scene(challenge=basic, metadata=profile)
    scene.call()
    scene.server.required_scopes = ["mcp:write"]
    sent = len(scene.server.requests)
    assert scene.call().status == 200
    scopes = [query["scope"] for query in scene.issuer.authorizations]
    assert scopes == ["mcp:basic", "mcp:basic mcp:write"]
    assert len(scene.server.requests) == sent + 2


def test_offline_access_scope() -> None:
    """F-AUTH-4: asked for where the authorization server lists it."""
    listed = {"scopes_supported": ["mcp:basic", "offline_access"]}
    scene = Scene(None, {"metadata": listed}, metadata={"scopes_supported": ["mcp:basic"]})
    scene.call()
    assert scene.issuer.authorizations[0]["scope"] == "mcp:basic offline_access"
    assert scene.issuer.authorizations[0]["prompt"] == "consent"


EVIL = "https://evil.example.com"


@pytest.mark.parametrize(
    ("advertised", "iss", "match"),
    [
        (True, AUTH, None),
        (None, None, None),
        (None, AUTH, None),
        (True, None, "does not name its issuer"),
        (True, EVIL, "another issuer"),
        (None, EVIL, "another issuer"),
        (True, f"{AUTH}/", "another issuer"),
    ],
    ids=[
        *("iss-supported", "iss-not-advertised", "iss-correct-unadvertised"),
        *("iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized"),
    ],
)
def test_iss(advertised: bool | None, iss: str | None, match: str | None) -> None:
    """F-AUTH-3: RFC 9207: the issuer asked, or none where none is promised; before the code."""
    metadata = {"authorization_response_iss_parameter_supported": advertised}
    scene = Scene(None, {"metadata": metadata, "sends_iss": iss is not None, "iss": iss})
    if match is None:
        assert scene.call().status == 200
    else:
        with pytest.raises(AuthError, match=match):
            scene.call()
    assert len(scene.world.visited) == 1
    assert len(scene.issuer.token_forms) == (match is None)


def test_authorization_server_migration() -> None:
    """F-AUTH-2: a new issuer gets a new registration, and nothing of the old one's."""
    refresh = {"refresh_token": "refresh-of-one"}
    scene = Scene(None, {"client_id": "client-of-one", "token_fields": refresh})
    scene.call()
    second = AuthorizationServerFake(scene.world, "https://two.example", client_id="client-of-two")
    scene.server.servers = [second]
    scene.world.user = second.authorize
    assert scene.call().status == 200
    assert len(second.registrations) == 1
    assert second.authorizations[0]["client_id"] == "client-of-two"
    assert second.token_forms[0]["client_id"] == "client-of-two"
    sent_to_second = [
        (request.url, request.body, dict(request.headers))
        for request in scene.world.fetched
        if request.url.startswith(second.issuer)
    ]
    assert "of-one" not in repr(sent_to_second)
    assert scene.grants() == ["authorization_code"]


def test_dpop_nonce() -> None:
    """F-AUTH-7: the same code again with the server's nonce; the two servers' nonces apart."""
    issuer = {"token_fields": {"token_type": "DPoP"}, "nonce": "as-nonce"}
    scene = Scene(None, issuer, scheme="DPoP", nonce="rs-nonce")
    for _ in range(2):
        assert scene.call().status == 200
    posts = [request for request in scene.world.fetched if request.url == TOKEN]
    assert len(posts) == 2
    assert form_of(posts[0]) == form_of(posts[1])
    assert len(scene.issuer.authorizations) == 1
    sent = scene.server.requests[1:]
    assert {headers["Authorization"].partition(" ")[0] for headers in sent} == {"DPoP"}
    proofs = [decode_jwt(headers["DPoP"])[1] for headers in sent]
    assert [proof.get("nonce") for proof in proofs] == [None, "rs-nonce", "rs-nonce"]
    tokens = [decode_jwt(request.headers["DPoP"])[1] for request in posts]
    assert all("ath" in proof for proof in proofs) and not any("ath" in proof for proof in tokens)
    assert len({str(proof["jti"]) for proof in (*proofs, *tokens)}) == 5
    keys = {
        str(decode_jwt(each["DPoP"])[0]["jwk"]) for each in (*sent, *(p.headers for p in posts))
    }
    assert len(keys) == 1
