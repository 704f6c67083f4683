"""The way to one server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable

from ..errors import UsageError
from ..transports.base import Transport
from .options import Options

if TYPE_CHECKING:
    from ..transports.authorized import Authorizer

__all__ = ["Route", "refuse_auth"]


@dataclass(frozen=True)
class Route:
    """How to reach a server, as often as necessary.

    ``open`` makes a transport; ``open_legacy`` one for HTTP+SSE at the same URL, None where that
    is no possibility. ``key`` identifies the server for what is remembered of it; None: nothing
    can be. ``authorizer`` is what its transports are given, where it is more than fixed headers.
    """

    shown: str
    key: str | None
    open: Callable[[], Transport]
    open_legacy: Callable[[], Transport] | None = None
    authorizer: Authorizer | None = None


def refuse_auth(options: Options, target: str) -> None:
    """Raise `UsageError` when credentials are given for a server that cannot be shown any."""
    if options.auth is not None:
        raise UsageError(f"auth needs an HTTP or WebSocket URL, not {target}")
