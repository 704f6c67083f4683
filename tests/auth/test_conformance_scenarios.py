"""The auth scenarios of the official suite that take several steps, each as a whole flow."""

from __future__ import annotations

from typing import Any

from tests.support.tables import each_row

from .world import Scene

MCP, AUTH = "https://mcp.example", "https://auth.example"
PRM = f"{MCP}/.well-known/oauth-protected-resource"
SERVER_METADATA = f"{AUTH}/.well-known/oauth-authorization-server"
OPENID_METADATA = f"{AUTH}/.well-known/openid-configuration"
TENANT_METADATA = f"{AUTH}/tenant1/.well-known/openid-configuration"
CUSTOM = f"{MCP}/custom/metadata/location.json"
UNNAMED: Any = {"names_metadata": False}
# As servers of revision 2025-03-26, which have no metadata of a resource.
OLD: Any = {**UNNAMED, "metadata_url": ""}


@each_row(
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


def test_offline_access_scope() -> None:
    """F-AUTH-4: asked for where the authorization server lists it."""
    listed = {"scopes_supported": ["mcp:basic", "offline_access"]}
    scene = Scene(None, {"metadata": listed}, metadata={"scopes_supported": ["mcp:basic"]})
    scene.call()
    assert scene.issuer.authorizations[0]["scope"] == "mcp:basic offline_access"
    assert scene.issuer.authorizations[0]["prompt"] == "consent"
