"""The process of a session, and the transport between a command and it.

The process holds a client, and passes the messages of callers on to the server. Callers send
JSON-RPC in lines. Opening requests are answered from the session's own connection; everything else
is passed on unchanged, so that a command behaves as if it had connected by itself: its own client
does timeouts, questions to the user, checks and output.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hmac import compare_digest
from itertools import count
from typing import TYPE_CHECKING, Any, Callable

from ..client.answers.peer import Peer
from ..client.client import Client
from ..client.connection.limits import RequestOptions
from ..client.connection.options import Wiring
from ..client.events.callbacks import Observer
from ..client.requests import connection_of
from ..errors import ConnectFailed, McpError, PeerError, UsageError, kind_named
from ..framing.ndjson import LineFramer
from ..framing.uri import Url
from ..jsonrpc import messages
from ..jsonrpc.codec import encode
from ..jsonrpc.messages import ErrorCode, Message, RequestId
from ..jsonrpc.verbatim import decode_verbatim
from ..net.clocks import timestamp
from ..net.futures import BackgroundTasks, in_slices
from ..protocol.listen import SUBSCRIPTION_ID
from ..protocol.outgoing import Outgoing
from ..suggestions import did_you_mean, there_are
from ..transports.base import Receiver
from ..transports.line_socket import LineSocketTransport
from ..version import __version__
from .sockets import Place, check_private, is_own_peer, session_names

if TYPE_CHECKING:
    import socket

# The most bytes queued for a caller that does not read; beyond them it is dropped.
_MAX_UNREAD = 256 * 1024 * 1024

# Progress goes to the caller of the request, a cancellation to the one that was asked.
_OPENING = ("server/discover", "initialize", "notifications/initialized")
_NOT_FOR_ALL = ("notifications/progress", "notifications/cancelled")
# The capabilities of commands, whose clients answer the questions of the server.
_ANSWERED: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}}


class OpenSession(Observer):
    """A session. ``idle``: seconds without a caller until it ends by itself; 0: never.

    ``over`` is the reason why it has ended, once it has: an error, or None.
    """

    def __init__(
        self, name: str, make_client: Callable[[Wiring], Client], token: str, idle: float
    ) -> None:
        self.name = name
        self.token = token
        self.callers: list[Caller] = []
        self.calls: Iterator[int] = count(1)
        self.subscriptions: dict[RequestId, tuple[Caller, RequestId]] = {}
        self.over: asyncio.Future[McpError | None] = asyncio.get_running_loop().create_future()
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._idle = idle
        self._since = timestamp()
        self._timer: asyncio.TimerHandle | None = None
        answers = (self._ask_caller, _ANSWERED)
        self.client: Client = make_client(
            Wiring(decode=decode_verbatim, observers=(self,), answers=answers)
        )

    async def serve(self, listener: socket.socket) -> asyncio.AbstractServer:
        """Start accepting callers; they wait until `opened` is done."""
        loop = asyncio.get_running_loop()
        self.watch_idleness()
        return await loop.create_server(lambda: Caller(self), sock=listener)

    def watch_idleness(self) -> None:
        """Restart the idle timer."""
        if self._timer is not None:
            self._timer.cancel()
        if self._idle and not any(caller.joined for caller in self.callers):
            self._timer = asyncio.get_running_loop().call_later(self._idle, self.end)

    def end(self, reason: McpError | None = None) -> None:
        """End the session, and send its callers the reason."""
        if not self.over.done():
            self.over.set_result(reason)
        for caller in self.callers:
            if caller.joined and reason is not None:
                caller.send({"jsonrpc": "2.0", "id": None, "lost": packed(reason)})
            if caller.joined:  # the caller of `close` sees the end of this process
                caller.transport.close()

    def lost(self, error: McpError) -> None:
        """End with the server's process, whose state is lost. Remote servers are reconnected."""
        if self.process_id is not None:
            self.end(error)

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Pass a notification on to all callers, or to the one that holds its subscription."""
        meta = params.get("_meta")
        subscription = meta.get(SUBSCRIPTION_ID) if isinstance(meta, dict) else None
        if subscription is not None:
            caller, own_id = self.subscriptions.get(subscription, (None, 0))
            if caller is not None:
                params = {**params, "_meta": {**(meta or {}), SUBSCRIPTION_ID: own_id}}
                caller.notify(method, params)
        elif method not in _NOT_FOR_ALL:
            for caller in self.callers:
                if caller.joined:
                    caller.notify(method, params)

    async def _ask_caller(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Forward a question of the server to the caller of the latest request."""
        busy = [caller for caller in self.callers if caller.running]
        if not busy:
            raise PeerError(ErrorCode.INTERNAL_ERROR, "no call of this session is in flight")
        return await max(busy, key=lambda caller: caller.latest).ask(method, params)

    @property
    def process_id(self) -> int | None:
        """The id of the server's process, None for a remote server."""
        return connection_of(self.client).session.transport.process_id

    def state(self) -> dict[str, Any]:
        """Return the state for `mcpclient sessions`, and for opening a connection."""
        connection = connection_of(self.client)
        agreement = connection.agreement
        found: dict[str, Any] = {
            "name": self.name,
            "version": __version__,
            "server": self.client.target,
            "since": self._since,
            "folder": os.getcwd(),
            "callers": sum(caller.joined for caller in self.callers),
            "process": os.getpid(),
        }
        if agreement is not None and connection.is_open:
            transport = connection.session.transport
            found["transport"] = transport.name
            found["carriesHeaders"] = transport.carries_headers
            found["opening"] = agreement.raw
            found["stateless"] = agreement.era.is_stateless
        return found


class Caller(Peer, asyncio.Protocol):
    """The connection of one command. ``joined``: it has sent the session's token."""

    def __init__(self, session: OpenSession) -> None:
        super().__init__(BackgroundTasks(lambda error: None))  # of callers that have gone
        self.latest: int = 0
        self.joined: bool = False
        self._session = session
        self._framer = LineFramer()
        self._subscribed: set[str] = set()
        self._connection = connection_of(session.client)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept only the user who owns the session."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._session.callers.append(self)
        if not is_own_peer(transport.get_extra_info("socket")):
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel whatever the caller still waits for."""
        self.cancel_all("the user has left")
        self.end_questions(PeerError(ErrorCode.INTERNAL_ERROR, "the user has left"))
        self._session.callers.remove(self)
        for uri in list(self._subscribed):
            self.tasks.start(self._unsubscribe(uri))
        self._session.watch_idleness()

    def data_received(self, data: bytes) -> None:
        """Handle the messages that the next bytes complete."""
        for line in self._framer.feed(data):
            self.take_line(line)

    def write(self, message: Mapping[str, Any]) -> None:
        """Send a message, unless the caller has gone or does not read."""
        if self.transport.get_write_buffer_size() > _MAX_UNREAD:
            self.transport.abort()
        elif not self.transport.is_closing():
            self.transport.write(encode(message) + b"\n")

    def take(self, message: Any) -> None:
        """Handle a message; an invalid first one ends the connection."""
        if self.joined:
            super().take(message)
            return
        try:
            self._greet(message, message["params"])
        except (KeyError, TypeError, ValueError):
            self.transport.abort()

    def refuse(self, request_id: object, code: int, reason: str) -> None:
        """Refuse a message; a stranger gets no answer."""
        if self.joined:
            super().refuse(request_id, code, reason)
        else:
            self.transport.abort()

    def _greet(self, message: Message, params: Mapping[str, Any]) -> None:
        """Answer the first message: `mcpclient/state`, ``/close`` or ``/join``."""
        if not compare_digest(self._session.token, params["token"]):
            raise ValueError("invalid token")
        method = message["method"]
        if method == "mcpclient/join":
            self.joined = True
            self._session.watch_idleness()
            self.tasks.start(self._welcome(message["id"]))
            return
        self.send(messages.response(message["id"], self._session.state()))
        if method == "mcpclient/close":
            self._session.end()

    async def _welcome(self, request_id: RequestId) -> None:
        await asyncio.shield(self._session.opened)
        with suppress(McpError):  # the call itself will fail with it
            await self._connection.restore()
        self.send(messages.response(request_id, self._session.state()))

    def fail(self, request_id: RequestId, method: str, error: BaseException) -> None:
        """Send the response for an error, of which the caller reports all."""
        if isinstance(error, McpError) and not isinstance(error, PeerError):
            self.send({"jsonrpc": "2.0", "id": request_id, "failed": packed(error)})
        else:
            super().fail(request_id, method, error)

    # Requests are passed on

    def notification(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Pass a notification on."""
        self.tasks.start(self._connection.session.notify(method, params))

    async def request(
        self, request_id: RequestId, method: str, params: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        """Return the server's result of a request."""
        self.latest = next(self._session.calls)
        params = params or {}
        meta = params.get("_meta") or {}
        token = meta.get("progressToken")

        def pass_on(progress: Mapping[str, Any]) -> None:
            told = {**progress, "progressToken": token}
            self.notify("notifications/progress", told)

        own_ids: list[RequestId] = []

        def sent(own_id: RequestId) -> None:
            own_ids.append(own_id)
            self._session.subscriptions[own_id] = self, request_id

        limits = RequestOptions(
            None,
            None,
            on_progress=pass_on if token is not None else None,
            on_sent=sent if method == "subscriptions/listen" else None,
            fresh=True,
            is_raw=True,
        )
        if method == "resources/unsubscribe":
            return await self._unsubscribe(str(params.get("uri")))
        await self._connection.restore()
        try:
            result = await self._session.client._forward(method, params, limits)
        finally:
            for own_id in own_ids:
                self._session.subscriptions.pop(own_id, None)
        if method == "tools/list":  # what the tools demand of their calls
            tools = [each for each in result.get("tools") or () if isinstance(each, dict)]
            await in_slices(self._session.client._learning(tools, is_more="cursor" in params))
        elif method == "resources/subscribe":
            self._subscribed.add(str(params.get("uri")))
        return result

    async def _unsubscribe(self, uri: str) -> dict[str, Any]:
        """Unsubscribe from a resource that no other caller has subscribed to."""
        self._subscribed.discard(uri)
        if any(uri in caller._subscribed for caller in self._session.callers):
            return {}
        params, limits = {"uri": uri}, RequestOptions()
        return await self._connection.session.request("resources/unsubscribe", params, limits)


# Callers


class SessionTransport(LineSocketTransport):
    """Talks to a server through the session called ``name``.

    Opening requests are answered from the session's state, without a round trip to the server.
    """

    def __init__(self, name: str, environ: Mapping[str, str] | None = None) -> None:
        self._place = Place.of(name, os.environ if environ is None else environ)
        super().__init__(Url("unix", "", 0, self._place.link, None))
        self._state: Mapping[str, Any] = {}
        self._is_opened = False

    @property
    def description(self) -> str:
        """The name of the session."""
        return f"@{self._place.name}"

    async def open(self, receiver: Receiver) -> None:
        """Connect. Raises `UsageError` for a session that does not exist or has another version."""
        self._is_opened = False
        joined: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        check_private(self._place.folder)
        try:
            port, token = self._place.port()
            if port:
                self.url: Url = Url("tcp", "127.0.0.1", port, "", None)
            await super().open(_Intake(receiver, joined))
            params = {"version": __version__, "token": token}
            super().send(Outgoing(messages.request(0, "mcpclient/join", params)))
            self._state = await joined
        except (OSError, ValueError, ConnectFailed):
            raise self.missing() from None
        except BaseException:
            self.abort()
            raise
        found = self._state.get("version")
        if found != __version__ or "opening" not in self._state:
            await self.close()
            said = f"mcpclient {found} has opened {self.description}, and this is {__version__}"
            raise UsageError(said).advise(
                f"Close it with: mcpclient close {self.description}, and open it again."
            )
        self.name: str = str(self._state["transport"])
        self.carries_headers: bool = bool(self._state["carriesHeaders"])

    def missing(self) -> UsageError:
        """Return the error for a session that does not exist."""
        names = [f"@{name}" for name in session_names(os.environ)]
        hint = did_you_mean(self.description, names) or there_are(names)
        error = UsageError(f"there is no session {self.description}; {hint}")
        name = self._place.name
        return error.advise(f"Open it with: mcpclient open {name} -- COMMAND")

    def send(self, outgoing: Outgoing) -> None:
        """Send a message, or answer it here while the connection is being opened."""
        message = outgoing.message
        method, request_id = message.get("method"), message.get("id")
        if self._is_opened or method not in _OPENING:
            super().send(outgoing)
        elif request_id is not None:
            fits = (method == "server/discover") == self._state["stateless"]
            answer = (
                messages.response(request_id, self._state["opening"])
                if fits
                else messages.error_response(request_id, ErrorCode.METHOD_NOT_FOUND, "not spoken")
            )
            self._is_opened = fits and method == "server/discover"
            asyncio.get_running_loop().call_soon(self.receiver.message_received, answer)
        else:
            self._is_opened = True


class _Intake:
    """The receiver of a session's messages; it handles two kinds itself."""

    def __init__(self, receiver: Receiver, joined: asyncio.Future[Mapping[str, Any]]) -> None:
        self._receiver = receiver
        self._joined = joined
        self.message_rejected = receiver.message_rejected
        self.output_skipped = receiver.output_skipped
        self.request_failed = receiver.request_failed
        self.channel_lost = receiver.channel_lost

    def message_received(self, message: Message) -> None:
        if not self._joined.done():
            self._joined.set_result(message.get("result") or {})
        elif "failed" in message:
            self._receiver.request_failed(message.get("id"), unpacked(message["failed"]))
        elif "lost" in message:
            self._receiver.connection_lost(unpacked(message["lost"]))
        else:
            self._receiver.message_received(message)

    def connection_lost(self, error: McpError) -> None:
        """Pass the end on; a session that ends before its greeting counts as missing."""
        if not self._joined.done():
            self._joined.set_exception(ConnectFailed("session", str(error)))
        else:
            self._receiver.connection_lost(error)


def packed(error: McpError) -> str:
    """Serialise an error for `unpacked`."""
    return json.dumps([type(error).__name__, error.args, vars(error)], default=_plain)


def _plain(value: object) -> object:
    return {"bytes": value.decode("latin-1")} if isinstance(value, bytes) else str(value)


def _with_bytes(value: dict[str, Any]) -> Any:
    return value["bytes"].encode("latin-1") if list(value) == ["bytes"] else value


def unpacked(text: str) -> McpError:
    """Return the error that was raised in the process of the session."""
    name, arguments, fields = json.loads(text, object_hook=_with_bytes)
    kind = kind_named(name)
    assert kind is not None, "both processes have the same exceptions"
    error: McpError = kind.__new__(kind, *arguments)
    error.__dict__.update(fields)
    return error
