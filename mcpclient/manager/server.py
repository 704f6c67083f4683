"""One server of a manager: its state, its tools, and the upkeep of its connection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..client.connection.keeper import Keeper
from ..client.connection.limits import DEFAULT, Default, Seconds
from ..client.connection.reconnection import NEXT_STEPS, Event, Status
from ..client.connection.target_names import runs_here
from ..client.requests import connection_of
from ..config.config import ServerConfig
from ..errors import ConnectionLost, McpError, ServerUnavailable
from ..framing.escaping import escape_line
from .events import StatusChanged
from .managed_client import ManagedClient, look_for_login, options_for, refusal_of, same_server
from .pins import Remembered
from .tools import ServerTools

if TYPE_CHECKING:
    from .fleet import Fleet


class Server(ServerTools, Keeper):
    """One server of a manager, which keeps its connection.

    - ``name``, ``config``: as configured. ``status``: a `Status`; ``error``: why, where something
      failed or is not allowed (then a `ServerUnavailable`), otherwise None; ``since``: since when,
      in seconds since the epoch; ``next_try``: when it is tried again by itself, or None.
    - ``is_over``: whether it was removed, or its manager closed: it is never connected again.
    """

    def __init__(self, config: ServerConfig, shared: Fleet) -> None:
        Keeper.__init__(self, shared.home, config.options.get("reconnect", shared.reconnect))
        ServerTools.__init__(self)
        self.name: str = config.name
        self.config: ServerConfig = config
        self.error: Exception | None = refusal_of(config)
        if self.error is not None:
            self.status: Status = Status(config.state)
        self._shared = shared
        self._client: ManagedClient | None = None
        self._is_switched_on = False  # by the user, whatever the configuration says
        self._version = ""  # the revision that is tried first

    def __repr__(self) -> str:
        return escape_line(f"<mcpclient.Server {self.name} {self.status}>")

    @property
    def kept(self) -> object:  # type: ignore[override]  # a constant elsewhere
        """Its client, if it has one."""
        return self._client

    @property
    def client(self) -> ManagedClient:
        """Its client, which stays the same object as long as the configuration does.

        Raises `ServerUnavailable` for a server that may not be connected, and `UsageError` for one
        whose configuration makes no sense.
        """
        client = self._client  # it may change when this is asked in another thread
        if client is None:
            if self.config.state != "ready":
                raise self.unavailable()
            shared = self._shared
            is_guarded = shared.pins is not None or self.config.include or self.config.exclude
            wiring = shared.wiring_of(self.name)
            wiring = wiring._replace(
                guard=self._guard if is_guarded else None,
                decision=lambda: self.config.decision,
                caps=shared.caps,
                version=wiring.version or self._version,
            )
            options = options_for(self.config, shared.options)
            client = ManagedClient(
                self.config.target, self, shared.home, options, shared.eras, wiring
            )
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
        if self.error is not None:
            return super().unavailable()
        reason = NEXT_STEPS.get(self.status, "it is not connected")
        return ServerUnavailable(self.name, self.status.value, reason)

    # Requests of the user and of calls

    def remember(self, remembered: Remembered, *, defer: bool) -> None:
        """Restore the tools of an earlier run: offer them now, or only keep their names."""
        if self.config.state == "ready":
            self._version = remembered.version
            if defer:
                self.status = Status.DEFERRED
        self._recall(remembered, offer=self.status is Status.DEFERRED)

    def start(self) -> None:
        """Begin to connect, unless something forbids or defers it."""
        if self.status is Status.CLOSED:
            self.handle(Event.CONNECT)

    def start_deferred(self) -> None:
        """Begin to connect a server that is deferred, as a call of it would."""
        if self.status is Status.DEFERRED:
            self.handle(Event.CALL)

    async def connect(self) -> None:
        """Connect because the user asks for it, and wait for the outcome, which is in ``status``.

        Credentials and configuration are read again.
        """
        await self.home.run(self._connect_for_user)

    async def _connect_for_user(self) -> None:
        if self.status is not Status.CONNECTED:
            self._is_asked_for = True
            self._is_switched_on |= self.status is Status.DISABLED or not self.config.enabled
            self.handle(Event.CONNECT)
        await self.settled()

    async def ready(self, seconds: Seconds = DEFAULT, request: str = "tools/call") -> ManagedClient:
        """Wait for the connection and return the client.

        ``seconds``: how long at most; None or 0: no limit; by default as long as a tool call waits.
        ``request``: the method that waits, which a timeout names. Begins an attempt where the last
        one has failed. Raises why there will be no connection, and `CallTimeout`.
        """
        if not self.is_connected:
            await self.home.run(self._wait_for_connection, seconds, request)
        return self.client

    async def ready_for(
        self, method: str, name: str, arguments: object, seconds: Seconds = DEFAULT
    ) -> ManagedClient:
        """Wait as `ready` does for a call, which is audited here if that fails."""
        try:
            return await self.ready(seconds, method)
        except McpError as error:
            self.audit_refusal(error, method, name, arguments)
            raise

    async def _wait_for_connection(self, seconds: Seconds, request: str) -> None:
        if isinstance(seconds, Default):
            may_connect = self.config.state == "ready"
            seconds = connection_of(self.client).options.timeouts.tool if may_connect else None
        await self.await_connection(seconds, request)

    async def disconnect(self) -> None:
        """Close the connection, and let the status be ``closed``."""
        await self.home.run(self._disconnect)

    async def _disconnect(self) -> None:
        self.handle(Event.DISCONNECT)
        await self.ended()

    async def end(self) -> None:
        """Close the connection for good, and wait until that is done."""
        self.forgo()
        await self.ended()

    def abort(self) -> None:
        """Drop everything without waiting, in whatever thread."""
        self.is_over = True
        if self._client is not None:
            connection_of(self._client).abort()
        super().abort()

    # The connection that is kept

    def _moved(self, old: Status, error: McpError | None) -> None:
        self._shared.events.tell(StatusChanged(self.name, old, self.status, error))

    def _close(self) -> None:
        self._stop_listening()
        if self._client is None:
            return
        connection = connection_of(self._client)
        is_cut_off = self.status is not Status.CLOSED and connection.is_connected
        if is_cut_off and isinstance(self.error, McpError):
            connection.session.connection_lost(self.error)  # so that calls in flight learn why
        self._end_later(asyncio.get_running_loop().create_task(self._client.close()))

    def _keep_tools(self) -> None:
        self.stale = True

    async def _connect(self) -> Iterator[bool]:
        """Have the server judged, connect it, and return the last step to an offer of its tools."""
        refusal = await self._judge()
        if refusal is not None:
            self.audit_refusal(refusal)
            raise refusal
        await self.ended()
        auth = self._options.get("auth")
        await look_for_login(self.config.target, auth, self._is_asked_for)
        local = runs_here(self.config.target)
        made = await self._shared.slots.run(self._open_client, local=local)
        # A loss while this attempt was under way has moved nothing: its status was not CONNECTED.
        if not self.client.is_connected:
            raise ConnectionLost("the connection ended while the tools were listed")
        return made

    async def _open_client(self) -> Iterator[bool]:
        await self.client.open()
        return await self._list()

    def _connected(self, made: Iterator[bool]) -> None:
        self._adopt(made)
        self._follow()

    def _outcome(self, error: Exception) -> Status:
        is_refused = isinstance(error, ServerUnavailable) and self.config.state != "ready"
        return Status(self.config.state) if is_refused else super()._outcome(error)

    async def _judge(self) -> ServerUnavailable | None:
        """Have the gate judge the entry as it is now; return why it may not be connected.

        One that has changed gets another client. Raises `UsageError` for one that cannot be used.
        """
        config = await self._shared.admit(self.config, self._is_switched_on)
        # No await from here on: code that ends this attempt must see either the old configuration
        # with its client, or the new one without.
        is_same, self.config = same_server(self.config, config), config
        if not is_same and self._client is not None:
            self._end_later(asyncio.get_running_loop().create_task(self._client.close()))
            self._client, self._version = None, ""
        return refusal_of(config)
