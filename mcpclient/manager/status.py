"""What a server of a manager is doing."""

from __future__ import annotations

import enum


class Status(str, enum.Enum):
    """The state of one server; its ``value`` is the text to show or compare with."""

    DISABLED = "disabled"
    """Switched off in its configuration; `Manager.connect` switches it on."""
    NEEDS_APPROVAL = "needs_approval"
    """It comes with a project, and nobody has agreed to it yet."""
    DENIED = "denied"
    """A policy forbids it."""
    DEFERRED = "deferred"
    """Not connected yet: the first call does that. Its tools are those it had the last time."""
    CONNECTING = "connecting"
    """On the way to its first connection."""
    CONNECTED = "connected"
    """Its tools can be called."""
    RECONNECTING = "reconnecting"
    """The connection was lost and is made anew; its tools are kept, and calls wait."""
    FAILED = "failed"
    """The first connection failed. `Manager.connect`, or a call, tries again."""
    NEEDS_AUTH = "needs_auth"
    """Somebody has to log in, or the credentials were refused."""
    NEEDS_CLIENT_REGISTRATION = "needs_client_registration"
    """Its authorization server wants a client that was registered by hand."""
    CLOSED = "closed"
    """Disconnected by the caller."""

    def __str__(self) -> str:
        return self.value
