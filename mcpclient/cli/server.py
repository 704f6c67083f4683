"""The server that a command is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ..client.connection.targets import Target

if TYPE_CHECKING:
    from ..config.server import ServerConfig

_NOTHING: Mapping[str, Any] = {}


class Server(NamedTuple):
    """What to connect to: a target, and the options that its configuration has for it, if any.

    ``note``: what its user is told before. ``warnings``: what is wrong with its entry, likewise.
    ``config``: its entry, where it has one, to be judged again before it starts again.
    """

    target: Target
    options: Mapping[str, Any] = _NOTHING
    note: str = ""
    warnings: Sequence[str] = ()
    config: ServerConfig | None = None

    def tell(self, say: Callable[[str], None]) -> None:
        """Tell the user what is to be told before."""
        for line in filter(None, (self.note, *self.warnings)):
            say(line)
