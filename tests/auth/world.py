"""A world for flows: a shell without I/O, and the servers they talk to, as tables."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl, urlsplit

import pytest

from mcpclient.auth.discovery import AuthorizationServer, Discovery
from mcpclient.auth.effects import (
    Ask,
    Authorize,
    Callback,
    Exclusive,
    Fetch,
    Flow,
    Load,
    Now,
    OpenRedirect,
    RandomBytes,
    Response,
    Save,
    Shielded,
    ShowDeviceCode,
    StoredItem,
    Wait,
)
from mcpclient.auth.flow import Authorization, AuthorizedRequest
from mcpclient.auth.grants import GrantRequest
from mcpclient.auth.obtaining import code_challenge
from mcpclient.auth.options import OAuth, OAuthOptions
from mcpclient.auth.signing import DpopProver
from mcpclient.auth.url_guard import UrlPolicy
from mcpclient.errors import AuthorizationRequired

T = TypeVar("T")

REDIRECT = "http://127.0.0.1:8765/callback"
SERVER = "https://mcp.example/mcp"
TOKEN = "https://auth.example/token"

Handler = Callable[[Fetch], Response]


def json_response(
    document: object, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> Response:
    body = json.dumps(document).encode()
    return Response(status, [("Content-Type", "application/json"), *headers], body)


def unauthorized(*challenges: str, headers: tuple[tuple[str, str], ...] = ()) -> Response:
    fields = [("WWW-Authenticate", challenge) for challenge in challenges]
    return Response(401, [*fields, *headers], b"")


def form_of(request: Fetch) -> dict[str, str]:
    pairs = parse_qsl((request.body or b"").decode(), keep_blank_values=True)
    assert len(pairs) == len(dict(pairs)), "a form field came twice"
    return dict(pairs)


def query_of(url: str) -> dict[str, str]:
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    assert len(pairs) == len(dict(pairs)), "a parameter came twice"
    return dict(pairs)


def decode_jwt(token: str) -> tuple[dict[str, object], dict[str, object]]:
    header, claims, _ = token.split(".")
    return _decode_part(header), _decode_part(claims)


def _decode_part(part: str) -> dict[str, object]:
    document = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    assert isinstance(document, dict)
    return document


class World:
    """Performs effects from tables. What happened is kept in order, to be asserted on."""

    def __init__(self) -> None:
        self.time = 1_000_000.0
        self.store: dict[str, StoredItem] = {}
        self.handlers: dict[tuple[str, str], Handler] = {}
        self.fetched: list[Fetch] = []
        self.visited: list[Authorize] = []
        self.codes: list[ShowDeviceCode] = []
        self.effects: list[object] = []
        self.redirects: list[OpenRedirect] = []
        self.waited: list[float] = []
        self.redirect = REDIRECT
        self.user: Callable[[Authorize], Callback] = self.no_user
        self.before_lock: Callable[[], None] = lambda: None
        self._randomness = 0
        self._locked: set[str] = set()
        self._is_shielded = False

    def on(self, method: str, url: str, handler: Handler | Response) -> None:
        self.handlers[method, url] = handler if callable(handler) else lambda _: handler

    def urls(self, method: str = "GET") -> list[str]:
        return [request.url for request in self.fetched if request.method == method]

    def run(self, flow: Flow[T]) -> T:
        answer: object = None
        failure: BaseException | None = None
        while True:
            try:
                effect = flow.send(answer) if failure is None else flow.throw(failure)
            except StopIteration as stop:
                return cast(T, stop.value)
            self.effects.append(effect)
            answer, failure = None, None
            try:
                answer = self._perform(effect)
            except Exception as error:
                failure = error

    def _perform(self, effect: object) -> object:
        performers = {
            Ask: lambda effect: effect.function(),
            Authorize: self._authorize,
            Exclusive: self._exclusive,
            Fetch: self._fetch,
            Load: lambda effect: self.store.get(effect.key),
            Now: lambda _: self.time,
            OpenRedirect: self._open_redirect,
            RandomBytes: self._random,
            Save: self._save,
            ShowDeviceCode: self.codes.append,
            Shielded: self._shielded,
            Wait: self._wait,
        }
        return performers[type(effect)](effect)  # type: ignore[operator]

    def _authorize(self, effect: Authorize) -> Callback:
        self.visited.append(effect)
        return self.user(effect)

    def _exclusive(self, effect: Exclusive[object]) -> object:
        assert effect.name not in self._locked, "a lock inside itself would wait for ever"
        self.before_lock()
        self._locked.add(effect.name)
        try:
            return self.run(effect.flow)
        finally:
            self._locked.discard(effect.name)

    def _fetch(self, effect: Fetch) -> Response:
        self.fetched.append(effect)
        key = (effect.method, effect.url.partition("?")[0])
        handler = self.handlers.get(key)
        return handler(effect) if handler else Response(404, [], b"<html>not here</html>")

    def _open_redirect(self, effect: OpenRedirect) -> str:
        self.redirects.append(effect)
        return effect.configured or self.redirect

    def _random(self, effect: RandomBytes) -> bytes:
        self._randomness += 1
        return hashlib.sha512(b"%d" % self._randomness).digest()[: effect.count]

    def _shielded(self, effect: Shielded[object]) -> object:
        self._is_shielded = True
        try:
            return self.run(effect.flow)
        finally:
            self._is_shielded = False

    def _save(self, effect: Save) -> None:
        if effect.key.startswith("grant "):
            assert any(name.startswith("grant ") for name in self._locked), "it changes unlocked"
            assert self._is_shielded or effect.record is None, "it may be lost on its way"
        if effect.record is None:
            self.store.pop(effect.key, None)
        else:
            # What is stored must survive JSON.
            self.store[effect.key] = json.loads(json.dumps(effect.record))

    def _wait(self, effect: Wait) -> None:
        self.waited.append(effect.seconds)
        self.time += effect.seconds

    def no_user(self, request: Authorize) -> Callback:
        raise AuthorizationRequired(request.url)


@dataclass
class AuthorizationServerFake:
    """An authorization server with the habits a scenario needs."""

    world: World
    issuer: str = "https://auth.example"
    metadata_url: str | None = None
    metadata: dict[str, object] = field(default_factory=dict)
    routes: str = ""
    token_fields: dict[str, object] = field(default_factory=dict)
    iss: str | None = None
    sends_iss: bool = False
    client_id: str = "registered-client"
    registration: dict[str, object] = field(default_factory=dict)
    nonce: str | None = None
    tokens: list[str] = field(default_factory=list)
    token_forms: list[dict[str, str]] = field(default_factory=list)
    token_requests: list[Fetch] = field(default_factory=list)
    registrations: list[dict[str, object]] = field(default_factory=list)
    authorizations: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        parts = urlsplit(self.issuer)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        base = self.origin + self.routes
        if self.metadata_url is None:
            self.metadata_url = f"{self.origin}/.well-known/oauth-authorization-server{parts.path}"
        self.document: dict[str, object] = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "registration_endpoint": f"{base}/register",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            **self.metadata,
        }
        self.document = {name: value for name, value in self.document.items() if value is not None}
        if self.metadata_url:
            self.world.on("GET", self.metadata_url, lambda _: json_response(self.document))
        self.world.on("POST", f"{base}/token", self._token)
        self.world.on("POST", f"{base}/register", self._register)

    def authorize(self, request: Authorize) -> Callback:
        """The user, who says yes."""
        query = query_of(request.url)
        self.authorizations.append(query)
        assert query["code_challenge_method"] == "S256"
        assert query["response_type"] == "code"
        assert query["redirect_uri"] == request.redirect_uri
        iss = (self.iss or self.issuer) if self.sends_iss else None
        return Callback(
            code=f"code-{len(self.authorizations)}-at-{self.issuer}", state=query["state"], iss=iss
        )

    def _register(self, request: Fetch) -> Response:
        document = json.loads(request.body or b"{}")
        self.registrations.append(document)
        return json_response({"client_id": self.client_id, **self.registration}, 201)

    def _token(self, request: Fetch) -> Response:
        form = form_of(request)
        if self.nonce is not None:
            _, claims = decode_jwt(request.headers["DPoP"])
            if claims.get("nonce") != self.nonce:
                nonce = (("DPoP-Nonce", self.nonce),)
                return json_response({"error": "use_dpop_nonce"}, 400, nonce)
        self.token_requests.append(request)
        self.token_forms.append(form)
        if form["grant_type"] == "authorization_code":
            asked = self.authorizations[-1]
            assert code_challenge(form["code_verifier"]) == asked["code_challenge"]
            assert form["redirect_uri"] == asked["redirect_uri"]
            assert form.get("resource") == asked.get("resource")
        token = f"token-{len(self.tokens) + 1}-of-{urlsplit(self.issuer).netloc}"
        self.tokens.append(token)
        return json_response(
            {"access_token": token, "token_type": "Bearer", "expires_in": 3600, **self.token_fields}
        )


@dataclass
class ResourceServerFake:
    """A protected MCP server: it takes the tokens of the authorization servers it trusts."""

    world: World
    servers: list[AuthorizationServerFake]
    url: str = "https://mcp.example/mcp"
    metadata_url: str | None = None
    names_metadata: bool = True
    metadata: dict[str, object] = field(default_factory=dict)
    challenge: str = ""
    scheme: str = "Bearer"
    nonce: str | None = None
    required_scopes: list[str] | None = None
    requests: list[Mapping[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        if self.metadata_url is None:
            self.metadata_url = f"{self.origin}/.well-known/oauth-protected-resource{parts.path}"
        if self.metadata_url:
            self.world.on("GET", self.metadata_url, lambda _: json_response(self.document()))

    def document(self) -> dict[str, object]:
        issuers = [server.issuer for server in self.servers]
        return {"resource": self.url, "authorization_servers": issuers, **self.metadata}

    def answer(self, headers: Mapping[str, str]) -> Response:
        self.requests.append(headers)
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        if scheme != self.scheme or all(token not in server.tokens for server in self.servers):
            return unauthorized(self._challenge())
        if self.nonce is not None and decode_jwt(headers["DPoP"])[1].get("nonce") != self.nonce:
            nonce = (("DPoP-Nonce", self.nonce),)
            return unauthorized('DPoP error="use_dpop_nonce"', headers=nonce)
        if self.required_scopes is not None:
            granted = self.servers[0].authorizations[-1].get("scope", "").split()
            if not set(self.required_scopes) <= set(granted):
                scope = " ".join(self.required_scopes)
                challenge = f'Bearer error="insufficient_scope", scope="{scope}"'
                return Response(403, [("WWW-Authenticate", challenge)], b"")
        return json_response({"ok": True})

    def _challenge(self) -> str:
        parameters = [self.challenge] if self.challenge else []
        if self.names_metadata:
            parameters.append(f'resource_metadata="{self.metadata_url}"')
        return f"{self.scheme} {', '.join(parameters)}".strip()


def call(
    world: World, request: AuthorizedRequest, answer: Callable[[Mapping[str, str]], Response]
) -> Response:
    """The shell's work for one HTTP request to the MCP server."""
    while True:
        response = answer(world.run(request.headers()))
        if not world.run(request.recover(response)):
            return response


def call_server(world: World, authorization: Authorization, server: ResourceServerFake) -> Response:
    return call(world, authorization.request("POST", server.url), server.answer)


class Scene:
    """One server, one authorization server that gives refresh tokens, one user who says yes."""

    def __init__(
        self,
        options: OAuthOptions | None = None,
        issuer: Mapping[str, object] | None = None,
        **server: object,
    ) -> None:
        self.world = World()
        habits: Any = {"token_fields": {"refresh_token": "first"}, **(issuer or {})}
        self.issuer = AuthorizationServerFake(self.world, **habits)
        self.server = ResourceServerFake(self.world, [self.issuer], **cast(Any, server))
        self.world.user = self.issuer.authorize
        self.options = options or OAuth()
        self.authorization = self.process()

    def process(self) -> Authorization:
        """As another process would have it: the same store, nothing in memory."""
        return Authorization(self.server.url, self.options)

    def call(self, authorization: Authorization | None = None) -> Response:
        return call_server(self.world, authorization or self.authorization, self.server)

    def request(self, authorization: Authorization | None = None) -> AuthorizedRequest:
        return (authorization or self.authorization).request("POST", self.server.url)

    def answered(self, *answers: Response) -> Response:
        """One request that gets these answers in turn, and the last one for ever."""
        following = iter(answers)
        return call(self.world, self.request(), lambda _: next(following, answers[-1]))

    def grants(self) -> list[str]:
        return [form["grant_type"] for form in self.issuer.token_forms]

    def leave(self) -> Authorize:
        """Call without a user; return the login that has begun."""
        self.world.user = self.world.no_user
        with pytest.raises(AuthorizationRequired):
            self.call()
        return self.world.visited[-1]

    def failing_token_endpoint(self, error: str, status: int) -> None:
        self.world.on("POST", TOKEN, json_response({"error": error}, status))


def grant_request(
    fake: AuthorizationServerFake | None = None,
    *,
    policy: UrlPolicy | None = None,
    scopes: tuple[str, ...] = (),
    resource: str | None = None,
    prover: DpopProver | None = None,
) -> GrantRequest:
    """A request for a grant of the server at `SERVER`, as discovery would lead to it."""
    server = AuthorizationServer("https://auth.example", TOKEN)
    if fake is not None:
        server = AuthorizationServer.parse(fake.document)
    found = Discovery(server, None, "https://mcp.example/metadata")
    policy = policy or UrlPolicy()
    return GrantRequest(SERVER, SERVER, found, scopes, resource, policy, prover)
