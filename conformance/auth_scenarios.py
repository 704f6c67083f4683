"""What the driver of the official suite does in the scenarios about authorization.

The user's part, a browser and a human who says yes, is played by `Following`: it asks for the page
and reads where that would send the browser.
"""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Callable
from urllib.parse import urlsplit

import mcpclient

__all__ = ["AUTH_SCENARIOS", "Following"]

Scenario = Callable[[str, Mapping[str, Any]], Coroutine[Any, Any, None]]

REDIRECT_URI = "http://localhost:3000/callback"
METADATA_URL = "https://conformance-test.local/client-metadata.json"


class Following:
    """An `AuthProvider` that follows the redirect of the authorization page itself."""

    def __init__(self, store: mcpclient.CredentialStore | None = None) -> None:
        self._store = store or mcpclient.MemoryStore()

    async def load(self, key: str) -> Mapping[str, object] | None:
        return await self._store.load(key)

    async def save(self, key: str, record: Mapping[str, object] | None) -> None:
        await self._store.save(key, record)

    def lock(self, name: str) -> AbstractAsyncContextManager[object]:
        return self._store.lock(name)

    async def open_redirect(self, configured: str | None, registered: tuple[str, ...]) -> str:
        return configured or REDIRECT_URI

    async def authorize(self, request: mcpclient.Authorize) -> mcpclient.Callback | None:
        loop = asyncio.get_running_loop()
        return mcpclient.parse_callback(await loop.run_in_executor(None, redirect_of, request.url))

    async def show_device_code(self, request: mcpclient.ShowDeviceCode) -> None:
        raise mcpclient.AuthorizationRequired(request.verification_uri)


def redirect_of(url: str) -> str:
    """Where the page at ``url`` sends the browser."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        location = connection.getresponse().getheader("Location")
    finally:
        connection.close()
    assert location is not None, "the authorization page does not redirect"
    return location


async def _use(url: str, auth: mcpclient.OAuth | Any) -> None:
    """Do what needs authorization; where it is refused, that is the outcome to be checked."""
    # The suite's servers know no exit code but zero for some refusals they provoke.
    with suppress(mcpclient.AuthError, mcpclient.HttpError):
        async with mcpclient.connect(url, auth=auth) as client:
            for tool in await client.list_tools():
                await client.call_tool(tool.name, {})


def _user(**options: Any) -> mcpclient.OAuth:
    return mcpclient.OAuth(local_development=True, provider=Following(), **options)


async def log_in(url: str, context: Mapping[str, Any]) -> None:
    """Log in as a client that registers itself."""
    await _use(url, _user())


async def log_in_by_metadata(url: str, context: Mapping[str, Any]) -> None:
    """Log in as a client with a metadata document."""
    await _use(url, _user(client_metadata_url=METADATA_URL))


async def log_in_as_registered(url: str, context: Mapping[str, Any]) -> None:
    """Log in as a client that the server knows."""
    await _use(
        url,
        _user(
            client_id=context["client_id"],
            client_secret=context["client_secret"],
            trust_first_issuer=True,
            redirect_uri=REDIRECT_URI,
        ),
    )


async def sign_in_with_key(url: str, context: Mapping[str, Any]) -> None:
    """Client credentials, proven by a signature."""
    key = mcpclient.Es256Key.from_pem(context["private_key_pem"])
    await _use(
        url,
        mcpclient.ClientCredentials(
            client_id=context["client_id"],
            signer=key,
            trust_first_issuer=True,
            local_development=True,
            store=mcpclient.MemoryStore(),
        ),
    )


async def sign_in_with_secret(url: str, context: Mapping[str, Any]) -> None:
    """Client credentials, proven by a secret."""
    await _use(
        url,
        mcpclient.ClientCredentials(
            client_id=context["client_id"],
            client_secret=context["client_secret"],
            trust_first_issuer=True,
            local_development=True,
            store=mcpclient.MemoryStore(),
        ),
    )


async def ask_the_enterprise(url: str, context: Mapping[str, Any]) -> None:
    """Enterprise-managed authorization, from an ID token."""
    await _use(
        url,
        mcpclient.EnterpriseManaged(
            identity_provider=mcpclient.IdentityProvider(
                token_endpoint=context["idp_token_endpoint"],
                client_id=context["idp_client_id"],
                identity_assertion=context["idp_id_token"],
            ),
            client_id=context["client_id"],
            client_secret=context["client_secret"],
            trust_first_issuer=True,
            local_development=True,
            store=mcpclient.MemoryStore(),
        ),
    )


async def show_workload(url: str, context: Mapping[str, Any]) -> None:
    """Workload identity: the platform's JWT."""
    await _use(
        url,
        mcpclient.WorkloadIdentity(
            assertion=context["valid_jwt"],
            client_id=context["client_id"],
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
