"""Streamable HTTP to an ASGI application of the same program, in place of a network.

The client and the application exchange the same bytes as over a socket, in the same order and with
backpressure, but without the socket. Source: the ASGI specification, version 3, with its HTTP
(2.4) and lifespan (2.0) parts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, MutableMapping
from typing import Any, Callable, TypeVar
from urllib.parse import unquote

from ..errors import ConnectFailed
from ..framing.logs import logger_for
from ..framing.uri import Url
from ..net.dialing import Dialer
from ..net.futures import cancel
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

    def __init__(
        self, url: Url, application: Application, network: NetworkOptions, **options: Any
    ) -> None:
        self.state: dict[str, Any] = {}
        self._application = application
        self._lifespan: asyncio.Task[None] | None = None
        self._told: asyncio.Queue[_Event]
        self._answers: asyncio.Queue[object]
        self._is_closing = False
        super().__init__(url, dialer=_Dialer(network, application, self.state), **options)

    async def open(self, receiver: Receiver) -> None:
        """Let the application start. Raises `ConnectFailed` when it fails to."""
        self._told, self._answers = asyncio.Queue(), asyncio.Queue()
        self._lifespan = task = asyncio.ensure_future(self._run())
        answer = await self._say("lifespan.startup", task)
        if answer.get("type") == "lifespan.startup.failed":
            await self._shut_down(task)
            reason = f"the application did not start: {answer.get('message') or 'no reason given'}"
            raise ConnectFailed(self.description, reason)
        await super().open(receiver)

    async def close(self) -> None:
        self._is_closing = True  # the connections are aborted first, the application is not
        try:
            await super().close()
        finally:
            self._is_closing = False
            if self._lifespan is not None:
                await self._shut_down(self._lifespan)

    def abort(self) -> None:
        super().abort()
        if not self._is_closing:
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
    """Connects every URL to one application; ``state``: set up by its lifespan."""

    def __init__(
        self, options: NetworkOptions, application: Application, state: Mapping[str, Any]
    ) -> None:
        super().__init__(options)
        self.application = application
        self.state = state

    async def dial(self, url: Url, protocol: Callable[[], P], check: object = None) -> P:
        made = protocol()
        made.connection_made(_Connection(self, url, made))
        return made

    def request_target(self, url: Url) -> tuple[str, list[tuple[str, str]]]:
        return url.target, []


class _Connection(asyncio.Transport):
    """The client's end of a connection, and the server that runs the application behind it."""

    def __init__(self, dialer: _Dialer, url: Url, protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        self._dialer = dialer
        self._url = url
        self._protocol: Any = protocol
        self._received = bytearray()
        self._response: _Response | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False
        self._loop = asyncio.get_running_loop()
        self.reads = asyncio.Event()
        self.reads.set()

    # asyncio.Transport, as the client uses it

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._received += data
        head, end, body = bytes(self._received).partition(_HEAD_END)
        if not end or self._is_closed:
            return
        sizes = [int(value) for name, value in _fields_of(head) if name == b"content-length"]
        length = sizes[0] if sizes else 0
        if len(body) >= length:
            self._received.clear()
            self._response = _Response(self, body[:length], head.startswith(b"HEAD "))
            self._task = self._loop.create_task(
                self._run(_scope(head, self._url, self._dialer.state))
            )

    def pause_reading(self) -> None:
        self.reads.clear()

    def resume_reading(self) -> None:
        self.reads.set()

    def is_closing(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self.reads.set()
        if self._response is not None:
            self._response.disconnected.set()
        if self._task is not None and not self._task.done():
            self._task.cancel()
        self._loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()

    # The application's side

    def deliver(self, data: bytes) -> None:
        while data and not self._is_closed:
            buffer = self._protocol.get_buffer(len(data))
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            self._protocol.buffer_updated(count)
            data = data[count:]

    async def _run(self, scope: dict[str, Any]) -> None:
        response = self._response
        assert response is not None
        failure = "the application ended without a response"
        try:
            await self._dialer.application(scope, response.receive, response.send)
        except asyncio.CancelledError:
            self.close()  # perhaps by itself: the request must fail
            return
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
            _logger.debug("the application failed", exc_info=error)
        if response.is_complete or self._is_closed:
            return
        if response.has_begun:
            self.close()  # in the middle: the client sees that the connection has ended
            return
        plain = [(b"content-type", b"text/plain; charset=utf-8")]
        await response.send({"type": "http.response.start", "status": 500, "headers": plain})
        await response.send({"type": "http.response.body", "body": failure.encode()})


class _Response:
    """One request as the application reads it, and the response as it writes it."""

    def __init__(self, connection: _Connection, body: bytes, is_for_head: bool) -> None:
        self.has_begun = False
        self.is_complete = False
        self._connection = connection
        self._body: bytes | None = body
        self._is_for_head = is_for_head
        self._is_chunked = False
        self._start: _Event = {}
        self.disconnected = asyncio.Event()

    async def receive(self) -> _Event:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self.disconnected.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: _Event) -> None:
        if event["type"] == "http.response.start":
            self._start = event
            return
        if event["type"] != "http.response.body" or self.is_complete:
            return
        await self._connection.reads.wait()
        body, more = bytes(event.get("body", b"")), bool(event.get("more_body", False))
        head = b"" if self.has_begun else self._head()
        self.has_begun = True
        data = head + self._framed(body, more)
        if not more:
            self.is_complete = True
            self.disconnected.set()
        self._connection.deliver(data)

    def _head(self) -> bytes:
        status, hop = int(self._start.get("status", 500)), (b"transfer-encoding", b"connection")
        fields = [(bytes(name), bytes(value)) for name, value in self._start.get("headers", ())]
        has_length = any(name.lower() == b"content-length" for name, _ in fields)
        self._is_chunked = not has_length and status not in (204, 304)
        lines = [b"HTTP/1.1 %d " % status]
        lines += [name + b": " + value for name, value in fields if name.lower() not in hop]
        if self._is_chunked:
            lines.append(b"transfer-encoding: chunked")
        return b"\r\n".join(lines) + _HEAD_END

    def _framed(self, body: bytes, more: bool) -> bytes:
        if self._is_for_head:
            return b""
        if not self._is_chunked:
            return body
        chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
        return chunk if more else chunk + b"0\r\n\r\n"


def _fields_of(head: bytes) -> list[tuple[bytes, bytes]]:
    lines = head.split(b"\r\n")[1:]
    return [
        (name.lower().strip(), value.strip())
        for name, _, value in (line.partition(b":") for line in lines)
    ]


def _scope(head: bytes, url: Url, state: Mapping[str, Any]) -> dict[str, Any]:
    method, target, _ = head.split(b"\r\n", 1)[0].split(b" ", 2)
    path, _, query = target.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method.decode("ascii"),
        "scheme": url.scheme,
        "path": unquote(path.decode("ascii")),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": _fields_of(head),
        "client": ("127.0.0.1", 50000),
        "server": (url.host, url.port),
        "state": dict(state),
    }
