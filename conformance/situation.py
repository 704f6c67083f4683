"""The situation of an official scenario: a server, a context, and a user with a browser."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import AsyncIterator, Awaitable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Callable
from urllib.parse import urlsplit

import mcpclient

__all__ = ["REDIRECT_URI", "Following", "Scenario", "Situation", "redirect_of"]

REDIRECT_URI = "http://localhost:3000/callback"

Browser = Callable[[str], Awaitable["str | None"]]
"""Takes the URL where the user is sent, and returns the one where that leads; None: nowhere."""


async def follow(url: str) -> str:
    """Ask for the page, as a browser whose user says yes at once."""
    return await asyncio.get_running_loop().run_in_executor(None, redirect_of, url)


def redirect_of(url: str) -> str:
    """The address to which the page at ``url`` sends the browser."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        location = connection.getresponse().getheader("Location")
    finally:
        connection.close()
    assert location is not None, "the authorization page does not redirect"
    return location


class Following:
    """An `AuthProvider` that follows the redirect of the authorization page by itself."""

    def __init__(
        self, browse: Browser = follow, store: mcpclient.CredentialStore | None = None
    ) -> None:
        self._browse = browse
        self._store = store or mcpclient.MemoryStore()

    async def load(self, key: str) -> Mapping[str, object] | None:
        return await self._store.load(key)

    async def save(self, key: str, record: Mapping[str, object] | None) -> None:
        await self._store.save(key, record)

    def lock(self, name: str) -> AbstractAsyncContextManager[object]:
        return self._store.lock(name)

    async def open_redirect(self, configured: str | None, registered: tuple[str, ...]) -> str:
        return configured or REDIRECT_URI

    async def authorize(self, request: mcpclient.Authorize) -> mcpclient.Callback | None:
        location = await self._browse(request.url)
        if location is None:
            raise mcpclient.AuthorizationDenied("the page leads nowhere")
        return mcpclient.parse_callback(location)

    async def show_device_code(self, request: mcpclient.ShowDeviceCode) -> None:
        raise mcpclient.AuthorizationRequired(request.verification_uri)


@dataclass
class Situation:
    """The situation of a scenario.

    ``context``: the suite's description of it. ``browse``: the user's browser. ``revision``: the
    one that was spoken last, empty before. ``trace``: the file of transcripts of its connections.
    """

    url: str
    context: Mapping[str, Any] = field(default_factory=dict)
    browse: Browser = follow
    revision: str = ""
    trace: str | None = None

    @asynccontextmanager
    async def connected(self, **options: Any) -> AsyncIterator[mcpclient.Client]:
        """Connect with these options of `mcpclient.connect`."""
        async with mcpclient.connect(self.url, trace=self.trace, **options) as client:
            self.revision = client.protocol_version or ""
            yield client


Scenario = Callable[[Situation], Coroutine[Any, Any, None]]
