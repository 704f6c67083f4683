"""Parts of the library that follow what happens on a connection, whichever session it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import McpError

__all__ = ["Observer"]


class Observer:
    """Is told of everything at once, in the order it happens. No method may block or raise."""

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Take a notification of the server's."""

    def connected(self) -> None:
        """Take note of a new session: the first, one after a loss, or after an expiry."""

    def lost(self, error: McpError) -> None:
        """Take note that the connection has ended by itself."""

    def closed(self) -> None:
        """Take note that the caller has closed the connection."""
