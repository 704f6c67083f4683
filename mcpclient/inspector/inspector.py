"""The inspector: `inspect` opens a page in the browser over a client, a manager or recordings."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from os import urandom
from types import TracebackType
from typing import TYPE_CHECKING, Any, Union

from ..client.client import Client
from ..errors import UsageError
from ..net.local_http import LocalHttpServer
from ..transports.replaying import Recording
from .board import Board, Questions
from .routes import Routes
from .servers import ClientSource, ManagerSource, RecordingSource, Room, Source

if TYPE_CHECKING:
    from ..manager.manager import Manager

Inspectable = Union[Client, Recording, Sequence[Recording], "Manager"]
"""What can be inspected: a client, a manager, one recording or several."""

ALLOWED = ("look", "call", "add")

# Below this, a token could be guessed.
_MIN_TOKEN_LENGTH = 16


def inspect(
    source: Inspectable,
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    token: str | None = None,
    allow: str = "call",
) -> Inspector:
    """Open an inspector: ``async with inspect(client) as inspector: print(inspector.url)``.

    The page shows what a running program's own client or manager does, or what was recorded; what
    the program does stays the same, and it costs nothing until a page is open. What the page lists
    and calls goes over the program's own connections.

    ``port``: where to listen; 0: a free port. ``host``: ``127.0.0.1``, ``::1`` or ``localhost``;
    others would let others in. ``token``: what a page has to know, at least 16 letters, digits,
    ``-`` and ``_``; by default a new one. ``allow``: ``look``: the page shows, and asks servers for
    their lists; ``call``: it also makes requests; ``add``: it also adds servers, which may be any
    command.

    Raises `UsageError` for an option that makes no sense; entering it, for a port that is taken.
    """
    return Inspector(source_of(source), port=port, host=host, token=token, allow=allow)


def source_of(given: Any) -> Source:
    """Return where the servers of ``given`` come from. Raises `UsageError`."""
    if isinstance(given, Client):
        return ClientSource(given)
    if isinstance(given, Recording):
        return RecordingSource([given])
    if isinstance(given, Sequence) and given and all(isinstance(one, Recording) for one in given):
        return RecordingSource(given)
    manager: Any = given
    if hasattr(manager, "servers") and hasattr(manager, "add"):
        return ManagerSource(manager)
    kind = type(given).__name__
    raise UsageError(f"a client, a manager or recordings can be inspected, not {kind}")


class Inspector:
    """A page for the browsers of this machine. Made by `inspect`; ``async with`` opens it.

    ``url``: its address, the token in its fragment, which browsers keep to themselves; empty until
    it is open.
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
        self._token = urandom(24).hex() if token is None else _checked(token)
        board = questions.board if questions is not None else Board()
        # With questions of its own it serves one purpose: then nothing is to be missed.
        self.room: Room = Room(
            source, board, questions or Questions(board), always=questions is not None
        )
        routes = Routes(self.room, self._token, allow)
        self._server = LocalHttpServer(routes.refusal_of, routes.answer)

    async def open(self) -> Inspector:
        """Begin to listen. Raises `UsageError` when that cannot be."""
        await self._server.open(self._host, self._port)
        self.url = f"http://{self._server.authority}/#t={self._token}"
        return self

    def connect_all(self) -> None:
        """Begin to connect every server that can be; how it goes is seen in the page."""
        self.room.observe()
        for name, state in self.room.source.states().items():
            if state.client is not None:
                self.room.connect(name)

    async def close(self) -> None:
        """End it; requests that the page has made are given up. Idempotent."""
        await self._server.close()
        await self.room.close()

    def __await__(self) -> Generator[Any, None, Inspector]:
        return self.open().__await__()

    async def __aenter__(self) -> Inspector:
        return await self.open()

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


def _checked(token: str) -> str:
    plain = token.isascii() and token.replace("-", "").replace("_", "").isalnum()
    if len(token) < _MIN_TOKEN_LENGTH or not plain:
        raise UsageError(
            f"a token has at least {_MIN_TOKEN_LENGTH} letters, digits, dashes and underscores"
        )
    return token
