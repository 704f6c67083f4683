from __future__ import annotations

from dataclasses import replace

import pytest

from mcpclient.auth.clients import RegisteredClient, authenticate, configured_client
from mcpclient.auth.discovery import AuthorizationServer
from mcpclient.auth.options import ClientCredentials, OAuth
from mcpclient.auth.signing import Es256Key
from mcpclient.errors import AuthError

from .world import World, decode_jwt

ISSUER = "https://auth.example"
KEY = Es256Key.from_random(b"k" * 48)


def run(client: RegisteredClient) -> tuple[dict[str, str], dict[str, str]]:
    form: list[tuple[str, str]] = []
    headers: dict[str, str] = {}
    World().run(authenticate(client, form, headers))
    return dict(form), headers


def test_private_key_jwt() -> None:
    """F-AUTH-6: an assertion for the issuer, short-lived, and no client_id beside it."""
    form, headers = run(RegisteredClient("id", ISSUER, "private_key_jwt", signer=KEY))
    assert headers == {}
    assert set(form) == {"client_assertion", "client_assertion_type"}
    assert form["client_assertion_type"].endswith(":client-assertion-type:jwt-bearer")
    header, claims = decode_jwt(form["client_assertion"])
    assert header["alg"] == "ES256"
    assert claims["iss"] == claims["sub"] == "id"
    assert claims["jti"]
    assert claims["aud"] == ISSUER
    assert claims["exp"] == 1_000_300
    assert claims["iat"] == 1_000_000


@pytest.mark.parametrize(
    "method", ["client_secret_basic", "client_secret_post", "private_key_jwt", "tls_client_auth"]
)
def test_what_cannot_be_done_is_said(method: str) -> None:
    """F-AUTH-6: no secret, no key, or a method that is not there."""
    with pytest.raises(AuthError):
        run(RegisteredClient("id", ISSUER, method))
    with pytest.raises(AuthError, match="not supported"):
        run(RegisteredClient("id", ISSUER, "self_signed_tls", "secret"))


def test_configured_clients_keep_their_secrets_to_themselves() -> None:
    """F-AUTH-9: a store holds only the secrets that came from registration."""
    server = AuthorizationServer(ISSUER, f"{ISSUER}/token")
    options = ClientCredentials(
        trust_first_issuer=True,
        client_id="id",
        client_secret="hers",
        token_endpoint_auth_method="client_secret_post",
    )
    client = configured_client(options, "id", server)
    record = client.to_record()
    assert "hers" not in repr(record)
    assert RegisteredClient.from_record(record, options) == client
    newer = replace(options, client_secret="new")
    assert RegisteredClient.from_record(record, newer) != client
    assert configured_client(OAuth(client_id="id"), "id", server).method == "none"
    registered = RegisteredClient("id", ISSUER, "client_secret_basic", "ours")
    assert RegisteredClient.from_record(registered.to_record(), options) == registered
    assert RegisteredClient.from_record(
        RegisteredClient("id", ISSUER).to_record()
    ) == RegisteredClient("id", ISSUER)
