"""Ways to lead a user to a login and back: with a browser here, or in two steps.

The browser is sent back to a listener (RFC 8252 section 7.3). It listens on the loopback interface
only, and accepts one GET for its own path with the state of the login in progress.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Callable
from urllib.parse import urlsplit

from ...auth.effects import Authorize, Callback, CredentialStore, ShowDeviceCode, StoredItem
from ...auth.obtaining import parse_callback, same_state
from ...auth.url_guard import host_of
from ...errors import AuthError, UsageError
from ...errors.authorization import AuthorizationRequired
from ...framing.uri import LOOPBACK_HOSTS
from ..futures import cancel_all, resolve
from ..local_http import LocalHttpServer, LocalRequest, LocalResponse
from ..shielded import TaskLocks
from .browser import open_browser
from .storage import FileStore
from .terminal import Terminal

CALLBACK_PATH = "/callback"

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}}
</style></head><body><h1>{title}</h1><p>{text}</p></body></html>
"""
_DONE = ("You are logged in", "You can close this window and return to the program.")
_DENIED = ("You are not logged in", "Authorization was not given. You can close this window.")
_STRANGE = (
    "This is not the answer to a login",
    "The address does not belong to the login in progress. Return to the program, and if it still "
    "waits, use the address it shows.",
)
_MISSING = ("Not found", "This address only serves to finish a login.")


def is_loopback(redirect_uri: str) -> bool:
    """Whether a redirect URI leads to a listener on this machine."""
    return redirect_uri.startswith("http://") and host_of(redirect_uri) in LOOPBACK_HOSTS


class LoopbackListener:
    """A listener for the callback of one login. Make one with `open`."""

    def __init__(self, redirect_uri: str) -> None:
        self.redirect_uri = redirect_uri
        self._path = urlsplit(redirect_uri).path or "/"
        self._state: str | None = None
        self._callback: asyncio.Future[Callback] = asyncio.get_running_loop().create_future()
        self._server = LocalHttpServer(lambda request: None, self._answer)

    @classmethod
    async def open(cls, redirect_uri: str | None = None) -> LoopbackListener:
        """Listen where ``redirect_uri`` leads, or on a free port of 127.0.0.1. Raises AuthError."""
        listener = cls(redirect_uri or f"http://127.0.0.1:0{CALLBACK_PATH}")
        parts = urlsplit(listener.redirect_uri)
        try:
            await listener._server.open(
                parts.hostname or "", 80 if parts.port is None else parts.port
            )
        except UsageError as error:
            raise AuthError(str(error)) from None
        if redirect_uri is None:
            listener.redirect_uri = f"http://{listener._server.authority}{CALLBACK_PATH}"
        return listener

    async def wait_for(self, state: str) -> Callback:
        """Wait for the callback with ``state``; other requests get an error page."""
        self._state = state
        return await asyncio.shield(self._callback)

    def close(self) -> None:
        """Listen no more. Idempotent."""
        self._server.stop()
        self._callback.cancel()

    async def _answer(self, request: LocalRequest) -> LocalResponse:
        if request.method != "GET" or request.path != self._path:
            return _page(404, *_MISSING)
        try:
            callback = parse_callback(request.query_text)
        except UsageError:
            return _page(400, *_STRANGE)
        if self._state is None or not same_state(callback.state or "", self._state):
            return _page(400, *_STRANGE)
        self._state = None  # a callback counts only once
        page = _page(200, *(_DONE if callback.error is None else _DENIED))
        assert isinstance(page.body, bytes)
        return replace(page, body=self._finishing(page.body, callback))

    async def _finishing(self, page: bytes, callback: Callback) -> AsyncIterator[bytes]:
        try:
            yield page
        finally:
            # Only after the page was sent: the program may exit as soon as it has the callback.
            resolve(self._callback, callback)


def _page(status: int, title: str, text: str) -> LocalResponse:
    return LocalResponse(
        status,
        "text/html; charset=utf-8",
        _PAGE.format(title=title, text=text).encode(),
        {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"},
    )


# A redirect URI without a listener; the user copies the address that the browser ends at.
_NOBODY_LISTENS = "http://127.0.0.1/callback"


class _Stored:
    """The half of an `AuthProvider` that stores credentials."""

    def __init__(self, store: CredentialStore | None = None) -> None:
        self.store: CredentialStore = FileStore() if store is None else store

    async def load(self, key: str) -> StoredItem | None:
        return await self.store.load(key)

    async def save(self, key: str, record: StoredItem | None) -> None:
        await self.store.save(key, record)

    def lock(self, name: str) -> AbstractAsyncContextManager[object]:
        return self.store.lock(name)


class BrowserLogin(_Stored):
    """A login with the browser of this machine or, without one, with an address to visit.

    The browser comes back to a listener on 127.0.0.1. On a terminal, the user may also paste the
    address that the browser was sent back to, so that a login works over SSH. With neither a
    browser nor a terminal, a call that needs a login fails with `AuthorizationRequired` at once.

    ``store``: the store of credentials (default: a `FileStore`). ``timeout``: seconds that the user
    has (default: 300). ``open_browser``: an async function that shows a URL and returns whether it
    could. ``terminal``: shows the address and reads the pasted one (default: stderr and stdin).
    Logins through one object come one after the other.
    """

    def __init__(
        self,
        store: CredentialStore | None = None,
        *,
        timeout: float = 300.0,
        open_browser: Callable[[str], Awaitable[bool]] = open_browser,
        terminal: Terminal | None = None,
    ) -> None:
        super().__init__(store)
        self._timeout = timeout
        self._open_browser = open_browser
        self._terminal = terminal or Terminal()
        self._listeners: dict[str, LoopbackListener] = {}
        self._turns = TaskLocks()

    async def open_redirect(self, configured: str | None, registered: tuple[str, ...]) -> str:
        """Listen for the browser's return until the current task ends."""
        if configured is not None and not is_loopback(configured):
            return configured
        listener = await _listen(configured, registered)
        uri = listener.redirect_uri
        self._listeners[uri] = listener
        task = asyncio.current_task()
        assert task is not None
        task.add_done_callback(lambda _: self._stop(uri, listener))
        return uri

    def _stop(self, uri: str, listener: LoopbackListener) -> None:
        listener.close()
        if self._listeners.get(uri) is listener:
            del self._listeners[uri]

    async def authorize(self, request: Authorize) -> Callback | None:
        """Show the page and wait for the callback; None after ``timeout``."""
        async with self._turns.lock("login"):
            # The listener waits first: the browser may be back before its opener returns, which can
            # take five seconds.
            answers: set[asyncio.Task[Callback]] = set()
            listener = self._listeners.get(request.redirect_uri)
            if listener is not None:
                answers.add(asyncio.ensure_future(listener.wait_for(request.state)))
            opening = asyncio.ensure_future(self._open_browser(request.url))
            try:
                await self._first_of({opening, *answers})
                if opening.done() and not any(answer.done() for answer in answers):
                    opened = opening.result()
                    if not opened and not self._terminal.is_interactive:
                        return None
                    self._terminal.say(self._instructions(request, opened=opened))
                    if self._terminal.is_interactive:
                        answers.add(asyncio.ensure_future(self._pasted(request.state)))
                    await self._first_of(answers)
                done = [answer.result() for answer in answers if answer.done()]
                return done[0] if done else None
            finally:
                await cancel_all({opening, *answers})
                if listener is not None:
                    self._stop(request.redirect_uri, listener)

    async def _first_of(self, tasks: Iterable[asyncio.Task[Any]]) -> None:
        waiting = set(tasks)
        if waiting:
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait(waiting, timeout=self._timeout, return_when=first)

    def _instructions(self, request: Authorize, *, opened: bool) -> str:
        browser = "Log in with your browser. If it does not open, visit:"
        lines = [browser if opened else "To log in, visit:", "", f"  {request.url}", ""]
        if self._terminal.is_interactive:
            lines.append(
                "If the browser is on another machine, paste here the address that it ends at:"
            )
        return "\n".join(lines)

    async def _pasted(self, state: str) -> Callback:
        while True:
            try:
                line = await self._terminal.read_line()
                callback = parse_callback(line)
            except (EOFError, OSError):
                # The terminal is closed; the browser may still come back, so this never returns.
                await asyncio.get_running_loop().create_future()
            except UsageError as error:
                self._terminal.say(f"{error}; paste the whole address:")
            else:
                if same_state(callback.state or "", state):
                    return callback
                self._terminal.say("this address belongs to another login; paste the right one:")

    async def show_device_code(self, request: ShowDeviceCode) -> None:
        text = f"To log in, visit {request.verification_uri} and enter the code {request.user_code}"
        complete = request.verification_uri_complete
        self._terminal.say(f"{text}\nor visit {complete}" if complete else text)


async def _listen(configured: str | None, registered: tuple[str, ...]) -> LoopbackListener:
    if configured is not None:
        return await LoopbackListener.open(configured)
    for uri in registered:
        # The port of an earlier login is free again, most of the time.
        if is_loopback(uri):
            try:
                return await LoopbackListener.open(uri)
            except AuthError:
                continue
    return await LoopbackListener.open()


class TwoStepLogin(_Stored):
    """A login in two steps: a call that needs one fails with `AuthorizationRequired`.

    The user has to visit the ``url`` of that exception. Then `finish_auth` continues with the
    address that the browser came back to, in this process or in another one with the same
    ``store``. The browser comes back to the option ``redirect_uri``; without it, to an address
    without a listener, for the user to copy.
    """

    async def open_redirect(self, configured: str | None, registered: tuple[str, ...]) -> str:
        return configured or next(iter(registered), _NOBODY_LISTENS)

    async def authorize(self, request: Authorize) -> Callback | None:
        return None

    async def show_device_code(self, request: ShowDeviceCode) -> None:
        raise AuthorizationRequired(request.verification_uri)
