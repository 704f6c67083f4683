"""An HTTP server for browsers on this machine only.

It listens on a loopback address, and answers only requests that name it by that address or as
localhost: a page whose host name an attacker points at 127.0.0.1 ("DNS rebinding") sends that name.
A request by a page of another site has that site as its ``Origin``, and is refused.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Callable
from urllib.parse import parse_qsl

from ..errors import ProtocolViolation, UsageError
from ..framing.headers import Headers
from ..framing.http1 import MAX_HEAD, encode_response_head, parse_request_head
from ..framing.logs import logger_for
from ..framing.uri import LOOPBACK_HOSTS
from .futures import cancel_all

_logger = logger_for("mcpclient.inspector")

# A browser opens six connections to one origin; the rest is for more pages of it.
_MAX_CONNECTIONS = 60
_MAX_BODY_SIZE = 64 * 1024 * 1024
# Seconds a request may take to arrive, and its response to be read; slower clients are cut off.
_REQUEST_TIMEOUT = 30.0
_RESPONSE_TIMEOUT = 30.0

# For every response: the strictest values; a page relaxes those it must.
_HEADERS = (
    ("Cache-Control", "no-store"),
    ("Connection", "close"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
)
_POLICY = "Content-Security-Policy"
_NOTHING_ALLOWED = "default-src 'none'; frame-ancestors 'none'"


@dataclass(frozen=True)
class LocalRequest:
    """A request that was addressed to this server.

    ``query``: the last value of each name. ``query_text``: the whole, as it was sent.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(repr=False)  # with the code of a login
    headers: Headers = field(repr=False)  # among them the token
    body: bytes = field(repr=False)
    query_text: str = field(default="", repr=False)


@dataclass(frozen=True)
class LocalResponse:
    """A response. A ``body`` that is an iterator is written piece by piece as it comes."""

    status: int = 200
    content_type: str = "text/plain; charset=utf-8"
    body: bytes | AsyncIterator[bytes] = b""
    headers: Mapping[str, str] = field(default_factory=dict)


Refuse = Callable[[LocalRequest], "LocalResponse | None"]
"""Looks at a request whose body has not been read: returns its refusal, or None to have it read."""

Answer = Callable[[LocalRequest], Awaitable[LocalResponse]]
"""Takes a request and returns the response; its exceptions are answered with status 500."""


def send_at_once(writer: asyncio.StreamWriter) -> None:
    """Send each write of an accepted connection at once, without waiting for acknowledgements.

    asyncio does so itself where the system reports the protocol of accepted connections, which
    Windows does not. There the second write of a response would wait for up to 0.2 s.
    """
    connection = writer.get_extra_info("socket")
    if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError):  # it has ended already
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class LocalHttpServer:
    """Serves ``answer`` on one loopback address, except for requests that ``refuse`` rejects.

    ``authority``: host and port, as in its URLs. Empty before `open`.
    """

    def __init__(self, refuse: Refuse, answer: Answer) -> None:
        self.authority: str = ""
        self._refuse = refuse
        self._answer = answer
        self._hosts: frozenset[str] = frozenset()
        self._server: asyncio.AbstractServer | None = None
        self._is_closed = False
        self._connections: set[asyncio.Task[None]] = set()
        # The connections whose request has not arrived, the oldest first.
        self._arriving: dict[asyncio.Task[None], None] = {}

    async def open(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0: on a free one.

        Raises `UsageError` for an address that others could reach, and for a port that is taken.
        """
        if host not in LOOPBACK_HOSTS:
            names = " or ".join(LOOPBACK_HOSTS)
            raise UsageError(f"only this machine may reach it: host is {names}, not {host!r}")
        address = "127.0.0.1" if host == "localhost" else host
        try:
            server = await asyncio.start_server(self._accept, address, port, limit=MAX_HEAD)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot listen on port {port} of {host}: {reason}") from None
        self._server = server
        port = server.sockets[0].getsockname()[1]
        shown = f"[{address}]" if ":" in address else address
        self.authority = f"{shown}:{port}"
        self._hosts = frozenset({self.authority, f"localhost:{port}"})
        if port == 80:  # browsers leave it out
            self._hosts |= {shown, "localhost"}

    def stop(self) -> None:
        """Stop listening, and cancel every response, without waiting. Idempotent."""
        self._is_closed = True
        if self._server is not None:
            self._server.close()
        for task in list(self._connections):
            task.cancel()

    async def close(self) -> None:
        """Stop listening, and end every response. Idempotent."""
        self.stop()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if self._is_closed:  # while this connection was being accepted
            return writer.transport.abort()
        self._connections.add(task)
        self._arriving[task] = None
        if len(self._connections) > _MAX_CONNECTIONS:
            oldest = next(iter(self._arriving))
            del self._arriving[oldest]
            oldest.cancel()
        send_at_once(writer)
        try:
            await self._serve(task, reader, writer)
            writer.close()
        except (OSError, EOFError, asyncio.TimeoutError, asyncio.LimitOverrunError):
            pass  # too slow, too long or gone: no response can be sent
        except asyncio.CancelledError:
            pass  # by `close` or for another one, and asyncio would log it
        finally:
            self._connections.discard(task)
            self._arriving.pop(task, None)
            writer.transport.abort()  # unread data is dropped
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve(
        self, task: asyncio.Task[None], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        method, arrived = await asyncio.wait_for(self._read(reader), _REQUEST_TIMEOUT)
        self._arriving.pop(task, None)
        if isinstance(arrived, LocalResponse):
            response = arrived
        else:
            try:
                response = await self._answer(arrived)
            except Exception:
                _logger.exception("a request of the page failed: %s", arrived.path)
                text = b"the request failed; the program's log says why"
                response = LocalResponse(500, body=text)
        writer.transport.set_write_buffer_limits(0)  # so that `drain` waits for all of it
        headers = [*_HEADERS, ("Content-Type", response.content_type)]
        if isinstance(response.body, bytes):
            headers.append(("Content-Length", str(len(response.body))))
        headers += {_POLICY: _NOTHING_ALLOWED, **response.headers}.items()
        writer.write(encode_response_head(response.status, headers))
        if method == "HEAD":
            await asyncio.wait_for(writer.drain(), _RESPONSE_TIMEOUT)
        elif isinstance(response.body, bytes):
            writer.write(response.body)
            await asyncio.wait_for(writer.drain(), _RESPONSE_TIMEOUT)
        else:
            await _stream(response.body, reader, writer)

    async def _read(self, reader: asyncio.StreamReader) -> tuple[str, LocalRequest | LocalResponse]:
        """Return the method of a request, and the request; or its refusal, the body unread."""
        try:
            head = parse_request_head(await reader.readuntil(b"\r\n\r\n"))
        except ProtocolViolation as violation:
            return "", LocalResponse(400, body=violation.reason.encode())
        path, _, query = head.target.partition("?")
        asked = dict(parse_qsl(query, keep_blank_values=True))
        request = LocalRequest(head.method, path, asked, head.headers, b"", query)
        refusal = self._refusal_of(request, head.length)
        if refusal is not None:
            return head.method, refusal
        return head.method, replace(request, body=await reader.readexactly(head.length))

    def _refusal_of(self, request: LocalRequest, length: int) -> LocalResponse | None:
        host = request.headers["host"].lower()
        if host not in self._hosts:
            text = f"this is http://{self.authority}/, and goes by no other name"
            return LocalResponse(421, body=text.encode())
        if request.headers.get("origin", f"http://{host}") != f"http://{host}":
            return LocalResponse(403, body=b"pages of other sites have no access")
        refusal = self._refuse(request)
        if refusal is None and length > _MAX_BODY_SIZE:
            return LocalResponse(413, body=b"the request is too large")
        return refusal


async def _stream(
    pieces: AsyncIterator[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Write pieces until there are no more, or the browser has gone."""

    async def write() -> None:
        async for piece in pieces:
            writer.write(piece)
            await writer.drain()

    writing = asyncio.ensure_future(write())
    reading = asyncio.ensure_future(reader.read(1))  # ends when the browser has gone
    both: set[asyncio.Future[Any]] = {writing, reading}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel_all(both)
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()  # it may have been left suspended at a yield
