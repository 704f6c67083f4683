"""The server that a command is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..client.link.targets import Target

__all__ = ["Server"]


_NOTHING: Mapping[str, Any] = {}


class Server(NamedTuple):
    """What to connect to: a target, and the options that its configuration has for it, if any.

    ``note``: what its user is told before.
    """

    target: Target
    options: Mapping[str, Any] = _NOTHING
    note: str = ""
