"""How a connection is made and kept, and how a call is made: every option, with its default.

It is read by people, by editors and by type checkers, and imported for nobody else but who
misspells an option.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Literal, Protocol, TypedDict

if TYPE_CHECKING:
    import ssl

    from ...errors import McpError
    from ...net.network_options import ClientCertificate, NetworkOptions
    from ...net.process.ladder import StopLadder
    from ...net.process.stderr import StderrTarget
    from ...net.proxies import ProxyChoice
    from ...net.recorder import TraceTarget
    from ...protocol.schema import SchemaLimits
    from ...protocol.types import LogMessage, Progress
    from ...sandbox.rights import Sandbox
    from ...transports.authorized import Credentials
    from ...transports.http_messages import HeaderSource
    from ..answers.elicitation import ElicitationOption
    from ..answers.roots import RootsOption
    from ..answers.sampling import SamplingOption
    from ..events.around import Around
    from ..events.hooks import Hooks
    from .timeouts import Seconds

TransportName = Literal["stdio", "http", "sse", "ws", "socket"]


class ClientOptions(TypedDict, total=False):
    """The options of `connect`, `Client`, `call` and `list_tools`; all of them may be left out."""

    # Time

    timeout: Seconds
    """Seconds a call may go without an answer or progress; None or 0: no limit. Default: 30, or
    ``MCP_TIMEOUT`` and ``MCP_TOOL_TIMEOUT`` (milliseconds) of the environment."""
    max_timeout: Seconds
    """Seconds a call may take in all; None or 0: no limit. Default: 600, or ``timeout`` where that
    is longer."""
    connect_timeout: Seconds
    """Seconds connecting may take; None or 0: no limit. Default: as ``timeout``."""
    close_timeout: float
    """Seconds closing may take; 0: drop everything at once. Default: 5."""

    # The protocol

    transport: TransportName | None
    """The transport, where the target leaves a choice. Default: what the server speaks."""
    protocol_version: str | None
    """The one revision to speak. Default: the newest that both sides speak."""
    strict_version: bool
    """Refuse newer revisions that this library does not know. Default: False; unknown older ones
    are always refused."""
    extensions: Mapping[str, Mapping[str, Any]] | None
    """Extensions to declare, each with its settings. Default: none."""
    client_info: Mapping[str, Any] | None
    """Name and version told to the server. Default: this library's."""
    max_message_size: int
    """How many bytes a message from the server may have. Default: 64 MiB. One that is made of so
    many small values that they would take over 512 MiB, and twelve times its size, is refused."""
    listen_wait: float | None
    """Seconds to wait at most for the server's own channel; 0: do not wait. Default: None, a few
    times as long as opening the session took, and at most 1.
    """
    liveness: float | None
    """Seconds without data after which that channel counts as dead. Default: never."""
    keep_alive: float | None
    """Seconds between pings, handshake era only. Default: no pings."""
    cache: bool
    """Use answers again as long as the server allows, stateless era only. Default: True."""
    tasks: bool
    """The server may turn calls into tasks, and ask for answers as tasks. Default: False."""
    retry_busy: bool
    """Repeat calls refused with 429 or 503, within their time limits: up to thirty times, each
    after a second or more. Default: False."""
    validate: Literal["warn", "strict", "off"]
    """What to do when the result of a listed tool does not fit its output schema: add to
    `CallToolResult.warnings`, raise `ProtocolViolation`, or do not check. Default: ``"warn"``."""

    schema_limits: SchemaLimits | None
    """How much checking one result may cost; a result that takes more is not checked, which is only
    ever a warning. Default: it holds the event loop for 0.2 s at most."""

    # A server that is reached over a network

    headers: HeaderSource | None
    """A mapping, or a function without arguments that returns one, plain or async, called for every
    HTTP request and for the opening request of a WebSocket. Headers that the protocol sets itself,
    such as ``Accept`` and ``Mcp-Session-Id``, are left out. Default: none."""
    auth: str | Authentication | None
    """Who the caller is, for the server's own origin only: a bearer token as a string, or an
    `OAuth`, `ClientCredentials`, `EnterpriseManaged`, `WorkloadIdentity`, `BearerToken` or
    `ApiKey`. While a user logs in, the time limits of calls stand still. Default: nobody."""
    ca_file: str | os.PathLike[str] | None
    """PEM file of the authorities to trust. Default: ``SSL_CERT_FILE`` of the environment, or the
    system's."""
    client_cert: ClientCertificate | None
    """PEM file with certificate and key, or (certificate, key), or (certificate, key, password).
    Default: none."""
    verify: bool
    """False accepts any certificate. Default: True."""
    ssl_context: ssl.SSLContext | None
    """A context of `ssl` instead of the three above. Default: made from them."""
    proxy: ProxyChoice
    """URL of an HTTP proxy for everything, credentials included; False: no proxy. Default:
    ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY`` of the environment decide."""
    unix_socket: str | os.PathLike[str] | None
    """Path of a socket to connect to instead of the URL's host and port. Default: none."""
    ping_interval: float | None
    """Seconds between WebSocket pings; None: none. Default: 20."""
    ping_timeout: float | None
    """Seconds without data after a WebSocket ping until the connection counts as lost; None: never.
    Default: 20."""

    # A server process

    env: Mapping[str, str] | None
    """Variables to add to its environment. Default: none."""
    inherit_env: Literal["safe", "all", "none"]
    """What it has of this process's environment: a short list of harmless variables, all, or
    nothing. Default: ``"safe"``."""
    cwd: str | os.PathLike[str] | None
    """The folder it starts in. Default: this process's."""
    stderr: StderrTarget
    """Where its stderr goes: ``"inherit"``, ``"discard"``, a function that takes each line, a
    logger, or a file. What it writes about the request for the newest revision, where it turns out
    not to know that one, is kept for errors and not passed on. Default: ``"inherit"``."""
    stop_ladder: StopLadder | None
    """How long it gets to end by itself. Default: `StopLadder()`."""
    sandbox: Sandbox | None
    """The rights it gets, see `Sandbox`. Default: all of the user's."""

    # What the server asks: each one given is declared as a capability

    sampling: SamplingOption | None
    """A function that takes a `SamplingRequest`, a `Sampling`, a `SamplingModel`, or a mapping with
    its fields. Default: not offered."""
    elicitation: ElicitationOption | None
    """A function that takes an `ElicitationRequest` and returns what the user entered, or an
    `Elicitation`. Default: not offered."""
    roots: RootsOption | None
    """A list of paths, ``file://`` URIs or mappings, or a function without arguments that returns
    one. Default: not offered."""

    # What is told, and what stands around calls

    name: str | None
    """What the server is called in questions to the user, hooks and logs. Default: its URL or
    command."""
    trusted: bool
    """Whether the server's annotations of tools, such as read-only, may be believed. Default:
    False."""
    around: Sequence[Around]
    """Functions around every tool call, the first outermost; see `Around`. Default: none."""
    hooks: Hooks | None
    """Telemetry after the fact, see `Hooks`. Default: none."""
    trace: TraceTarget | None
    """A file to which a transcript of everything sent and received is appended, secrets replaced,
    or a function that takes it line by line; see `Recording`. Default: none."""
    on_notification: Callable[[str, Mapping[str, Any]], Any] | None
    """Takes method and params of every notification. Default: nobody."""
    on_log: Callable[[LogMessage], Any] | None
    """Takes the server's log messages, which also go to `logging`. Default: nobody."""
    on_error: Callable[[McpError], Any] | None
    """Takes failures that belong to no call. Default: nobody."""
    on_close: Callable[[McpError | None], Any] | None
    """Takes the reason when the connection ends, None after `close`. Default: nobody."""


class CallOptions(TypedDict, total=False):
    """The options of `Client.call_tool`; all of them may be left out."""

    timeout: Seconds
    """Seconds without an answer or progress; None or 0: no limit. Default: the client's."""
    max_timeout: Seconds
    """Seconds in all; None or 0: no limit. Default: the client's."""
    on_progress: Callable[[Progress], Any] | None
    """Takes a `Progress` for each step, in order, before the result. Default: nobody."""
    meta: Mapping[str, Any] | None
    """Sent as ``_meta``. Default: nothing."""
    headers: Mapping[str, str] | None
    """Sent with this request only, over HTTP. Default: none."""
    raise_on_error: bool
    """Raise `ToolError` when the tool itself fails. Default: False, the result has ``is_error``."""
    trace: Any
    """Passed to hooks and around-hooks unchanged. Default: None."""
    around: Sequence[Around]
    """Functions around this call, outside those of the client. Default: none."""


class Authentication(Protocol):
    """Something that identifies the caller: a value of ``auth=`` such as `mcpclient.OAuth`."""

    def credentials(self, server_url: str, network: NetworkOptions) -> Credentials:
        """Return what requests to ``server_url``, an http or https URL, are to carry."""
        ...
