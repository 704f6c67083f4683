"""What the servers of one manager have in common."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable

from ..client.connection.era_memory import EraMemory
from ..client.connection.loops import LoopBound
from ..config.server import ServerConfig
from .backoff import Reconnect
from .catalog import Catalog
from .events import Events
from .memory import Memory
from .pins import Pins
from .slots import Slots


@dataclass(frozen=True)
class Shared:
    """What the servers of one manager have in common.

    ``home``: the event loop they live in. ``admit``: returns the configuration of a server as the
    gate allows it now; the flag asks for it as if it were enabled. ``eras``: which era each server
    speaks.
    """

    home: LoopBound
    options: Mapping[str, Any]
    catalog: Catalog
    events: Events
    slots: Slots
    reconnect: Reconnect | None
    admit: Callable[[ServerConfig, bool], Awaitable[ServerConfig]]
    pins: Pins | None = None
    memory: Memory | None = None
    auto_refresh: bool = True
    eras: EraMemory = field(default_factory=EraMemory)
