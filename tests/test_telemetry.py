"""Spans by the GenAI conventions for MCP, made by the real SDK: F-API-23."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import mcpclient
from mcpclient import telemetry
from mcpclient.client.events.around import Call
from mcpclient.errors import CallTimeout, HttpError, PeerError
from mcpclient.protocol.types import CallToolResult
from tests.client.scripted_server import ScriptedServer
from tests.support.virtual_time import run


class Spans:
    """A provider of tracers, and what it has recorded."""

    def __init__(self) -> None:
        self.provider = TracerProvider()
        self._exporter = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def recorded(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    @property
    def only(self) -> ReadableSpan:
        (span,) = self.recorded
        return span


@pytest.fixture
def spans() -> Iterator[Spans]:
    found = Spans()
    yield found
    found.provider.shutdown()


def call_once(spans: Spans, answer: Any, **options: Any) -> ScriptedServer:
    server = ScriptedServer({"tools/call": answer})

    async def main() -> None:
        around = [telemetry.opentelemetry(spans.provider)]
        async with server.client(around=around, name="demo") as client:
            await client.call_tool("add", {"a": 1}, **options)

    run(main())
    return server


def test_a_call_is_a_client_span(spans: Spans) -> None:
    """F-API-23: with the name and the attributes of the conventions, and without arguments."""
    call_once(spans, {"content": []})
    span = spans.only
    assert (span.name, span.kind) == ("tools/call add", trace.SpanKind.CLIENT)
    assert dict(span.attributes or {}) == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2026-07-28",
        "mcpclient.server": "demo",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
    }
    assert span.status.is_unset


def test_prompts_and_resources_are_client_spans_too(spans: Spans) -> None:
    """F-SAFE-5: the URI is an attribute, since there are too many of them for names of spans."""
    answers: dict[str, Any] = {
        "resources/read": {"contents": []},
        "prompts/get": {"messages": []},
    }

    async def main() -> None:
        around = [telemetry.opentelemetry(spans.provider)]
        async with ScriptedServer(answers).client(around=around, name="demo") as client:
            await client.read_resource("mem://1")
            await client.get_prompt("review")

    run(main())
    read, got = spans.recorded
    assert (read.name, got.name) == ("resources/read", "prompts/get review")
    assert dict(read.attributes or {})["mcp.resource.uri"] == "mem://1"
    assert dict(got.attributes or {})["gen_ai.prompt.name"] == "review"


def test_the_server_can_go_on_with_the_trace(spans: Spans) -> None:
    """F-API-23: ``traceparent`` names the span, beside the metadata that the caller gave."""
    with spans.provider.get_tracer("agent").start_as_current_span("agent") as agent:
        server = call_once(spans, {"content": []}, meta={"mine": 1})
    inner, outer = spans.recorded
    assert inner.parent is not None and inner.parent.span_id == agent.get_span_context().span_id
    meta = server.sent("tools/call")[0]["_meta"]
    context = inner.get_span_context()
    assert context is not None
    assert meta["traceparent"].startswith(f"00-{context.trace_id:032x}-{context.span_id:016x}-")
    assert meta["mine"] == 1
    assert outer.name == "agent"


def test_a_tool_that_fails(spans: Spans) -> None:
    """F-API-23: ``tool_error``, by the conventions."""
    call_once(spans, {"content": [{"type": "text", "text": "private"}], "isError": True})
    assert (spans.only.attributes or {})["error.type"] == "tool_error"
    assert not spans.only.status.is_ok
    assert spans.only.status.description is None


ERRORS = [
    (PeerError(-32602, "bad"), "-32602", "bad"),
    (HttpError(502, {}, b""), "502", "HTTP 502"),
    (CallTimeout("tools/call", 3.0, "idle"), "timeout", "tools/call"),
    (LookupError("x"), "LookupError", "x"),
]


@pytest.mark.parametrize(("error", "kind", "text"), ERRORS, ids=[each[1] for each in ERRORS])
def test_a_call_that_fails(spans: Spans, error: Exception, kind: str, text: str) -> None:
    """F-API-23: ``error.type`` is of few values, and the exception is recorded with its text."""

    async def make(call: Call) -> CallToolResult:
        raise error

    call = Call("demo", "add", "add", {}, transport="http")
    with pytest.raises(type(error)):
        run(telemetry.opentelemetry(spans.provider)(call, make))  # type: ignore[arg-type]
    attributes = spans.only.attributes or {}
    assert attributes["error.type"] == kind
    assert attributes.get("rpc.response.status_code") == (kind if kind == "-32602" else None)
    assert (attributes["network.transport"], attributes["network.protocol.name"]) == ("tcp", "http")
    assert text in str(spans.only.status.description)
    assert [event.name for event in spans.only.events] == ["exception"]


def test_a_hook_inside_is_inside_the_span(spans: Spans) -> None:
    """F-API-23: put first, the span is the current one for the hooks below it."""
    seen: list[int] = []

    async def note(call: Call, proceed: Any) -> CallToolResult:
        seen.append(trace.get_current_span().get_span_context().span_id)
        return mcpclient.refusal("no")

    async def main() -> None:
        around = [telemetry.opentelemetry(spans.provider), note]
        async with ScriptedServer().client(around=around) as client:
            assert (await client.call_tool("add")).is_error

    run(main())
    context = spans.only.get_span_context()
    assert context is not None and seen == [context.span_id]


def test_without_the_package_calls_go_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """F-API-23: it is never required, and its absence is said once."""

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(telemetry, "import_module", missing)
    with caplog.at_level(logging.WARNING):
        around = telemetry.opentelemetry()
    assert "opentelemetry-api is not installed" in caplog.text

    async def make(call: Call) -> CallToolResult:
        return mcpclient.refusal("made")

    assert run(around(Call("demo", "add", "add", {}), make)).text == "made"  # type: ignore[arg-type]
