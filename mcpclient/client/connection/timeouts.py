"""The limits of calls, in seconds: given by the caller, by the environment, or by default."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from typing import NamedTuple, Union

from ...errors import UsageError
from .session import RequestOptions


class Default(enum.Enum):
    """Stands for "not given" where None means something else."""

    DEFAULT = "default"


DEFAULT = Default.DEFAULT

Seconds = Union[float, None, Default]
"""A limit in seconds; None and 0 mean no limit, `DEFAULT` the library's."""

_IDLE = 30.0
_TOTAL = 600.0


class Timeouts(NamedTuple):
    """The limits of calls, in seconds; None: no limit.

    ``idle``: how long a call may go without an answer or progress, ``tool``: the same for tool
    calls, ``total``: how long it may take in all. ``connect``: for establishing the connection.
    ``close``: for ending it; 0: drop everything at once.
    """

    idle: float | None
    total: float | None
    tool: float | None
    connect: float | None
    close: float

    @classmethod
    def of(
        cls,
        idle: Seconds,
        total: Seconds,
        connect: Seconds,
        close: float,
        environ: Mapping[str, str],
    ) -> Timeouts:
        """Resolve what the caller gave; ``MCP_TIMEOUT`` and ``MCP_TOOL_TIMEOUT`` (ms) are defaults.

        Raises `UsageError` for a limit or a variable that is not a number, or negative, and for a
        ``close`` of None, since closing always has a limit.
        """
        plain = _resolve(idle, _from_environment(environ, "MCP_TIMEOUT", _IDLE))
        tool = _resolve(idle, _from_environment(environ, "MCP_TOOL_TIMEOUT", plain))
        longest = max(plain or 0.0, tool or 0.0, _TOTAL)
        return cls(
            idle=plain,
            total=_resolve(total, longest),
            tool=tool,
            connect=_resolve(connect, plain),
            close=_checked(close, "close_timeout"),
        )

    def for_call(self, method: str, timeout: Seconds, max_timeout: Seconds) -> RequestOptions:
        """Return the limits of one call. Raises `UsageError` for one that makes no sense."""
        idle = self.tool if method == "tools/call" else self.idle
        if timeout is DEFAULT and max_timeout is DEFAULT:
            return RequestOptions(idle, self.total)
        return RequestOptions(_resolve(timeout, idle), _resolve(max_timeout, self.total))


def _resolve(given: Seconds, default: float | None) -> float | None:
    if isinstance(given, Default):
        return default
    return None if given is None else _checked(given, "a timeout") or None


def _checked(seconds: float, name: str) -> float:
    try:
        if seconds >= 0:  # which NaN is not
            return seconds
    except TypeError:
        pass
    raise UsageError(f"{name} is a number of seconds and not negative: {seconds!r}")


def _from_environment(environ: Mapping[str, str], name: str, default: float | None) -> float | None:
    text = environ.get(name, "").strip()
    if not text:
        return default
    try:
        milliseconds = float(text)
    except ValueError:
        milliseconds = math.nan
    if not milliseconds >= 0:
        raise UsageError(f"{name} is a number of milliseconds and not negative: {text!r}")
    return milliseconds / 1000 or None
