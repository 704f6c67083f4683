"""One connection at work, over a transport whose every move the test decides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Callable

import pytest

from mcpclient.client.answers.inbound_requests import Handlers
from mcpclient.client.connection.limits import RequestOptions
from mcpclient.client.connection.session import Session
from mcpclient.client.events.callbacks import EventCallbacks
from mcpclient.errors import CallTimeout, ConnectionLost, McpError, ProtocolViolation, UsageError
from mcpclient.jsonrpc.messages import Message
from mcpclient.net.futures import BackgroundTasks
from mcpclient.protocol.eras import HandshakeEra, StatelessEra
from mcpclient.protocol.negotiation import ClientIdentity, EraRules
from mcpclient.protocol.outgoing import Outgoing
from mcpclient.transports.base import Abandoned, Receiver, Transport
from tests.support.clients import now

pytestmark = pytest.mark.virtual_time

IDENTITY = ClientIdentity({"name": "test", "version": "1"})
HANDSHAKE = HandshakeEra("2025-11-25", IDENTITY)
STATELESS = StatelessEra("2026-07-28", IDENTITY)
PATIENT = RequestOptions(timeout=None, max_timeout=None)


class Wire(Transport):
    """Keeps sent messages; ``on_send`` may answer it, fail, or take its time."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.abandoned: list[Any] = []
        self.outcome = Abandoned.STILL_OPEN
        self.on_send: Callable[[Message], Awaitable[None] | None] = lambda message: None
        self.on_close: Callable[[], Awaitable[None]] = self.nothing
        self.aborted = False

    async def nothing(self) -> None:
        pass

    async def open(self, receiver: Receiver) -> None:
        pass

    def send(self, outgoing: Outgoing) -> Awaitable[None] | None:
        self.sent.append(outgoing.message)
        return self.on_send(outgoing.message)

    def abandon(self, outgoing: Outgoing) -> Abandoned:
        self.abandoned.append(outgoing.request_id)
        return self.outcome

    async def close(self) -> None:
        await self.on_close()

    def abort(self) -> None:
        self.aborted = True

    def methods(self) -> list[Any]:
        return [message.get("method") for message in self.sent]


class Heard(EventCallbacks):
    """The reports of a session, for its bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def notification(self, method: str, params: Mapping[str, Any]) -> None:
        self.bench.notifications.append((method, params))

    def error(self, error: McpError) -> None:
        self.bench.errors.append(error)

    def lost(self, error: McpError) -> None:
        self.bench.lost.append(error)

    def channel_lost(self, error: McpError) -> None:
        self.bench.deaf.append(error)


class Bench:
    """A session on a wire, and everything it reported."""

    def __init__(self, era: EraRules | None = HANDSHAKE, handlers: Handlers | None = None) -> None:
        self.wire = Wire()
        self.notifications: list[tuple[str, Mapping[str, Any]]] = []
        self.errors: list[McpError] = []
        self.lost: list[McpError] = []
        self.deaf: list[McpError] = []
        self.session = Session(self.wire, handlers or Handlers(), Heard(self), BackgroundTasks())
        if era is not None:
            self.session.agreed(era)

    def call(
        self, options: RequestOptions = PATIENT, method: str = "tools/call"
    ) -> asyncio.Task[dict[str, Any]]:
        return asyncio.ensure_future(self.session.request(method, {"name": "x"}, options))

    def answer(self, request_id: Any, **result: Any) -> None:
        self.session.message_received({"jsonrpc": "2.0", "id": request_id, "result": result})


@asynccontextmanager
async def on_bench(
    era: EraRules | None = HANDSHAKE, handlers: Handlers | None = None
) -> AsyncIterator[Bench]:
    bench = Bench(era, handlers)
    try:
        yield bench
    finally:
        await bench.session.close(5)


async def turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_progress_moves_the_idle_limit_and_not_the_total_one() -> None:
    """F-API-7: idle and total limits, and no clock while a human is asked."""
    async with on_bench() as bench:
        seen: list[Any] = []
        options = RequestOptions(timeout=5, max_timeout=12, on_progress=seen.append)
        call = bench.call(options)
        await turn()
        assert bench.wire.sent[0]["params"]["_meta"] == {"progressToken": 1}
        for step in range(1, 4):
            await asyncio.sleep(4)
            params = {"progressToken": 1, "progress": step}
            bench.session.message_received({"method": "notifications/progress", "params": params})
        with pytest.raises(CallTimeout) as caught:
            await call
        assert (caught.value.limit, caught.value.seconds, now()) == ("total", 12, 12)
        assert [params["progress"] for params in seen] == [1, 2, 3][: len(seen)]
        assert len(seen) >= 2


async def test_telling_the_server_may_take_time_and_fail() -> None:
    """F-API-8, F-API-20: no caller waits for it, and the failure is reported."""
    async with on_bench() as bench:

        async def slowly() -> None:
            await asyncio.sleep(50)
            raise ConnectionLost("gone")

        bench.wire.on_send = lambda message: slowly() if "id" not in message else None
        with pytest.raises(CallTimeout):
            await bench.call(RequestOptions(timeout=1))
        assert now() == 1
        await asyncio.sleep(51)
        assert [str(error) for error in bench.errors] == ["gone"]


async def test_a_send_that_takes_time_may_succeed_fail_or_be_overtaken() -> None:
    """F-HTTP-1, F-API-8"""
    async with on_bench() as bench:
        finished: list[bool] = []

        async def slowly(error: McpError | None = None) -> None:
            await asyncio.sleep(10)
            if error is not None:
                raise error
            finished.append(True)

        bench.wire.on_send = lambda message: slowly()
        call = bench.call()
        await asyncio.sleep(11)
        bench.answer(1, ok=True)
        assert await call == {"ok": True}
        bench.wire.on_send = lambda message: slowly(UsageError("no token"))
        with pytest.raises(UsageError):
            await bench.call()
        bench.wire.on_send = lambda message: slowly() if "id" in message else None
        with pytest.raises(CallTimeout):
            await bench.call(RequestOptions(timeout=5))
        await asyncio.sleep(20)
        assert finished == [True]
        await bench.session.notify("vendor/note", {})


async def test_a_send_that_is_cancelled_by_itself_fails_its_call() -> None:
    """F-API-8: no caller gave the call up, so none waits for its timeout."""
    async with on_bench() as bench:

        async def ask() -> None:
            raise asyncio.CancelledError

        bench.wire.on_send = lambda message: ask()
        with pytest.raises(UsageError, match="cancelled before it was sent"):
            await bench.call(RequestOptions(timeout=None, max_timeout=None))


async def test_requests_of_the_server_are_not_answered_in_the_stateless_era() -> None:
    """F-LIFE-2"""
    async with on_bench(STATELESS) as bench:
        bench.session.message_received({"id": 1, "method": "ping"})
        await turn()
        assert bench.wire.sent == []
        assert isinstance(bench.errors[0], ProtocolViolation)


async def test_initialize_is_never_cancelled() -> None:
    """F-API-8: the lifecycle page forbids it."""
    async with on_bench() as bench:
        with pytest.raises(CallTimeout):
            await bench.call(RequestOptions(timeout=1), "initialize")
        assert bench.wire.methods() == ["initialize"]


@pytest.mark.parametrize(("seconds", "waits"), [(5, 1.0), (0.5, 0.5)])
async def test_closing_does_not_wait_for_a_callback_that_will_not_end(
    seconds: float, waits: float
) -> None:
    """F-LIFE-6: it has a second after it was cancelled, and less where less is left."""
    async with on_bench() as bench:

        async def go_on() -> None:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(1000)
            await asyncio.sleep(1000)

        bench.session.tasks.start(go_on())
        await turn()
        await bench.session.close(seconds)
        assert now() == waits
        bench.session.tasks.cancel()
        await bench.session.tasks.wait(5)


async def test_closing_waits_for_what_is_leaving() -> None:
    """F-LIFE-6, F-API-8: the notification of a cancelled call is still sent, though late."""
    async with on_bench() as bench:
        delivered: list[Any] = []

        async def take_time(message: Message) -> None:
            await asyncio.sleep(0.2)
            delivered.append(message["method"])

        call = bench.call()
        await turn()
        bench.wire.on_send = take_time
        call.cancel()
        await asyncio.wait({call})
        closed_after: list[Any] = []

        async def note() -> None:
            closed_after.extend(delivered)

        bench.wire.on_close = note
        await bench.session.close(5)
        assert closed_after == ["notifications/cancelled"]


async def test_closing_that_is_cancelled_ends_in_force() -> None:
    """F-LIFE-6"""
    async with on_bench() as bench:
        bench.wire.on_close = lambda: asyncio.sleep(1000)
        closing = asyncio.ensure_future(bench.session.close(100))
        await asyncio.sleep(1)
        closing.cancel()
        await asyncio.wait({closing})
        assert bench.wire.aborted
        bench.wire.on_close = bench.wire.nothing


async def test_a_transport_that_fails_to_close_is_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """F-LIFE-5"""
    async with on_bench() as bench:

        async def fail() -> None:
            raise OSError("disk on fire")

        bench.wire.on_close = fail
        await bench.session.close(5)
        bench.wire.on_close = bench.wire.nothing
    assert "disk on fire" in caplog.text
