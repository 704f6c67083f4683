"""One server of a manager: its state, its tools, and the upkeep of its connection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from random import random
from typing import TYPE_CHECKING, Any, Callable

from ..client.connection.limits import DEFAULT, Default, Seconds
from ..client.connection.targets import runs_here
from ..client.requests import connection_of
from ..config.config import ServerConfig
from ..errors import CallTimeout, ConnectFailed, ConnectionLost, McpError, ServerUnavailable
from ..framing.escaping import escape_line
from ..framing.logs import logger_for
from ..net.clocks import seconds_since_epoch
from ..net.futures import NextChange, cancel, consume_exception
from .machine import (
    NEXT_STEPS,
    UNDER_WAY,
    Action,
    Event,
    Status,
    StatusChanged,
    Upkeep,
    after_attempt,
    lacks_login,
    step,
)
from .managed_client import ManagedClient, look_for_login, options_for, refusal_of, same_server
from .pins import Mismatch, Remembered, ServerOffer
from .tools import ServerTools, ToolList

if TYPE_CHECKING:
    from .fleet import Fleet

_logger = logger_for("mcpclient.manager")


class Server:
    """One server of a manager.

    - ``name``, ``config``: as configured. ``status``: a `Status`; ``error``: why, where something
      failed or is not allowed (then a `ServerUnavailable`), otherwise None; ``since``: since when,
      in seconds since the epoch; ``next_try``: when it is tried again by itself, or None.
    - ``is_over``: whether it was removed, or its manager closed: it is never connected again.
    """

    def __init__(self, config: ServerConfig, shared: Fleet) -> None:
        self.config: ServerConfig = config
        self.error: Exception | None = refusal_of(config)
        self.status: Status = Status(config.state) if self.error else Status.CLOSED
        self.since: float = seconds_since_epoch()
        self.next_try: float | None = None
        self._shared = shared
        self._tools = ServerTools(self, shared)
        self._client: ManagedClient | None = None
        self.is_over: bool = False
        self._upkeep = Upkeep(shared.reconnect)
        self._attempt: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        # Attempts that were cancelled, and clients that are being closed: a connection of theirs
        # may still be open, so they are awaited before the next is made, and by who disconnects.
        self._ending: set[asyncio.Task[None]] = set()
        self._change = NextChange()

    def __repr__(self) -> str:
        return escape_line(f"<mcpclient.Server {self.name} {self.status}>")

    @property
    def name(self) -> str:
        """The name it is configured under."""
        return self.config.name

    @property
    def trusted(self) -> bool:
        """Whether its annotations may be believed."""
        return self.config.trusted or bool(self._options.get("trusted"))

    @property
    def _options(self) -> Mapping[str, Any]:
        return {**self._shared.options, **self.config.options}

    @property
    def tools(self) -> ToolList:
        """The tools that are offered, a list that stays the same object."""
        return self._shared.catalog.tools_of(self.name)

    @property
    def stale(self) -> bool:
        """Whether the tools are those of an earlier connection."""
        return self._tools.stale

    @property
    def instructions(self) -> str:
        """The instructions of the server, or ""."""
        return self._tools.instructions

    @property
    def mismatches(self) -> tuple[Mismatch, ...]:
        """Differences from the lock file, see `Pins`."""
        return self._tools.mismatches

    @property
    def is_connected(self) -> bool:
        """Whether calls can be made now."""
        return self.status is Status.CONNECTED

    @property
    def loss(self) -> McpError | None:
        """The reason for the current reconnection, None where there is none."""
        error = self.error if self.status is Status.RECONNECTING else None
        return error if isinstance(error, McpError) else None

    @property
    def client(self) -> ManagedClient:
        """Its client, which stays the same object as long as the configuration does.

        Raises `ServerUnavailable` for a server that may not be connected, and `UsageError` for one
        whose configuration makes no sense.
        """
        client = self._client  # which may be another when this is asked in another thread
        if client is None:
            if self.config.state != "ready":
                raise self.unavailable()
            shared = self._shared
            options = options_for(self.config, shared.options)
            client = ManagedClient(self.config.target, self, shared.home, options, shared.eras)
            if shared.pins is not None or self.config.include or self.config.exclude:
                connection_of(client).guard = self._tools.guard
            connection = connection_of(client)
            own = connection.caps
            if own is not None:  # continue the counts of an earlier client
                connection.caps = shared.caps.setdefault(self.name, own)
                connection.caps.limits = own.limits
            connection.expect(self._upkeep.version)
            if shared.prepare is not None:
                shared.prepare(self.name, client)
            self._client = client
        return client

    def audit_refusal(self, error: McpError, *call: Any) -> None:
        """Write the line of a call, or of a start, that is refused before there is a client."""
        option = options_for(self.config, self._shared.options).get("audit")
        if option is not None:
            from ..client.events.audit import Audit

            Audit(option, self.name).refused(error, *call)

    def unavailable(self) -> Exception:
        """Return why no call can be made."""
        if isinstance(self.error, McpError):
            return self.error.again()
        if self.error is not None:
            return self.error
        reason = NEXT_STEPS.get(self.status, "it is not connected")
        return ServerUnavailable(self.name, self.status.value, reason)

    # Requests of the user and of calls

    def remember(self, remembered: Remembered, *, defer: bool) -> None:
        """Restore the tools of an earlier run: offer them now, or only keep their names."""
        if self.config.state == "ready":
            self._upkeep.version = remembered.version
            if defer:
                self.status = Status.DEFERRED
        self._tools.remember(remembered, self.status)

    def start(self) -> None:
        """Begin to connect, unless something forbids or defers it."""
        if self.status is Status.CLOSED:
            self._handle(Event.CONNECT)

    def start_deferred(self) -> None:
        """Begin to connect a server that is deferred, as a call of it would."""
        if self.status is Status.DEFERRED:
            self._handle(Event.CALL)

    async def connect(self) -> None:
        """Connect because the user asks for it, and wait for the outcome, which is in ``status``.

        Credentials and configuration are read again.
        """
        await self._shared.home.run(self._connect_for_user)

    async def _connect_for_user(self) -> None:
        if self.status is not Status.CONNECTED:
            self._upkeep.is_asked_for = True
            self._upkeep.is_switched_on |= self.status is Status.DISABLED or not self.config.enabled
            self._handle(Event.CONNECT)
        await self.settled()

    async def settled(self) -> None:
        """Wait until no attempt is under way."""
        while self._attempt is not None:
            await asyncio.wait({self._attempt})

    async def ready(self, seconds: Seconds = DEFAULT, request: str = "tools/call") -> ManagedClient:
        """Wait for the connection and return the client.

        ``seconds``: how long at most; None or 0: no limit; by default as long as a tool call waits.
        ``request``: the method that waits, which a timeout names. Begins an attempt where the last
        one has failed. Raises why there will be no connection, and `CallTimeout`.
        """
        if self.status is Status.CONNECTED:
            return self.client
        return await self._shared.home.run(self._wait_for_connection, seconds, request)

    async def ready_for(
        self, method: str, name: str, arguments: object, seconds: Seconds = DEFAULT
    ) -> ManagedClient:
        """Wait as `ready` does for a call, which is audited here if that fails."""
        try:
            return await self.ready(seconds, method)
        except McpError as error:
            self.audit_refusal(error, method, name, arguments)
            raise

    async def _wait_for_connection(self, seconds: Seconds, request: str) -> ManagedClient:
        if self.status is Status.NEEDS_AUTH:
            from ..net.login.storage import NEEDS_AUTH_SECONDS

            if seconds_since_epoch() - self.since >= NEEDS_AUTH_SECONDS:
                self._handle(Event.CONNECT)
        else:
            self._handle(Event.CALL)
        if isinstance(seconds, Default):
            seconds = connection_of(self.client).options.timeouts.tool
        loop = asyncio.get_running_loop()
        deadline = None if not seconds else loop.time() + seconds
        while self.status is not Status.CONNECTED:
            if self.status not in UNDER_WAY:
                raise self.unavailable()
            left = None if deadline is None else deadline - loop.time()
            if left is not None and left <= 0:
                timeout = CallTimeout(request, seconds or 0.0, waiting_for="its connection")
                timeout.target = self.name
                raise timeout from self.error
            await self._change.wait(left)
        return self.client

    async def disconnect(self) -> None:
        """Close the connection, and let the status be ``closed``."""
        await self._shared.home.run(self._disconnect)

    async def _disconnect(self) -> None:
        self._handle(Event.DISCONNECT)
        await self._ended()

    def forgo(self) -> None:
        """Begin to close the connection for good; later requests for one are refused."""
        self.is_over = True
        self._handle(Event.DISCONNECT)

    async def end(self) -> None:
        """Close the connection for good, and wait until that is done."""
        self.forgo()
        await self._ended()

    def abort(self) -> None:
        """Drop everything without waiting, in whatever thread."""
        self.is_over = True
        if self._client is not None:
            connection_of(self._client).abort()
        for task in (self._attempt, *self._ending):
            cancel(task)
        if self.status in (Status.CONNECTED, *UNDER_WAY):  # its event loop has stopped
            self.status, self.error, self.next_try = Status.CLOSED, None, None

    def to_pin(self) -> ServerOffer:
        """Return the content of a lock file for this server, see `Pins.write`."""
        return self._tools.to_pin()

    def refusal_of(self, tool: str) -> str | None:
        """Return why a tool is refused by filters or pins, by its own name; None if it is not."""
        return self._tools.refusal_of(tool)

    def handed_on(self, tools: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Return the definitions that filters and pins let through."""
        return self._tools.handed_on(tools)

    # Reports of its client

    def full_name(self, method: str, name: str) -> str:
        """Return the name of a tool, a prompt or a resource among those of all servers."""
        if method == "tools/call":
            return self._shared.catalog.names.names_of(self.name).get(name, name)
        return f"{self.name}:{name}"

    def is_repeatable(self, tool: str) -> bool:
        """Whether a trusted server says that a second call does no more than the first."""
        return any(each.raw_name == tool and each.idempotent for each in self.tools)

    def call_answered(self) -> None:
        """Begin anew with counting failures."""
        self._upkeep.failures = self._upkeep.attempts = 0

    def call_failed(self, client: ManagedClient, error: McpError) -> None:
        """Count a failed call; too many in a row, and the connection is made anew."""
        if client is not self._client or self.status is not Status.CONNECTED:
            return
        if lacks_login(error):
            self._handle(Status.NEEDS_AUTH, error)
        elif self._upkeep.failed(error):
            self.lost(client, error)

    def lost(self, client: ManagedClient, error: McpError) -> None:
        """Reconnect: the connection has ended, or cannot be used any more."""
        if client is self._client:
            self._handle(Event.LOST, error)

    def renewed(self, client: ManagedClient) -> None:
        """List the tools of a new session."""
        if client is self._client and self.status is Status.CONNECTED:
            self._tools.refresh_soon()

    def closed_by_user(self, client: ManagedClient) -> None:
        """Disconnect: the caller has closed the client itself."""
        if client is self._client and self.status is Status.CONNECTED:
            self._handle(Event.DISCONNECT)

    # The machine

    def _handle(self, event: Event | Status, error: Exception | None = None) -> None:
        old = self.status
        if self.is_over and event is not Event.DISCONNECT:
            return
        if event is Event.LOST and self._shared.reconnect is None:
            event = Event.DISCONNECT
        status, actions = step(old, event)
        self.status = status
        if not actions:
            return
        self.error = error
        if self.status is not old:
            self.since = seconds_since_epoch()
        for action in actions:
            _ACTIONS[action](self)
        if self.status is not old:
            _logger.debug("%s: %s, was %s", self.name, self.status.value, old.value)
            shown = error if isinstance(error, McpError) else None
            self._shared.events.tell(StatusChanged(self.name, old, self.status, shown))
        self._change.notify()

    def _open(self) -> None:
        self._cancel_timer()
        if self._attempt is None:
            self._attempt = asyncio.get_running_loop().create_task(self._try())
            self._attempt.add_done_callback(self._attempt_over)

    def _attempt_over(self, task: asyncio.Task[None]) -> None:
        if self._attempt is task:
            self._attempt = None
        if not task.cancelled() and task.exception() is not None:
            _logger.error("an attempt to connect %s failed", self.name, exc_info=task.exception())

    def _pause(self) -> None:
        loop = asyncio.get_running_loop()
        delay = self._upkeep.next_delay(loop.time(), random())
        self.next_try = seconds_since_epoch() + delay
        self._timer = loop.call_later(delay, lambda: self._handle(Event.RETRY, self.error))

    def _cancel_timer(self) -> None:
        self.next_try = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop(self) -> None:
        self._cancel_timer()
        attempt, self._attempt = self._attempt, None
        if attempt is not None and attempt is not asyncio.current_task():
            attempt.cancel()
            self._end_later(attempt)

    def _close(self) -> None:
        self._tools.stop()
        if self._client is None:
            return
        connection = connection_of(self._client)
        is_cut_off = self.status is not Status.CLOSED and connection.is_connected
        if is_cut_off and isinstance(self.error, McpError):
            connection.session.connection_lost(self.error)  # so that calls in flight learn why
        self._end_later(asyncio.get_running_loop().create_task(self._client.close()))

    def _end_later(self, task: asyncio.Task[None]) -> None:
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        task.add_done_callback(consume_exception)

    async def _ended(self) -> None:
        while self._ending:
            await asyncio.wait(self._ending)

    def withdraw(self) -> None:
        """Offer no tools any more."""
        self._tools.stale = True
        self._shared.catalog.update(self, ())

    def _keep_tools(self) -> None:
        self._tools.stale = True

    def _rest(self) -> None:
        self._upkeep.opened(asyncio.get_running_loop().time())

    # An attempt

    async def _try(self) -> None:
        try:
            refusal = await self._judge()
            if refusal is not None:
                self.audit_refusal(refusal)
                return self._failed(refusal, Status(self.config.state))
            await self._ended()
            auth, is_asked_for = self._options.get("auth"), self._upkeep.is_asked_for
            await look_for_login(self.config.target, auth, is_asked_for)
            local = runs_here(self.config.target)
            tools = await self._shared.slots.run(self._connect, local=local)
            if not self.client.is_connected:
                raise ConnectionLost("the connection ended while the tools were listed")
        except asyncio.CancelledError:
            if self._attempt is not asyncio.current_task():
                raise
            # This attempt was not cancelled: a callback leaked a cancellation of its own.
            self._failed(ConnectFailed(self.name, "a callback cancelled the connection attempt"))
        except Exception as error:
            self._failed(error)
        else:
            self._attempt, self._upkeep.is_asked_for = None, False
            self._handle(Status.CONNECTED)
            self._tools.adopt(tools)
            self._tools.follow()

    def _failed(self, error: Exception, outcome: Status | None = None) -> None:
        self._attempt, self._upkeep.is_asked_for = None, False
        if outcome is None:
            outcome = after_attempt(error) if isinstance(error, McpError) else Status.FAILED
        self._handle(outcome, error)

    async def _connect(self) -> Sequence[Mapping[str, Any]]:
        client = self.client
        connection_of(client).decision = self.config.decision
        await client.open()
        return await self._tools.list()

    async def _judge(self) -> ServerUnavailable | None:
        """Have the gate judge the entry as it is now; return why it may not be connected.

        One that has changed gets another client. Raises `UsageError` for one that cannot be used.
        """
        config = await self._shared.admit(self.config, self._upkeep.is_switched_on)
        # No await from here on: code that ends this attempt must see either the old configuration
        # with its client, or the new one without.
        is_same, self.config = same_server(self.config, config), config
        if not is_same and self._client is not None:
            self._end_later(asyncio.get_running_loop().create_task(self._client.close()))
            self._client, self._upkeep.version = None, ""
        return refusal_of(config)


_ACTIONS: Mapping[Action, Callable[[Server], None]] = {
    Action.STOP: Server._stop,
    Action.CLOSE: Server._close,
    Action.KEEP_TOOLS: Server._keep_tools,
    Action.DROP_TOOLS: Server.withdraw,
    Action.OPEN: Server._open,
    Action.PAUSE: Server._pause,
    Action.REST: Server._rest,
}
