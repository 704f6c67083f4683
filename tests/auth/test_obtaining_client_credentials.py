from __future__ import annotations

from mcpclient.auth.discovery import AuthorizationServer, Discovery
from mcpclient.auth.grants import GrantRequest
from mcpclient.auth.obtaining import by_client_credentials
from mcpclient.auth.options import ClientCredentials
from mcpclient.auth.url_guard import UrlPolicy

from .world import World, form_of, json_response


def test_the_request() -> None:
    """F-AUTH-7: scope and resource as the extension's example has them."""
    world = World()
    token = "https://auth.example/token"
    world.on("POST", token, json_response({"access_token": "t"}))
    request = GrantRequest(
        server_url="https://mcp.example",
        server_name="https://mcp.example",
        discovery=Discovery(AuthorizationServer("https://auth.example", token), None),
        scopes=("mcp:read",),
        resource="https://mcp.example",
        policy=UrlPolicy(),
    )
    options = ClientCredentials(
        trust_first_issuer=True,
        client_id="id",
        client_secret="secret",
        token_endpoint_auth_method="client_secret_post",
    )
    grant = world.run(by_client_credentials(request, options))
    assert grant.tokens.access_token == "t"
    assert form_of(world.fetched[0]) == {
        "grant_type": "client_credentials",
        "scope": "mcp:read",
        "resource": "https://mcp.example",
        "client_id": "id",
        "client_secret": "secret",
    }
