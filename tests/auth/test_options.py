from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcpclient.auth.options import (
    ApiKey,
    BearerToken,
    ClientCredentials,
    EnterpriseManaged,
    IdentityProvider,
    OAuth,
    WorkloadIdentity,
)
from mcpclient.auth.signing import Es256Key
from mcpclient.errors import UsageError
from tests.support.tables import each_row

KEY = Es256Key.from_random(b"o" * 48)
TRUSTED: Any = {"trust_first_issuer": True}
BOTH: Any = {"client_secret": "s", "signer": KEY}
PROVIDER = IdentityProvider(
    "https://idp.example/token", client_id="i", identity_assertion="hidden", client_secret="hidden"
)


@each_row(
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


@each_row(
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
