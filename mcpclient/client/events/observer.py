"""How parts of the library follow what happens on a connection, over all of its sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import McpError


class Observer:
    """Is told of everything when it happens, in order. No method may block or raise."""

    def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """Take a notification from the server."""

    def connected(self) -> None:
        """Take note of a new session: the first, one after a loss, or after an expiry."""

    def lost(self, error: McpError) -> None:
        """Take note that the connection, or the session on it, has ended by itself."""

    def channel_lost(self, error: McpError) -> None:
        """Take note that the server's own channel was given up, though calls go on."""

    def closed(self) -> None:
        """Take note that the caller has closed the connection."""
