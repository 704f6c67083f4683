"""The limits of one server's calls, from code or from its entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ..errors import UsageError


@dataclass(frozen=True)
class ServerLimits:
    """Limits of the calls of one server: of its tools, prompts and resources.

    ``at_once``: the most calls at the same time; ``per_minute``: the most that begin within 60
    seconds. A call over them waits its turn, within its own timeout. ``breaker``: after so many
    failures in a row (no answer, a lost connection, HTTP 429 or 5xx, an internal error of the
    server) calls are refused with `ServerUnavailable` for ``breaker_seconds``; then one is tried,
    and its success lets the others through. Default: no limits, and 30 seconds.

    ``timeouts``: for tools by pattern, such as ``{"slow_*": 300}``: seconds without a response or
    progress, in place of the client's ``timeout``; 0: no limit. The first pattern that fits counts,
    unless the call has a ``timeout`` of its own.

    Raises `UsageError` for values that make no sense.
    """

    at_once: int | None = None
    per_minute: int | None = None
    breaker: int | None = None
    breaker_seconds: float = 30.0
    timeouts: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("at_once", "per_minute", "breaker"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise UsageError(f"{name} must be a whole number of at least 1, not {value!r:.50}")
        if not isinstance(self.timeouts, Mapping):
            raise UsageError("timeouts must be a mapping of patterns to seconds")
        for name, value in {**self.timeouts, "breaker_seconds": self.breaker_seconds}.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
                raise UsageError(f"{name!r:.50} must be a number of seconds, not {value!r:.50}")

    def within(self, others: ServerLimits) -> ServerLimits:
        """Return these limits, none of them looser than ``others``; own timeouts count first."""

        def least(*counts: int | None) -> int | None:
            return min((each for each in counts if each is not None), default=None)

        return ServerLimits(
            least(self.at_once, others.at_once),
            least(self.per_minute, others.per_minute),
            least(self.breaker, others.breaker),
            (others if self.breaker is None else self).breaker_seconds,
            {**self.timeouts, **others.timeouts, **self.timeouts},
        )

    def timeout_of(self, tool: str) -> float | None:
        """Return the seconds for a tool, 0 for no limit; None where no pattern fits."""
        fitting = (value for name, value in self.timeouts.items() if fnmatchcase(tool, name))
        return next(fitting, None)
