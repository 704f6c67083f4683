"""The client: what a caller can ask of one server."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable

from .. import __version__
from ..errors import ConnectionLost, McpError
from ..framing.ndjson import DEFAULT_LINE_LIMIT
from ..net.network_options import ClientCertificate, NetworkOptions
from ..net.process.server_process import StderrTarget, StopLadder
from ..net.proxies import ProxyChoice
from ..net.recorder import Recorder, TraceTarget
from ..protocol.era_stateless import StatelessEra
from ..protocol.extensions import checked_extensions, extensions_of
from ..protocol.types import CallToolResult, Implementation, LogMessage, Tool
from .answers.elicitation import ElicitationOption
from .answers.handlers import Handlers
from .answers.roots import RootsOption
from .answers.sampling import SamplingOption
from .events.hooks import Hooks
from .link.call_recovery import CallRecovery
from .link.connection import Connection
from .link.options import DEFAULT, Authentication, Events, Options, Seconds, Timeouts
from .link.response_cache import ClientCache
from .link.targets import Target, route_to
from .listen import Listening, Subscription
from .prompts import Prompts
from .resources import Resources
from .skills import Skills
from .tasks import TaskNews
from .tools import Tools
from .validation import OutputSchemas

if TYPE_CHECKING:
    import ssl

    from ..protocol.schema import SchemaLimits
    from ..transports.http_messages import HeaderSource

__all__ = ["Client", "call", "connect", "list_tools"]


class Client(Tools, Resources, Prompts, Skills, Listening):
    """A connection to one MCP server.

    ``async with Client(target, …) as client`` connects and closes; so do ``client = await
    Client(target, …)`` and ``await client.close()``. `mcpclient.connect` is this class.

    A client may be used from many tasks at once, from other event loops than the one it was
    connected in, and closed from any of them. A forked copy of the program cannot use it, and
    cannot disturb it either.

    ``target``: a URL, a command (string or list), a path to a script, a configuration mapping, or
    a `Transport`.

    Options:

    - ``timeout``: seconds a call may go without an answer or progress (30). ``max_timeout``:
      seconds it may take in all (600, or ``timeout`` where that is longer). ``connect_timeout``:
      seconds connecting may take (as ``timeout``). For these three, None or 0 means no limit.
      ``close_timeout``: seconds closing may take (5); 0: drop everything at once. ``MCP_TIMEOUT``
      and ``MCP_TOOL_TIMEOUT`` (milliseconds) in the environment change the defaults.
    - ``transport``: ``"stdio"``, ``"http"``, ``"sse"``, ``"ws"`` or ``"socket"`` pins the
      transport.
    - ``protocol_version``: pins a revision; by default the newest that both sides speak.
      ``strict_version``: refuse a revision this library does not know.
    - ``headers``: a mapping, or a function without arguments that returns one, plain or async,
      called for every HTTP request and for the opening request of a WebSocket. Headers that the
      protocol sets itself, such as ``Accept`` and ``Mcp-Session-Id``, are left out.
    - ``auth``: who the caller is, for the server's own origin only: a bearer token as a string, or
      an `OAuth`, `ClientCredentials`, `EnterpriseManaged`, `WorkloadIdentity`, `BearerToken` or
      `ApiKey`. While a user logs in, the time limits of calls stand still.
    - ``ca_file``: PEM file of the authorities to trust instead of the system's (``SSL_CERT_FILE``
      in the environment does the same). ``client_cert``: PEM file with certificate and key, or
      (certificate, key), or (certificate, key, password). ``verify=False``: accept any certificate.
      ``ssl_context``: a context of `ssl` instead of these three.
    - ``proxy``: URL of an HTTP proxy for everything, credentials included; by default
      ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY`` decide; False: no proxy.
      ``unix_socket``: path of a socket to connect to instead of the URL's host and port.
    - ``ping_interval``: seconds between WebSocket pings (20; None: none). ``ping_timeout``: seconds
      without any sign of life after a ping until the connection counts as lost (20; None: never).
    - ``max_message_size``: how many bytes a message from the server may have (64 MiB).
    - For a server process: ``env``: variables to add to its environment. ``inherit_env``: what it
      has of this process's: ``"safe"`` (a short list of harmless variables), ``"all"`` or
      ``"none"``. ``cwd``: the folder it starts in. ``stderr``: where its stderr goes:
      ``"inherit"``, ``"discard"``, a function that takes each line, a logger, or a file.
      ``stop_ladder``: how long it gets to end by itself, see `StopLadder`.
    - ``listen_wait``: seconds to wait for the server's own channel (1; 0: do not wait).
      ``liveness``: seconds of silence after which that channel counts as dead (None: never).
      ``keep_alive``: seconds between pings (None: none; handshake era only).
    - ``cache``: use answers again for as long as the server allows (True; stateless era only).
      ``tasks``: the server may turn calls into tasks, and ask for answers as tasks (False).
    - ``retry_busy``: repeat calls refused with 429 or 503, within their time limit (False).
    - ``sampling``, ``elicitation``, ``roots``: answer what the server asks, in either era; each one
      given is declared as a capability. ``sampling``: a function that takes a `SamplingRequest`, a
      `Sampling`, a `SamplingModel`, or a mapping with its fields. ``elicitation``: a function that
      takes an `ElicitationRequest` and returns what the user entered, or an `Elicitation`.
      ``roots``: paths, ``file://`` URIs or mappings, or a function without arguments that returns
      them. A plain function blocks the event loop while it runs. When one raises, or returns what
      does not fit, the server gets an error and the connection goes on; in the stateless era the
      call that needed the answer raises `HandlerFailed`.
    - ``extensions``: extensions to declare, each with its settings.
    - ``validate``: what to do when the result of a tool that was listed does not fit its output
      schema: ``"warn"`` (the default) adds to `CallToolResult.warnings`, ``"strict"`` raises
      `ProtocolViolation`, ``"off"`` does not check. ``schema_limits``: how much checking one
      result may cost, a `SchemaLimits`; by default it holds the event loop for 0.2 s at most. A
      result that takes more is not checked, which is only ever a warning.
    - ``on_notification(method, params)``, ``on_log(message)``, ``on_error(error)`` for failures
      that belong to no call, ``on_close(error)`` when the connection ends, with None after `close`.
    - ``hooks``: telemetry, see `Hooks`. ``trace``: a file to which a transcript of everything sent
      and received is appended, secrets replaced, or a function that takes it line by line; see
      `Recording` for what can be done with it.
    - ``client_info``: name and version told to the server.
    """

    def __init__(
        self,
        target: Target,
        *,
        timeout: Seconds = DEFAULT,
        max_timeout: Seconds = DEFAULT,
        connect_timeout: Seconds = DEFAULT,
        close_timeout: float = 5.0,
        transport: str | None = None,
        protocol_version: str | None = None,
        strict_version: bool = False,
        headers: HeaderSource | None = None,
        auth: str | Authentication | None = None,
        max_message_size: int = DEFAULT_LINE_LIMIT,
        env: Mapping[str, str] | None = None,
        inherit_env: str = "safe",
        cwd: str | os.PathLike[str] | None = None,
        stderr: StderrTarget = "inherit",
        stop_ladder: StopLadder | None = None,
        listen_wait: float = 1.0,
        liveness: float | None = None,
        keep_alive: float | None = None,
        retry_busy: bool = False,
        tasks: bool = False,
        cache: bool = True,
        ca_file: str | os.PathLike[str] | None = None,
        client_cert: ClientCertificate | None = None,
        ssl_context: ssl.SSLContext | None = None,
        verify: bool = True,
        proxy: ProxyChoice = None,
        unix_socket: str | os.PathLike[str] | None = None,
        ping_interval: float | None = 20.0,
        ping_timeout: float | None = 20.0,
        sampling: SamplingOption | None = None,
        elicitation: ElicitationOption | None = None,
        roots: RootsOption | None = None,
        extensions: Mapping[str, Mapping[str, Any]] | None = None,
        validate: str = "warn",
        schema_limits: SchemaLimits | None = None,
        on_notification: Callable[[str, Mapping[str, Any]], Any] | None = None,
        on_log: Callable[[LogMessage], Any] | None = None,
        on_error: Callable[[McpError], Any] | None = None,
        on_close: Callable[[McpError | None], Any] | None = None,
        hooks: Hooks | None = None,
        trace: TraceTarget | None = None,
        client_info: Mapping[str, Any] | None = None,
    ) -> None:
        options = Options(
            timeouts=Timeouts.of(timeout, max_timeout, connect_timeout, close_timeout, os.environ),
            client_info=client_info or {"name": "mcpclient", "version": __version__},
            handlers=Handlers(sampling, elicitation, roots),
            extensions=checked_extensions(extensions or {}),
            events=Events(on_notification, on_log, on_error, on_close),
            protocol_version=protocol_version,
            strict_version=strict_version,
            transport=transport,
            headers=headers,
            auth=auth,
            max_message_size=max_message_size,
            env=env,
            inherit_env=inherit_env,
            cwd=cwd,
            stderr=stderr,
            stop_ladder=stop_ladder or StopLadder(),
            listen_wait=listen_wait,
            liveness=liveness,
            keep_alive=keep_alive,
            retry_busy=retry_busy,
            tasks=tasks,
            cache=cache,
            network=NetworkOptions.of(
                ca_file=ca_file,
                client_cert=client_cert,
                ssl_context=ssl_context,
                verify=verify,
                proxy=proxy,
                unix_socket=unix_socket,
                recorder=Recorder(trace),
                environ=os.environ,
            ),
            ping_interval=ping_interval,
            ping_timeout=ping_timeout,
            hooks=hooks or Hooks(),
        )
        self._connection = Connection(route_to(target, options), options)
        self._outputs = OutputSchemas(validate, schema_limits)
        self._connection.observers.append(self._outputs)
        options.handlers.attach(self._connection.route.shown, self._connection.observers)
        self._held: dict[str, Subscription] = {}
        self._task_news = TaskNews(self._connection)
        cached = ClientCache(self._connection) if cache else None
        self._caller = CallRecovery(self._connection, partial(self.list_tools, fresh=True), cached)

    # Connecting and closing

    async def connect(self) -> Client:
        """Connect, unless connected already; after a loss, connect anew.

        The client lives in the event loop that connects it, until it is closed or that loop stops.

        Raises `ConnectFailed`, `CallTimeout`, `ProcessExited`, an `AuthError`, or the error that
        the server answered. When it fails or is cancelled, nothing is left running.
        """
        self._connection.claim_loop()
        await self._at_home(self._connection.open)
        return self

    async def close(self) -> None:
        """Close the connection and free everything, within ``close_timeout`` seconds.

        Idempotent, and callable from any task and any event loop. Calls still waiting raise
        `ClientClosed`. Cancelling it aborts what is left at once.
        """
        connection = self._connection
        if connection.is_inherited:
            return
        if connection.loop is not None and connection.loop.is_running():
            with suppress(ConnectionLost):  # its loop has ended meanwhile
                await self._at_home(connection.close)
                return
        connection.abort()

    def __await__(self) -> Generator[Any, None, Client]:
        return self.connect().__await__()

    async def __aenter__(self) -> Client:
        return await self.connect()

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        connection = self.__dict__.get("_connection")
        if connection is None or not connection.is_to_be_closed:
            return
        loop = connection.loop
        with suppress(Exception):  # the interpreter may be going away
            if loop is None or loop.is_closed() or not loop.is_running():
                connection.abort()
            else:
                loop.call_soon_threadsafe(connection.abort)

    def __repr__(self) -> str:
        state = "connected" if self.is_connected else "not connected"
        return f"<mcpclient.Client {self._connection.route.shown} {state}>"

    # What is known of the server

    @property
    def is_connected(self) -> bool:
        """Whether calls can be made now."""
        return self._connection.is_open

    @property
    def server_info(self) -> Implementation:
        """Who the server says it is; empty when it does not say."""
        agreement = self._connection.agreement
        return Implementation(agreement.server_info if agreement is not None else {})

    @property
    def capabilities(self) -> dict[str, Any]:
        """The server's capabilities, as it declared them."""
        agreement = self._connection.agreement
        return dict(agreement.capabilities) if agreement is not None else {}

    @property
    def extensions(self) -> dict[str, dict[str, Any]]:
        """The extensions that the server declared, with their settings."""
        return extensions_of(self.capabilities)

    @property
    def instructions(self) -> str | None:
        """How the server wants to be used, as text for a language model."""
        agreement = self._connection.agreement
        return agreement.instructions if agreement is not None else None

    @property
    def protocol_version(self) -> str | None:
        """The revision agreed on; None before connecting."""
        agreement = self._connection.agreement
        return agreement.era.version if agreement is not None else None

    @property
    def transport_name(self) -> str:
        """The kind of transport in use: ``"stdio"``, ``"http"``, ``"sse"``, ``"ws"``, ``"socket"``
        or the name of a custom one. Raises `ClientClosed` without a connection.
        """
        return self._connection.session.transport.name

    async def ping(self, *, timeout: Seconds = DEFAULT) -> None:
        """Make sure that the server answers. Raises what `request` does when it does not.

        The stateless era has no ping, so there the server is asked to describe itself.
        """
        method = "server/discover" if self._is_stateless else "ping"
        await self.request(method, timeout=timeout, fresh=True)

    async def set_roots(self, roots: RootsOption) -> None:
        """Answer with other roots from now on, and tell the server (handshake era).

        Raises `UsageError` when the client was made without ``roots``: then the server was told
        that it will get none. Give ``roots=[]`` to begin without any.
        """
        self._connection.options.handlers.set_roots(roots)
        if self.is_connected and not self._is_stateless:
            await self.notify("notifications/roots/list_changed")

    @property
    def _is_stateless(self) -> bool:
        return isinstance(self._connection.era, StatelessEra)

    def trace_to(self, target: TraceTarget) -> Callable[[], None]:
        """Write a transcript of everything sent and received from now on, as ``trace`` does.

        Returns a function that ends it. Nothing else changes: not what is sent, and not what other
        transcripts say. What the server process writes to its stderr is among it only where a
        transcript was written from the start.
        """
        return self._connection.trace_to(target)

    async def set_log_level(self, level: str) -> None:
        """Ask for log messages of this level and above: ``debug``, ``info``, … ``emergency``.

        In the stateless era the level travels with every later request instead.
        """
        if self._is_stateless:
            self._connection.session.log_level = level
        else:
            await self.request("logging/setLevel", {"level": level})


connect = Client
"""Connect to an MCP server: ``async with connect(target) as client``. See `Client`."""


async def call(
    target: Target,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    raise_on_error: bool = False,
    **options: Any,
) -> CallToolResult:
    """Connect, call one tool, and close. ``options`` are those of `Client`; see its `call_tool`."""
    async with Client(target, **options) as client:
        return await client.call_tool(tool, arguments, raise_on_error=raise_on_error)


async def list_tools(target: Target, **options: Any) -> list[Tool]:
    """Connect, list the tools, and close. ``options`` are those of `Client`."""
    async with Client(target, **options) as client:
        return await client.list_tools()
