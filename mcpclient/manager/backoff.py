"""How long to wait before a lost server is tried again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import UsageError

_CEILING = 30.0
_SPREAD = 0.25


@dataclass(frozen=True)
class Reconnect:
    """How a manager brings lost servers back.

    ``delays``: seconds before the first attempts; after the last of them, each pause is twice the
    one before, up to 30 s. Each is made up to a quarter longer or shorter by chance, so that many
    clients of one server do not return at once. ``terminal_errors``: after so many calls in a row
    that failed because of the network, a connection that looks open is closed and made anew.
    """

    delays: Sequence[float] = (0.5, 1.0, 2.0, 4.0)
    terminal_errors: int = 3

    def __post_init__(self) -> None:
        if not self.delays or not all(delay >= 0 for delay in self.delays):
            raise UsageError("delays are the seconds before each attempt, at least one of them")
        if self.terminal_errors < 1:
            raise UsageError("terminal_errors is a number of calls, 1 or more")

    def delay(self, attempt: int, chance: float) -> float:
        """Return the seconds before an attempt, the first of which is 0; ``chance``: 0 to 1."""
        if attempt < len(self.delays):
            plain = self.delays[attempt]
        else:
            doublings = min(attempt - len(self.delays) + 1, 64)
            plain = min(self.delays[-1] * 2.0**doublings, max(_CEILING, self.delays[-1]))
        return plain * (1 + _SPREAD * (2 * chance - 1))
