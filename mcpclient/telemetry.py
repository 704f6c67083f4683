"""OpenTelemetry spans around calls, where its API package is installed.

Source: the semantic conventions for MCP of OpenTelemetry's GenAI group ("Client" spans, and
"Context propagation" through ``params._meta``).
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any, Protocol

from .client.events.around import SUBJECTS, Around, Call, Proceed
from .errors import CallTimeout, HttpError, PeerError
from .framing.logs import logger_for
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


class TracerProvider(Protocol):
    """A maker of tracers: OpenTelemetry's own, or an object like it."""

    def get_tracer(self, instrumenting_module_name: str, /) -> Any:
        """Return a tracer."""


def opentelemetry(tracer_provider: TracerProvider | None = None) -> Around:
    """Return an around-hook that makes a client span for each `Call`.

    The span is the current one during the call. Its context travels to the server in ``_meta``
    (``traceparent``, and all else that the global propagator writes), so that the server's spans
    become its children. Put this hook first to have the other hooks inside the span. Arguments and
    results are not recorded.

    ``tracer_provider``: the global one by default. Without the package ``opentelemetry-api`` the
    hook logs a warning and passes calls on unchanged.
    """
    try:
        trace = import_module("opentelemetry.trace")
        propagate = import_module("opentelemetry.propagate")
    except ImportError:
        _logger.warning("opentelemetry-api is not installed: tool calls have no spans")
        return _pass_on
    tracer = (tracer_provider or trace).get_tracer("mcpclient")

    async def around(call: Call, proceed: Proceed) -> CallToolResult:
        with tracer.start_as_current_span(
            call.method if _is_uri(call) else f"{call.method} {call.name}",
            kind=trace.SpanKind.CLIENT,
            attributes=_attributes(call),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                carrier: dict[str, str] = {}
                propagate.inject(carrier)
                result = await proceed(replace(call, meta={**call.meta, **carrier}))
            except Exception as error:
                span.record_exception(error)
                _fail(span, trace, _type_of(error), str(getattr(error, "message", error)))
                if isinstance(error, PeerError):
                    span.set_attribute("rpc.response.status_code", str(error.code))
                raise
            if result.is_error:
                _fail(span, trace, "tool_error", "")
            return result

    return around


async def _pass_on(call: Call, proceed: Proceed) -> CallToolResult:
    return await proceed(call)


def _attributes(call: Call) -> dict[str, Any]:
    attributes = {
        "mcp.method.name": call.method,
        "mcpclient.server": call.server,
        **_NETWORK.get(call.transport or "", {}),
    }
    if _is_uri(call):
        attributes["mcp.resource.uri"] = call.name
    elif call.method == "prompts/get":
        attributes["gen_ai.prompt.name"] = call.name
    else:
        attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.name}
    if call.protocol_version is not None:
        attributes["mcp.protocol.version"] = call.protocol_version
    return attributes


def _is_uri(call: Call) -> bool:
    """Whether the call's name is a URI; span names must have few distinct values."""
    return SUBJECTS.get(call.method) == "uri"


def _type_of(error: Exception) -> str:
    """Return the value of ``error.type``: the error's code if it has one, else its class."""
    if isinstance(error, PeerError):
        return str(error.code)
    if isinstance(error, HttpError):
        return str(error.status)
    return "timeout" if isinstance(error, CallTimeout) else type(error).__qualname__


def _fail(span: Any, trace: Any, kind: str, description: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(trace.StatusCode.ERROR, description or None)
