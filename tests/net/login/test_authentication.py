"""The values of ``auth=``, and logging in and out by hand."""

from __future__ import annotations

import asyncio
import dataclasses
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

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
from mcpclient.client.client import Client
from mcpclient.errors import AuthError, AuthorizationRequired, HttpError, UsageError
from mcpclient.net.guarded_fetch import GuardedFetcher
from mcpclient.net.login import authentication
from mcpclient.net.login.authentication import (
    OAuthAuthorizer,
    StaticAuthorizer,
    authorizer_for,
    awaits_login,
    credentials_for,
    default_store,
    expect_login,
    finish_auth,
    log_in,
    log_out,
)
from mcpclient.net.login.logins import BrowserLogin, TwoStepLogin
from mcpclient.net.login.storage import MemoryStore, NeedsAuthMemory, memory_of
from mcpclient.net.network_options import NetworkOptions
from tests.net.peers import serve
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.protected import Protected, User

URL = "https://mcp.example/mcp"

pytestmark = pytest.mark.usefixtures("own_credentials")


@asynccontextmanager
async def protected_server(**more: Any) -> AsyncIterator[tuple[str, Protected]]:
    """The URL of a server that asks for a login, and it; `more` routes go before its own."""
    protected = Protected(StreamableEndpoint(McpServer()).routes)
    async with HttpServer({**protected.routes, **more}) as server:
        yield str(server.url()), protected


def logging_in(user: Any) -> OAuth:
    return OAuth(local_development=True, provider=user)


@pytest.mark.parametrize(
    ("auth", "expected"),
    [
        (BearerToken("abc"), {"Authorization": "Bearer abc"}),
        (ApiKey("abc"), {"X-API-Key": "abc"}),
        (ApiKey("abc", "X-Mine"), {"X-Mine": "abc"}),
    ],
)
def test_a_fixed_token_is_a_header_like_others(auth: Any, expected: dict[str, str]) -> None:
    """F-AUTH-13: nothing is awaited for it."""
    assert credentials_for(auth, URL, NetworkOptions()) == expected


@pytest.mark.parametrize("auth", [BearerToken("a\nb"), ApiKey("é")])
def test_a_token_that_no_header_can_carry(auth: Any) -> None:
    """F-AUTH-12: the error does not show it."""
    with pytest.raises(UsageError, match="characters that a header cannot carry"):
        credentials_for(auth, URL, NetworkOptions())


@pytest.mark.parametrize("auth", [BearerToken(lambda: "a"), ApiKey(lambda: "a")])
def test_a_token_from_a_function(auth: Any) -> None:
    """F-AUTH-13"""
    assert isinstance(credentials_for(auth, URL, NetworkOptions()), StaticAuthorizer)


async def _awaited(headers: Any) -> object:
    return await headers


def test_a_plain_function_for_a_token_needs_no_task() -> None:
    """F-AUTH-13: its header is there at once; an async one's when it is awaited, from then on."""
    plain = StaticAuthorizer(URL, BearerToken(lambda: "a"))
    assert plain.request("POST", URL).headers() == {"Authorization": "Bearer a"}

    async def token() -> str:
        await asyncio.sleep(0)
        return "b"

    later = StaticAuthorizer(URL, BearerToken(token))
    for _ in range(2):
        headers = later.request("POST", URL).headers()
        assert not isinstance(headers, Mapping)
        assert asyncio.run(_awaited(headers)) == {"Authorization": "Bearer b"}


def test_a_function_for_a_token_that_fails_is_called_once() -> None:
    """F-AUTH-12, F-AUTH-13: its error is told by its type, when the headers are awaited."""
    calls: list[str] = []

    def token() -> str:
        calls.append("call")
        raise KeyError("a secret")

    headers = StaticAuthorizer(URL, BearerToken(token)).request("POST", URL).headers()
    with pytest.raises(AuthError, match="Ask failed with KeyError") as caught:
        asyncio.run(_awaited(headers))
    assert "secret" not in str(caught.value)
    assert calls == ["call"]


PROVIDER = IdentityProvider("https://idp.example/token", "id", "assertion")


@pytest.mark.parametrize(
    "auth",
    [
        OAuth(),
        ClientCredentials(trust_first_issuer=True, client_id="id", client_secret="SECRET"),
        EnterpriseManaged(
            trust_first_issuer=True,
            identity_provider=PROVIDER,
            client_id="id",
            client_secret="SECRET",
        ),
        WorkloadIdentity(trust_first_issuer=True, assertion="SECRET"),
    ],
)
def test_the_default_store_is_one_file_for_all(auth: Any) -> None:
    """F-AUTH-9, F-AUTH-12"""
    credentials = credentials_for(auth, URL, NetworkOptions())
    assert isinstance(credentials, OAuthAuthorizer)
    provider = credentials._provider
    store = provider.store if isinstance(provider, BrowserLogin) else provider
    assert store is default_store()
    assert "SECRET" not in repr(auth)


def test_the_store_may_be_the_callers() -> None:
    """F-AUTH-9"""
    store, provider = MemoryStore(), TwoStepLogin(MemoryStore())
    for auth, expected in (
        (
            ClientCredentials(
                trust_first_issuer=True, client_id="id", client_secret="s", store=store
            ),
            store,
        ),
        (OAuth(provider=provider), provider),
    ):
        credentials = credentials_for(auth, URL, NetworkOptions())
        assert isinstance(credentials, OAuthAuthorizer)
        assert credentials._provider is expected
        assert dataclasses.replace(auth) == auth


def test_a_missing_option_is_a_usage_error() -> None:
    """F-AUTH-13"""
    with pytest.raises(UsageError, match="client_id"):
        ClientCredentials()
    with pytest.raises(UsageError, match="identity_provider"):
        EnterpriseManaged(client_id="id")


@pytest.mark.parametrize(
    "auth", ["SECRET", BearerToken("SECRET"), ApiKey("SECRET", "Authorization")]
)
async def test_a_token_goes_with_every_request(auth: Any) -> None:
    """F-AUTH-13: a string is a bearer token; it goes before a header of the same name."""
    endpoint = StreamableEndpoint(McpServer(), session="s", listens=True)
    protected = Protected(endpoint.routes)
    protected.tokens.update({"SECRET": "", "": ""})
    async with HttpServer(protected.routes) as server:
        options = {"headers": {"authorization": "Basic x"}, "auth": auth}
        async with Client(str(server.url()), **options) as client:
            await client.list_tools()
        provider = {"headers": lambda: {"Authorization": "Basic x"}, "auth": auth}
        async with Client(str(server.url()), **provider) as client:
            await client.list_tools()
    assert len(protected.headers_seen) > 8
    assert len(set(protected.headers_seen)) == 1
    assert "SECRET" in str(protected.headers_seen[0])


async def test_a_wrong_token_is_an_http_error() -> None:
    """F-AUTH-13, F-HTTP-7"""
    async with protected_server() as (url, _):
        with pytest.raises(HttpError, match="401"):
            await Client(url, auth="SECRET")


@pytest.mark.parametrize(
    ("target", "auth", "match"),
    [
        (["server"], "token", "not a command"),
        ("tcp://localhost:1", "token", "not a tcp socket"),
        (URL, " ", "empty token"),  # a variable that is not set
    ],
)
def test_a_token_that_is_a_mistake(target: Any, auth: str, match: str) -> None:
    """F-AUTH-13: also where there is nothing to authorize."""
    with pytest.raises(UsageError, match=match):
        Client(target, auth=auth)


async def test_logging_in_and_out_by_hand() -> None:
    """F-SHOW-1, F-AUTH-5: before a client exists; out again, and it has to be done anew."""
    async with protected_server() as (url, protected):
        auth = logging_in(user := User(protected))
        await log_in(url, auth)
        assert await authorizer_for(auth, url).stored_grant() is not None
        async with Client(url, auth=auth) as client:
            await client.list_tools()
        assert len(user.asked) == 1
        await log_in(url, auth)
        assert len(user.asked) == 2
        await log_out(url, auth)
        assert await authorizer_for(auth, url).stored_grant() is None
        async with Client(url, auth=auth):
            assert len(user.asked) == 3


@pytest.mark.parametrize("answers", [True, False])
async def test_logging_out_revokes(monkeypatch: pytest.MonkeyPatch, answers: bool) -> None:
    """F-AUTH-8: RFC 7009; a server that does not answer changes nothing about it."""
    revoked: list[bytes] = []
    monkeypatch.setattr(authentication, "REVOCATION_TIMEOUT", 10.0 if answers else 0.01)

    async def metadata(request: Request, answer: Answer) -> None:
        origin = f"http://{request.headers['host']}"
        ends = ("authorization", "token", "registration", "revocation")
        paths = ("authorize", "token", "register", "revoke")
        answer.json(
            {
                **{f"{end}_endpoint": f"{origin}/{path}" for end, path in zip(ends, paths)},
                "issuer": origin,
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            }
        )

    async def revoke(request: Request, answer: Answer) -> None:
        revoked.append(request.body)
        if answers:
            answer.full(200)

    well_known = "/.well-known/oauth-authorization-server"
    more = {well_known: metadata, "POST /revoke": revoke}
    async with protected_server(**more) as (url, protected):
        auth = logging_in(User(protected))
        await log_in(url, auth)
        for _ in range(2):
            await log_out(url, auth)
            assert await authorizer_for(auth, url).stored_grant() is None
    if answers:
        assert len(revoked) == 1
        assert b"token=SECRET-refresh-1" in revoked[0]


async def test_logging_out_of_a_programs_credentials() -> None:
    """F-AUTH-2: the options say which; whom they were first given to is forgotten."""
    store = MemoryStore()
    auth = ClientCredentials(client_id="c", client_secret="s", trust_first_issuer=True, store=store)
    await store.save("credential c", {"issuer": "https://wrong.example"})
    await log_out("https://mcp.example/mcp", auth)
    assert await store.load("credential c") is None


@pytest.mark.parametrize(
    "make",
    [
        OAuth,
        partial(ClientCredentials, client_id="c", client_secret="s", trust_first_issuer=True),
        partial(WorkloadIdentity, assertion="a", trust_first_issuer=True),
    ],
)
def test_tokens_are_asked_for_with_a_context_of_their_own(
    make: Callable[..., OAuth | ClientCredentials | WorkloadIdentity],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-AUTH-10: and with the network of the server's connections."""
    made: list[tuple[NetworkOptions, ssl.SSLContext | None]] = []

    class Noting(GuardedFetcher):
        def __init__(self, network: NetworkOptions, *, ssl_context: ssl.SSLContext | None) -> None:
            made.append((network, ssl_context))
            super().__init__(network, ssl_context=ssl_context)

    monkeypatch.setattr(authentication, "GuardedFetcher", Noting)
    context, network = ssl.create_default_context(), NetworkOptions()
    credentials_for(make(ssl_context=context), "https://h.example/mcp", network)
    assert [(mine is network, its is context) for mine, its in made] == [(True, True)]


async def test_servers_that_await_a_login_are_looked_up_in_one_read() -> None:
    """F-AUTH-11: for whoever has many of them, before any request is sent."""
    loads: list[str] = []

    class Counting(MemoryStore):
        async def load(self, key: str) -> Any:
            loads.append(key)
            return await super().load(key)

    store = Counting()
    memory = memory_of(store)
    await memory.mark("https://1.example/mcp")
    loads.clear()
    urls = [f"https://{number}.example/mcp" for number in range(20)]
    auths = [OAuth(provider=TwoStepLogin(store)) for _ in urls]
    found = await asyncio.gather(*map(awaits_login, urls, auths))
    assert [url for url, is_found in zip(urls, found) if is_found] == [urls[1]]
    assert not loads, "it was read just now"


async def test_logging_in_by_hand_asks_again_after_a_refusal() -> None:
    """F-AUTH-11: that is what it is for."""

    async def nobody(request: object) -> None:
        return None

    async with protected_server() as (url, protected):
        auth = logging_in(user := User(protected, nobody))
        for _ in range(2):
            with pytest.raises(AuthorizationRequired):
                await log_in(url, auth)
        assert len(user.asked) == 2


async def test_logging_in_where_nothing_is_refused() -> None:
    """F-SHOW-1: a server may want a login later; where, its metadata tells."""
    open_to_all = StreamableEndpoint(McpServer()).routes
    async with protected_server(**open_to_all) as (url, protected):
        auth = logging_in(User(protected))
        await log_in(url, auth)
        assert await authorizer_for(auth, url).stored_grant() is not None


@pytest.mark.parametrize("whole", [True, False])
async def test_two_steps(whole: bool) -> None:
    """F-AUTH-8, F-AUTH-11: another object with the same store goes on, and nothing is needed."""
    async with protected_server() as (url, protected):
        store = MemoryStore()
        with pytest.raises(AuthorizationRequired) as caught:
            await Client(url, auth=logging_in(TwoStepLogin(store)))
        callback = protected.authorize(caught.value.url)
        again = logging_in(TwoStepLogin(store))
        await NeedsAuthMemory(store).mark(url)
        if whole:
            await finish_auth(url, callback, auth=again)
        else:
            query = dict(pair.split("=") for pair in callback.partition("?")[2].split("&"))
            await finish_auth(url, query["code"], query["state"], auth=again)
        assert not await awaits_login(url, again)
        async with Client(url, auth=again) as client:
            await client.list_tools()
        with pytest.raises(AuthError, match="belongs to no login that was begun here"):
            await finish_auth(url, callback, auth=again)


async def test_finishing_with_the_answer_of_another_issuer() -> None:
    """F-AUTH-3: mix-up."""
    async with protected_server() as (url, protected):
        auth = logging_in(TwoStepLogin(MemoryStore()))
        with pytest.raises(AuthorizationRequired) as caught:
            await Client(url, auth=auth)
        state = protected.authorize(caught.value.url).partition("state=")[2]
        with pytest.raises(AuthError, match="another issuer"):
            await finish_auth(url, "code", state, iss="https://evil.example", auth=auth)
        assert protected.counts["authorization_code"] == 0


async def test_a_login_for_a_websocket() -> None:
    """F-AUTH-5: the opening request is refused, authorized, and sent again."""
    seen: list[bytes] = []
    async with protected_server() as (url, protected):

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            seen.append(head)
            if b"GET /mcp" in head:
                status = b"401 No" if b"SECRET-token" not in head else b"418 Teapot"
                writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
                return
            other, back = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
            back.write(head)
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            back.write(await reader.readexactly(int(length or b"0")))
            writer.write(await other.read(65536))
            await writer.drain()
            back.close()

        async with serve(relay) as port:
            auth = logging_in(user := User(protected))
            with pytest.raises(HttpError, match="418"):
                await Client(f"ws://127.0.0.1:{port}/mcp", auth=auth)
            assert len(user.asked) == 1
    assert sum(b"GET /mcp" in head for head in seen) == 2
    assert any(b"Authorization: Bearer SECRET-token-1" in head for head in seen)


async def test_a_login_that_is_wanted_after_all() -> None:
    """F-AUTH-11: the user may ask for it before the 15 minutes are over."""
    url = "http://127.0.0.1:9/mcp"
    auth = OAuth(provider=TwoStepLogin(MemoryStore()))
    assert auth.provider is not None
    await memory_of(auth.provider).mark(url)
    assert await awaits_login(url, auth)
    await expect_login(url, auth)
    assert not await awaits_login(url, auth)
