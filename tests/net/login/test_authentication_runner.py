"""The shell of authorization, between a real client and a server that wants tokens."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcpclient.auth.effects import (
    Ask,
    Authorize,
    Callback,
    Exclusive,
    Flow,
    Load,
    Response,
    Save,
    ShowDeviceCode,
    StoredItem,
    Wait,
    token_from,
)
from mcpclient.auth.options import BearerToken, OAuth
from mcpclient.client.client import Client
from mcpclient.errors import (
    AuthError,
    AuthorizationDenied,
    AuthorizationRequired,
    CallTimeout,
    HttpError,
    InsufficientScope,
    UsageError,
)
from mcpclient.framing.headers import Headers
from mcpclient.framing.http1 import ResponseHead
from mcpclient.net.guarded_fetch import GuardedFetcher
from mcpclient.net.login import authentication as runner_module
from mcpclient.net.login.authentication import FlowRunner, result_at_once
from mcpclient.net.login.storage import FileStore, MemoryStore
from tests.net.process_helpers import until
from tests.support.http_server import Answer, HttpServer, Request
from tests.support.mcp_http import LegacyEndpoint, StreamableEndpoint
from tests.support.mcp_server import McpServer
from tests.support.protected import Protected, User

Events = partial(defaultdict[str, asyncio.Event], asyncio.Event)
"""Events by name, each made when it is first used, in the event loop."""


@asynccontextmanager
async def play(
    *, user: Any = None, client: Any = None, endpoint: Any = None, more: Any = None, **options: Any
) -> AsyncIterator[tuple[Client, Protected, User]]:
    """Give a client that logs in to a protected server, that server, and the user who is asked.

    `more` routes go before those of the server.
    """
    is_stateless = (client or {}).get("protocol_version") == "2026-07-28"
    session = None if is_stateless else "s"
    endpoint = endpoint or StreamableEndpoint(McpServer("both"), session=session, listens=True)
    protected = Protected(endpoint.routes, **options)
    async with HttpServer({**protected.routes, **(more or {})}) as server:
        person = User(protected, user)
        auth = OAuth(local_development=True, provider=person)
        made = Client(str(server.url()), auth=auth, **(client or {}))
        try:
            yield made, protected, person
        finally:
            await made.close()


async def echo(client: Client, text: str = "hi") -> str:
    return (await client.call_tool("echo", {"text": text})).text


async def test_a_user_is_led_through_a_login_once() -> None:
    """F-AUTH-5: one login; every later request carries its token."""
    async with play() as (client, server, _):
        await client.connect()
        assert [await echo(client, str(number)) for number in range(3)] == ["0", "1", "2"]
    assert (server.counts["authorize"], server.counts["authorization_code"]) == (1, 1)
    assert server.headers_seen[0] is None
    assert set(server.headers_seen[1:]) == {"Bearer SECRET-token-1"}


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_every_request_is_authorized_in_both_eras(version: str) -> None:
    """F-AUTH-5: POST, GET and DELETE alike."""

    ended: list[str | None] = []
    async with play(client={"protocol_version": version}) as (client, server, _):
        await client.connect()
        assert await echo(client) == "hi"
        seen = len(server.headers_seen)
        await client.close()
        ended.extend(server.headers_seen[seen:])
    assert server.headers_seen.count(None) == 1
    has_session = version == "2025-11-25"
    assert ("Bearer SECRET-token-1" in ended) == has_session


async def test_a_second_client_with_the_same_store_needs_no_user() -> None:
    """F-AUTH-5: a stored login is used."""
    async with play() as (client, server, _):
        await client.connect()
        await client.close()
        server.headers_seen.clear()
        await client.connect()
        assert await echo(client) == "hi"
    assert server.counts["authorize"] == 1
    assert None not in server.headers_seen


async def test_expired_tokens_are_refreshed_once_for_all_calls() -> None:
    """F-AUTH-5: of many calls that meet the expiry, one refreshes."""
    async with play(expires_in=0.0001) as (client, server, _):
        await client.connect()
        texts = await asyncio.gather(*(echo(client, str(number)) for number in range(20)))
        assert texts == [str(number) for number in range(20)]
    assert server.counts["refresh_token"] == 1
    assert server.counts["authorize"] == 1


async def test_revoked_tokens_are_refreshed_once_for_all_calls() -> None:
    """F-AUTH-5: many calls meet a 401, one refreshes, all are made again."""
    async with play() as (client, server, _):
        await client.connect()
        server.revoke()
        texts = await asyncio.gather(*(echo(client, str(number)) for number in range(20)))
        assert texts == [str(number) for number in range(20)]
    assert server.counts["refresh_token"] == 1
    assert server.counts["authorize"] == 1


async def test_a_refused_refresh_leads_to_a_login() -> None:
    """F-AUTH-5: what was rejected once is not tried again."""
    async with play() as (client, server, _):
        await client.connect()
        server.revoke()
        server.refresh_tokens.clear()
        assert await echo(client) == "hi"
        assert await echo(client) == "hi"
    assert (server.counts["refresh_token"], server.counts["authorize"]) == (1, 2)


async def test_a_403_for_want_of_scope_is_answered_with_more() -> None:
    """F-AUTH-4: step-up, and the same call again."""
    async with play(scopes={"tools/call": "tools:call"}) as (client, server, user):
        await client.connect()
        assert await echo(client) == "hi"
        assert "scope=tools%3Acall" in user.asked[1].url
    assert server.counts["authorize"] == 2


async def test_a_scope_that_never_suffices_is_an_error_of_its_own() -> None:
    """F-AUTH-4: bounded, and distinct; what the server said is the cause."""
    async with play() as (client, server, _):
        await client.connect()
        server._scopes = {"tools/call": "more"}
        await echo(client)
        for token in server.tokens:
            server.tokens[token] = ""
        with pytest.raises(InsufficientScope) as caught:
            await echo(client)
        assert isinstance(caught.value.__cause__, HttpError)
        assert caught.value.__cause__.status == 403
    assert server.counts["authorize"] == 2


async def test_the_time_of_the_user_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-AUTH-8: neither as the connect timeout nor as a call's."""

    async def slowly(request: Authorize) -> Callback:
        loop = asyncio.get_running_loop()
        later = loop.time() + 1000 - time.monotonic()
        monkeypatch.setattr(loop, "time", lambda: time.monotonic() + later)
        await asyncio.sleep(0.001)  # every timer that is due goes off
        return await User(server).yes(request)

    async with play(user=slowly, client={"connect_timeout": 30}) as (client, server, _):
        await client.connect()
        server.revoke()
        server.refresh_tokens.clear()
        assert await client.call_tool("echo", {"text": "hi"}, timeout=30, max_timeout=30)
        with pytest.raises(CallTimeout):
            await client.call_tool("never", {}, timeout=0.01)
    assert server.counts["authorize"] == 2


async def test_cancelling_a_call_gives_up_its_own_waiting_only() -> None:
    """F-AUTH-8: the login goes on for the others, who share it."""
    events = Events()

    async def when_told(request: Authorize) -> Callback:
        events["asked"].set()
        await events["go_on"].wait()
        return await User(server).yes(request)

    async with play(user=when_told) as (client, server, user):
        events["go_on"].set()
        await client.connect()
        events["go_on"].clear()
        events["asked"].clear()
        server.revoke()
        server.refresh_tokens.clear()
        first = asyncio.ensure_future(echo(client, "first"))
        second = asyncio.ensure_future(echo(client, "second"))
        await events["asked"].wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        events["go_on"].set()
        assert await second == "second"
        assert len(user.asked) == 2


async def test_closing_gives_up_a_login() -> None:
    """F-AUTH-8: nothing is left running, and the call learns why."""

    async def never(request: Authorize) -> Callback:
        events["started"].set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError("not reached")

    events = Events()
    async with play(user=never) as (client, _, _):
        connecting = asyncio.ensure_future(client.connect())
        await events["started"].wait()
        await client.close()
        with pytest.raises(UsageError):
            await connecting


async def test_cancelling_connect_gives_up_the_login() -> None:
    """F-AUTH-8"""

    async def stall(request: Authorize) -> Callback:
        events["started"].set()
        try:
            await asyncio.get_running_loop().create_future()
            raise AssertionError("not reached")
        finally:
            events["ended"].set()

    events = Events()
    async with play(user=stall) as (client, _, _):
        connecting = asyncio.ensure_future(client.connect())
        await events["started"].wait()
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting
        assert events["ended"].is_set()


async def test_nobody_is_asked_again_for_a_while() -> None:
    """F-AUTH-11: after a login that did not come about; an error says where to go instead."""

    async def nobody(request: Authorize) -> None:
        return None

    async with play(user=nobody) as (client, _, user):
        for _ in range(3):
            with pytest.raises(AuthorizationRequired):
                await client.connect()
        assert len(user.asked) == 1


async def test_a_refusal_of_the_user_is_an_error_of_its_own_and_remembered() -> None:
    """F-AUTH-8, F-AUTH-11"""

    async def no(request: Authorize) -> Callback:
        return Callback(state=request.state, error="access_denied")

    async with play(user=no) as (client, _, _):
        with pytest.raises(AuthorizationDenied):
            await client.connect()
        with pytest.raises(AuthorizationRequired):
            await client.connect()


async def test_the_error_of_a_provider_is_the_cause_of_a_clear_one() -> None:
    """F-AUTH-9, F-AUTH-12: its text is not repeated."""

    async def broken(request: Authorize) -> Callback:
        raise RuntimeError("SECRET")

    async with play(user=broken) as (client, _, _):
        with pytest.raises(AuthError, match="Authorize failed with RuntimeError") as caught:
            await client.connect()
        assert isinstance(caught.value.__cause__, RuntimeError)
        assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("way", ["expired", "revoked"])
async def test_closing_with_a_login_that_is_over_asks_nobody(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-AUTH-8: the session is ended without, if need be."""
    async with play(client={"protocol_version": "2025-11-25"}) as (client, server, user):
        await client.connect()
        user.asked.clear()
        server.revoke()
        if way == "expired":
            later = time.time() + 10_000
            monkeypatch.setattr(runner_module, "seconds_since_epoch", lambda: later)
        await client.close()
        assert not user.asked
        assert server.counts["refresh_token"] == 0


async def test_a_channel_that_is_refused_asks_nobody() -> None:
    """F-AUTH-8: a server may want more for GET than for anything it offers."""

    async def refuse(request: Request, answer: Answer) -> None:
        answer.full(401, {"WWW-Authenticate": "Bearer"})

    async with play(more={"GET /mcp": refuse}) as (client, _, user):
        await client.connect()
        assert await echo(client) == "hi"
        assert len(user.asked) == 1


async def test_a_login_over_legacy_sse() -> None:
    """F-AUTH-5, F-HTTP-10: the stream and the messages."""
    sse = {"endpoint": LegacyEndpoint(McpServer()), "client": {"transport": "sse"}}
    async with play(**sse) as (client, server, user):
        await client.connect()
        assert await echo(client) == "hi"
        server.revoke()
        assert await echo(client) == "hi"
        assert len(user.asked) == 1
    assert server.counts["refresh_token"] == 1


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

    with pytest.raises(AuthError, match="Ask failed with ValueError") as caught:
        await Client("http://127.0.0.1:9/mcp", auth=BearerToken(token))
    assert "SECRET" not in str(caught.value)


# The runner alone


@asynccontextmanager
async def runner(provider: Any = None) -> AsyncIterator[FlowRunner]:
    made = FlowRunner("https://mcp.example/mcp", provider or MemoryStore(), GuardedFetcher())
    yield made
    await made.close()


async def test_effects_are_performed() -> None:
    """F-AUTH-5"""

    async def function() -> str:
        return "asked"

    def flow() -> Flow[Any]:
        yield from Save("key", {"a": 1})
        yield from Wait(0)
        return (yield from Load("key")), (yield from Ask(function)), (yield from Ask(lambda: 5))

    async with runner() as made:
        assert await made.run(flow()) == ({"a": 1}, "asked", 5)


async def test_a_mere_store_leads_no_user() -> None:
    """F-AUTH-9: where a user is needed, that is said."""
    async with runner() as made:
        with pytest.raises(AuthError, match="needs an AuthProvider"):
            await made.run(iter(Authorize("https://auth.example/a", "state", "http://127.0.0.1/c")))


async def test_a_device_code_goes_to_the_provider() -> None:
    """F-AUTH-8"""
    code = ShowDeviceCode("CODE", "https://auth.example/device", None, 60)

    def flow() -> Flow[None]:
        yield code

    user = User(Protected({}))
    async with runner(user) as made:
        await made.run(flow())
    assert user.codes == [code]


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


async def test_clocks_stand_still_for_the_user_and_not_for_a_lock() -> None:
    """F-AUTH-5, F-AUTH-8: whoever holds the lock may be asking its user, who is not ours."""
    events: list[str] = []
    reasons: list[str | None] = []

    class Clocks:
        wait_reason: str | None = None

        @contextmanager
        def held(self) -> Iterator[None]:
            events.append("hold")
            yield
            events.append("release")

    async with runner() as made:
        clocks = made.clocks = Clocks()
        async with made._provider.lock("name"):
            task = asyncio.ensure_future(made.run(iter(Exclusive("name", iter(Wait(0))))))
            for _ in range(3):
                await asyncio.sleep(0)
            reasons.append(clocks.wait_reason)
            assert not events
        await task
        reasons.append(clocks.wait_reason)
    assert events == ["hold", "release"]
    expected = "another login to https://mcp.example/mcp, here or in another process"
    assert reasons == [expected, None]


async def test_it_is_said_why_a_call_waits(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """F-AUTH-5: to whoever looks at the log, before the limit."""
    monkeypatch.setattr(runner_module, "NOTICE_AFTER", 0.0)
    notice = "waiting for another login to https://mcp.example/mcp"
    async with runner() as made:
        async with made._provider.lock("name"):
            task = asyncio.ensure_future(made.run(iter(Exclusive("name", iter(Wait(0))))))
            await until(lambda: notice in caplog.text, "the notice")
        await task


@pytest.mark.virtual_time
async def test_a_call_that_need_not_wait_any_more_says_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """F-AUTH-5"""
    async with runner() as made:
        await made.run(iter(Exclusive("name", iter(Wait(0)))))
        await asyncio.sleep(10)
    assert "waiting for" not in caplog.text


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
    """F-AUTH-5: and the error says what was waited for; the next call is well again."""
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


@pytest.mark.parametrize("version", [None, "2025-11-25"])
async def test_a_login_of_another_process_counts_against_connecting(
    tmp_path: Path, version: str | None
) -> None:
    """F-AUTH-5: also while the server is probed, which then says nothing about its era."""
    async with beside_another_process(tmp_path) as (url, auth, lock):
        client = Client(url, auth=auth, connect_timeout=0.5, protocol_version=version)
        async with lock:
            with pytest.raises(CallTimeout, match=r"connect_timeout.*another login to http"):
                await client.connect()
        async with Client(url, auth=auth) as again:
            assert again.protocol_version == "2026-07-28"


async def test_a_flow_ends_with_its_cancelled_run() -> None:
    """F-API-8"""
    ended: list[bool] = []

    def flow() -> Flow[None]:
        try:
            yield Wait(60)
        finally:
            ended.append(True)

    async with runner() as made:
        task = asyncio.ensure_future(made.run(flow()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ended == [True]


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


def test_aborting_is_safe_after_the_loop() -> None:
    """F-LIFE-5"""

    def forever() -> Flow[None]:
        yield Wait(60)

    async def main() -> FlowRunner:
        made = FlowRunner("https://mcp.example/mcp", MemoryStore(), GuardedFetcher())
        asyncio.ensure_future(made.run(iter(Exclusive("name", forever()))))  # noqa: RUF006
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return made

    asyncio.run(main()).abort()


def test_a_flow_that_should_ask_for_nothing() -> None:
    """F-AUTH-5"""

    def nothing() -> Flow[int]:
        return 5
        yield Ask(lambda: None)

    assert result_at_once(nothing()) == 5
    with pytest.raises(AssertionError, match="Ask"):
        result_at_once(token_from(lambda: None))


async def test_an_exclusive_flow_that_fails_for_nobody_is_only_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """F-AUTH-5"""
    events = Events()

    def failing() -> Flow[None]:
        yield Ask(events["go_on"].wait)
        raise AuthError("too late")

    with caplog.at_level("DEBUG", "mcpclient.auth"):
        async with runner() as made:
            task = asyncio.ensure_future(made.run(iter(Exclusive("name", failing()))))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
            events["go_on"].set()
            await made._tasks.wait()
    assert "too late" in caplog.text
