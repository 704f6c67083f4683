"""Questions of a handshake server, asked of a stateless host in rounds of input.

Such a host takes no requests. A call of it is answered with the questions, while the server's own
call stays open; the host's retry brings the answers. Source: the "Multi Round-Trip Requests" page
of revision 2026-07-28.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any, NamedTuple

from ..client.answers.peer import Params
from ..errors import PeerError
from ..jsonrpc.codec import encode, finite
from ..jsonrpc.messages import ErrorCode
from ..net.futures import BackgroundTasks, NextChange, cancel_all, resolve
from .translation import OF_A_RETRY

CARRIERS = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The requests that may be answered with questions."""

# Seconds that a question waits for a call to carry it.
_CARRIED_WITHIN = 60.0
# The most calls that wait for a retry; then the oldest is cancelled.
_MAX_HELD = 100


class _Question(NamedTuple):
    request: Params
    answer: asyncio.Future[Params]


class _Held(NamedTuple):
    subject: Params  # the method, and the params that a retry repeats
    call: asyncio.Task[Params]
    asked: dict[str, _Question]


class Rounds:
    """The questions of one server, and the calls that wait for a retry."""

    def __init__(self) -> None:
        self._unasked: dict[str, _Question] = {}
        self._held: dict[str, _Held] = {}
        self._change = NextChange()
        self._tasks = BackgroundTasks(lambda error: None)  # the host gets it

    @property
    def is_idle(self) -> bool:
        """Whether no call waits for a retry."""
        return not self._held

    async def ask(self, method: str, params: Params) -> Params:
        """Ask the host, and return its answer.

        Raises `PeerError` when no call carries it, and `UsageError` when JSON cannot.
        """
        question = _Question(
            {"method": method, "params": finite(params)}, asyncio.get_running_loop().create_future()
        )
        encode(question.request)  # one that JSON cannot carry would cost the call that carries it
        key = os.urandom(8).hex()
        self._unasked[key] = question
        self._change.notify()
        try:
            await asyncio.wait({question.answer}, timeout=_CARRIED_WITHIN)
            if key in self._unasked:
                raise PeerError(ErrorCode.INTERNAL_ERROR, "no call of the host is in flight")
            return await question.answer
        finally:
            self._unasked.pop(key, None)

    async def call(self, method: str, params: Params, work: Coroutine[Any, Any, Params]) -> Params:
        """Return the result of a call, or the questions that come first.

        ``params``: the host's, possibly of a retry; otherwise ``work`` makes the call.
        Raises `PeerError` for a retry of anything but a held call, or of one that was retried.
        """
        subject = {"method": method, **params}
        is_retry = False
        for name in OF_A_RETRY:
            is_retry |= subject.pop(name, None) is not None
        subject.pop("_meta", None)
        if is_retry:
            work.close()
            call = self._retried(subject, params)
        else:
            call = self._tasks.start(work)
        call.add_done_callback(lambda call: self._change.notify())
        try:
            while not call.done():
                if self._unasked:
                    return self._hold(subject, call)
                # Not in a task of its own: a question that comes before its first step is missed.
                await self._change.wait()
            result: Params = call.result()
            return result
        except asyncio.CancelledError as error:
            call.cancel(*error.args[:1])
            await cancel_all([call])
            raise

    def _retried(self, subject: Params, params: Params) -> asyncio.Task[Params]:
        """Return the call that a retry continues, once its questions have their answers."""
        state = params.get("requestState")
        held = self._held.get(state) if isinstance(state, str) else None
        if held is None or held.subject != subject:
            raise PeerError(
                ErrorCode.INVALID_PARAMS,
                "requestState does not belong to a call that waits for input; it is used once, "
                "with the params of its call",
            )
        del self._held[str(state)]
        answers: Any = params.get("inputResponses")
        for key, question in held.asked.items():
            answer = answers.get(key) if isinstance(answers, dict) else None
            missing = PeerError(ErrorCode.INTERNAL_ERROR, "the host has not answered")
            is_given = isinstance(answer, dict)
            resolve(question.answer, finite(answer), None if is_given else missing)
        return held.call

    def _hold(self, subject: Params, call: asyncio.Task[Params]) -> Params:
        if len(self._held) >= _MAX_HELD:
            self._give_up(next(iter(self._held)))
        state = os.urandom(16).hex()
        asked, self._unasked = self._unasked, {}
        self._held[state] = _Held(subject, call, asked)
        return {
            "resultType": "input_required",
            "inputRequests": {key: question.request for key, question in asked.items()},
            "requestState": state,
        }

    def _give_up(self, state: str) -> None:
        held = self._held.pop(state)
        held.call.cancel()
        for question in held.asked.values():
            question.answer.cancel()

    async def close(self) -> None:
        """Cancel everything."""
        for state in list(self._held):
            self._give_up(state)
        self._tasks.cancel()
        await self._tasks.wait()
