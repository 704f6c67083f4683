"""The shell of authorization, between a real client and a server that wants tokens."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcpclient.auth.effects import (
    Ask,
    Authorize,
    Exclusive,
    Flow,
    Load,
    Response,
    StoredItem,
    Wait,
    token_from,
)
from mcpclient.auth.options import BearerToken, OAuth
from mcpclient.client.client import Client
from mcpclient.errors import AuthError, CallTimeout, HttpError
from mcpclient.framing.headers import Headers
from mcpclient.framing.http1 import ResponseHead
from mcpclient.net.guarded_fetch import GuardedFetcher
from mcpclient.net.login import authentication as runner_module
from mcpclient.net.login.authentication import FlowRunner, result_at_once
from mcpclient.net.login.storage import FileStore, MemoryStore
from tests.support.http_server import HttpServer
from tests.support.mcp_http import StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.protected import Protected, User

Events = partial(defaultdict[str, asyncio.Event], asyncio.Event)
"""Events by name, each made when it is first used, in the event loop."""


async def echo(client: Client, text: str = "hi") -> str:
    return (await client.call_tool("echo", {"text": text})).text


async def test_a_token_from_a_function_is_asked_for_again_after_a_401() -> None:
    """F-AUTH-13: once; then the refusal is the caller's to see."""
    protected = Protected(StreamableEndpoint(McpServer()).routes)
    given: list[str] = []

    async def token() -> str:
        given.append(f"token-{len(given)}")
        return given[-1]

    async with HttpServer(protected.routes) as server:
        with pytest.raises(HttpError, match="401"):
            await Client(str(server.url()), auth=BearerToken(token))
        assert len(protected.headers_seen) == 2
        protected.tokens[f"token-{len(given)}"] = ""
        plain = BearerToken(lambda: next(iter(protected.tokens)))
        async with Client(str(server.url()), auth=plain) as client:
            assert await echo(client) == "hi"


async def test_a_function_that_fails_is_an_error_and_no_endless_wait() -> None:
    """F-AUTH-13"""

    def token() -> str:
        raise ValueError("SECRET")

    with pytest.raises(AuthError, match="failed with ValueError") as caught:
        await Client("http://127.0.0.1:9/mcp", auth=BearerToken(token))
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("way", ["expired", "revoked"])
async def test_closing_with_a_login_that_is_over_asks_nobody(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-AUTH-8: the session is ended without, if need be."""
    endpoint = StreamableEndpoint(McpServer("handshake"), session="s")
    protected = Protected(endpoint.routes)
    async with HttpServer(protected.routes) as server:
        user = User(protected)
        auth = OAuth(local_development=True, provider=user)
        async with Client(str(server.url()), auth=auth):
            user.asked.clear()
            protected.revoke()
            if way == "expired":
                later = time.time() + 10_000
                monkeypatch.setattr(runner_module, "seconds_since_epoch", lambda: later)
    assert not user.asked
    assert protected.counts["refresh_token"] == 0


@asynccontextmanager
async def runner(provider: Any = None) -> AsyncIterator[FlowRunner]:
    made = FlowRunner("https://mcp.example/mcp", provider or MemoryStore(), GuardedFetcher())
    yield made
    await made.close()


async def test_a_mere_store_leads_no_user() -> None:
    """F-AUTH-9: where a user is needed, that is said."""
    async with runner() as made:
        with pytest.raises(AuthError, match="needs an AuthProvider"):
            await made.run(iter(Authorize("https://auth.example/a", "state", "http://127.0.0.1/c")))


async def test_a_passive_flow_obtains_nothing() -> None:
    """F-AUTH-5"""

    def flow() -> Flow[str]:
        try:
            yield from Exclusive("name", iter(Load("key")))
        except AuthError:
            return "refused"
        return "obtained"

    async with runner() as made:
        assert await made.run(flow(), passive=True) == "refused"
        assert await made.run(flow()) == "obtained"


async def test_a_nonce_in_any_answer_reaches_the_flow() -> None:
    """F-AUTH-7: RFC 9449 section 8.2; other answers that succeed are none of its business."""
    noted: list[Response] = []

    class Flows:
        def recover(self, response: Response) -> Flow[bool]:
            noted.append(response)
            return False
            yield

    flows: Any = Flows()
    async with runner() as made:
        request = runner_module._Request(flows, made, passive=False)
        for headers in (Headers(), Headers([("DPoP-Nonce", "next")])):
            request.note(ResponseHead(200, "OK", headers, "1.1"))
    (response,) = noted
    assert response.header("dpop-nonce") == "next"


class UserWithFile(User):
    """A user whose credentials other processes share."""

    def __init__(self, server: Protected, path: Path) -> None:
        super().__init__(server)
        self._file = FileStore(path)

    async def load(self, key: str) -> StoredItem | None:
        return await self._file.load(key)

    async def save(self, key: str, record: StoredItem | None) -> None:
        await self._file.save(key, record)

    def lock(self, name: str) -> AbstractAsyncContextManager[object]:
        return self._file.lock(name)


@asynccontextmanager
async def beside_another_process(folder: Path) -> AsyncIterator[tuple[str, OAuth, Any]]:
    """Give a URL, the options, and a lock that only other processes respect."""
    path = folder / "credentials.json"
    protected = Protected(StreamableEndpoint(McpServer("both"), session=None).routes)
    async with HttpServer(protected.routes) as server:
        url = str(server.url())
        auth = OAuth(local_development=True, provider=UserWithFile(protected, path))
        yield url, auth, FileStore(path).lock(f"grant OAuth {url}")


@pytest.mark.parametrize(
    ("limits", "limit"),
    [({"timeout": 0.25}, "idle"), ({"timeout": None, "max_timeout": 0.25}, "total")],
)
async def test_a_login_of_another_process_counts_against_a_calls_limits(
    tmp_path: Path, limits: dict[str, Any], limit: str
) -> None:
    """F-AUTH-5: and the error names the login; the next call succeeds again."""
    async with (
        beside_another_process(tmp_path) as (url, auth, lock),
        Client(url, auth=auth) as client,
    ):
        assert isinstance(auth.provider, UserWithFile)
        auth.provider.server.revoke()
        async with lock:
            with pytest.raises(CallTimeout, match="another login to http") as caught:
                await client.call_tool("echo", {"text": "hi"}, **limits)
            assert caught.value.limit == limit
        assert await echo(client) == "hi"


async def test_a_login_that_is_given_up_is_an_error_to_those_that_wait_for_it() -> None:
    """F-AUTH-8: whether it was closed, or something that the provider waits for was cancelled."""

    async def cancelled() -> None:
        raise asyncio.CancelledError

    async with runner() as made:
        with pytest.raises(AuthError, match="given up"):
            await made.run(iter(Exclusive("name", token_from(cancelled))))
        waiting = asyncio.ensure_future(made.run(iter(Exclusive("name", iter(Wait(60))))))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        made.abort()
        with pytest.raises(AuthError, match="given up"):
            await waiting


def test_a_flow_that_should_ask_for_nothing() -> None:
    """F-AUTH-5"""

    def nothing() -> Flow[int]:
        return 5
        yield Ask(lambda: None)

    assert result_at_once(nothing()) == 5
    with pytest.raises(AssertionError, match="Ask"):
        result_at_once(token_from(lambda: None))
