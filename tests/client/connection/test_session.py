"""One connection at work, over a transport whose every move the test decides."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Callable

import pytest

from mcpclient.client.answers.inbound_requests import Handlers
from mcpclient.client.connection.limits import RequestOptions
from mcpclient.client.connection.session import Session
from mcpclient.client.events.callbacks import EventCallbacks
from mcpclient.errors import (
    CallTimeout,
    ClientClosed,
    ConnectionLost,
    HttpError,
    McpError,
    PeerError,
    ProcessExited,
    ProtocolViolation,
    UsageError,
)
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
    """Keeps what is sent; ``on_send`` may answer it, fail, or take its time."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.abandoned: list[Any] = []
        self.outcome = Abandoned.STILL_OPEN
        self.on_send: Callable[[Message], Awaitable[None] | None] = lambda message: None
        self.on_close: Callable[[], Awaitable[None]] = self._nothing
        self.aborted = False

    async def _nothing(self) -> None:
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
    """What a session reports, for its bench."""

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


# Answers


async def test_ids_are_unique_and_answers_find_their_calls_in_any_order() -> None:
    """F-WIRE-1, F-LIFE-9"""
    async with on_bench() as bench:
        calls = [bench.call() for _ in range(100)]
        await turn()
        ids = [message["id"] for message in bench.wire.sent]
        assert len(set(ids)) == 100
        for request_id in reversed(ids):
            bench.answer(request_id, number=request_id)
        assert [(await call)["number"] for call in calls] == ids
        assert bench.session.in_flight == 0


@pytest.mark.parametrize("request_id", [99, "99", "abc", None, [1], {}, 1.5, True, -1])
async def test_an_answer_nobody_waits_for_is_ignored(
    request_id: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """F-WIRE-1: with a debug log, and nothing above."""
    caplog.set_level(logging.INFO)
    async with on_bench() as bench:
        call = bench.call()
        await turn()
        bench.answer(request_id, wrong=True)
        bench.answer(1, ok=True)
        bench.answer(1, late=True)
        assert await call == {"ok": True}
        bench.answer(1, later=True)
        assert not bench.errors
    assert caplog.records == []


async def test_an_error_answer_is_raised_with_all_it_says() -> None:
    """F-WIRE-2"""
    async with on_bench() as bench:
        call = bench.call()
        await turn()
        error = {"code": -32602.0, "message": "no", "data": {"field": "x"}}
        bench.session.message_received({"id": 1, "error": error})
        with pytest.raises(PeerError) as caught:
            await call
        assert (caught.value.code, caught.value.message) == (-32602, "no")
        assert caught.value.data == {"field": "x"}


async def test_an_error_without_an_id_answers_the_only_call_there_is() -> None:
    """F-WIRE-1: JSON-RPC has servers send it when they could not read the request."""
    async with on_bench() as bench:
        error = {"id": None, "error": {"code": -32700, "message": "Parse error"}}
        bench.session.message_received(error)
        call = bench.call()
        await turn()
        bench.session.message_received(error)
        with pytest.raises(PeerError, match="Parse error"):
            await call
        two = [bench.call(), bench.call()]
        await turn()
        bench.session.message_received(error)
        bench.answer(2)
        bench.answer(3)
        assert await asyncio.gather(*two) == [{}, {}]


async def test_a_rejected_message_fails_the_call_it_answers_or_is_reported() -> None:
    """F-WIRE-7"""
    async with on_bench() as bench:
        violation = ProtocolViolation("broken")
        call = bench.call()
        await turn()
        bench.session.message_rejected(violation, 1)
        with pytest.raises(ProtocolViolation):
            await call
        bench.session.message_rejected(violation, 1)
        bench.session.message_rejected(violation, None)
        assert bench.errors == [violation, violation]


async def test_what_is_logged_of_a_servers_words_is_harmless(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """F-SHOW-3: and so is the text of the exception."""
    async with on_bench() as bench:
        bench.session.message_rejected(ProtocolViolation("not JSON: \x1b[2J"), None)
        bench.session.request_failed(None, HttpError(500, {}, b"\x9b\x1b[2J"))
        assert [r"\x1b[2J" in message for message in caplog.messages] == [True, True]
        assert "\x1b" not in caplog.text
        assert "\x1b" not in str(bench.errors[0])


async def test_a_failed_request_fails_its_call_and_a_failed_notification_is_reported() -> None:
    """F-API-20"""
    async with on_bench() as bench:
        call = bench.call()
        await turn()
        bench.session.request_failed(1, HttpError(500, {}, b""))
        with pytest.raises(HttpError):
            await call
        bench.session.request_failed(1, HttpError(501, {}, b""))
        error = HttpError(502, {}, b"")
        bench.session.request_failed(None, error)
        assert bench.errors == [error]


# Time


async def test_silence_times_out_and_the_server_is_told() -> None:
    """F-API-7, F-API-8: the server is told of cancelled calls."""
    async with on_bench() as bench:
        with pytest.raises(CallTimeout) as caught:
            await bench.call(RequestOptions(timeout=7, max_timeout=100))
        assert (caught.value.seconds, caught.value.limit, now()) == (7, "idle", 7)
        assert bench.wire.abandoned == [1]
        cancelled = bench.wire.sent[1]
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"] == {"requestId": 1, "reason": "timed out"}
        bench.answer(1, late=True)
        assert bench.session.in_flight == 0


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


async def test_each_call_hears_of_its_own_progress() -> None:
    """F-API-7: calls that are under way together have tokens that differ."""
    async with on_bench() as bench:
        seen: dict[str, list[Any]] = {"first": [], "second": []}
        calls = [bench.call(RequestOptions(on_progress=each.append)) for each in seen.values()]
        await turn()
        tokens = [message["params"]["_meta"]["progressToken"] for message in bench.wire.sent]
        for token, step in zip(reversed(tokens), (7, 8)):
            params = {"progressToken": token, "progress": step}
            bench.session.message_received({"method": "notifications/progress", "params": params})
        await turn()
        heard = {name: [params["progress"] for params in each] for name, each in seen.items()}
        assert heard == {"first": [8], "second": [7]}
        for call in calls:
            call.cancel()


async def test_progress_is_delivered_in_order_and_before_the_result() -> None:
    """F-API-7: to an async callback, too."""
    async with on_bench() as bench:
        seen: list[Any] = []

        async def slowly(params: Mapping[str, Any]) -> None:
            await asyncio.sleep(10 - params["progress"])
            seen.append(params["progress"])

        call = bench.call(RequestOptions(on_progress=slowly))
        await turn()
        for step in (1, 2, 3):
            params = {"progressToken": "1", "progress": step}
            bench.session.message_received({"method": "notifications/progress", "params": params})
        bench.answer(1)
        await call
        assert seen == [1, 2, 3]


@pytest.mark.parametrize("token", [1, 99, "abc", None, [1], {"a": 1}])
async def test_late_and_unknown_progress_is_ignored(token: Any) -> None:
    """F-API-7: late and unknown progress is ignored."""
    async with on_bench() as bench:
        call = bench.call()
        await turn()
        bench.answer(1)
        await call
        params = {"progressToken": token, "progress": 1}
        bench.session.message_received({"method": "notifications/progress", "params": params})
        assert not bench.errors


async def test_limits_still_hold_after_the_transport_was_replaced() -> None:
    """F-API-7: the server did not survive the probe, and its successor is silent."""
    async with on_bench() as bench:
        probe = bench.call(RequestOptions(timeout=5))
        await turn()
        bench.session.connection_lost(ConnectionLost("it exited"))
        with pytest.raises(ConnectionLost):
            await probe
        await asyncio.sleep(1)
        bench.session.use_transport(bench.wire)
        with pytest.raises(CallTimeout):
            await asyncio.wait_for(bench.call(RequestOptions(timeout=30)), 100)
        assert now() == 31


# Giving up


@pytest.mark.parametrize(
    ("era", "outcome", "told"),
    [
        (HANDSHAKE, Abandoned.STILL_OPEN, True),
        (HANDSHAKE, Abandoned.STREAM_CLOSED, True),
        (HANDSHAKE, Abandoned.NEVER_SENT, False),
        (STATELESS, Abandoned.STILL_OPEN, True),
        (STATELESS, Abandoned.STREAM_CLOSED, False),
        (STATELESS, Abandoned.NEVER_SENT, False),
    ],
)
async def test_a_cancelled_call_is_cancelled_as_its_era_wants_it(
    era: EraRules, outcome: Abandoned, told: bool
) -> None:
    """F-API-8, F-HTTP-9: the server is told of cancelled calls."""
    async with on_bench(era) as bench:
        bench.wire.outcome = outcome
        call = bench.call()
        await turn()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert bench.wire.methods() == ["tools/call"] + ["notifications/cancelled"] * told
        reasons = [message["params"]["reason"] for message in bench.wire.sent[1:]]
        assert reasons == ["cancelled"] * told
        assert bench.session.in_flight == 0


async def test_initialize_is_never_cancelled() -> None:
    """F-API-8: the lifecycle page forbids it."""
    async with on_bench() as bench:
        with pytest.raises(CallTimeout):
            await bench.call(RequestOptions(timeout=1), "initialize")
        assert bench.wire.methods() == ["initialize"]


async def test_telling_the_server_may_take_time_and_fail() -> None:
    """F-API-8, F-API-20: nobody waits for it, and the failure is reported."""
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


# Sending


async def test_a_message_that_cannot_be_sent_fails_its_call_only() -> None:
    """F-WIRE-7"""
    async with on_bench() as bench:

        def refuse(message: Message) -> None:
            raise UsageError("not JSON")

        bench.wire.on_send = refuse
        with pytest.raises(UsageError):
            await bench.call()
        bench.wire.on_send = lambda message: None
        call = bench.call()
        await turn()
        bench.answer(2)
        await call


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
    """F-API-8: nobody gave the call up, so that nobody is to wait for its timeout."""
    async with on_bench() as bench:

        async def ask() -> None:
            raise asyncio.CancelledError

        bench.wire.on_send = lambda message: ask()
        with pytest.raises(UsageError, match="cancelled before it was sent"):
            await bench.call(RequestOptions(timeout=None, max_timeout=None))


async def test_the_loss_of_the_connection_beats_a_send_that_fails_in_the_same_turn() -> None:
    """F-LIFE-7: and no exception is left unseen; the guard of the test suite looks for it."""
    async with on_bench() as bench:

        async def fail() -> None:
            await asyncio.sleep(1)
            bench.session.connection_lost(ConnectionLost("first"))
            raise ConnectionLost("second")

        bench.wire.on_send = lambda message: fail()
        with pytest.raises(ConnectionLost, match="first"):
            await bench.call()


async def test_a_notification_waits_for_a_send_that_takes_time() -> None:
    """F-LIFE-4"""
    async with on_bench() as bench:
        bench.wire.on_send = lambda message: asyncio.sleep(10)
        await bench.session.notify("notifications/initialized", None)
        assert now() == 10


# What the server says


@pytest.mark.parametrize("params", [None, {}, {"vendor": [1]}])
async def test_unknown_notifications_are_handed_on(params: Any) -> None:
    """F-WIRE-8: with params null where a server writes out every field."""
    async with on_bench() as bench:
        bench.session.message_received({"method": "vendor/x", "params": params, "extra": 1})
        bench.session.message_received({"method": "vendor/y"})
        assert bench.notifications == [("vendor/x", params or {}), ("vendor/y", {})]
        assert not bench.errors


@pytest.mark.parametrize(
    "message",
    [
        {"method": 5},
        {"method": None},
        {"method": "x", "params": [1]},
        {"method": "x", "params": "text"},
        {"method": "ping", "id": None},
        {"method": "ping", "id": [1]},
    ],
)
async def test_an_invalid_request_is_reported(message: Message) -> None:
    """F-WIRE-7"""
    async with on_bench() as bench:
        bench.session.message_received(message)
        assert isinstance(bench.errors[0], ProtocolViolation)
        assert bench.wire.sent == []


@pytest.mark.parametrize(
    ("message", "code", "reason"),
    [
        ({"method": "elicitation/create", "params": [1]}, -32602, "the params of 'elicitation/"),
        ({"method": "ping", "params": "text"}, -32602, "the params of 'ping' are not an object"),
        ({"method": "vendor/unknown", "params": False}, -32602, "the params of 'vendor/unknown'"),
        ({"method": 5}, -32600, "its method is not a string"),
        ({"method": None, "params": {}}, -32600, "its method is not a string"),
    ],
)
@pytest.mark.parametrize("era", [HANDSHAKE, None, STATELESS])
async def test_an_invalid_request_is_answered_where_the_era_has_answers(
    message: Message, code: int, reason: str, era: EraRules | None
) -> None:
    """F-WIRE-2, F-WIRE-7, F-API-10: InvalidParams, or InvalidRequest, so that nobody waits."""
    async with on_bench(era) as bench:
        bench.session.message_received({"jsonrpc": "2.0", "id": 7, **message})
        await turn()
        assert [type(error) for error in bench.errors] == [ProtocolViolation]
        answers = [(each["id"], each["error"]["code"]) for each in bench.wire.sent]
        assert answers == ([] if era is STATELESS else [(7, code)])
        assert all(each["error"]["message"].startswith(reason) for each in bench.wire.sent)


async def test_an_invalid_request_takes_no_answer_from_another() -> None:
    """F-API-10: each of many gets its own (JSON-RPC 2.0: the server MUST be answered)."""
    async with on_bench() as bench:
        bench.session.message_received({"id": 7, "method": "ping"})
        bench.session.message_received({"id": 7, "method": "ping", "params": []})
        for number in range(2000):
            bench.session.message_received({"id": f"x{number}", "method": 5})
        await turn()
        assert bench.wire.sent[0] == {"jsonrpc": "2.0", "id": 7, "result": {}}
        assert len(bench.wire.sent) == 2001
        assert len(bench.errors) == 2001


async def test_a_channel_that_was_given_up_is_remembered() -> None:
    """F-HTTP-4: questions on other streams go on, and calls as well."""
    async with on_bench() as bench:
        error = ConnectionLost("the event stream kept ending")
        bench.session.channel_lost(error)
        assert (bench.session.channel_error, bench.deaf) == (error, [error])
        assert bench.session.expired is None and bench.session.ended is None
        bench.session.begin_anew()
        assert bench.session.channel_error is None


async def test_requests_of_the_server_are_not_answered_in_the_stateless_era() -> None:
    """F-LIFE-2"""
    async with on_bench(STATELESS) as bench:
        bench.session.message_received({"id": 1, "method": "ping"})
        await turn()
        assert bench.wire.sent == []
        assert isinstance(bench.errors[0], ProtocolViolation)


# The end


async def test_the_end_of_the_connection_fails_every_call_with_the_reason() -> None:
    """F-LIFE-7: each with an exception of its own."""
    async with on_bench() as bench:
        calls = [bench.call() for _ in range(50)]
        await turn()
        bench.session.connection_lost(ProcessExited(["server"], 3, "out of memory"))
        errors = await asyncio.gather(*calls, return_exceptions=True)
        assert len({id(error) for error in errors}) == 50
        for error in errors:
            assert isinstance(error, ProcessExited)
            assert (error.exit_code, error.stderr) == (3, "out of memory")
        assert len(bench.lost) == 1
        bench.session.connection_lost(ConnectionLost("again"))
        assert len(bench.lost) == 1
        with pytest.raises(ProcessExited):
            await bench.call()
        with pytest.raises(ProcessExited):
            await bench.session.notify("x", None)


async def test_whoever_is_connecting_learns_of_the_end_by_an_exception_only() -> None:
    """F-API-20"""
    async with on_bench(None) as bench:
        bench.session.connection_lost(ConnectionLost("gone"))
        assert bench.lost == []
        assert bench.session.ended is not None


async def test_closing_fails_the_calls_that_wait() -> None:
    """F-LIFE-6"""
    async with on_bench() as bench:
        call = bench.call()
        await turn()
        await bench.session.close(5)
        await bench.session.close(5)
        with pytest.raises(ClientClosed):
            await call
        assert bench.lost == []
        assert not bench.wire.aborted


async def test_nothing_is_delivered_after_the_end() -> None:
    """F-LIFE-5: a server process may go on talking while it is being stopped."""
    async with on_bench() as bench:
        await bench.session.close(5)
        bench.session.message_received({"method": "vendor/late"})
        bench.session.message_received({"id": 1, "method": "ping"})
        await turn()
        assert bench.notifications == [] and bench.wire.sent == []


async def test_closing_is_bounded_and_ends_in_force() -> None:
    """F-LIFE-6: closing quietly and in time."""
    async with on_bench() as bench:
        bench.wire.on_close = lambda: asyncio.sleep(1000)
        await bench.session.close(3)
        assert now() == 3
        assert bench.wire.aborted


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


async def test_closing_that_is_cancelled_ends_in_force() -> None:
    """F-LIFE-6"""
    async with on_bench() as bench:
        bench.wire.on_close = lambda: asyncio.sleep(1000)
        closing = asyncio.ensure_future(bench.session.close(100))
        await asyncio.sleep(1)
        closing.cancel()
        await asyncio.wait({closing})
        assert bench.wire.aborted
        bench.wire.on_close = bench.wire._nothing


async def test_closing_waits_for_what_is_leaving() -> None:
    """F-LIFE-6, F-API-8: a server that is told late of a cancelled call is told all the same."""
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


async def test_a_transport_that_fails_to_close_is_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """F-LIFE-5"""
    async with on_bench() as bench:

        async def fail() -> None:
            raise OSError("disk on fire")

        bench.wire.on_close = fail
        await bench.session.close(5)
        bench.wire.on_close = bench.wire._nothing
    assert "disk on fire" in caplog.text


def test_the_end_of_the_event_loop_frees_the_transport() -> None:
    """F-LIFE-5: while the loop still runs, though nobody has closed the session."""

    async def begin() -> Bench:
        return Bench()

    bench = asyncio.run(begin())
    assert bench.wire.aborted and isinstance(bench.session.ended, ConnectionLost)


async def test_dropping_it_needs_no_waiting() -> None:
    """F-LIFE-5"""
    async with on_bench() as bench:
        bench.session.abort()
        assert bench.wire.aborted
        with pytest.raises(ConnectionLost):
            await bench.call()
