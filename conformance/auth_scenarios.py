"""The actions of the official suite's driver in the scenarios about authorization.

The suite's own checks prove F-AUTH-1 and F-AUTH-2 (metadata and registration), F-AUTH-3 (PKCE,
resource, state and iss), F-AUTH-4 (scopes), F-AUTH-6 (token endpoints) and F-AUTH-7 (extensions).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import mcpclient
from conformance.situation import REDIRECT_URI, Following, Scenario, Situation

__all__ = ["AUTH_SCENARIOS"]

METADATA_URL = "https://conformance-test.local/client-metadata.json"


async def _use(at: Situation, auth: mcpclient.OAuth | Any) -> None:
    """Do what needs authorization; where it is refused, that is the outcome to be checked."""
    # The suite's servers know no exit code but zero for some refusals they provoke.
    with suppress(mcpclient.AuthError, mcpclient.HttpError):
        async with at.connected(auth=auth) as client:
            for tool in await client.list_tools():
                await client.call_tool(tool.name, {})


def _user(at: Situation, **options: Any) -> mcpclient.OAuth:
    return mcpclient.OAuth(local_development=True, provider=Following(at.browse), **options)


async def log_in(at: Situation) -> None:
    """Log in as a client that registers itself."""
    await _use(at, _user(at))


async def log_in_by_metadata(at: Situation) -> None:
    """Log in as a client with a metadata document."""
    await _use(at, _user(at, client_metadata_url=METADATA_URL))


async def log_in_as_registered(at: Situation) -> None:
    """Log in as a client that the server knows."""
    await _use(
        at,
        _user(
            at,
            client_id=at.context["client_id"],
            client_secret=at.context["client_secret"],
            trust_first_issuer=True,
            redirect_uri=REDIRECT_URI,
        ),
    )


async def sign_in_with_key(at: Situation) -> None:
    """Client credentials, proven by a signature."""
    key = mcpclient.Es256Key.from_pem(at.context["private_key_pem"])
    await _use(
        at,
        mcpclient.ClientCredentials(
            client_id=at.context["client_id"],
            signer=key,
            trust_first_issuer=True,
            local_development=True,
            store=mcpclient.MemoryStore(),
        ),
    )


async def sign_in_with_secret(at: Situation) -> None:
    """Client credentials, proven by a secret."""
    await _use(
        at,
        mcpclient.ClientCredentials(
            client_id=at.context["client_id"],
            client_secret=at.context["client_secret"],
            trust_first_issuer=True,
            local_development=True,
            store=mcpclient.MemoryStore(),
        ),
    )


async def ask_the_enterprise(at: Situation) -> None:
    """Enterprise-managed authorization, from an ID token."""
    await _use(
        at,
        mcpclient.EnterpriseManaged(
            identity_provider=mcpclient.IdentityProvider(
                token_endpoint=at.context["idp_token_endpoint"],
                client_id=at.context["idp_client_id"],
                identity_assertion=at.context["idp_id_token"],
            ),
            client_id=at.context["client_id"],
            client_secret=at.context["client_secret"],
            trust_first_issuer=True,
            local_development=True,
            store=mcpclient.MemoryStore(),
        ),
    )


async def show_workload(at: Situation) -> None:
    """Workload identity: the platform's JWT."""
    await _use(
        at,
        mcpclient.WorkloadIdentity(
            assertion=at.context["valid_jwt"],
            client_id=at.context["client_id"],
            trust_first_issuer=True,
            local_development=True,
            store=mcpclient.MemoryStore(),
        ),
    )


# The rest of the scenarios differ in what the servers do, not in what the user asks for.
_LOGINS = (
    "2025-03-26-oauth-endpoint-fallback",
    "2025-03-26-oauth-metadata-backcompat",
    "authorization-server-migration",
    "dpop",
    "dpop-nonce",
    "iss-normalized",
    "iss-not-advertised",
    "iss-supported",
    "iss-supported-missing",
    "iss-unexpected",
    "iss-wrong-issuer",
    "metadata-default",
    "metadata-issuer-mismatch",
    "metadata-var1",
    "metadata-var2",
    "metadata-var3",
    "offline-access-not-supported",
    "offline-access-scope",
    "resource-mismatch",
    "scope-from-scopes-supported",
    "scope-from-www-authenticate",
    "scope-omitted-when-undefined",
    "scope-retry-limit",
    "scope-step-up",
    "token-endpoint-auth-basic",
    "token-endpoint-auth-none",
    "token-endpoint-auth-post",
)

AUTH_SCENARIOS: dict[str, Scenario] = {
    **{f"auth/{name}": log_in for name in _LOGINS},
    "auth/basic-cimd": log_in_by_metadata,
    "auth/pre-registration": log_in_as_registered,
    "auth/client-credentials-jwt": sign_in_with_key,
    "auth/client-credentials-basic": sign_in_with_secret,
    "auth/enterprise-managed-authorization": ask_the_enterprise,
    "auth/wif-jwt-bearer": show_workload,
}
