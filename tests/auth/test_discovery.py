from __future__ import annotations

import pytest

from mcpclient.auth.discovery import (
    Discovery,
    authorization_server_urls,
    discover,
    protected_resource_urls,
    speaks_for,
)
from mcpclient.auth.effects import Response
from mcpclient.auth.options import Endpoints, OAuth
from mcpclient.errors import AuthError, SsrfError

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


def test_where_metadata_may_be() -> None:
    """F-AUTH-1: the order of the specification, for issuers with and without a path."""
    assert protected_resource_urls("https://h.example:1/a/b/") == [
        "https://h.example:1/.well-known/oauth-protected-resource/a/b",
        "https://h.example:1/.well-known/oauth-protected-resource",
    ]
    assert protected_resource_urls("https://h.example/") == [
        "https://h.example/.well-known/oauth-protected-resource"
    ]
    assert authorization_server_urls("https://h.example/") == [
        "https://h.example/.well-known/oauth-authorization-server",
        "https://h.example/.well-known/openid-configuration",
    ]
    assert authorization_server_urls("https://h.example/t") == [
        "https://h.example/.well-known/oauth-authorization-server/t",
        "https://h.example/.well-known/openid-configuration/t",
        "https://h.example/t/.well-known/openid-configuration",
    ]


@pytest.mark.parametrize(
    ("resource", "server_url", "covers"),
    [
        ("https://h.example/mcp", "https://h.example/mcp", True),
        ("https://h.example", "https://h.example/mcp", True),
        ("https://h.example/", "https://h.example/mcp", True),
        ("HTTPS://H.example:443/mcp/", "https://h.example/mcp", True),
        ("https://h.example/a", "https://h.example/a/mcp", True),
        ("https://h.example/a", "https://h.example/ab", False),
        ("https://h.example/mcp/x", "https://h.example/mcp", False),
        ("http://h.example/mcp", "https://h.example/mcp", False),
        ("https://h.example:8443/mcp", "https://h.example/mcp", False),
        ("https://evil.example/mcp", "https://h.example/mcp", False),
        ("https://h.example/mcp#x", "https://h.example/mcp", False),
        ("https://h.example/mcp?a=1", "https://h.example/mcp?a=1", True),
        ("https://h.example/mcp?a=2", "https://h.example/mcp?a=1", False),
    ],
)
def test_which_metadata_speaks_for_a_server(resource: str, server_url: str, covers: bool) -> None:
    """F-AUTH-1: same origin, and the path itself or one above it."""
    place = protected_resource_urls(resource)[0]
    assert speaks_for(resource, place, server_url) is covers


@pytest.mark.parametrize(
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
    "place",
    [
        "https://mcp.example/b/metadata",
        "https://mcp.example/.well-known/oauth-protected-resource/b/mcp",
        "https://elsewhere.example/.well-known/oauth-protected-resource",
        "https://mcp.example/.well-known/oauth-protected-resource/",
    ],
)
def test_a_tenant_that_claims_the_host_gets_no_token(place: str) -> None:
    """F-AUTH-1: wherever its challenge says that its metadata is; the user may still insist."""
    world, tenant = World(), "https://mcp.example/b/mcp"
    issuer = AuthorizationServerFake(world)
    document = {"resource": "https://mcp.example/", "authorization_servers": [issuer.issuer]}
    world.on("GET", place, json_response(document))
    options = OAuth(allowed_hosts=["elsewhere.example"])
    with pytest.raises(AuthError, match="name it as resource="):
        find(world, place, options, tenant)
    options = OAuth(allowed_hosts=["elsewhere.example"], resource="https://mcp.example/")
    assert find(world, place, options, tenant).server.issuer == issuer.issuer


def test_metadata_of_a_parent_is_asked_for_at_the_parents_place() -> None:
    """F-AUTH-1: many servers give the same document everywhere; that of the root may be used."""
    world = World()
    issuer = AuthorizationServerFake(world)
    document = {"resource": "https://mcp.example", "authorization_servers": [issuer.issuer]}
    for place in (f"{PRM}/mcp", PRM):
        world.on("GET", place, json_response(document))
    found = find(world)
    assert found.resource is not None
    assert found.resource.resource == "https://mcp.example"
    assert world.urls()[:2] == [f"{PRM}/mcp", PRM]


@pytest.mark.parametrize("name", ["resource", "authorization_servers", "the challenge"])
def test_what_is_no_url_is_refused(name: str) -> None:
    """F-AUTH-1 F-AUTH-10: a place that cannot even be parsed, wherever a server names it."""
    world, bad = World(), "https://["
    document = {"resource": SERVER, "authorization_servers": ["https://auth.example"]}
    if name in document:
        document[name] = bad if name == "resource" else [bad]
    world.on("GET", f"{PRM}/mcp", json_response(document))
    with pytest.raises(SsrfError, match="not a URL"):
        find(world, named=bad if name == "the challenge" else None)


def test_metadata_of_another_resource_is_refused() -> None:
    """F-AUTH-1: RFC 9728 section 3.3; a token for it would be another server's."""
    world, _ = scene()
    document = {"resource": "https://other.example", "authorization_servers": ["https://a.test"]}
    world.on("GET", f"{PRM}/mcp", json_response(document))
    with pytest.raises(AuthError, match=r"is for https://other\.example, not for"):
        find(world)
    assert world.urls() == [f"{PRM}/mcp", PRM]


def test_a_page_is_no_metadata() -> None:
    """F-AUTH-1: a web application answers every path with 200 and HTML."""
    world, _ = scene(metadata_url="https://auth.example/.well-known/openid-configuration")
    page = Response(200, [("Content-Type", "text/html")], b"<!doctype html>")
    world.on("GET", "https://auth.example/.well-known/oauth-authorization-server", page)
    assert find(world).server.issuer == "https://auth.example"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410])
def test_any_4xx_tries_the_next_place(status: int) -> None:
    """F-AUTH-1: lenient discovery."""
    world, _ = scene()
    world.on("GET", PRM, world.handlers["GET", f"{PRM}/mcp"])
    world.on("GET", f"{PRM}/mcp", Response(status, [], b""))
    assert find(world).resource is not None


@pytest.mark.parametrize("status", [429, 500, 503])
def test_trouble_is_not_absence(status: int) -> None:
    """F-AUTH-1: a server in trouble is not taken for one of revision 2025-03-26."""
    world = World()
    world.on("GET", f"{PRM}/mcp", Response(status, [], b""))
    with pytest.raises(AuthError, match=f"HTTP {status}"):
        find(world)


def test_the_named_metadata_is_the_only_one() -> None:
    """F-AUTH-1: when the challenge's URL leads nowhere, nothing else is tried."""
    world, _ = scene()
    with pytest.raises(AuthError, match="no resource metadata"):
        find(world, "https://mcp.example/elsewhere")
    assert len(world.fetched) == 1


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (Response(404, [], b""), "HTTP 404($|\n)"),
        (Response(200, [], b"<html>Sign in"), "HTTP 200, but not with a JSON object($|\n)"),
    ],
)
def test_what_is_there_in_place_of_metadata_is_said(response: Response, said: str) -> None:
    """F-AUTH-1: metadata that cannot be read is not called absent."""
    world, _ = scene()
    world.on("GET", "https://mcp.example/elsewhere", response)
    with pytest.raises(AuthError, match=f"https://mcp.example/elsewhere answered with {said}"):
        find(world, "https://mcp.example/elsewhere")


def test_a_relative_metadata_url_is_understood() -> None:
    """F-AUTH-1: against the grammar, and without a second meaning."""
    world, _ = scene()
    assert find(world, "/.well-known/oauth-protected-resource/mcp").resource is not None


@pytest.mark.parametrize(
    "named",
    [
        "https://evil.example/metadata",
        "http://mcp.example/metadata",
        "https://169.254.169.254/latest",
        "file:///etc/passwd",
    ],
)
def test_named_metadata_elsewhere_is_refused(named: str) -> None:
    """F-AUTH-10: the guard sees the challenge's URL before any request."""
    world, _ = scene()
    with pytest.raises(SsrfError):
        find(world, named)
    assert not world.fetched


@pytest.mark.parametrize(
    "issuer",
    ["http://auth.example", "https://127.0.0.1", "https://[::1]/x", "https://localhost:1/"],
)
def test_an_issuer_at_a_private_place_is_refused(issuer: str) -> None:
    """F-AUTH-10: authorization_servers is a server's word too."""
    world = World()
    document = {"resource": SERVER, "authorization_servers": [issuer]}
    world.on("GET", f"{PRM}/mcp", json_response(document))
    with pytest.raises(SsrfError):
        find(world)
    assert world.urls() == [f"{PRM}/mcp"]


@pytest.mark.parametrize(
    "field",
    [
        "authorization_endpoint",
        "token_endpoint",
        "registration_endpoint",
        "device_authorization_endpoint",
    ],
)
@pytest.mark.parametrize("url", ["http://auth.example/x", "https://10.0.0.1/", "https://evil.test"])
def test_endpoints_elsewhere_are_refused(field: str, url: str) -> None:
    """F-AUTH-10: every endpoint goes through the guard, the browser's as well."""
    world, _ = scene(metadata={field: url})
    with pytest.raises(SsrfError):
        find(world)


def test_endpoints_on_an_allowed_host_are_used() -> None:
    """F-AUTH-10: some providers have their token endpoint on another host."""
    world, _ = scene(metadata={"token_endpoint": "https://tokens.example/token"})
    options = OAuth(allowed_hosts=["tokens.example"])
    assert find(world, options=options).server.token_endpoint == "https://tokens.example/token"


def test_one_of_many_issuers_can_be_chosen() -> None:
    """F-AUTH-2: the first, or the one the user's credentials are for."""
    world = World()
    issuers = [AuthorizationServerFake(world, issuer=f"https://{n}.example") for n in "ab"]
    ResourceServerFake(world, issuers)
    assert find(world).server.issuer == "https://a.example"
    chosen = find(world, options=OAuth(issuer="https://b.example"))
    assert chosen.server.issuer == "https://b.example"


def test_another_issuer_than_the_users_is_refused() -> None:
    """F-AUTH-2: credentials are for one issuer, and the server names another one."""
    world, _ = scene()
    with pytest.raises(AuthError, match="as configured"):
        find(world, options=OAuth(issuer="https://other.example"))


def test_an_issuer_the_user_vouches_for_may_differ_from_the_metadata() -> None:
    """F-AUTH-1: servers whose metadata names another issuer, trusted explicitly."""
    world, issuer = scene()
    issuer.document["issuer"] = "https://auth.example/real"
    with pytest.raises(AuthError, match="name it as issuer="):
        find(world)
    options = OAuth(issuer="https://auth.example/real")
    assert find(world, options=options).server.issuer == "https://auth.example/real"


def test_an_origin_that_names_another_issuer_is_used_after_vouching() -> None:
    """F-AUTH-1: what the error advises is a way out, also where that issuer has no metadata."""
    world = World()
    origin = AuthorizationServerFake(world, issuer="https://mcp.example")
    origin.document["issuer"] = "https://accounts.example"
    with pytest.raises(AuthError, match=r"name it as issuer=, or name its endpoints="):
        find(world)
    found = find(world, options=OAuth(issuer="https://accounts.example")).server
    assert found.issuer == "https://accounts.example"
    assert found.token_endpoint == "https://mcp.example/token"
    endpoints = Endpoints(found.token_endpoint, found.authorization_endpoint)
    named = find(world, options=OAuth(endpoints=endpoints)).server
    assert named.token_endpoint == found.token_endpoint


def test_a_listed_issuer_without_metadata_is_an_error() -> None:
    """F-AUTH-1: the default endpoints are for servers older than resource metadata."""
    world = World()
    ResourceServerFake(world, [AuthorizationServerFake(world, metadata_url="")])
    with pytest.raises(AuthError, match="has no metadata"):
        find(world)


def test_without_resource_metadata_the_origin_is_the_issuer() -> None:
    """F-AUTH-1: nobody named it, so a slash at its end does not matter."""
    world = World()
    AuthorizationServerFake(
        world,
        issuer="https://mcp.example/",
        routes="/oauth",
        metadata_url=("https://mcp.example/.well-known/oauth-authorization-server"),
    )
    assert find(world).server.issuer == "https://mcp.example/"


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


def test_a_server_inside_the_company_is_where_the_user_said() -> None:
    """F-AUTH-10: its own origin was not named by a server."""
    world = World()
    private = "https://10.0.0.5/mcp"
    issuer = AuthorizationServerFake(world, issuer="https://10.0.0.5")
    ResourceServerFake(world, [issuer], url=private)
    assert find(world, server_url=private).server.issuer == "https://10.0.0.5"


def test_local_development() -> None:
    """F-AUTH-10: http on localhost, after one explicit option."""
    world = World()
    local = "http://localhost:3000/mcp"
    issuer = AuthorizationServerFake(world, issuer="http://localhost:4000")
    ResourceServerFake(world, [issuer], url=local)
    with pytest.raises(SsrfError, match="local_development"):
        find(world, server_url=local)
    found = find(world, server_url=local, options=OAuth(local_development=True))
    assert found.server.issuer == "http://localhost:4000"
