"""The inspector: `inspect` opens a page in the browser over a client, a manager or recordings."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from os import urandom
from typing import TYPE_CHECKING, Any, Union

from ..client.client import Client
from ..errors import UsageError
from ..net.local_http import LocalHttpServer
from ..transports.replaying import Recording
from .board import Board, Questions
from .routes import Routes
from .servers import ClientSource, ManagerSource, Room, Source

if TYPE_CHECKING:
    from ..manager.manager import Manager

Inspectable = Union[Client, Recording, Sequence[Recording], "Manager"]
"""A source of an inspector: a client, a manager, one recording or several."""

ALLOWED = ("look", "call", "add")

# A shorter token could be guessed.
_MIN_TOKEN_LENGTH = 16


def inspect(
    source: Inspectable,
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    token: str | None = None,
    allow: str = "call",
) -> Inspector:
    """Return an inspector: ``async with inspect(client) as inspector: print(inspector.url)``.

    Its page shows the work of a running program's client or manager, or a recording. The program
    behaves as before, and nothing is recorded until a page is open. Requests of the page use the
    program's own connections.

    ``port``: the port to listen on; 0 for a free one. ``host``: ``127.0.0.1``, ``::1`` or
    ``localhost``, so that only this machine has access. ``token``: the secret of the page's
    address, at least 16 letters, digits, ``-`` and ``_``; random by default. ``allow``: with
    ``look`` the page shows, and lists what servers offer; with ``call`` it also makes requests;
    with ``add`` it also adds servers, which may be any command.

    Raises `UsageError` for an invalid option; entering it raises that for a port in use.
    """
    return Inspector(source_of(source), port=port, host=host, token=token, allow=allow)


def source_of(given: Any) -> Source:
    """Return the source of the servers in ``given``. Raises `UsageError`."""
    if isinstance(given, Client):
        return ClientSource(given)
    if isinstance(given, Recording):
        return Source([given])
    if isinstance(given, Sequence) and given and all(isinstance(one, Recording) for one in given):
        return Source(given)
    manager: Any = given
    if hasattr(manager, "servers") and hasattr(manager, "add"):
        return ManagerSource(manager)
    kind = type(given).__name__
    raise UsageError(f"a client, a manager or recordings can be inspected, not {kind}")


class Inspector:
    """A page for the browsers of this machine. Made by `inspect`; ``async with`` opens it.

    ``url``: its address, empty until it is open. The token is in the fragment, which browsers do
    not send.
    """

    def __init__(
        self,
        source: Source,
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        token: str | None = None,
        allow: str = "call",
        questions: Questions | None = None,
    ) -> None:
        if allow not in ALLOWED:
            raise UsageError(f"allow is {', '.join(ALLOWED[:-1])} or {ALLOWED[-1]}, not {allow!r}")
        self.url: str = ""
        self._host, self._port = host, port
        self._token = urandom(24).hex() if token is None else token
        is_plain = re.fullmatch(r"[\w-]*", self._token, re.ASCII) is not None
        if len(self._token) < _MIN_TOKEN_LENGTH or not is_plain:
            least = f"at least {_MIN_TOKEN_LENGTH} letters, digits, dashes or underscores"
            raise UsageError(f"a token must have {least}")
        # An inspector that answers for its clients records from the start: the program is its own.
        is_own = questions is not None
        self.room: Room = Room(source, questions or Questions(Board()), always=is_own)
        routes = Routes(self.room, self._token, allow)
        self._server = LocalHttpServer(routes.refusal_of, routes.answer)

    async def open(self) -> Inspector:
        """Start listening. Raises `UsageError` if the port cannot be used."""
        await self._server.open(self._host, self._port)
        self.url = f"http://{self._server.authority}/#t={self._token}"
        return self

    def connect_all(self) -> None:
        """Start connecting every server that has a client; the page shows the progress."""
        self.room.observe()
        for name, state in self.room.source.states().items():
            if state.client is not None:
                self.room.connect(name)

    async def close(self) -> None:
        """Stop listening and cancel the page's requests. Idempotent."""
        await self._server.close()
        await self.room.close()

    def __await__(self) -> Generator[Any, None, Inspector]:
        return self.open().__await__()

    async def __aenter__(self) -> Inspector:
        return await self.open()

    async def __aexit__(self, *error: object) -> None:
        await self.close()
