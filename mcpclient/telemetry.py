"""OpenTelemetry spans and metrics of calls, where its API package is installed.

Source: the semantic conventions for MCP of OpenTelemetry's GenAI group ("Client" spans, and
"Context propagation" through ``params._meta``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any, Protocol

from .client.events.around import Around, Call, Proceed
from .client.events.callbacks import Observer
from .client.requests import SUBJECTS
from .errors import CallTimeout, HttpError, McpError, PeerError
from .framing.logs import logger_for
from .net.clocks import steady_seconds
from .protocol.types import CallToolResult

_logger = logger_for("mcpclient.client")

# The conventions have no attributes for a transport in memory.
_NETWORK = {
    "stdio": {"network.transport": "pipe"},
    "http": {"network.transport": "tcp", "network.protocol.name": "http"},
    "sse": {"network.transport": "tcp", "network.protocol.name": "http"},
    "ws": {"network.transport": "tcp", "network.protocol.name": "websocket"},
    "socket": {"network.transport": "tcp"},
}

# The buckets of the conventions for durations, in seconds.
_BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)


class TracerProvider(Protocol):
    """A maker of tracers: OpenTelemetry's own, or an object like it."""

    def get_tracer(self, instrumenting_module_name: str, /) -> Any:
        """Return a tracer."""


class MeterProvider(Protocol):
    """A maker of meters: OpenTelemetry's own, or an object like it."""

    def get_meter(self, name: str, /) -> Any:
        """Return a meter."""


def opentelemetry(
    tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
) -> Around:
    """Return an around-hook that makes a client span for each `Call`, and measures it.

    There is a span for connecting and for every other request as well, such as ``tools/list``. The
    span is the current one during the call. Its context travels to the server in ``_meta``
    (``traceparent``, and all else that the global propagator writes), so that the server's spans
    become its children. Put this hook first to have the other hooks inside the span. Arguments and
    results are not recorded.

    The metrics are the histograms ``mcp.client.operation.duration``, in which ``error.type`` tells
    failures apart, and ``mcp.client.session.duration``, both in seconds.

    ``tracer_provider``, ``meter_provider``: the global ones by default. Without the package
    ``opentelemetry-api`` the hook logs a warning and passes calls on unchanged.
    """
    try:
        trace = import_module("opentelemetry.trace")
        metrics = import_module("opentelemetry.metrics")
        propagate = import_module("opentelemetry.propagate")
    except ImportError:
        _logger.warning("opentelemetry-api is not installed: tool calls have no spans")

        async def passed_on(call: Call, proceed: Proceed) -> CallToolResult:
            return await proceed(call)

        return passed_on
    tracer = (tracer_provider or trace).get_tracer("mcpclient")
    meter = (meter_provider or metrics).get_meter("mcpclient")
    return _Telemetry(trace, propagate, tracer, meter)


class _Telemetry:
    """A `Watcher`. ``trace`` and ``propagate`` are modules of the API."""

    def __init__(self, trace: Any, propagate: Any, tracer: Any, meter: Any) -> None:
        self._trace = trace
        self._propagate = propagate
        self._tracer = tracer
        self._durations = _histogram(meter, "operation", "The duration of an MCP request.")
        self._sessions = _histogram(meter, "session", "The duration of an MCP session.")

    async def __call__(self, call: Call, proceed: Proceed) -> CallToolResult:
        began, attributes = steady_seconds(), _attributes(call)
        facts: dict[str, Any] = {}
        with self._tracer.start_as_current_span(
            call.method if _is_uri(call) or not call.name else f"{call.method} {call.name}",
            kind=self._trace.SpanKind.CLIENT,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            description = ""
            try:
                carrier: dict[str, str] = {}
                self._propagate.inject(carrier)
                result = await proceed(replace(call, meta={**call.meta, **carrier}))
            except BaseException as error:
                facts["error.type"] = _type_of(error)
                description = str(getattr(error, "message", error))
                if isinstance(error, PeerError):
                    facts["rpc.response.status_code"] = str(error.code)
                span.record_exception(error)
                raise
            else:
                if result.is_error:
                    facts["error.type"] = "tool_error"
                if call.method == "connect":
                    facts["mcp.method.name"] = result.raw["method"]
                    facts["mcp.protocol.version"] = result.raw["protocolVersion"]
                return result
            finally:
                span.set_attributes(facts)
                if "error.type" in facts:
                    span.set_status(self._trace.StatusCode.ERROR, description or None)
                attributes.pop("mcp.resource.uri", None)  # of which there are too many
                self._durations.record(steady_seconds() - began, {**attributes, **facts})

    def session_observer(self, describe: Callable[[], Call], /) -> Observer:
        return _Sessions(self._sessions, describe)


class _Sessions(Observer):
    """Records how long the sessions of a client last."""

    def __init__(self, histogram: Any, describe: Callable[[], Call]) -> None:
        self._histogram = histogram
        self._describe = describe
        self._began = 0.0
        self._attributes: dict[str, Any] = {}  # of the session that is open

    def connected(self) -> None:
        self.closed()
        self._began, self._attributes = steady_seconds(), _attributes(self._describe())
        del self._attributes["mcp.method.name"]

    def lost(self, error: McpError) -> None:
        if self._attributes:
            self._attributes["error.type"] = _type_of(error)
            self.closed()

    def closed(self) -> None:
        if self._attributes:
            self._histogram.record(steady_seconds() - self._began, self._attributes)
            self._attributes = {}


def _histogram(meter: Any, what: str, description: str) -> Any:
    given = {"name": f"mcp.client.{what}.duration", "unit": "s", "description": description}
    try:
        return meter.create_histogram(**given, explicit_bucket_boundaries_advisory=_BUCKETS)
    except TypeError:  # an older API
        return meter.create_histogram(**given)


def _attributes(call: Call) -> dict[str, Any]:
    attributes = {
        "mcp.method.name": call.method,
        "mcpclient.server": call.server,
        **_NETWORK.get(call.transport or "", {}),
    }
    if _is_uri(call):
        attributes["mcp.resource.uri"] = call.name
    elif call.method == "connect":
        attributes["mcp.method.name"] = "initialize"  # unless it turns out to be another
    elif call.method == "prompts/get":
        attributes["gen_ai.prompt.name"] = call.name
    elif call.method == "tools/call":
        attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.name}
    if call.protocol_version is not None:
        attributes["mcp.protocol.version"] = call.protocol_version
    return attributes


def _is_uri(call: Call) -> bool:
    """Whether the call's name is a URI; span names must have few distinct values."""
    return SUBJECTS.get(call.method) == "uri"


def _type_of(error: BaseException) -> str:
    """Return the value of ``error.type``: the error's code if it has one, else its class."""
    if isinstance(error, PeerError):
        return str(error.code)
    if isinstance(error, HttpError):
        return str(error.status)
    return "timeout" if isinstance(error, CallTimeout) else type(error).__qualname__
