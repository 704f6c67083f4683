"""The listener that a browser is sent back to after a login; it takes one answer and is gone.

Source: RFC 8252 section 7.3. It listens on the loopback interface only, and accepts nothing but a
GET for its own path with the state of the login in progress.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit

from ...auth.authorization_code import parse_callback, same_state
from ...auth.effects import Callback
from ...auth.url_guard import host_of
from ...errors import AuthError, UsageError
from ...framing.uri import LOOPBACK_HOSTS

CALLBACK_PATH = "/callback"

# A request line and its headers; a browser sends the cookies of every local page along.
_MAX_HEAD_SIZE = 64 * 1024
_HEAD_TIMEOUT = 10.0
# A browser opens a few connections ahead; no more is needed.
_MAX_CONNECTIONS = 20

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}}
</style></head><body><h1>{title}</h1><p>{text}</p></body></html>
"""
_DONE = ("You are logged in", "You can close this window and go back to the program.")
_DENIED = ("You are not logged in", "Authorization was not given. You can close this window.")
_STRANGE = (
    "This is not the answer to a login",
    "The address does not belong to the login in progress. Go back to the program, and if it still "
    "waits, use the address it shows.",
)
_MISSING = ("There is nothing here", "This address only serves to end a login.")


def is_loopback(redirect_uri: str) -> bool:
    """Whether a redirect URI leads to a listener on this machine."""
    return redirect_uri.startswith("http://") and host_of(redirect_uri) in LOOPBACK_HOSTS


class LoopbackListener:
    """Listens for the callback of one login. Make one with `open`."""

    def __init__(self, redirect_uri: str) -> None:
        self.redirect_uri = redirect_uri
        self._path = urlsplit(redirect_uri).path or "/"
        self._state: str | None = None
        self._callback: asyncio.Future[Callback] = asyncio.get_running_loop().create_future()
        self._server: asyncio.AbstractServer | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, redirect_uri: str | None = None) -> LoopbackListener:
        """Listen where ``redirect_uri`` leads, or on a free port of 127.0.0.1.

        Raises `AuthError` when the port is taken.
        """
        parts = urlsplit(redirect_uri or "http://127.0.0.1:0")
        host, port = parts.hostname or "127.0.0.1", parts.port
        listener = cls(redirect_uri or "")
        try:
            server = await asyncio.start_server(
                listener._accept,
                # Port 0 would be another one for each address of the name.
                "127.0.0.1" if redirect_uri is None else host,
                80 if port is None else port,
                limit=_MAX_HEAD_SIZE,
            )
        except OSError as error:
            raise AuthError(
                f"cannot listen on {redirect_uri or 'a port of 127.0.0.1'}: "
                f"{error.strerror or error}"
            ) from None
        listener._server = server
        if redirect_uri is None:
            port = server.sockets[0].getsockname()[1]
            listener.redirect_uri = f"http://127.0.0.1:{port}{CALLBACK_PATH}"
            listener._path = CALLBACK_PATH
        return listener

    async def wait_for(self, state: str) -> Callback:
        """Wait for the callback that carries ``state``; others are answered and ignored."""
        self._state = state
        return await asyncio.shield(self._callback)

    def close(self) -> None:
        """Listen no more. Idempotent."""
        if self._server is not None:
            self._server.close()
        for task in list(self._connections):
            task.cancel()
        self._callback.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if len(self._connections) <= _MAX_CONNECTIONS:
                await asyncio.wait_for(self._serve(reader, writer), _HEAD_TIMEOUT)
        except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError):
            pass
        except (asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # too long, or the login is over: nothing to be told, and nobody to tell it
        finally:
            self._connections.discard(task)
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        callback, status, page = self._answer(head.split(b"\r\n", 1)[0])
        try:
            writer.write(_response(status, *page))
            await writer.drain()
        finally:
            # Not before the page is on its way: the program may be about to end.
            if callback is not None and not self._callback.done():
                self._callback.set_result(callback)

    def _answer(self, request_line: bytes) -> tuple[Callback | None, str, tuple[str, str]]:
        method, _, rest = request_line.decode("latin-1").partition(" ")
        path, _, query = rest.rpartition(" ")[0].partition("?")
        if method != "GET" or path != self._path:
            return None, "404 Not Found", _MISSING
        try:
            callback = parse_callback(query)
        except UsageError:
            return None, "400 Bad Request", _STRANGE
        if self._state is None or not same_state(callback.state or "", self._state):
            return None, "400 Bad Request", _STRANGE
        self._state = None  # what comes second is no answer any more
        return callback, "200 OK", _DONE if callback.error is None else _DENIED


def _response(status: str, title: str, text: str) -> bytes:
    body = _PAGE.format(title=title, text=text).encode()
    head = (
        f"HTTP/1.1 {status}\r\n"
        "Content-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
        "Referrer-Policy: no-referrer\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
