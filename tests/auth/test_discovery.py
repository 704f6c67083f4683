from __future__ import annotations

import pytest

from mcpclient.auth.discovery import Discovery, discover, speaks_for
from mcpclient.auth.options import Endpoints, OAuth
from mcpclient.errors import AuthError
from tests.support.tables import each_row

from .world import AuthorizationServerFake, ResourceServerFake, World, json_response

SERVER = "https://mcp.example/mcp"
PRM = "https://mcp.example/.well-known/oauth-protected-resource"


def find(
    world: World, named: str | None = None, options: OAuth | None = None, server_url: str = SERVER
) -> Discovery:
    options = options or OAuth()
    return world.run(
        discover(server_url, options, options.url_policy(server_url), resource_metadata_url=named)
    )


def scene(**server: object) -> tuple[World, AuthorizationServerFake]:
    world = World()
    issuer = AuthorizationServerFake(world, **server)  # type: ignore[arg-type]
    ResourceServerFake(world, [issuer])
    return world, issuer


@each_row(
    ("resource", "place", "speaks"),
    [
        ("https://h.example/b/mcp", "/b/mcp", True),
        ("https://h.example/b/mcp/", "/b/mcp", True),
        ("https://h.example/b/mcp", "", True),
        ("https://h.example", "", True),
        ("https://h.example/", "", True),
        ("https://h.example/b", "/b", True),
        ("https://h.example", "/b/mcp", False),
        ("https://h.example/", "/b/mcp", False),
        ("https://h.example/b", "/b/mcp", False),
        ("https://h.example/b", "", False),
        ("https://h.example", "/b", False),
        ("https://h.example/a/mcp", "", False),
    ],
)
def test_a_parent_speaks_only_from_its_own_place(resource: str, place: str, speaks: bool) -> None:
    """F-AUTH-1: RFC 9728 section 3.3: a tenant must not claim the host it shares with others."""
    found = f"https://h.example/.well-known/oauth-protected-resource{place}"
    assert speaks_for(resource, found, "https://h.example/b/mcp") is speaks


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        ("https://other.example", r"is for https://other\.example, not for"),
        ("https://mcp.example/mcp?x=1", r"is for https://mcp\.example/mcp with another query"),
    ],
)
def test_metadata_of_another_resource_is_refused(resource: str, said: str) -> None:
    """F-AUTH-1: RFC 9728 section 3.3; a token for it would be another server's."""
    world, _ = scene()
    document = {"resource": resource, "authorization_servers": ["https://a.test"]}
    world.on("GET", f"{PRM}/mcp", json_response(document))
    with pytest.raises(AuthError, match=said):
        find(world)
    assert world.urls() == [f"{PRM}/mcp", PRM]


def test_the_named_metadata_is_the_only_one() -> None:
    """F-AUTH-1: when the challenge's URL leads nowhere, nothing else is tried."""
    world, _ = scene()
    with pytest.raises(AuthError, match="no resource metadata"):
        find(world, "https://mcp.example/elsewhere")
    assert len(world.fetched) == 1


def test_another_issuer_than_the_users_is_refused() -> None:
    """F-AUTH-2: credentials are for one issuer, and the server names another one."""
    world, _ = scene()
    with pytest.raises(AuthError, match="as configured"):
        find(world, options=OAuth(issuer="https://other.example"))


def test_without_resource_metadata_a_configured_issuer_is_asked() -> None:
    """F-AUTH-1: the user knows better than a guess; without its metadata there is no guessing."""
    world = World()
    AuthorizationServerFake(world)
    options = OAuth(issuer="https://auth.example")
    assert find(world, options=options).server.issuer == "https://auth.example"
    with pytest.raises(AuthError, match="has no metadata"):
        find(world, options=OAuth(issuer="https://empty.example"))


def test_endpoints_the_user_names_need_no_metadata() -> None:
    """F-AUTH-1: explicit endpoints, used as they are."""
    world = World()
    names = ("token", "authorize", "register", "device", "revoke")
    urls = [f"https://login.example/{name}" for name in names]
    endpoints = Endpoints(*urls)
    server = find(world, options=OAuth(endpoints=endpoints)).server
    assert not world.fetched
    assert server.issuer == "https://login.example"
    assert [getattr(server, name) for name in vars(endpoints)] == urls
    assert server.code_challenge_methods_supported == ("S256",)
    named = find(world, options=OAuth(endpoints=endpoints, issuer="https://i.example"))
    assert named.server.issuer == "https://i.example"
