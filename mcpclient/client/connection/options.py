"""Everything about a connection but its target: checked, and with defaults."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import __version__
from ...errors import UsageError
from ...framing.ndjson import DEFAULT_MAX_MESSAGE_SIZE
from ...lazy import OnDemand
from ...net.network_options import NetworkOptions
from ...net.process.ladder import StopLadder
from ...net.recorder import Recorder
from ...protocol.extensions import checked_extensions
from ..answers.handlers import Handlers
from ..events.fan_out import Events
from ..events.hooks import Hooks
from .era_memory import EraMemory
from .timeouts import DEFAULT, Timeouts

if TYPE_CHECKING:
    from ... import suggestions
    from ...net.process.stderr import StderrTarget
    from ...protocol.schema import SchemaLimits
    from ...sandbox.rights import Sandbox
    from ...transports.http_messages import HeaderSource
    from ..events.around import Around
    from .client_options import Authentication, ClientOptions
else:
    suggestions = OnDemand("...suggestions", __name__)

_NOTHING: Mapping[str, Any] = {}


def check_names(given: Iterable[str], known: Iterable[str]) -> None:
    """Raise `UsageError` for an option that does not exist, with the one that was meant."""
    known = list(known)
    for name in given:
        if name not in known:
            raise UsageError(suggestions.there_is_no("option", name, known))


class IncompleteHeaders(dict[str, str]):
    """Headers of a configuration, and the variables for others of them that have no value."""

    def __init__(self, headers: Mapping[str, str], missing: Sequence[str]) -> None:
        super().__init__(headers)
        self.missing: tuple[str, ...] = tuple(missing)


class Options(NamedTuple):
    """Everything about a connection but its target, checked, and with defaults for what was not
    given. What the fields mean is said at `ClientOptions`. ``eras``: what is known of servers, in
    a memory that connections share.
    """

    timeouts: Timeouts
    client_info: Mapping[str, Any]
    handlers: Handlers
    events: Events
    extensions: Mapping[str, Any] = _NOTHING
    protocol_version: str | None = None
    strict_version: bool = False
    transport: str | None = None
    headers: HeaderSource | None = None
    auth: str | Authentication | None = None
    max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE
    env: Mapping[str, str] | None = None
    inherit_env: str = "safe"
    cwd: str | os.PathLike[str] | None = None
    stderr: StderrTarget = "inherit"
    stop_ladder: StopLadder = StopLadder()
    sandbox: Sandbox | None = None
    listen_wait: float | None = None
    liveness: float | None = None
    keep_alive: float | None = None
    retry_busy: bool = False
    tasks: bool = False
    cache: bool = True
    validate: str = "warn"
    schema_limits: SchemaLimits | None = None
    network: NetworkOptions = NetworkOptions()
    ping_interval: float | None = 20.0
    ping_timeout: float | None = 20.0
    name: str | None = None
    trusted: bool = False
    around: tuple[Around, ...] = ()
    hooks: Hooks = Hooks()
    eras: EraMemory = EraMemory()

    def __repr__(self) -> str:  # it holds secrets
        return object.__repr__(self)

    @classmethod
    def of(
        cls, given: ClientOptions, environ: Mapping[str, str], eras: EraMemory | None = None
    ) -> Options:
        """Return the options for what a caller gave. Raises `UsageError`."""
        check_names(given, OPTION_NAMES)
        rest: dict[str, Any] = {**given}
        network = NetworkOptions.of(
            **{name: rest.pop(name) for name in _NETWORK if name in rest},
            recorder=Recorder(rest.pop("trace", None)),
            environ=environ,
        )
        timeouts = Timeouts.of(
            rest.pop("timeout", DEFAULT),
            rest.pop("max_timeout", DEFAULT),
            rest.pop("connect_timeout", DEFAULT),
            rest.pop("close_timeout", 5.0),
            environ,
        )
        return cls(
            timeouts=timeouts,
            network=network,
            client_info=rest.pop("client_info", None)
            or {"name": "mcpclient", "version": __version__},
            handlers=Handlers(*[rest.pop(name, None) for name in _ANSWERS]),
            events=Events(*[rest.pop(name, None) for name in _EVENTS]),
            extensions=checked_extensions(rest.pop("extensions", None) or {}),
            stop_ladder=rest.pop("stop_ladder", None) or StopLadder(),
            hooks=rest.pop("hooks", None) or Hooks(),
            around=tuple(rest.pop("around", ())),
            eras=EraMemory() if eras is None else eras,
            **rest,
        )


_NETWORK = ("ca_file", "client_cert", "ssl_context", "verify", "proxy", "unix_socket")
_ANSWERS = ("sampling", "elicitation", "roots")
_EVENTS = ("on_notification", "on_log", "on_error", "on_close")
_TIMES = ("timeout", "max_timeout", "connect_timeout", "close_timeout")
_MADE = {"timeouts", "network", "handlers", "events", "eras"}

OPTION_NAMES = (
    frozenset((*Options._fields, *_NETWORK, *_ANSWERS, *_EVENTS, *_TIMES, "trace")) - _MADE
)
"""The names of `ClientOptions`, without importing what documents them."""
