"""The oauth or auth of an entry."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.auth.options import BearerToken, EnterpriseManaged, IdentityProvider, OAuth
from mcpclient.client.configured import authentication_of
from mcpclient.entries.entry import EntryError
from mcpclient.net.network_options import Negotiate
from tests.support.tables import each_row

PROVIDER = IdentityProvider("https://idp/token", "me", "assertion")


def read(
    given: Any, provider: IdentityProvider | None = None
) -> OAuth | BearerToken | EnterpriseManaged | Negotiate:
    return authentication_of(given, "oauth", lambda text: text.replace("${A}", "value"), provider)


READ: dict[str, tuple[Any, OAuth | BearerToken | Negotiate]] = {
    "nothing": ({}, OAuth()),
    "by name": ("oauth", OAuth()),
    "Kerberos": ("negotiate", Negotiate()),
    "a token": ("${A}", BearerToken("value")),
    "a token in an object": ({"type": "bearer", "token": "${A}"}, BearerToken("value")),
    "Claude": (
        {"clientId": "c", "clientSecret": "${A}", "callbackPort": 8080, "trustFirstIssuer": True},
        OAuth(
            client_id="c",
            client_secret="value",
            redirect_uri="http://localhost:8080/callback",
            trust_first_issuer=True,
        ),
    ),
    "Cursor": (
        {"CLIENT_ID": "c", "CLIENT_SECRET": "", "scopes": ["a", "b"]},
        OAuth(client_id="c", scopes=("a", "b")),
    ),
    "an issuer": (
        {"clientId": "c", "clientSecret": "s", "issuer": "https://i"},
        OAuth(client_id="c", client_secret="s", issuer="https://i"),
    ),
    "OpenCode": ({"clientId": "c", "scope": "a b"}, OAuth(client_id="c", scopes=("a", "b"))),
}


@each_row(("given", "expected"), READ.values())
def test_what_is_read(given: Any, expected: OAuth | BearerToken) -> None:
    """F-MANY-15: auth, oauth"""
    assert read(given) == expected


@pytest.mark.parametrize("given", [{}, {"xaa": True}])
def test_a_secret_needs_to_know_who_may_see_it(given: dict[str, Any]) -> None:
    """F-AUTH-2: the server alone does not say where a secret goes."""
    with pytest.raises(EntryError, match="client_secret needs an issuer") as caught:
        read({"clientId": "c", "clientSecret": "s", **given}, PROVIDER)
    assert "trustFirstIssuer" in caught.value.hint


def test_endpoints_of_gemini() -> None:
    """F-MANY-15"""
    found = read({"clientId": "c", "authorizationUrl": "https://a/x", "tokenUrl": "https://a/t"})
    assert isinstance(found, OAuth)
    assert found.endpoints is not None
    assert found.endpoints.token_endpoint == "https://a/t"
    assert found.endpoints.authorization_endpoint == "https://a/x"


def test_one_identity_provider_is_shared_by_those_who_opt_in() -> None:
    """F-MANY-15"""
    given = {"xaa": True, "clientId": "c", "clientSecret": "${A}", "issuer": "https://i"}
    assert read(given, PROVIDER) == EnterpriseManaged(
        identity_provider=PROVIDER, client_id="c", client_secret="value", issuer="https://i"
    )
    assert read({"clientId": "c"}, PROVIDER) == OAuth(client_id="c")
    with pytest.raises(EntryError, match="identity provider is not known"):
        read(given)
    for wrong in ({"xaa": True}, {"xaa": True, "clientId": "c", "callbackPort": 1}):
        with pytest.raises(EntryError):
            read(wrong, PROVIDER)


@each_row(
    "given",
    [
        {"clientSecret": "SECRET"},
        {"clientId": 3},
        {"scopes": 3},
        {"scopes": [3]},
        {"clientId": "c", "redirectUri": "http://example.com/"},
        {"clientId": "c", "redirectUri": "http://a:SECRET@b/"},
    ],
)
def test_what_makes_no_sense_is_told_without_values(given: Any) -> None:
    """F-AUTH-12"""
    with pytest.raises(EntryError) as caught:
        read(given)
    assert caught.value.path[0] == "oauth"
    assert "SECRET" not in str(caught.value)
