"""HTTP/1.1 requests over pooled connections; responses are pushed to a sink as they arrive.

On an open connection a request needs no task of its own: bytes go from the socket through the
parser to the sink within one callback of the event loop. An answer may stay open for hours, and can
be aborted at any time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import lru_cache, partial
from itertools import starmap

from ..framing.headers import encode_header
from ..framing.http1 import encode_request
from ..framing.uri import Url
from .cookies import CookieJar
from .dialing import AddressCheck, Dialer
from .exchange import HttpRequest
from .futures import BackgroundTasks
from .http_connection import HttpConnection
from .recorder import Recorder


class HttpClient:
    """A pool of connections, and the requests running on them.

    While the recorder of the dialer is on, every request and response is recorded. ``check``: of
    each address, see `Dialer.dial`; with one no redirect is followed, and no cookie is kept.
    """

    def __init__(self, dialer: Dialer, check: AddressCheck | None = None) -> None:
        self._dialer = dialer
        self.check = check
        self.cookies: CookieJar = dialer.cookies
        self.recorder: Recorder = dialer.recorder or Recorder()
        self._idle: dict[tuple[str, str, int], list[HttpConnection]] = {}
        self._connections: set[HttpConnection] = set()
        self.tasks: BackgroundTasks = BackgroundTasks()
        line, field = lru_cache(64)(partial(_encode_line, dialer)), lru_cache(256)(encode_header)

        def encode_head(method: str, url: Url, fields: tuple[tuple[str, str], ...]) -> bytes:
            return b"".join([line(method, url), *starmap(field, fields)])

        self._encode_head = lru_cache(64)(encode_head)

    async def close(self) -> None:
        """Close every connection. Sinks of running requests get no further calls. Idempotent."""
        self.abort()
        # One turn of the loop lets the closed transports release their sockets.
        await asyncio.sleep(0)

    def hold(self, *, is_held: bool) -> None:
        """Stop reading from all connections there are, or go on."""
        for connection in self._connections:
            connection.hold(is_held=is_held)

    def abort(self) -> None:
        """Close every connection at once, without waiting."""
        self.tasks.cancel()
        for connection in list(self._connections):
            connection.abort()
        self._idle.clear()

    def encode(self, request: HttpRequest) -> bytes:
        """Return the bytes of a request.

        Most heads are the same from call to call, and of the others most headers, so each distinct
        one is validated and encoded only once.
        """
        fields = self._with_cookies(request) if self.cookies else request.headers
        head, body = self._encode_head(request.method, request.url, tuple(fields)), request.body
        if body is None:
            return head + b"\r\n"
        return b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body)

    def _with_cookies(self, request: HttpRequest) -> Iterable[tuple[str, str]]:
        own = "; ".join(value for name, value in request.headers if name.lower() == "cookie")
        fields = [(name, value) for name, value in request.headers if name.lower() != "cookie"]
        value = self.cookies.header_for(request.url, own)
        return [*fields, ("Cookie", value)] if value else fields

    # For exchanges and connections

    def idle_connection(self, url: Url) -> HttpConnection | None:
        """Remove an idle connection that seems alive from the pool and return it, or None."""
        idle = self._idle.get(url.origin)
        while idle:
            connection = idle.pop()
            if connection.is_usable():
                return connection
            connection.abort()
        return None

    async def new_connection(self, url: Url) -> HttpConnection:
        """Open a connection. Raises `ConnectFailed`."""
        connection = await self._dialer.dial(url, lambda: HttpConnection(self, url), self.check)
        self._connections.add(connection)
        return connection

    def release(self, connection: HttpConnection) -> None:
        """Return a connection to the pool, free for the next request."""
        if connection in self._connections:  # it may have ended while a login had it
            self._idle.setdefault(connection.origin, []).append(connection)
            connection.rest()

    def claim(self, connection: HttpConnection) -> bool:
        """Reserve an idle connection; `release` has it used next. False if it was closed."""
        idle = self._idle.get(connection.origin, [])
        if connection not in idle:
            return False
        idle.remove(connection)
        connection.end_rest()
        return True

    def forget(self, connection: HttpConnection) -> None:
        """Drop a closed connection from the pool."""
        self._connections.discard(connection)
        idle = self._idle.get(connection.origin)
        if idle and connection in idle:
            idle.remove(connection)


def _encode_line(dialer: Dialer, method: str, url: Url) -> bytes:
    target, hop = dialer.request_target(url)
    return encode_request(method, target, [("Host", url.authority), *hop])[:-2]
