"""Everything that can happen to requests in flight, in any order: F-WIRE-1, F-LIFE-9, F-API-7."""

from __future__ import annotations

import math
from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from mcpclient.errors import CallTimeout, ClientClosed, ConnectionLost
from mcpclient.jsonrpc.correlator import Correlator, Pending
from mcpclient.jsonrpc.messages import Message
from tests.support.properties import examples

limits = st.none() | st.integers(1, 20).map(float)
seconds = st.integers(0, 15).map(float)


class Call:
    """One request as its caller sees it, and as a model of the rules predicts it."""

    def __init__(self, idle: float | None, total: float | None) -> None:
        self.outcomes: list[Message | BaseException] = []
        self.expected: list[Message | type[BaseException]] = []
        self.progress = 0
        self.idle, self.total = idle, total
        self.idle_left = math.inf if idle is None else idle
        self.total_left = math.inf if total is None else total
        self.is_open = True

    def done(self) -> bool:
        return bool(self.outcomes)

    def set_result(self, result: Message, /) -> None:
        self.outcomes.append(result)

    def set_exception(self, exception: BaseException, /) -> None:
        self.outcomes.append(exception)

    @property
    def waits(self) -> bool:
        return self.is_open and not self.expected


class Connection(RuleBasedStateMachine):
    """The correlator beside a model that counts down every limit."""

    requests = Bundle("requests")

    @initialize()
    def connect(self) -> None:
        self.correlator = Correlator()
        self.now = 100.0
        self.pauses = 0
        self.calls: dict[int, Call] = {}

    @rule(target=requests, idle=limits, total=limits)
    def send(self, idle: float | None, total: float | None) -> Pending:
        call = Call(idle, total)

        def progress(params: object) -> None:
            call.progress += 1

        pending = self.correlator.open(
            "tools/call", call, self.now, idle=idle, total=total, on_progress=progress
        )
        assert pending.id not in self.calls
        self.calls[pending.id] = call
        return pending

    @rule(pending=requests, spell=st.sampled_from([int, str, float]))
    def answer(self, pending: Pending, spell: Callable[[int], object]) -> None:
        """The server answers; also twice, and after the request is gone."""
        call = self.calls[pending.id]
        message: Message = {"id": spell(pending.id), "result": {}}
        assert self.correlator.settle(message) is call.waits
        if call.waits:
            call.expected.append(message)

    @rule(
        request_id=st.sampled_from(
            [0, -1, 999, "x", "", "999", None, 1.5, math.nan, True, [1], "٣" * 30]
        )
    )
    def answer_nothing(self, request_id: object) -> None:
        assert not self.correlator.settle({"id": request_id, "result": {}})
        assert not self.correlator.progress({"progressToken": request_id}, self.now)
        assert not self.correlator.fail(request_id, ClientClosed())

    @rule(pending=requests)
    def refuse(self, pending: Pending) -> None:
        """Sending has failed, or the answer was no message."""
        call = self.calls[pending.id]
        assert self.correlator.fail(pending.id, ConnectionLost("gone")) is call.waits
        if call.waits:
            call.expected.append(ConnectionLost)

    @rule(pending=requests)
    def tell_progress(self, pending: Pending) -> None:
        call = self.calls[pending.id]
        before = call.progress
        told = self.correlator.progress({"progressToken": pending.id}, self.now)
        assert told is call.waits
        assert call.progress == before + told
        if told and call.idle is not None:
            call.idle_left = call.idle

    @rule(pending=requests)
    def lift_limits(self, pending: Pending) -> None:
        call = self.calls[pending.id]
        self.correlator.lift_limits(pending.id)
        if call.is_open:
            call.idle = call.total = None
            call.idle_left = call.total_left = math.inf

    @rule(waited=seconds)
    def wait(self, waited: float) -> None:
        self.now += waited
        late = []
        for request_id, call in self.calls.items():
            if self.pauses or not call.is_open:
                continue
            call.idle_left -= waited
            call.total_left -= waited
            if call.waits and min(call.idle_left, call.total_left) <= 0:
                call.expected.append(CallTimeout)
                late.append(request_id)
        assert [pending.id for pending in self.correlator.expire(self.now)] == late

    @rule()
    def ask_a_human(self) -> None:
        self.correlator.pause(self.now)
        self.pauses += 1

    @rule()
    def hear_from_the_human(self) -> None:
        if self.pauses:
            self.correlator.resume(self.now)
            self.pauses -= 1

    @rule(pending=requests)
    def forget(self, pending: Pending) -> None:
        """The caller takes the outcome, or gives up; also twice."""
        self.correlator.close(pending)
        self.calls[pending.id].is_open = False

    @invariant()
    def every_waiter_has_at_most_one_outcome(self) -> None:
        for call in self.calls.values():
            assert len(call.outcomes) == len(call.expected) <= 1
            for outcome, expected in zip(call.outcomes, call.expected):
                assert outcome is expected or type(outcome) is expected

    @invariant()
    def nothing_is_kept_of_what_is_forgotten(self) -> None:
        held = [pending.id for pending in self.correlator]
        assert held == [request_id for request_id, call in self.calls.items() if call.is_open]
        assert len(self.correlator) == len(held)

    @invariant()
    def it_wakes_up_for_the_first_limit(self) -> None:
        left = [
            min(call.idle_left, call.total_left) for call in self.calls.values() if call.is_open
        ]
        expected = math.inf if self.pauses else self.now + min(left, default=math.inf)
        assert self.correlator.next_deadline() == expected

    def teardown(self) -> None:
        """The connection ends, and with it everyone's waiting."""
        self.correlator.fail_all(lambda: ConnectionLost("closed"))
        for pending in self.correlator:
            assert len(self.calls[pending.id].outcomes) == 1
            self.correlator.close(pending)
        assert len(self.correlator) == 0


def test_answers_to_nothing_are_told_by_a_timeout() -> None:
    """F-WIRE-2: they may be why a request has no answer; late ones are not."""
    correlator = Correlator()
    late = correlator.open("ping", Call(None, None), 0.0)
    correlator.close(late)
    call = Call(5.0, None)
    correlator.open("tools/list", call, 0.0, idle=5.0)
    for request_id in (late.id, str(late.id), None, "x", 99, 0, "y"):
        assert not correlator.settle({"id": request_id, "result": {}})
    correlator.expire(5.0)
    (error,) = call.outcomes
    assert isinstance(error, CallTimeout) and error.stray_ids == ("x", 99, 0)


def test_what_happens_during_a_pause_gains_no_time() -> None:
    """F-API-7: a call that is made, or reports progress, while a human is asked."""
    correlator = Correlator()
    early = correlator.open(
        "x", Call(30, 100), 0.0, idle=30, total=100, on_progress=lambda params: None
    )
    correlator.pause(10.0)
    late = correlator.open("x", Call(30, 100), 400.0, idle=30, total=100)
    correlator.progress({"progressToken": early.id}, 405.0)
    correlator.resume(410.0)
    assert (late.idle_deadline, late.total_deadline) == (440, 510)
    assert (early.idle_deadline, early.total_deadline) == (440, 500)


TestConnection = Connection.TestCase
TestConnection.settings = examples(30, stateful_step_count=25)
