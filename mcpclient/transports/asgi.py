"""Streamable HTTP to an ASGI application of the same program, in place of a network.

The client and the application exchange the same bytes as over a socket, in the same order and with
backpressure, but without the socket. Each request has a connection of its own. Source: the ASGI
specification, version 3, with its HTTP (2.4) and lifespan (2.0) parts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, MutableMapping
from typing import Any, Callable, TypeVar
from urllib.parse import unquote

from ..errors import ConnectFailed
from ..framing.http1 import parse_request_head
from ..framing.logs import logger_for
from ..framing.uri import Url
from ..net.dialing import Dialer
from ..net.futures import BackgroundTasks, cancel
from ..net.network_options import NetworkOptions
from .base import Receiver
from .streamable_http import StreamableHttpTransport

_logger = logger_for("mcpclient.transport")

_Event = MutableMapping[str, Any]
Application = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI application: takes scope, receive and send."""

P = TypeVar("P", bound=asyncio.BaseProtocol)

# Seconds an application may take to start or to end.
_LIFESPAN_SECONDS = 10.0

_HEAD_END = b"\r\n\r\n"


class AsgiTransport(StreamableHttpTransport):
    """Talks to one endpoint of ``application``, which starts and ends with the connection.

    ``state`` belongs to the application; empty where it does not support lifespans.
    """

    _dialer: _Dialer

    def __init__(
        self, url: Url, application: Application, network: NetworkOptions, **options: Any
    ) -> None:
        self.state: dict[str, Any] = {}
        self._application = application
        self._lifespan: asyncio.Task[None] | None = None
        self._told: asyncio.Queue[_Event]
        self._answers: asyncio.Queue[object]
        super().__init__(url, dialer=_Dialer(network, application, self.state), **options)

    async def open(self, receiver: Receiver) -> None:
        """Let the application start. Raises `ConnectFailed` when it fails to."""
        self._told, self._answers = asyncio.Queue(), asyncio.Queue()
        self._lifespan = task = asyncio.ensure_future(self._run())
        try:
            answer = await self._say("lifespan.startup", task)
        except BaseException:
            task.cancel()
            raise
        if answer.get("type") == "lifespan.startup.failed":
            await self._shut_down(task)
            reason = f"the application did not start: {answer.get('message') or 'no reason given'}"
            raise ConnectFailed(self.description, reason)
        await super().open(receiver)

    async def close(self) -> None:
        # The connections are aborted first, and the application is not.
        lifespan, self._lifespan = self._lifespan, None
        try:
            await super().close()
        finally:
            if lifespan is not None:
                await self._shut_down(lifespan)

    def abort(self) -> None:
        super().abort()
        self._dialer.tasks.cancel()  # with the work that follows a response
        cancel(self._lifespan)

    async def _shut_down(self, task: asyncio.Task[None]) -> None:
        try:
            if not task.done():
                await self._say("lifespan.shutdown", task)
        finally:
            task.cancel()
        await asyncio.wait({task})

    async def _say(self, kind: str, task: asyncio.Task[None]) -> _Event:
        """Send the application an event and wait for its reply; {} if there is none."""
        self._told.put_nowait({"type": kind})
        answering = asyncio.ensure_future(self._answers.get())
        try:
            await asyncio.wait(
                {answering, task}, timeout=_LIFESPAN_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            answer = answering.result() if answering.done() else None
            return answer if isinstance(answer, MutableMapping) else {}
        finally:
            answering.cancel()

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": self.state}
        try:
            await self._application(scope, self._told.get, self._answers.put)
        except Exception as error:
            # It does not support lifespans (the specification has it raise), or reported a failure.
            _logger.debug("the application's lifespan: %r", error)


class _Dialer(Dialer):
    """Connects every URL to one application; its lifespan sets ``state`` up."""

    def __init__(
        self, options: NetworkOptions, application: Application, state: Mapping[str, Any]
    ) -> None:
        super().__init__(options)
        self.application = application
        self.state = state
        self.tasks = BackgroundTasks()

    async def dial(self, url: Url, protocol: Callable[[], P], check: object = None) -> P:
        made = protocol()
        made.connection_made(_Connection(self, url, made))
        return made

    def request_target(self, url: Url) -> tuple[str, list[tuple[str, str]]]:
        return url.target, []


class _Connection(asyncio.Transport):
    """The client's end of a connection for one request, and the application behind it."""

    def __init__(self, dialer: _Dialer, url: Url, protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        self._dialer = dialer
        self._url = url
        self._protocol: Any = protocol
        self._body: bytes | None = None  # until the application has received it
        self._start: _Event = {}
        self._has_begun = False
        self._is_complete = False
        self._task: asyncio.Task[None] | None = None
        self._closed = asyncio.Event()
        self._reads = asyncio.Event()
        self._reads.set()

    # asyncio.Transport, as the client uses it

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Have the application handle a request, which is written as a whole."""
        head, end, self._body = bytes(data).partition(_HEAD_END)
        self._task = self._dialer.tasks.start(self._run(self._scope(head + end)))

    def pause_reading(self) -> None:
        self._reads.clear()

    def resume_reading(self) -> None:
        self._reads.set()

    def is_closing(self) -> bool:
        return self._closed.is_set()

    def close(self) -> None:
        if self._closed.is_set():
            return
        self._closed.set()
        self._reads.set()
        if not self._is_complete:  # otherwise the application may still work
            cancel(self._task)
        asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()

    # The application's side

    def _scope(self, head: bytes) -> dict[str, Any]:
        request = parse_request_head(head)
        path, _, query = request.target.partition("?")
        fields = request.headers.pairs()
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": self._url.scheme,
            "path": unquote(path),
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            "headers": [(name.encode("ascii"), value.encode("latin-1")) for name, value in fields],
            "client": ("127.0.0.1", 50000),
            "server": (self._url.host, self._url.port),
            "state": dict(self._dialer.state),
        }

    async def _run(self, scope: dict[str, Any]) -> None:
        failure = "the application ended without a response"
        try:
            await self._dialer.application(scope, self._receive, self._send)
        except asyncio.CancelledError:
            self.close()  # perhaps by itself: the request must fail
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
            _logger.debug("the application failed", exc_info=error)
        if self._has_begun:
            self.close()  # perhaps in the middle: the client sees that the connection has ended
        elif not self._closed.is_set():
            plain = [(b"content-type", b"text/plain; charset=utf-8")]
            await self._send({"type": "http.response.start", "status": 500, "headers": plain})
            await self._send({"type": "http.response.body", "body": failure.encode()})

    async def _receive(self) -> _Event:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._closed.wait()
        return {"type": "http.disconnect"}

    async def _send(self, event: _Event) -> None:
        if event["type"] == "http.response.start":
            self._start = event
            return
        if event["type"] != "http.response.body" or self._is_complete:
            return
        await self._reads.wait()
        head = b"" if self._has_begun else self._head()
        self._has_begun = True
        self._is_complete = not event.get("more_body", False)
        data = head + bytes(event.get("body", b""))
        while data and not self._closed.is_set():
            buffer = self._protocol.get_buffer(len(data))
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            self._protocol.buffer_updated(count)
            data = data[count:]
        if self._is_complete:
            self._protocol.eof_received()
            self.close()

    def _head(self) -> bytes:
        """Return the head of the response, whose body ends with the connection."""
        fields = [(bytes(name), bytes(value)) for name, value in self._start.get("headers", ())]
        hop = (b"transfer-encoding", b"connection")
        lines = [b"HTTP/1.1 %d " % int(self._start.get("status", 500)), b"connection: close"]
        lines += [name + b": " + value for name, value in fields if name.lower() not in hop]
        return b"\r\n".join(lines) + _HEAD_END
