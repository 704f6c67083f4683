"""The server that a command is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..client.link.targets import Target

__all__ = ["Server"]


@dataclass(frozen=True)
class Server:
    """What to connect to: a target, and the options that its configuration has for it, if any."""

    target: Target
    options: Mapping[str, Any] = field(default_factory=dict)
