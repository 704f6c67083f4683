"""The options of a connection and of a call, each with its type, meaning and default.

Editors and type checkers read this module. `with_options` makes ``help(mcpclient.connect)`` and the
guide's page of options from the same lines, so that no option is described twice. A running client
does not import it.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Callable, Literal, NamedTuple, TypedDict

if TYPE_CHECKING:
    import ssl

    from ...auth.options import Authentication
    from ...entries.server_limits import ServerLimits
    from ...errors import McpError
    from ...net.network_options import ClientCertificate, Negotiate
    from ...net.process.stderr import StderrTarget
    from ...net.process.stopping import StopLadder
    from ...net.proxies import ProxyChoice
    from ...net.recorder import TraceTarget
    from ...protocol.schema import SchemaLimits
    from ...protocol.types import CallToolResult, LogMessage, Progress
    from ...sandbox.rights import Sandbox
    from ...transports.http_messages import HeaderSource
    from ...typing_compat import TypeVar
    from ..answers.answerers import ElicitationOption, RootsOption, SamplingOption
    from ..events.around import Around
    from ..events.audit import AuditOption
    from ..events.callbacks import Hooks
    from .limits import Seconds
    from .reconnection import Reconnect

    ResultT = TypeVar("ResultT", default=CallToolResult)
    """The type that the ``returns`` of a call names."""

TransportName = Literal["stdio", "http", "sse", "ws", "socket"]


class SharedClientOptions(TypedDict, total=False):
    """The options of a connection that `mcpclient.sync` has, too."""

    # Time

    timeout: Seconds
    """Seconds that a call may wait for a response or progress; None or 0: no limit. Default: 30, or
    the environment's ``MCP_TIMEOUT`` and ``MCP_TOOL_TIMEOUT`` (milliseconds)."""
    max_timeout: Seconds
    """Seconds that a whole call may take; None or 0: no limit. Default: 600, or ``timeout`` if that
    is longer."""
    connect_timeout: Seconds
    """Seconds that connecting may take; None or 0: no limit. Default: the same as ``timeout``."""
    close_timeout: float
    """Seconds that closing may take; 0: abort everything at once. Default: 5."""
    limits: ServerLimits | None
    """Calls at once and per minute, a breaker, and timeouts of single tools, see `ServerLimits`.
    Default: none."""
    reconnect: Reconnect | None
    """The delays between attempts to restore a lost connection in the background; requests wait for
    it meanwhile. A manager restores the connections of its servers by default. Default: None, the
    caller reconnects with `Client.connect`."""

    # The protocol

    transport: TransportName | None
    """The transport, if the target leaves a choice. Default: the one that the server speaks."""
    protocol_version: str | None
    """The only protocol revision to speak. Default: the newest that both sides speak."""
    strict_version: bool
    """Refuse newer revisions that this library does not know; unknown older ones are always
    refused. Default: False."""
    extensions: Mapping[str, Mapping[str, Any]] | None
    """Extensions to declare, each with its settings. Default: none."""
    client_info: Mapping[str, Any] | None
    """The name and version that the server sees. Default: this library's."""
    max_message_size: int
    """The largest message accepted from the server, in bytes. A message of so many small values
    that they would take over 512 MiB of memory, and twelve times its size, is refused, too.
    Default: 64 MiB."""
    listen_wait: float | None
    """Seconds to wait for the stream that the server sends on unasked; 0: do not wait. Default:
    None, a few times as long as opening the session took, and at most 1."""
    liveness: float | None
    """Seconds without data after which that stream counts as dead. Default: None, never."""
    keep_alive: float | None
    """Seconds between pings, in the handshake era only. Default: None, no pings."""
    cache: bool
    """Reuse responses for as long as the server allows, in the stateless era. Default: True."""
    tasks: bool
    """Let the server turn calls into tasks, and ask for answers as tasks. Default: False."""
    retry_busy: bool
    """Repeat calls that were refused with 429 or 503, within their time limits: up to thirty times,
    with at least a second in between. Default: False."""
    validate: Literal["warn", "strict", "off"]
    """The reaction to a result that does not fit the output schema of its tool: a warning in
    `CallToolResult.warnings`, a `ProtocolViolation`, or no check at all. Default: ``"warn"``."""
    schema_limits: SchemaLimits | None
    """The most that checking one result may cost; a result that needs more is not checked, with a
    warning. Default: None, which blocks the event loop for 0.2 s at most."""

    # A server on a network

    headers: HeaderSource | None
    """A mapping, or a function without arguments that returns one, plain or async, called for every
    HTTP request and for the opening request of a WebSocket. Headers that the protocol itself sets,
    such as ``Accept`` and ``Mcp-Session-Id``, are left out. A `HeadersFrom` has a program print
    them. Default: none."""
    auth: str | Authentication | Negotiate | None
    """The caller's identity, sent to the server's own origin only: a bearer token as a string, or
    an `OAuth`, `ClientCredentials`, `EnterpriseManaged`, `WorkloadIdentity`, `BearerToken`,
    `ApiKey` or `Negotiate`. A login by the user pauses the time limits of calls. Default: none."""
    ca_file: str | os.PathLike[str] | None
    """A PEM file of certificate authorities to trust. Default: the environment's ``SSL_CERT_FILE``,
    or the system's authorities, including the Windows store and the macOS keychains."""
    client_cert: ClientCertificate | None
    """A PEM file with certificate and key, or (certificate, key), or (certificate, key, password).
    Default: none."""
    verify: bool
    """Verify certificates; False accepts any certificate. Default: True."""
    ssl_context: ssl.SSLContext | None
    """A context that replaces the three options above. Default: one made from them."""
    proxy: ProxyChoice
    """The URL of an HTTP or SOCKS proxy for all connections, credentials included (``socks5://``
    resolves names here, ``socks5h://`` at the proxy); False: no proxy. Default: None, the
    environment's ``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY``."""
    proxy_auth: Negotiate | None
    """The login at an HTTP proxy, where plain http then goes by CONNECT, too. Default: None, the
    credentials in its URL."""
    unix_socket: str | os.PathLike[str] | None
    """The path of a socket to connect to instead of the URL's host and port; on Windows the name of
    a pipe (``\\\\.\\pipe\\…``), which carries no TLS. Default: none."""
    ping_interval: float | None
    """Seconds between WebSocket pings; None: none. Default: 20."""
    ping_timeout: float | None
    """Seconds without data after a WebSocket ping until the connection counts as lost; None: never.
    Default: 20."""

    # A server process

    env: Mapping[str, str] | None
    """Environment variables to add for the process. Default: none."""
    inherit_env: Literal["safe", "all", "none"]
    """The part of this program's environment that the process inherits: a short list of harmless
    variables, everything, or nothing. Default: ``"safe"``."""
    cwd: str | os.PathLike[str] | None
    """The folder that the process starts in. Default: this program's."""
    stderr: StderrTarget
    """The destination of its stderr: ``"inherit"``, ``"discard"``, a function that takes each line,
    a logger, or a file. Complaints of an older server about the request for the newest revision are
    kept for errors and not passed on. Default: ``"inherit"``."""
    stop_ladder: StopLadder | None
    """The steps that stop the process, and their waits. Default: `StopLadder()`."""
    sandbox: Sandbox | Literal["required"] | None
    """The rights of the process, see `Sandbox`; ``"required"``: the rights in its entry, or else
    the rights of `Sandbox()`. Default: None, the rights in its entry, or else the user's."""

    # Questions of the server: an option that is given is declared as a capability

    sampling: SamplingOption | None
    """A function that takes a `SamplingRequest`, a `Sampling`, a `SamplingModel`, or a mapping with
    its fields. Default: not offered."""
    elicitation: ElicitationOption | None
    """A function that takes an `ElicitationRequest` and returns what the user entered, or an
    `Elicitation`. Default: not offered."""
    roots: RootsOption | None
    """A list of paths, ``file://`` URIs or mappings, or a function without arguments that returns
    one. Default: not offered."""

    # Names, events and hooks

    name: str | None
    """The name of the server in questions to the user, hooks and logs. Default: its URL or
    command."""
    trusted: bool
    """Believe the server's annotations of its tools, such as read-only. Default: False."""
    hooks: Hooks | None
    """Telemetry about finished calls, see `Hooks`. Default: none."""
    audit: AuditOption
    """A file that gets a line for each call and each start, chained by hashes: a path, an
    `AuditLog`, or several. Default: none."""
    trace: TraceTarget | None
    """A file that gets a transcript of everything sent and received, with secrets replaced, or a
    function that takes its lines; see `Recording`. Default: none."""
    on_notification: Callable[[str, Mapping[str, Any]], Any] | None
    """A function that takes method and params of every notification. Default: none."""
    on_log: Callable[[LogMessage], Any] | None
    """A function that takes the server's log messages, which also go to `logging`. Default:
    none."""
    on_error: Callable[[McpError], Any] | None
    """A function that takes failures that belong to no call. Default: none."""
    on_close: Callable[[McpError | None], Any] | None
    """A function that takes the reason when the connection ends; None after `close`. Default:
    none."""


class ClientOptions(SharedClientOptions, total=False):
    """The options of `connect`, `Client`, `call` and `list_tools`. Each of them is optional."""

    around: Sequence[Around]
    """Functions that wrap every tool call, the first outermost; see `Around`. Default: none."""


class _AnyRequest(TypedDict, total=False):
    """The options that every request has."""

    timeout: Seconds
    """Seconds without a response or progress; None or 0: no limit. Default: the client's."""
    max_timeout: Seconds
    """Seconds in all; None or 0: no limit. Default: the client's."""
    on_progress: Callable[[Progress], Any] | None
    """A function that takes each `Progress`, in order, before the result. Default: none."""
    meta: Mapping[str, Any] | None
    """The ``_meta`` of the request. Default: none."""
    headers: Mapping[str, str] | None
    """HTTP headers of this request only. Default: none."""


class SharedQueryOptions(_AnyRequest, total=False):
    """The options of a request that `mcpclient.sync` has, too."""

    fresh: bool
    """Ask the server even where its last answer may still be used. Default: False."""


class QueryOptions(SharedQueryOptions, total=False):
    """The options of `Client.request`, and of all that ask with it. Each of them is optional."""

    around: Sequence[Around]
    """Functions that wrap a request that names a tool, a prompt or a resource. Default: none."""


class SharedCallOptions(_AnyRequest, total=False):
    """The options of a call that `mcpclient.sync` has, too."""

    raise_on_error: bool
    """Raise `ToolError` when the tool fails. Default: False, the result has ``is_error``."""
    trace: Any
    """Passed to hooks and around-hooks unchanged. Default: None."""


class CallOptions(SharedCallOptions, total=False):
    """The options of `Client.call_tool`. Each of them is optional."""

    around: Sequence[Around]
    """Functions that wrap this call, outside the client's own. Default: none."""


# Aliases that say less than what they stand for.
_ALIASES = {"Seconds": "float | None", "TransportName": str(TransportName).rpartition("typing.")[2]}


class Option(NamedTuple):
    """An option as help shows it. ``meaning`` ends with the default."""

    section: str
    name: str
    type: str
    meaning: str


def described_options() -> Iterator[Option]:
    """Yield the options of `ClientOptions` as its source describes them, in order."""
    source = inspect.getsource(sys.modules[__name__])
    lines = source.splitlines()
    shared, own = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name.endswith(ClientOptions.__name__)
    )
    section, read = "", shared.lineno
    body = [*shared.body, *own.body]
    for field, text in zip(body, body[1:]):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            for line in lines[read : field.lineno]:
                section = line.strip("# ") if line.startswith("    # ") else section
            read = field.lineno
            shown = ast.unparse(field.annotation)
            for alias, written in _ALIASES.items():
                shown = shown.replace(alias, written)
            meaning = " ".join(str(ast.literal_eval(text.value)).split())
            yield Option(section, ast.unparse(field.target), shown, meaning)


def with_options(text: str) -> str:
    """Return a docstring followed by all options, without the indentation of its source.

    Python 3.13 takes that away by itself, so it can be in neither part.
    """
    lines: list[str] = []
    section = ""
    for option in described_options():
        if option.section != section:
            section = option.section
            lines += ["", f"{section}:", ""]
        lines.append(f"- {option.name}: {option.type}")
        lines += [f"    {line}" for line in wrap(option.meaning, 80, break_on_hyphens=False)]
    return "\n".join([inspect.cleandoc(text), *lines, ""])
