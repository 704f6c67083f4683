"""F-SHOW-10, F-AUTH-12: what may be told of a login."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mcpclient.auth.clients import RegisteredClient
from mcpclient.auth.grants import Grant, login_facts
from mcpclient.auth.tokens import TokenSet

GRANT = Grant(
    client=RegisteredClient("me", "https://auth.example"),
    tokens=TokenSet("s3cret-token", expires_at=1000.0, scopes=("read", "write")),
    token_endpoint="https://auth.example/token",
    resource=None,
    requested_scopes=("read",),
    resource_metadata_url=None,
    prover=None,
    revocation_endpoint=None,
)


@pytest.mark.parametrize(
    ("now", "refresh_token", "state"),
    [
        (999.0, None, "logged in"),
        (1000.0, None, "expired"),
        (2000.0, "s3cret-refresh", "logged in, renewed as needed"),
    ],
)
def test_a_login_is_told_without_its_tokens(
    now: float, refresh_token: str | None, state: str
) -> None:
    tokens = replace(GRANT.tokens, refresh_token=refresh_token)
    facts = login_facts(replace(GRANT, tokens=tokens), now)
    assert facts == {
        "issuer": "https://auth.example",
        "clientId": "me",
        "state": state,
        "expiresAt": 1000.0,
        "renewable": refresh_token is not None,
        "scopes": ["read", "write"],
    }
    assert "s3cret" not in json.dumps(facts)
