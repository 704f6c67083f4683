"""A protected MCP server and its authorization server, as one set of handlers; and its user.

Every secret it gives out, and every one it is sent, begins with ``SECRET``, or is in ``secrets``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable
from typing import Callable
from urllib.parse import parse_qsl, urlsplit

from mcpclient.auth.effects import Authorize, Callback, ShowDeviceCode
from mcpclient.net.login.storage import MemoryStore
from tests.support.http_server import Answer, Handler, Request


class Protected:
    """Puts authorization in front of the handler of an MCP endpoint.

    ``expires_in``: the lifetime of the first tokens; refreshed ones live for an hour.
    ``refreshes``: whether there are refresh tokens. ``scopes``: what the methods of MCP need beyond
    any token. ``counts``: how often each endpoint and each grant was used.
    """

    def __init__(
        self,
        mcp: dict[str, Handler],
        *,
        expires_in: float | None = 3600,
        refreshes: bool = True,
        scopes: dict[str, str] | None = None,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.tokens: dict[str, str] = {}
        self.refresh_tokens: set[str] = set()
        self.secrets: set[str] = set()
        self.headers_seen: list[str | None] = []
        self.before_token: Callable[[], Awaitable[None]] | None = None
        self.error: str | None = None
        self._mcp = mcp
        self._expires_in = expires_in
        self._refreshes = refreshes
        self._scopes = scopes or {}
        self._codes: dict[str, str] = {}

    @property
    def routes(self) -> dict[str, Handler]:
        """The routes for an `HttpServer`."""
        return {
            **{key: self._guarded(handler) for key, handler in self._mcp.items()},
            "/.well-known/oauth-protected-resource/mcp": self._resource,
            "/.well-known/oauth-authorization-server": self._metadata,
            "POST /register": self._register,
            "POST /token": self._token,
            "GET /authorize": self._authorize,
        }

    def revoke(self) -> None:
        """Let no access token count any more."""
        self.tokens.clear()

    def authorize(self, url: str) -> str:
        """The result of the user's consent: the address the browser is sent to."""
        self.counts["authorize"] += 1
        query = dict(parse_qsl(urlsplit(url).query))
        code = f"SECRET-code-{self.counts['authorize']}"
        self._codes[code] = query.get("scope", "")
        self.secrets.add(query["state"])
        return f"{query['redirect_uri']}?code={code}&state={query['state']}"

    def _guarded(self, handler: Handler) -> Handler:
        async def guarded(request: Request, answer: Answer) -> None:
            header = request.headers.get("authorization")
            self.headers_seen.append(header)
            token = (header or "").partition(" ")[2]
            if token not in self.tokens:
                answer.full(401, {"WWW-Authenticate": f'Bearer error="{"" if header else "no"}"'})
                return
            method = request.message.get("method", "") if request.body else ""
            needed = self._scopes.get(method)
            if needed is not None and needed not in self.tokens[token].split():
                challenge = f'Bearer error="insufficient_scope", scope="{needed}"'
                answer.full(403, {"WWW-Authenticate": challenge})
                return
            await handler(request, answer)

        return guarded

    async def _resource(self, request: Request, answer: Answer) -> None:
        self.counts["resource"] += 1
        origin = f"http://{request.headers['host']}"
        answer.json({"resource": f"{origin}/mcp", "authorization_servers": [origin]})

    async def _metadata(self, request: Request, answer: Answer) -> None:
        origin = f"http://{request.headers['host']}"
        answer.json(
            {
                "issuer": origin,
                "authorization_endpoint": f"{origin}/authorize",
                "token_endpoint": f"{origin}/token",
                "registration_endpoint": f"{origin}/register",
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            }
        )

    async def _register(self, request: Request, answer: Answer) -> None:
        self.counts["register"] += 1
        answer.json({"client_id": "the-client", "client_secret": "SECRET-client"}, 201)

    async def _authorize(self, request: Request, answer: Answer) -> None:
        answer.full(302, {"Location": self.authorize(request.target)})

    async def _token(self, request: Request, answer: Answer) -> None:
        form = dict(parse_qsl(request.body.decode()))
        self.counts[form["grant_type"]] += 1
        self.secrets.update(form[name] for name in ("code_verifier",) if name in form)
        if self.before_token is not None:
            await self.before_token()
        if self.error is not None:
            # A careless server repeats all it was sent.
            description = " ".join(form.values())
            answer.json({"error": self.error, "error_description": description}, 400)
            return
        scope, lifetime = "", self._expires_in
        if form["grant_type"] == "authorization_code":
            scope = self._codes.pop(form["code"])
        elif form["refresh_token"] in self.refresh_tokens:
            self.refresh_tokens.remove(form["refresh_token"])
            lifetime = 3600
        else:
            answer.json({"error": "invalid_grant"}, 400)
            return
        answer.json(self._issue(scope, lifetime))

    def _issue(self, scope: str, lifetime: float | None) -> dict[str, object]:
        number = self.counts["issued"] = self.counts["issued"] + 1
        token = f"SECRET-token-{number}"
        self.tokens[token] = scope
        fields: dict[str, object] = {"access_token": token, "token_type": "Bearer"}
        if lifetime is not None:
            fields["expires_in"] = lifetime
        if self._refreshes:
            fields["refresh_token"] = f"SECRET-refresh-{number}"
            self.refresh_tokens.add(f"SECRET-refresh-{number}")
        return json.loads(json.dumps(fields))  # type: ignore[no-any-return]


class User(MemoryStore):
    """An `AuthProvider` whose user says yes, or whatever ``answer`` makes of the request."""

    def __init__(
        self,
        server: Protected,
        answer: Callable[[Authorize], Awaitable[Callback | None]] | None = None,
    ) -> None:
        super().__init__()
        self.asked: list[Authorize] = []
        self.codes: list[ShowDeviceCode] = []
        self.server = server
        self._answer = answer or self.yes

    async def open_redirect(self, configured: str | None, registered: tuple[str, ...]) -> str:
        return configured or "http://127.0.0.1:8765/callback"

    async def authorize(self, request: Authorize) -> Callback | None:
        self.asked.append(request)
        return await self._answer(request)

    async def yes(self, request: Authorize) -> Callback:
        query = dict(parse_qsl(urlsplit(self.server.authorize(request.url)).query))
        return Callback(code=query["code"], state=query["state"])

    async def show_device_code(self, request: ShowDeviceCode) -> None:
        self.codes.append(request)
