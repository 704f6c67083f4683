from __future__ import annotations

import pytest

from mcpclient.auth.clients import (
    RegisteredClient,
    forget_registration,
    identify_client,
    registered_redirects,
)
from mcpclient.auth.discovery import AuthorizationServer, Discovery
from mcpclient.auth.effects import Response
from mcpclient.auth.grants import GrantRequest
from mcpclient.auth.options import OAuth
from mcpclient.auth.url_guard import UrlPolicy
from mcpclient.errors import AuthError, RegistrationRequired

from .world import REDIRECT, AuthorizationServerFake, World, json_response

MCP = "https://mcp.example/mcp"
REGISTER = "https://auth.example/register"


def identify(
    world: World,
    fake: AuthorizationServerFake,
    options: OAuth | None = None,
    redirect: str | None = REDIRECT,
    scopes: tuple[str, ...] = (),
) -> RegisteredClient:
    discovery = Discovery(AuthorizationServer.parse(fake.document), None)
    request = GrantRequest(MCP, MCP, discovery, scopes, None, UrlPolicy())
    return world.run(identify_client(request, options or OAuth(), redirect))


def test_the_registration_request() -> None:
    """F-AUTH-2: RFC 7591 with application_type and both grant types."""
    world = World()
    fake = AuthorizationServerFake(world)
    identify(world, fake, OAuth(client_name="Ours"), scopes=("a", "b"))
    assert fake.registrations == [
        {
            "client_name": "Ours",
            "redirect_uris": [REDIRECT],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
            "scope": "a b",
        }
    ]
    world.store.clear()
    identify(world, fake)
    assert "scope" not in fake.registrations[-1]


@pytest.mark.parametrize(
    ("redirect", "application_type"),
    [
        ("http://127.0.0.1:1/cb", "native"),
        ("http://localhost/cb", "native"),
        ("http://[::1]:9/cb", "native"),
        ("com.example.app:/cb", "native"),
        ("https://app.example/cb", "web"),
    ],
)
def test_the_kind_of_application(redirect: str, application_type: str) -> None:
    """F-AUTH-2: OpenID Connect servers check redirect URIs by it."""
    world = World()
    fake = AuthorizationServerFake(world)
    identify(world, fake, redirect=redirect)
    assert fake.registrations[0]["application_type"] == application_type


@pytest.mark.parametrize(
    ("supported", "method"),
    [
        (None, "none"),
        (["client_secret_basic", "none"], "none"),
        (["client_secret_post", "client_secret_basic"], "client_secret_basic"),
        (["client_secret_post"], "client_secret_post"),
        (["private_key_jwt"], "none"),
    ],
)
def test_the_method_asked_for(supported: list[str] | None, method: str) -> None:
    """F-AUTH-6: a public client where it may be one."""
    world = World()
    fake = AuthorizationServerFake(
        world, metadata={"token_endpoint_auth_methods_supported": supported}
    )
    identify(world, fake)
    assert fake.registrations[0]["token_endpoint_auth_method"] == method


def test_the_method_the_user_wants() -> None:
    """F-AUTH-6."""
    world = World()
    fake = AuthorizationServerFake(world)
    identify(world, fake, OAuth(token_endpoint_auth_method="client_secret_post"))
    assert fake.registrations[0]["token_endpoint_auth_method"] == "client_secret_post"


@pytest.mark.parametrize(
    ("fields", "method", "secret"),
    [
        ({}, "none", None),
        ({"client_secret": "s"}, "client_secret_basic", "s"),
        (
            {"client_secret": "s", "token_endpoint_auth_method": "client_secret_post"},
            "client_secret_post",
            "s",
        ),
        ({"token_endpoint_auth_method": "client_secret_basic"}, "none", None),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "private_key_jwt", None),
        ({"client_secret": ""}, "none", None),
        ({"client_secret": 7}, "none", None),
    ],
)
def test_the_registered_client(fields: dict[str, object], method: str, secret: str | None) -> None:
    """F-AUTH-6: the method the registration names, else the metadata's for what there is."""
    world = World()
    fake = AuthorizationServerFake(
        world,
        registration=fields,
        metadata={"token_endpoint_auth_methods_supported": ["client_secret_basic"]},
    )
    client = identify(world, fake)
    assert (client.method, client.client_secret) == (method, secret)


def test_a_registration_is_kept_by_issuer() -> None:
    """F-AUTH-2: one registration for all servers of an issuer, none for another's."""
    world = World()
    first = AuthorizationServerFake(world)
    second = AuthorizationServerFake(world, issuer="https://other.example", client_id="two")
    assert identify(world, first) == identify(world, first)
    assert identify(world, second).client_id == "two"
    assert (len(first.registrations), len(second.registrations)) == (1, 1)
    assert world.run(registered_redirects(first.issuer)) == (REDIRECT,)
    assert world.run(registered_redirects("https://unknown.example")) == ()
    world.run(forget_registration(first.issuer))
    identify(world, first)
    assert len(first.registrations) == 2


def test_another_redirect_uri_needs_another_registration() -> None:
    """F-AUTH-2: the server compares redirect URIs exactly."""
    world = World()
    fake = AuthorizationServerFake(world)
    identify(world, fake)
    identify(world, fake, redirect="http://127.0.0.1:9999/callback")
    assert len(fake.registrations) == 2


def test_an_expired_secret_needs_another_registration() -> None:
    """F-AUTH-2: client_secret_expires_at, where zero means never."""
    world = World()
    fake = AuthorizationServerFake(
        world, registration={"client_secret": "s", "client_secret_expires_at": 1_000_100}
    )
    identify(world, fake)
    identify(world, fake)
    assert len(fake.registrations) == 1
    world.time += 100
    fake.registration["client_secret_expires_at"] = 0
    identify(world, fake)
    world.time += 10**9
    identify(world, fake)
    assert len(fake.registrations) == 2


@pytest.mark.parametrize(
    "damage",
    [
        {"redirect_uris": "x"},
        {"redirect_uris": None},
        {"client_id": None},
        {"issuer": "https://other.example"},
    ],
)
def test_a_damaged_record_is_not_used(damage: dict[str, object]) -> None:
    """F-AUTH-9: a corrupt store costs a registration."""
    world = World()
    fake = AuthorizationServerFake(world)
    identify(world, fake)
    key = f"client {fake.issuer}"
    world.store[key] = {**world.store[key], **damage}
    identify(world, fake)
    assert len(fake.registrations) == 2


def test_a_client_for_the_device_grant_has_no_redirect() -> None:
    """F-AUTH-8: RFC 8628; it is kept too, and not mistaken for one with redirects."""
    world = World()
    fake = AuthorizationServerFake(world)
    identify(world, fake, redirect=None)
    identify(world, fake, redirect=None)
    assert len(fake.registrations) == 1
    assert "redirect_uris" not in fake.registrations[0]
    assert fake.registrations[0]["response_types"] == []
    assert fake.registrations[0]["application_type"] == "native"
    assert fake.registrations[0]["grant_types"] == [
        "urn:ietf:params:oauth:grant-type:device_code",
        "refresh_token",
    ]
    identify(world, fake)
    identify(world, fake, redirect=None)
    assert len(fake.registrations) == 3


def test_who_is_known_is_not_registered() -> None:
    """F-AUTH-2: pre-registered before metadata document before registration."""
    world = World()
    fake = AuthorizationServerFake(world, metadata={"client_id_metadata_document_supported": True})
    document = "https://app.example/client.json"
    assert identify(
        world, fake, OAuth(client_id="known", client_metadata_url=document)
    ) == RegisteredClient("known", fake.issuer, is_configured=True)
    assert identify(world, fake, OAuth(client_metadata_url=document)).client_id == document
    assert identify(world, fake).client_id == fake.client_id, "who has no document registers"
    fake.document["client_id_metadata_document_supported"] = False
    assert identify(world, fake, OAuth(client_metadata_url=document)).client_id == fake.client_id


def test_without_any_way_the_user_is_told() -> None:
    """F-AUTH-2: not every server registers clients."""
    world = World()
    fake = AuthorizationServerFake(world, metadata={"registration_endpoint": None})
    with pytest.raises(RegistrationRequired) as caught:
        identify(world, fake)
    assert caught.value.issuer == fake.issuer


@pytest.mark.parametrize(
    "response",
    [
        json_response({"error": "invalid_redirect_uri", "error_description": "no http"}, 400),
        json_response({}, 403),
        Response(500, [], b"<html>"),
    ],
)
def test_a_refused_registration_is_told_with_its_reason(response: Response) -> None:
    """F-AUTH-2: with the server's words where it has any."""
    world = World()
    fake = AuthorizationServerFake(world)
    world.on("POST", REGISTER, response)
    with pytest.raises(RegistrationRequired) as caught:
        identify(world, fake)
    if response.status == 400:
        assert caught.value.reason.endswith("(invalid_redirect_uri) no http")
    else:
        assert f"(HTTP {response.status})" in caught.value.reason


@pytest.mark.parametrize("status", [404, 405])
def test_an_endpoint_that_is_not_there_registers_nobody(status: int) -> None:
    """F-AUTH-2: it was a guess, as for a server that knows nothing of OAuth."""
    world = World()
    fake = AuthorizationServerFake(world)
    world.on("POST", REGISTER, Response(status, [], b"Not Found"))
    with pytest.raises(RegistrationRequired) as caught:
        identify(world, fake)
    assert caught.value.reason == "it does not register clients by itself"


@pytest.mark.parametrize("client_id", [None, "", 7])
def test_a_registration_without_a_client_id_is_an_error(client_id: object) -> None:
    """F-AUTH-2: types are checked."""
    world = World()
    fake = AuthorizationServerFake(world, registration={"client_id": client_id})
    with pytest.raises(AuthError, match="no client_id"):
        identify(world, fake)
