"""A protected server on the Python SDK 2.x, and beside it the authorization server of that SDK.

The server listens on PORT, the authorization server on AUTH_PORT, so that they are two origins. A
user who is asked says yes at once. A token lives for TOKEN_SECONDS, a refreshed one for an hour;
refresh tokens are used once. ``GET /counts`` of the authorization server tells how often each grant
was asked for.
"""

import asyncio
import os
import secrets
import time
from collections import Counter

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from conformance.servers import features

SCOPE = "tools"


class Provider(
    OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]  # type: ignore[misc]
):
    """Keeps clients, codes and tokens in memory."""

    def __init__(self, token_seconds: int) -> None:
        self.counts: Counter[str] = Counter()
        self._token_seconds = token_seconds
        self._clients: dict[str, OAuthClientInformationFull] = {}
        self._codes: dict[str, AuthorizationCode] = {}
        self._tokens: dict[str, AccessToken] = {}
        self._refresh_tokens: dict[str, RefreshToken] = {}
        self._resources: dict[str, str | None] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self._clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.counts["register"] += 1
        self._clients[client_info.client_id or ""] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        self.counts["authorize"] += 1
        code = AuthorizationCode(
            code=secrets.token_hex(16),
            client_id=client.client_id or "",
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            expires_at=time.time() + 300,
            scopes=params.scopes or [SCOPE],
            code_challenge=params.code_challenge,
            resource=params.resource,
        )
        self._codes[code.code] = code
        location: str = construct_redirect_uri(
            str(params.redirect_uri), code=code.code, state=params.state
        )
        return location

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self._codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        self.counts["authorization_code"] += 1
        del self._codes[authorization_code.code]
        return self._issue(
            client, authorization_code.scopes, authorization_code.resource, self._token_seconds
        )

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self._refresh_tokens.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.counts["refresh_token"] += 1
        del self._refresh_tokens[refresh_token.token]
        return self._issue(client, scopes, self._resources.pop(refresh_token.token), 3600)

    def _issue(
        self,
        client: OAuthClientInformationFull,
        scopes: list[str],
        resource: str | None,
        seconds: int,
    ) -> OAuthToken:
        token, refresh_token = secrets.token_hex(32), secrets.token_hex(32)
        client_id = client.client_id or ""
        self._tokens[token] = AccessToken(
            token=token,
            client_id=client_id,
            scopes=scopes,
            expires_at=int(time.time()) + seconds,
            resource=resource,
        )
        self._refresh_tokens[refresh_token] = RefreshToken(
            token=refresh_token, client_id=client_id, scopes=scopes
        )
        self._resources[refresh_token] = resource
        return OAuthToken(
            access_token=token,
            expires_in=seconds,
            refresh_token=refresh_token,
            scope=" ".join(scopes),
        )

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self._tokens.get(token)
        expired = found is not None and (found.expires_at or 0) < time.time()
        return None if expired else found

    async def verify_token(self, token: str) -> AccessToken | None:
        """The verifier of the protected server: see `mcp.server.auth.provider.TokenVerifier`."""
        return await self.load_access_token(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self._tokens.pop(token.token, None)


def authorization_server(provider: Provider, issuer: str) -> Starlette:
    """The SDK's own authorization server."""

    async def counts(request: Request) -> JSONResponse:
        return JSONResponse(dict(provider.counts))

    routes = create_auth_routes(
        provider=provider,
        issuer_url=AnyHttpUrl(issuer),
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=[SCOPE], default_scopes=[SCOPE]
        ),
    )
    return Starlette(routes=[*routes, Route("/counts", counts)])


def main() -> None:
    features.asked_transport()
    port, auth_port = features.asked_port(), int(os.environ["AUTH_PORT"])
    provider = Provider(int(os.environ.get("TOKEN_SECONDS", "3600")))
    issuer = f"http://127.0.0.1:{auth_port}"
    server = MCPServer(
        features.NAME,
        version="1.0",
        log_level="ERROR",
        token_verifier=provider,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(issuer),
            required_scopes=[SCOPE],
            resource_server_url=AnyHttpUrl(f"http://127.0.0.1:{port}/mcp"),
            validate_token_resource=True,
        ),
    )
    features.offer(server)
    apps = {auth_port: authorization_server(provider, issuer), port: server.streamable_http_app()}
    asyncio.run(serve(apps))


async def serve(apps: dict[int, Starlette]) -> None:
    """Serve each at its port until the process is ended."""
    servers = [
        uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
        for port, app in apps.items()
    ]
    await asyncio.gather(*(server.serve() for server in servers))


if __name__ == "__main__":
    main()
