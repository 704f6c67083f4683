"""How to reach one server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Callable, NamedTuple

from ...errors import UsageError
from ...transports.base import Transport
from .options import Options

if TYPE_CHECKING:
    from ...transports.authorized import Authorizer


class Route(NamedTuple):
    """How to reach a server, as often as necessary.

    ``shown`` names the server in messages. ``open`` makes a transport, and ``open_legacy`` one for
    HTTP+SSE at the same URL; it is None where that is not possible. ``open_again`` makes one for a
    second start in a row, where that makes a difference. What is remembered of the server is kept
    under ``key``; with None nothing is. ``authorizer`` is what its transports get as credentials,
    where these are more than fixed headers. ``destination`` is the URL or the whole command, where
    it is one of them, secrets included. ``opened`` is told after each attempt to open a session
    which revision was agreed on, None where there was no agreement.
    """

    shown: str
    key: str | None
    open: Callable[[], Transport]
    open_legacy: Callable[[], Transport] | None = None
    authorizer: Authorizer | None = None
    open_again: Callable[[], Transport] | None = None
    destination: str | Sequence[str] | None = None
    opened: Callable[[str | None], None] | None = None

    def __repr__(self) -> str:  # it holds secrets
        return object.__repr__(self)


def refuse(options: Options, names: Sequence[str], target: str) -> None:
    """Raise `UsageError` for an option of ``names`` that was given and means nothing there."""
    for name in names:
        if getattr(options, name) is not None:
            raise UsageError(f"{name} needs {_NEEDS[name]}, not {target}")


_NEEDS = {
    "auth": "an HTTP or WebSocket URL",
    "cwd": "a command",
    "env": "a command",
    "sandbox": "a command",
    "headers": "an HTTP or WebSocket URL",
}
