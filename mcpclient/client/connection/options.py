"""The options of a connection, checked and with defaults, and the route to its server."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Literal, NamedTuple

from ...errors import UsageError
from ...framing.ndjson import DEFAULT_MAX_MESSAGE_SIZE
from ...jsonrpc.codec import decode
from ...net.network_options import Negotiate, NetworkOptions
from ...net.recorder import Recorder
from ...protocol.negotiation import Era, checked_extensions
from ...transports.base import Transport
from ...version import __version__
from ..answers.inbound_requests import Handlers
from ..events.callbacks import Events, Hooks, Observer
from .limits import DEFAULT, Timeouts
from .option_kinds import CLIENT_OPTIONS, check_options

if TYPE_CHECKING:
    from ...auth.options import Authentication
    from ...entries.server_limits import ServerLimits
    from ...net.exchange import Authorizer
    from ...net.process.stderr import StderrTarget
    from ...net.process.stopping import StopLadder
    from ...protocol.schema import SchemaLimits
    from ...sandbox.rights import Sandbox
    from ...transports.http_messages import HeaderSource
    from ..events.around import Around
    from ..events.audit import AuditOption
    from .caps import Caps
    from .client_options import ClientOptions
    from .reconnection import Reconnect

_MAX_SERVERS = 1000


class EraMemory:
    """The era of each server, by the key of its route; nothing is remembered for the key None."""

    def __init__(self) -> None:
        # The era to open a server in, that after an attempt at which it exits (None: probe), and
        # whether it did so at the last attempt.
        self._ways: dict[str | None, tuple[Era | None, Era | None, bool]] = {}

    def recall(self, key: str | None) -> Era | None:
        """Return the era to open a server in; None when it is not known."""
        return self._ways.get(key, (None,))[0]

    def starts_once(self, key: str | None) -> bool:
        """Return whether one attempt starts one process only, even if that ends at once."""
        era, _, has_failed = self._ways.get(key, (Era.HANDSHAKE, None, False))
        return has_failed or era is None

    def remember(self, key: str | None, era: Era, *, is_certain: bool = True) -> None:
        """Remember a server's era; one that is not certain is probed again."""
        if key is not None:
            known = era if is_certain else None
            self._ways.pop(key, None)
            self._ways[key] = known, None if known is Era.HANDSHAKE else Era.HANDSHAKE, False
            if len(self._ways) > _MAX_SERVERS:
                del self._ways[next(iter(self._ways))]

    def failed(self, key: str | None) -> None:
        """Record that a server exited while it was being opened: the next attempt differs.

        It may have been replaced by one of the other era, or it merely crashes at its start.
        """
        if key in self._ways:
            era, other, _ = self._ways[key]
            self._ways[key] = other, era, True


_NOTHING: Mapping[str, Any] = {}


class Wiring(NamedTuple):
    """The functions and objects of this package that a connection uses; frozen, as `Options` are.

    - ``decode``: decodes the messages of the server. ``observers``: see `Observer`.
    - ``guard``: takes method and params of every request; returns a result to use instead of the
      server's, or None, or raises.
    - ``decision``: returns why the server may start, for the audit log; called before each start,
      and raises `ServerUnavailable` if it may not.
    - ``caps``: all servers' by name, which outlive their connections.
    - ``ask_elsewhere``: takes method, params and options of a request that a replay does not have.
    - ``answers``: the arguments of `Handlers.forward_to`.
    - ``version``: a revision that the server agreed on earlier, so that its era is expected.
    """

    decode: Callable[[bytes | str], Any] = decode
    observers: Sequence[Observer] = ()
    guard: Callable[[str, Mapping[str, Any]], dict[str, Any] | None] | None = None
    decision: Callable[[], str] = str
    caps: dict[str, Caps] | None = None
    ask_elsewhere: Callable[..., Awaitable[dict[str, Any]]] | None = None
    answers: tuple[Any, ...] = ()
    version: str = ""


class Options(NamedTuple):
    """The options of a connection, see `ClientOptions`, checked and with defaults.

    ``eras``: a memory of servers that connections share. ``wiring``: given as ``_wiring``.
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
    auth: str | Authentication | Negotiate | None = None
    max_message_size: int = DEFAULT_MAX_MESSAGE_SIZE
    env: Mapping[str, str] | None = None
    inherit_env: str = "safe"
    cwd: str | os.PathLike[str] | None = None
    stderr: StderrTarget = "inherit"
    stop_ladder: StopLadder | None = None
    sandbox: Sandbox | Literal["required"] | None = None
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
    audit: AuditOption = None
    limits: ServerLimits | None = None
    reconnect: Reconnect | None = None
    around: tuple[Around, ...] = ()
    hooks: Hooks = Hooks()
    eras: EraMemory = EraMemory()
    wiring: Wiring = Wiring()

    def __repr__(self) -> str:  # it holds secrets
        return object.__repr__(self)

    @classmethod
    def of(
        cls, given: ClientOptions, environ: Mapping[str, str], eras: EraMemory | None = None
    ) -> Options:
        """Return the checked options of a caller. Raises `UsageError`."""
        rest: dict[str, Any] = {**given}
        wiring = rest.pop("_wiring", Wiring())
        check_options(rest, CLIENT_OPTIONS)
        takes_tasks = bool(rest.get("tasks"))
        proxy, recorder = rest.pop("proxy", None), Recorder(rest.pop("trace", None))
        on_network = {name: rest.pop(name) for name in _NETWORK if name in rest}
        network = NetworkOptions(**on_network, recorder=recorder).with_proxy(proxy, environ)
        timeouts = Timeouts.of(
            rest.pop("timeout", DEFAULT),
            rest.pop("max_timeout", DEFAULT),
            rest.pop("connect_timeout", DEFAULT),
            rest.pop("close_timeout", 5.0),
            environ,
        )
        handlers = Handlers(*[rest.pop(name, None) for name in _ANSWERS], tasks=takes_tasks)
        if wiring.answers:
            handlers.forward_to(*wiring.answers)
        return cls(
            timeouts=timeouts,
            network=network,
            client_info=rest.pop("client_info", None)
            or {"name": "mcpclient", "version": __version__},
            handlers=handlers,
            events=Events(*[rest.pop(name, None) for name in _EVENTS]),
            extensions=checked_extensions(rest.pop("extensions", None) or {}),
            stop_ladder=rest.pop("stop_ladder", None),
            hooks=rest.pop("hooks", None) or Hooks(),
            around=tuple(rest.pop("around", None) or ()),
            eras=EraMemory() if eras is None else eras,
            wiring=wiring,
            **rest,
        )


_NETWORK = (
    *("ca_file", "client_cert", "ssl_context", "verify", "proxy", "proxy_auth", "unix_socket"),
)
_ANSWERS = ("sampling", "elicitation", "roots")
_EVENTS = ("on_notification", "on_log", "on_error", "on_close")


class Route(NamedTuple):
    """The way to a server.

    ``shown`` names the server in messages. ``key``: for `EraMemory`. ``open`` makes a
    transport, ``open_legacy`` one for HTTP+SSE at the same URL, ``open_again`` one for a second
    start in a row; None where there is no such thing. ``authorizer``: the credentials of its
    transports, where these are more than fixed headers. ``destination``: the URL or the whole
    command, secrets included. ``opened`` takes the revision agreed on after each attempt to open a
    session, None where there was no agreement.
    """

    shown: str
    key: str | None
    open: Callable[[], Transport]
    open_legacy: Callable[[], Transport] | None = None
    authorizer: Authorizer | None = None
    open_again: Callable[[], Transport] | None = None
    destination: str | Sequence[str] | None = None
    opened: Callable[[str | None], None] | None = None

    def __repr__(self) -> str:  # it holds secrets
        return object.__repr__(self)


def refuse(options: Options, names: Sequence[str], target: str) -> None:
    """Raise `UsageError` for an option of ``names`` that was given but does not apply there."""
    for name in names:
        if getattr(options, name) is not None:
            raise UsageError(f"{name} needs {_NEEDS[name]}, not {target}")


_NEEDS = {
    "auth": "an HTTP or WebSocket URL",
    "cwd": "a command",
    "env": "a command",
    "sandbox": "a command",
    "headers": "an HTTP or WebSocket URL",
}
