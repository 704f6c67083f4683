"""Opening a session: `protocol.negotiate` decides what to do, and this does it, in time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

from ...errors import CallTimeout, ClientClosed, McpError
from ...net.futures import disregard
from ...protocol import tasks
from ...protocol.era import ClientIdentity
from ...protocol.negotiate import (
    Agreement,
    Ask,
    Effect,
    OpenServerChannel,
    Plan,
    Restart,
    SwitchToLegacySse,
    Tell,
    negotiate,
)
from ...protocol.versions import LATEST_HANDSHAKE, Era
from ...transports.base import Transport
from ...transports.recording import recorded
from .options import Options
from .route import Route
from .session import RequestOptions, Session

__all__ = ["Opening", "plan_for"]

T = TypeVar("T")

# What is left of a deadline that has passed, in seconds: even then a call is allowed to begin.
_NO_TIME = 0.001


def plan_for(route: Route, options: Options, transport: Transport, remembered: Era | None) -> Plan:
    """Return what is to be negotiated; ``remembered``: the era that the server had before."""
    return Plan(
        _identity(options),
        route.shown,
        version=_pinned_version(options),
        remembered=remembered,
        strict=options.strict_version,
        may_switch=route.open_legacy is not None,
        answers_all=transport.carries_headers,
    )


def _identity(options: Options) -> ClientIdentity:
    capabilities = options.handlers.capabilities
    handshake = options.handlers.handshake_capabilities
    extensions = dict(options.extensions)
    if options.tasks:
        extensions.setdefault(tasks.EXTENSION, {})
        receiver = tasks.receiver_capability(capabilities)
        if receiver:
            handshake["tasks"] = receiver
    if extensions:
        capabilities["extensions"] = extensions
    return ClientIdentity(options.client_info, capabilities, handshake)


def _pinned_version(options: Options) -> str | None:
    if options.transport == "sse":  # a transport of the handshake era has nothing to probe
        return options.protocol_version or LATEST_HANDSHAKE
    return options.protocol_version


class Opening:
    """One attempt to open a session, within the connect timeout."""

    def __init__(self, route: Route, options: Options, session: Session) -> None:
        self._route = route
        self._session = session
        self._options = options
        self._seconds = options.timeouts.connect
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + self._seconds if self._seconds else math.inf
        self._switched = False

    async def run(self, remembered: Era | None) -> Agreement:
        """Open the transport and negotiate."""
        await self._open_transport(self._session.transport)
        transport = self._session.transport
        plan = plan_for(self._route, self._options, transport, remembered)
        return await self._negotiate(plan)

    async def follow(self, plan: Plan, version: str) -> Agreement:
        """Negotiate again on an open transport, in the revision agreed on before."""
        return await self._negotiate(
            Plan(plan.identity, plan.target, version=version, strict=plan.strict)
        )

    async def _negotiate(self, plan: Plan) -> Agreement:
        steps = negotiate(plan)
        try:
            step = next(steps)
            while True:
                try:
                    outcome = await self._perform(step)
                except McpError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(outcome)
        except StopIteration as end:
            agreement: Agreement = end.value
            return agreement

    async def _perform(self, step: Effect) -> Mapping[str, Any] | None:
        session = self._session
        if isinstance(step, Ask):
            return await self._ask(step)
        if isinstance(step, Tell):
            await self._within(step.method, session.notify(step.method, None, step.era))
        elif isinstance(step, OpenServerChannel):
            listening = session.transport.listen(step.headers)
            await self._within("opening the server's channel", listening)
        elif isinstance(step, Restart):
            if session.ended is not None or self._switched:
                self._switched = False
                await self._replace_transport(self._route.open())
        elif isinstance(step, SwitchToLegacySse):
            assert self._route.open_legacy is not None
            self._switched = True
            await self._replace_transport(self._route.open_legacy())
        return None

    async def _ask(self, step: Ask) -> Mapping[str, Any]:
        limit = self._remaining()
        if step.timeout is not None:
            # A probe may be ignored; what comes after it needs its share of the time.
            limit = min(step.timeout, limit / 2)
        options = RequestOptions(None if limit == math.inf else limit, None)
        try:
            return await self._session.request(step.method, step.params, options, step.era)
        except CallTimeout:
            if step.timeout is not None:
                raise
            raise self._timeout(step.method) from None

    def _timeout(self, what: str) -> CallTimeout:
        return CallTimeout(what, self._seconds or 0.0, "connect")

    def _remaining(self) -> float:
        # The time that a human took to log in is not the server's.
        deadline = self._deadline + self._session.deadlines.held_seconds
        return max(deadline - self._loop.time(), _NO_TIME)

    async def _replace_transport(self, transport: Transport) -> None:
        await self._session.transport.close()
        if isinstance(self._session.ended, ClientClosed):  # by the caller, who wants no other
            raise self._session.ended.again()
        transport = recorded(transport, self._options.network.recorder)
        self._session.revive(transport)
        await self._open_transport(transport)

    async def _open_transport(self, transport: Transport) -> None:
        await self._within("connect", transport.open(self._session))

    async def _within(self, what: str, work: Awaitable[T]) -> T:
        task = asyncio.ensure_future(work)
        task.add_done_callback(disregard)
        try:
            while not task.done():
                remaining = self._remaining()
                if remaining == _NO_TIME:
                    raise self._timeout(what)
                await asyncio.wait({task}, timeout=None if remaining == math.inf else remaining)
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
