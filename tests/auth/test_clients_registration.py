from __future__ import annotations

import pytest

from mcpclient.auth.clients import RegisteredClient, identify_client
from mcpclient.auth.effects import Response
from mcpclient.auth.options import OAuth
from mcpclient.errors import RegistrationRequired
from tests.support.tables import each_row

from .world import REDIRECT, AuthorizationServerFake, World, grant_request, json_response

REGISTER = "https://auth.example/register"


def identify(
    fake: AuthorizationServerFake,
    options: OAuth | None = None,
    redirect: str | None = REDIRECT,
    scopes: tuple[str, ...] = (),
) -> RegisteredClient:
    request = grant_request(fake, scopes=scopes)
    return fake.world.run(identify_client(request, options or OAuth(), redirect))


def test_the_registration_request() -> None:
    """F-AUTH-2: RFC 7591 with application_type and both grant types."""
    fake = AuthorizationServerFake(World())
    identify(fake, OAuth(client_name="Ours"), scopes=("a", "b"))
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
    fake.world.store.clear()
    identify(fake)
    assert "scope" not in fake.registrations[-1]


@each_row(
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
    fake = AuthorizationServerFake(World())
    identify(fake, redirect=redirect)
    assert fake.registrations[0]["application_type"] == application_type


@each_row(
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
    fake = AuthorizationServerFake(
        World(),
        registration=fields,
        metadata={"token_endpoint_auth_methods_supported": ["client_secret_basic"]},
    )
    client = identify(fake)
    assert (client.method, client.client_secret) == (method, secret)


def test_an_expired_secret_needs_another_registration() -> None:
    """F-AUTH-2: client_secret_expires_at, where zero means never."""
    fake = AuthorizationServerFake(
        World(), registration={"client_secret": "s", "client_secret_expires_at": 1_000_100}
    )
    identify(fake)
    identify(fake)
    assert len(fake.registrations) == 1
    fake.world.time += 100
    fake.registration["client_secret_expires_at"] = 0
    identify(fake)
    fake.world.time += 10**9
    identify(fake)
    assert len(fake.registrations) == 2


def test_a_client_for_the_device_grant_has_no_redirect() -> None:
    """F-AUTH-8: RFC 8628; it is kept too, and not mistaken for one with redirects."""
    fake = AuthorizationServerFake(World())
    identify(fake, redirect=None)
    identify(fake, redirect=None)
    assert len(fake.registrations) == 1
    assert "redirect_uris" not in fake.registrations[0]
    assert fake.registrations[0]["response_types"] == []
    assert fake.registrations[0]["application_type"] == "native"
    assert fake.registrations[0]["grant_types"] == [
        "urn:ietf:params:oauth:grant-type:device_code",
        "refresh_token",
    ]
    identify(fake)
    identify(fake, redirect=None)
    assert len(fake.registrations) == 3


def test_who_is_known_is_not_registered() -> None:
    """F-AUTH-2: pre-registered before metadata document before registration."""
    fake = AuthorizationServerFake(
        World(), metadata={"client_id_metadata_document_supported": True}
    )
    document = "https://app.example/client.json"
    assert identify(
        fake, OAuth(client_id="known", client_metadata_url=document)
    ) == RegisteredClient("known", fake.issuer, is_configured=True)
    assert identify(fake, OAuth(client_metadata_url=document)).client_id == document
    assert identify(fake).client_id == fake.client_id, "who has no document registers"
    fake.document["client_id_metadata_document_supported"] = False
    assert identify(fake, OAuth(client_metadata_url=document)).client_id == fake.client_id


def test_without_any_way_the_user_is_told() -> None:
    """F-AUTH-2: not every server registers clients."""
    fake = AuthorizationServerFake(World(), metadata={"registration_endpoint": None})
    with pytest.raises(RegistrationRequired) as caught:
        identify(fake)
    assert caught.value.issuer == fake.issuer


@each_row(
    ("response", "reason"),
    [
        (
            json_response({"error": "invalid_redirect_uri", "error_description": "no http"}, 400),
            "it refused to register the client (invalid_redirect_uri) no http",
        ),
        (json_response({}, 403), "it refused to register the client (HTTP 403)"),
        (Response(500, [], b"<html>"), "it refused to register the client (HTTP 500)"),
        # The endpoint was a guess, as for a server that knows nothing of OAuth.
        (Response(404, [], b"Not Found"), "it does not register clients by itself"),
        (Response(405, [], b"Not Found"), "it does not register clients by itself"),
    ],
)
def test_a_refused_registration_is_told_with_its_reason(response: Response, reason: str) -> None:
    """F-AUTH-2: with the server's words where it has any."""
    fake = AuthorizationServerFake(World())
    fake.world.on("POST", REGISTER, response)
    with pytest.raises(RegistrationRequired) as caught:
        identify(fake)
    assert caught.value.reason == reason
