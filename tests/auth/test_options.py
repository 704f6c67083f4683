from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcpclient.auth.options import (
    ApiKey,
    BearerToken,
    ClientCredentials,
    Endpoints,
    EnterpriseManaged,
    IdentityProvider,
    OAuth,
    WorkloadIdentity,
)
from mcpclient.auth.signing import Es256Key
from mcpclient.errors import UsageError

KEY = Es256Key.from_random(b"o" * 48)
TRUSTED: Any = {"trust_first_issuer": True}
BOTH: Any = {"client_secret": "s", "signer": KEY}
PROVIDER = IdentityProvider(
    "https://idp.example/token", client_id="i", identity_assertion="hidden", client_secret="hidden"
)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: OAuth(**TRUSTED, client_secret="s"), "need a client_id"),
        (lambda: OAuth(**TRUSTED, signer=KEY), "need a client_id"),
        (lambda: OAuth(client_metadata_url="http://app.example/client.json"), "https URL with"),
        (lambda: OAuth(client_metadata_url="https://app.example"), "https URL with a path"),
        (lambda: OAuth(client_metadata_url="https://app.example/"), "https URL with a path"),
        (lambda: OAuth(redirect_uri="http://app.example/callback"), "must use https"),
        (lambda: ClientCredentials(**TRUSTED, client_secret="s"), "a client_id and"),
        (lambda: ClientCredentials(**TRUSTED, client_id="i"), "a client_secret or a signer"),
        (lambda: ClientCredentials(**TRUSTED, **BOTH, client_id="i"), "client_secret or a signer"),
        (lambda: EnterpriseManaged(**TRUSTED, client_id="i"), "needs an identity_provider"),
        (lambda: EnterpriseManaged(**TRUSTED, identity_provider=PROVIDER), "needs a client_id"),
        (lambda: WorkloadIdentity(**TRUSTED), "needs an assertion"),
    ],
)
def test_options_that_cannot_work_are_refused_at_once(
    make: Callable[[], object], problem: str
) -> None:
    """F-AUTH-2 F-AUTH-7: with the caller's own line in the traceback."""
    with pytest.raises(UsageError, match=problem):
        make()


@pytest.mark.parametrize(
    "options",
    [
        OAuth(trust_first_issuer=True, client_id="i", client_secret="hidden", signer=KEY),
        ClientCredentials(trust_first_issuer=True, client_id="i", client_secret="hidden"),
        EnterpriseManaged(
            trust_first_issuer=True,
            identity_provider=PROVIDER,
            client_id="i",
            client_secret="hidden",
        ),
        PROVIDER,
        WorkloadIdentity(trust_first_issuer=True, assertion="hidden"),
        BearerToken("hidden"),
        ApiKey("hidden"),
    ],
)
def test_no_option_shows_a_secret(options: object) -> None:
    """F-AUTH-12."""
    assert "hidden" not in repr(options)
    assert "hidden" not in str(options)


def test_what_the_user_named_is_trusted() -> None:
    """F-AUTH-10: server, issuer, endpoints and identity provider; nothing else."""
    endpoints = Endpoints("https://t.example/x", registration_endpoint="https://r.example/x")
    options = EnterpriseManaged(
        identity_provider=PROVIDER, client_id="i", issuer="https://i.example", endpoints=endpoints
    )
    policy = options.url_policy("https://mcp.example:8443/mcp")
    assert policy.trusted_origins == {
        "https://mcp.example:8443",
        "https://i.example:443",
        "https://t.example:443",
        "https://r.example:443",
        "https://idp.example:443",
    }
    assert not policy.allow_loopback
    assert not policy.allow_insecure_http


@pytest.mark.parametrize(
    "uri",
    [
        *("http://localhost:1/cb", "http://127.0.0.1/cb", "http://[::1]/cb"),
        *("https://app.example/cb", "com.app:/cb"),
    ],
)
def test_redirects_that_are_safe(uri: str) -> None:
    """F-AUTH-8: https, this machine, or an application's own scheme."""
    assert OAuth(redirect_uri=uri).redirect_uri == uri


def test_local_development_is_one_option() -> None:
    """F-AUTH-10."""
    policy = OAuth(local_development=True, allowed_hosts=["a.example"]).url_policy(
        "http://localhost:1/mcp"
    )
    assert policy.allow_loopback
    assert policy.allow_insecure_http
    assert policy.allowed_hosts == {"a.example"}
