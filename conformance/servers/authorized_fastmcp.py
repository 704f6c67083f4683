"""A protected server on fastmcp 4, which is its own authorization server.

It listens on PORT. A user who is asked says yes at once. A token lives for TOKEN_SECONDS, a
refreshed one for an hour; refresh tokens are used once. ``GET /counts`` tells how often each grant
was asked for.
"""

import os
from collections import Counter
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.auth.auth import ClientRegistrationOptions
from fastmcp.server.auth.providers import in_memory
from starlette.requests import Request
from starlette.responses import JSONResponse

from conformance.servers import features


class Provider(in_memory.InMemoryOAuthProvider):  # type: ignore[misc]
    """Counts its requests, and issues tokens of two lifetimes."""

    def __init__(self, base_url: str, token_seconds: int) -> None:
        options = ClientRegistrationOptions(enabled=True)
        super().__init__(base_url=base_url, client_registration_options=options)
        self.counts: Counter[str] = Counter()
        self._token_seconds = token_seconds

    async def register_client(self, client_info: Any) -> None:
        self.counts["register"] += 1
        await super().register_client(client_info)

    async def authorize(self, client: Any, params: Any) -> str:
        self.counts["authorize"] += 1
        location: str = await super().authorize(client, params)
        return location

    async def exchange_authorization_code(self, client: Any, authorization_code: Any) -> Any:
        self.counts["authorization_code"] += 1
        in_memory.DEFAULT_ACCESS_TOKEN_EXPIRY_SECONDS = self._token_seconds
        return await super().exchange_authorization_code(client, authorization_code)

    async def exchange_refresh_token(self, client: Any, refresh_token: Any, scopes: Any) -> Any:
        self.counts["refresh_token"] += 1
        in_memory.DEFAULT_ACCESS_TOKEN_EXPIRY_SECONDS = 3600
        return await super().exchange_refresh_token(client, refresh_token, scopes)


def main() -> None:
    features.asked_transport()
    port = features.asked_port()
    provider = Provider(f"http://127.0.0.1:{port}", int(os.environ["TOKEN_SECONDS"]))
    server = FastMCP(features.NAME, version="1.0", auth=provider)
    features.offer(server)

    @server.custom_route("/counts", methods=["GET"])  # type: ignore[untyped-decorator]
    async def counts(request: Request) -> JSONResponse:
        return JSONResponse(dict(provider.counts))

    server.run("http", host="127.0.0.1", port=port, show_banner=False, log_level="error")


if __name__ == "__main__":
    main()
