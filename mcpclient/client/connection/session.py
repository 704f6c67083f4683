"""One session: requests go out, responses find their callers, server requests find their handlers.

A session has no task that reads. Messages are pushed into it by the transport, so it can be used
and closed from any task, and a call costs one future.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ...errors import (
    CallTimeout,
    ClientClosed,
    ConnectionLost,
    McpError,
    ProtocolViolation,
    SessionExpired,
    UsageError,
)
from ...framing.logs import logger_for
from ...jsonrpc.codec import decode
from ...jsonrpc.correlator import Correlator, Pending
from ...jsonrpc.messages import CancelReason, Message, RequestId, peer_error, result_of
from ...net.futures import BackgroundTasks, LoopEnd, cancel, consume_exception
from ...protocol.negotiation import EraRules
from ...protocol.outgoing import Cancel, Outgoing
from ...transports.base import Abandoned, Transport
from ..answers.inbound_requests import Handlers, InboundRequests
from ..events.callbacks import EventCallbacks, OrderedCallback
from .limits import Deadlines, RequestOptions
from .states import ENDED, Event, State, step

if TYPE_CHECKING:
    from ...net.recorder import Recorder
    from ...recording.transcript import MessageLog

_logger = logger_for("mcpclient.session")

# Seconds that closing waits for messages being sent, such as the last call's cancellation.
_DEPARTURE_TIMEOUT = 1.0

# Turns of the event loop after which everything cancelled or aborted at its end is gone.
_LAST_TURNS = 5


class Sent(NamedTuple):
    """A request on its way: ``sending`` takes it to the server, ``relay`` passes on progress."""

    outgoing: Outgoing
    pending: Pending
    waiter: asyncio.Future[Message]
    sending: asyncio.Future[None] | None
    relay: OrderedCallback | None


class Session:
    """The traffic of one client over one transport.

    ``events`` get everything that is not the response to a call; their callbacks, and the
    answers to the server, run in ``tasks``. ``recorder`` gets the transcript of the traffic, and
    ``decode`` decodes the messages of the server.
    """

    def __init__(
        self,
        transport: Transport,
        handlers: Handlers,
        events: EventCallbacks,
        tasks: BackgroundTasks,
        recorder: Recorder | None = None,
        decode: Callable[[bytes | str], Any] = decode,
    ) -> None:
        self.transport: Transport = transport
        self.log: MessageLog | None = None
        """The transcript of its traffic, where the transport does not write one by itself."""
        self._recorder = recorder
        self.era: EraRules | None = None
        self.log_level: str | None = None
        self.state: State = step(State.UNOPENED, Event.OPEN)
        # The reasons beside the state, see `states`.
        self.ended: McpError | None = None
        self.expired: McpError | None = None
        self.channel_error: McpError | None = None
        self.opening: asyncio.Task[Any] | None = None
        """The opening that is still in progress; it ends with the session."""
        self.tasks: BackgroundTasks = tasks
        # Messages being sent that no task awaits; they may still leave while the session closes.
        self._departures = BackgroundTasks()
        self._events = events
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._loop_end = LoopEnd(self._cut)
        self.correlator: Correlator = Correlator()
        self.deadlines: Deadlines = Deadlines(self.correlator, self.loop)
        """The clocks of its calls, which stand still while a human is asked."""
        self._inbound = InboundRequests(
            handlers,
            self.tasks,
            self.deadlines,
            send=self._send_answer,
            notified=self._notified,
            rejected=partial(self.message_rejected, request_id=None),
            on_error=events.error,
        )
        self._closing: asyncio.Task[None] | None = None
        self.decode: Callable[[bytes | str], Any] = decode

    @property
    def in_flight(self) -> int:
        """The number of calls that wait for a response."""
        return len(self.correlator)

    # Calls

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        options: RequestOptions,
        era: EraRules | None = None,
    ) -> dict[str, Any]:
        """Send a request by the rules of ``era`` or the agreed ones, and return its result."""
        return await self.answer_to(self.begin(method, params, options, era))

    def begin(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        options: RequestOptions,
        era: EraRules | None = None,
        waiter: asyncio.Future[Message] | None = None,
    ) -> Sent:
        """Send a request, for `answer_to` or `give_up`. Raises the reason if it cannot be sent.

        ``waiter``: for the response; by default a new one.
        """
        if self.ended is not None:
            raise self.ended.again()
        loop = self.loop
        waiter = waiter or loop.create_future()
        on_progress = options.on_progress
        relay = OrderedCallback(on_progress, self.tasks) if on_progress is not None else None
        pending = self.correlator.open(
            method,
            waiter,
            loop.time(),
            idle=options.timeout,
            total=options.max_timeout,
            on_progress=relay,
        )
        try:
            if relay is not None:
                meta = {**(params or {}).get("_meta", {}), "progressToken": pending.id}
                params = {**(params or {}), "_meta": meta}
            rules = era or self.era
            assert rules is not None, "no era has been agreed on"
            outgoing = rules.request(pending.id, method, params, self.log_level)
            outgoing.caller_headers = options.headers
            if options.on_sent is not None:
                options.on_sent(pending.id)
            self.deadlines.watch(pending.deadline)
            sending = self._send(outgoing)
        except BaseException:
            self.correlator.close(pending)
            raise
        started = asyncio.ensure_future(sending) if sending is not None else None
        return Sent(outgoing, pending, waiter, started, relay)

    async def answer_to(self, sent: Sent) -> dict[str, Any]:
        """Return the result of a request that was sent. Raises what `request` does."""
        outgoing, pending, waiter, sending, relay = sent
        try:
            if sending is not None:
                await self._finish_sending(sending, waiter)
            message = await waiter
        except (CallTimeout, asyncio.CancelledError) as reason:
            consume_exception(waiter)
            self._abandon(outgoing, reason)
            raise
        finally:
            self.correlator.close(pending)
        if relay is not None:
            left = pending.total_deadline - self.loop.time()
            await relay.finish(min(pending.idle or math.inf, max(left, 0.0)))
        return result_of(message)

    def give_up(self, sent: Sent, reason: str = "cancelled") -> None:
        """Give up a request whose result is not awaited yet."""
        if sent.sending is not None:
            sent.sending.cancel()
            sent.sending.add_done_callback(consume_exception)
        if sent.waiter.done():
            consume_exception(sent.waiter)
        else:
            self._abandon(sent.outgoing, asyncio.CancelledError(CancelReason(reason)))
        self.correlator.close(sent.pending)

    def _send(self, outgoing: Outgoing) -> Awaitable[None] | None:
        if self.log is None:
            return self.transport.send(outgoing)
        self.log.sent(outgoing.message)
        try:
            return self.transport.send(outgoing)
        except McpError as error:
            self.log.failed(error, outgoing.request_id)
            raise

    async def _finish_sending(
        self, sending: asyncio.Future[None], waiter: asyncio.Future[Message]
    ) -> None:
        both: set[asyncio.Future[Any]] = {sending, waiter}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if sending.cancelled() and not waiter.done():  # not by the caller, who waits here
                raise UsageError("the request was cancelled before it was sent")
        finally:
            sending.cancel()
            sending.add_done_callback(consume_exception)
        if sending.done() and not sending.cancelled():
            error = sending.exception()
            if error is not None and not waiter.done():
                raise error

    def _abandon(self, outgoing: Outgoing, reason: BaseException) -> None:
        """Cancel the request on the server, in the way of the era."""
        try:
            outcome = self.transport.abandon(outgoing)
            if self.log is not None:
                self.log.abandoned(outgoing.request_id)
            if outgoing.cancel is Cancel.NOT_ALLOWED or outcome is Abandoned.NEVER_SENT:
                return
            if outgoing.cancel is Cancel.CLOSE_STREAM and outcome is Abandoned.STREAM_CLOSED:
                return
            request_id = outgoing.request_id
            if self.era is not None and request_id is not None and self.ended is None:
                timed_out = isinstance(reason, CallTimeout)
                text = "timed out" if timed_out else CancelReason.in_error(reason)
                sending = self._send(self.era.cancellation(request_id, text))
                if sending is not None:
                    self._departures.start(self._depart(asyncio.ensure_future(sending)))
        except McpError as error:
            _logger.debug("could not cancel %r: %s", outgoing, error)

    async def notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Send a notification."""
        sending = self.begin_notification(method, params)
        if sending is not None:
            await sending

    def begin_notification(
        self, method: str, params: Mapping[str, Any] | None, era: EraRules | None = None
    ) -> Awaitable[None] | None:
        """Send a notification by the rules of ``era``; return what takes longer than this turn."""
        if self.ended is not None:
            raise self.ended.again()
        rules = era or self.era
        assert rules is not None, "no era has been agreed on"
        return self._send(rules.notification(method, params))

    async def _depart(self, sending: asyncio.Future[None]) -> None:
        try:
            await sending
        except McpError as error:
            self._events.error(error)

    # transports.base.Receiver

    def message_received(self, message: Message) -> None:
        """Dispatch one message from the server."""
        if self.log is not None:
            self.log.received(message)
        if self.ended is not None:
            return
        if "method" in message:
            self._inbound.take(message)
        elif not self.correlator.settle(message):
            self._take_stray(message)

    def _take_stray(self, message: Message) -> None:
        """Match an error without an id to the call in flight, where there is only one."""
        if message.get("id") is not None or "error" not in message or self.in_flight != 1:
            _logger.debug("ignored the answer to unknown request %r", message.get("id"))
            return
        for pending in self.correlator:
            pending.fail(peer_error(message["error"]))

    def _notified(self, method: str, params: Mapping[str, Any]) -> None:
        is_progress = method == "notifications/progress"
        if is_progress and not self.correlator.progress(params, self.loop.time()):
            _logger.debug("ignored late or unknown progress %r", params.get("progressToken"))
        self._events.notification(method, params)

    async def _send_answer(self, answer: Message) -> None:
        outgoing = self.era.answer(answer) if self.era is not None else Outgoing(answer)
        sending = self._send(outgoing)
        if sending is not None:
            await sending

    def message_rejected(self, error: ProtocolViolation, request_id: RequestId | None) -> None:
        """Fail the call that invalid bytes belong to, or report them."""
        if self.log is not None:
            self.log.failed(error, request_id)
        if request_id is None or not self.correlator.fail(request_id, error):
            self._report(error)

    def output_skipped(self, data: bytes) -> None:
        """Write down output that is not a message."""
        if self.log is not None:
            self.log.skipped(data)

    def request_failed(self, request_id: RequestId | None, error: McpError) -> None:
        """Fail the call whose message could not be sent, or report that."""
        if self.log is not None:
            self.log.failed(error, request_id)
        if request_id is None:
            self._report(error)
        else:
            self.correlator.fail(request_id, error)

    def _report(self, error: McpError) -> None:
        _logger.warning("%s: %s", self.transport.description, error)
        self._events.error(error)

    def channel_lost(self, error: McpError) -> None:
        """Handle the loss of the server's own channel, or of its session."""
        if self.state in ENDED:
            return
        if isinstance(error, SessionExpired):
            self._move(Event.EXPIRED)
            self.expired = error
            self._inbound.withdraw()
        else:
            self.channel_error = error
        self._events.channel_lost(error)

    def begin_anew(self) -> None:
        """Forget the expired session, since another handshake begins."""
        self._move(Event.RENEW)
        self.expired = self.channel_error = None
        self._inbound.withdraw()

    def connection_lost(self, error: McpError) -> None:
        """Handle the end of the connection: every call in flight fails with the reason."""
        if self.ended is None:
            if self.log is not None:
                self.log.lost(error)
            self._end(Event.LOST, error)
            if self.era is not None:  # before that, the connecting task gets the error
                self._events.lost(error)

    # Its transport, and the transcript of what passes through it

    async def open_transport(self) -> None:
        """Establish the connection, and begin its transcript. Raises what `Transport.open` does."""
        transport, recorder = self.transport, self._recorder
        if recorder is not None:
            recorder.begin(transport.name, transport.description)
            if recorder.is_on and not transport.records_itself:
                self.log = recorder.writer.message_log(transport.name)
        try:
            await transport.open(self)
        except McpError as error:
            if self.log is not None:
                self.log.lost(error, "never opened")
            raise

    async def close_transport(self) -> None:
        """End the connection, and nothing of the session."""
        if self.log is not None:
            self.log.closed()
        await self.transport.close()

    # Its states

    def _move(self, event: Event) -> None:
        self.state = step(self.state, event)

    def agreed(self, era: EraRules) -> None:
        """Start making calls, under the rules of an era."""
        self._move(Event.AGREED)
        self.era = era
        self._inbound.are_allowed = not era.is_stateless

    def refused(self, error: McpError) -> None:
        """Record that the server gave no other session."""
        if self.state not in ENDED:
            self._move(Event.REFUSED)
            self.expired = error

    def use_transport(self, transport: Transport) -> None:
        """Continue over another transport, after the first has shown which one the server needs."""
        self._move(Event.SWITCH)
        self.transport = transport
        self.log = self.ended = None

    def _end(self, event: Event, error: McpError) -> None:
        self._move(event)
        self.ended = error
        self.correlator.fail_all(error.again)
        self._inbound.withdraw()
        cancel(self.opening)
        self.tasks.cancel()
        self.deadlines.stop()

    async def close(self, seconds: float) -> None:
        """End the connection within ``seconds``; whatever is left then is aborted. Idempotent."""
        if self.state is not State.CLOSED:
            self._end(Event.CLOSE, ClientClosed())
        deadline = self.loop.time() + seconds
        closing = self._closing
        if closing is None or closing.done():  # concurrent callers share one closing
            closing = self._closing = self.loop.create_task(self._close())
            closing.add_done_callback(consume_exception)
        try:
            await asyncio.wait({closing}, timeout=seconds)
        finally:
            failure = closing.exception() if closing.done() and not closing.cancelled() else None
            if failure is not None or not closing.done():
                closing.cancel()
                self.transport.abort()
        self._loop_end.forget()
        if failure is not None:
            _logger.warning("closing failed", exc_info=failure)
        # Awaited in this task: it may be one of those, closing from within a callback.
        await self.tasks.wait(min(1.0, max(deadline - self.loop.time(), 0.0)))

    async def _close(self) -> None:
        await self._departures.wait(_DEPARTURE_TIMEOUT)
        self._departures.cancel()
        await self.close_transport()

    async def _cut(self) -> None:
        """Free everything while the loop still runs, for the last time."""
        self.abort()
        self._inbound.withdraw()
        for tasks in (self.tasks, self._departures):
            tasks.cancel()
            await tasks.wait(_DEPARTURE_TIMEOUT)
        for _ in range(_LAST_TURNS):
            await asyncio.sleep(0)

    def abort(self) -> None:
        """Free everything without waiting, from a finalizer or when the loop is gone."""
        self._loop_end.forget()
        if self.ended is None:
            self._move(Event.LOST)
            self.ended = ConnectionLost("the client was freed without being closed")
        self.transport.abort()
