"""How a connection is made and kept: every option, and every default."""

from __future__ import annotations

import enum
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Protocol, Union

from ...errors import McpError, UsageError
from ...framing.ndjson import DEFAULT_LINE_LIMIT
from ...net.network_options import NetworkOptions
from ...net.process.server_process import StderrTarget, StopLadder
from ...protocol.types import LogMessage
from ..answers.handlers import Handlers
from ..events.hooks import Hooks
from .session import CallOptions

if TYPE_CHECKING:
    from ...transports.authorized import Credentials
    from ...transports.http_messages import HeaderSource

__all__ = ["DEFAULT", "Authentication", "Default", "Events", "Options", "Seconds", "Timeouts"]


class Default(enum.Enum):
    """Stands for "not given" where None means something else."""

    DEFAULT = "default"


DEFAULT = Default.DEFAULT

Seconds = Union[float, None, Default]
"""A limit in seconds; None and 0 mean no limit, `DEFAULT` the library's."""

_IDLE = 30.0
_TOTAL = 600.0


@dataclass(frozen=True)
class Timeouts:
    """The limits of calls, in seconds; None: no limit.

    ``idle``: how long a call may go without an answer or progress, ``tool``: the same for tool
    calls, ``total``: how long it may take in all. ``connect``: for establishing the connection.
    ``close``: for ending it; 0: drop everything at once. ``usual`` remembers the options of calls
    that set no limits of their own.
    """

    idle: float | None
    total: float | None
    tool: float | None
    connect: float | None
    close: float
    usual: dict[float | None, CallOptions] = field(default_factory=dict, compare=False, repr=False)

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

    def for_call(self, method: str, timeout: Seconds, max_timeout: Seconds) -> CallOptions:
        """Return the limits of one call. Raises `UsageError` for one that makes no sense."""
        idle = self.tool if method == "tools/call" else self.idle
        if timeout is not DEFAULT or max_timeout is not DEFAULT:
            return CallOptions(_resolve(timeout, idle), _resolve(max_timeout, self.total))
        options = self.usual.get(idle)
        if options is None:  # made once for all calls that set no limits of their own
            options = self.usual[idle] = CallOptions(idle, self.total)
        return options


def _resolve(given: Seconds, default: float | None) -> float | None:
    chosen = default if isinstance(given, Default) else given
    return None if chosen is None else _checked(chosen, "a timeout") or None


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
    return milliseconds / 1000


@dataclass
class Events:
    """The caller's event callbacks; each may be a plain function or a coroutine function."""

    notification: Callable[[str, Mapping[str, Any]], Any] | None = None
    log: Callable[[LogMessage], Any] | None = None
    error: Callable[[McpError], Any] | None = None
    close: Callable[[McpError | None], Any] | None = None


class Authentication(Protocol):
    """Something that identifies the caller: a value of ``auth=`` such as `mcpclient.OAuth`."""

    def credentials(self, server_url: str, network: NetworkOptions) -> Credentials:
        """Return what requests to ``server_url``, an http or https URL, are to carry."""
        ...


@dataclass(frozen=True)
class Options:
    """Everything about a connection but its target."""

    timeouts: Timeouts
    client_info: Mapping[str, Any]
    handlers: Handlers
    events: Events
    extensions: Mapping[str, Any] = field(default_factory=dict)
    protocol_version: str | None = None
    strict_version: bool = False
    transport: str | None = None
    headers: HeaderSource | None = field(default=None, repr=False)
    auth: str | Authentication | None = field(default=None, repr=False)
    max_message_size: int = DEFAULT_LINE_LIMIT
    env: Mapping[str, str] | None = field(default=None, repr=False)
    inherit_env: str = "safe"
    cwd: str | os.PathLike[str] | None = None
    stderr: StderrTarget = "inherit"
    stop_ladder: StopLadder = field(default_factory=StopLadder)
    listen_wait: float = 1.0
    liveness: float | None = None
    keep_alive: float | None = None
    retry_busy: bool = False
    tasks: bool = False
    cache: bool = True
    network: NetworkOptions = field(default_factory=NetworkOptions)
    ping_interval: float | None = 20.0
    ping_timeout: float | None = 20.0
    hooks: Hooks = field(default_factory=Hooks)
