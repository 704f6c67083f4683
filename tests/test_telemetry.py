"""Spans and metrics by the conventions for MCP, made by the real SDK: F-API-23."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from inspect import iscoroutinefunction
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import mcpclient
from mcpclient import telemetry
from mcpclient.client.events.around import Call
from mcpclient.errors import CallTimeout, HttpError, PeerError
from mcpclient.protocol.types import CallToolResult
from mcpclient.sync.handlers import with_workers
from tests.client.scripted_server import HANDSHAKE, STATELESS, ScriptedServer
from tests.manager.fleet import Member
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time


class Spans:
    """A provider of tracers, and its records."""

    def __init__(self) -> None:
        self.provider = TracerProvider()
        self._exporter = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def all(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    @property
    def recorded(self) -> tuple[ReadableSpan, ...]:
        """Those of calls."""
        return tuple(span for span in self.all if span.name != "connect")

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


async def test_prompts_and_resources_are_client_spans_too(spans: Spans) -> None:
    """F-SAFE-5: the URI is an attribute, since there are too many of them for names of spans."""
    answers: dict[str, Any] = {"resources/read": {"contents": []}, "prompts/get": {"messages": []}}
    around = [telemetry.opentelemetry(spans.provider)]
    async with ScriptedServer(answers).client(around=around, name="demo") as client:
        await client.read_resource("mem://1")
        await client.get_prompt("review")
    read, got = spans.recorded
    assert (read.name, got.name) == ("resources/read", "prompts/get review")
    assert dict(read.attributes or {})["mcp.resource.uri"] == "mem://1"
    assert dict(got.attributes or {})["gen_ai.prompt.name"] == "review"


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


async def test_a_hook_inside_is_inside_the_span(spans: Spans) -> None:
    """F-API-23: put first, the span is the current one for the hooks below it."""
    seen: list[int] = []

    async def note(call: Call, proceed: Any) -> CallToolResult:
        seen.append(trace.get_current_span().get_span_context().span_id)
        return mcpclient.refusal("no")

    around = [telemetry.opentelemetry(spans.provider), note]
    async with ScriptedServer().client(around=around) as client:
        assert (await client.call_tool("add")).is_error
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
    assert iscoroutinefunction(around), "a blocking client would give it a thread for each call"

    async def make(call: Call) -> CallToolResult:
        return mcpclient.refusal("made")

    assert run(around(Call("demo", "add", "add", {}), make)).text == "made"


@pytest.fixture
def meters() -> Iterator[tuple[MeterProvider, InMemoryMetricReader]]:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    yield provider, reader
    provider.shutdown()


Meters = tuple[MeterProvider, InMemoryMetricReader]


def measured(reader: InMemoryMetricReader) -> dict[str, list[tuple[dict[str, Any], float]]]:
    """The attributes and the sum of each point, by the name of its metric."""
    found: dict[str, list[tuple[dict[str, Any], float]]] = {}
    data: Any = reader.get_metrics_data()
    for resource in data.resource_metrics:
        for metric in (each for scope in resource.scope_metrics for each in scope.metrics):
            assert metric.unit == "s"
            for point in metric.data.data_points:
                assert point.explicit_bounds[:2] == (0.01, 0.02)
                attributes = {**point.attributes, "count": point.count}
                found.setdefault(metric.name, []).append((attributes, point.sum))
    return found


ANSWERS: dict[str, Any] = {
    "tools/list": {"tools": []},
    "tools/call": {"content": []},
    "resources/read": {"contents": []},
    "prompts/get": {"messages": []},
    "ping": {},
}


@pytest.mark.parametrize(
    ("version", "opening"), [(HANDSHAKE, "initialize"), (STATELESS, "server/discover")]
)
async def test_connecting_and_listing_are_spans_too(
    spans: Spans, version: str, opening: str
) -> None:
    """F-API-23: each request by its method; the list carries the context of its span."""
    server = ScriptedServer(ANSWERS, version=version)
    around = [telemetry.opentelemetry(spans.provider)]
    async with server.client(around=around, name="demo") as client:
        await client.list_tools(meta={"mine": 1})
        await client.list_tools(fresh=True)
    connect, first, second = spans.all
    assert (connect.name, first.name, second.name) == ("connect", "tools/list", "tools/list")
    assert dict(connect.attributes or {}) == {
        "mcp.method.name": opening,
        "mcp.protocol.version": version,
        "mcpclient.server": "demo",
    }
    assert dict(first.attributes or {}) == {
        "mcp.method.name": "tools/list",
        "mcp.protocol.version": version,
        "mcpclient.server": "demo",
    }
    context = first.get_span_context()
    meta = server.sent("tools/list")[0]["_meta"]
    assert context is not None
    assert f"{context.span_id:016x}" in meta["traceparent"] and meta["mine"] == 1


async def test_a_connection_that_fails_is_a_span_with_its_error(
    spans: Spans, meters: Meters
) -> None:
    """F-API-23"""
    provider, reader = meters
    around = [telemetry.opentelemetry(spans.provider, provider)]
    with pytest.raises(mcpclient.CommandNotFound):
        await mcpclient.connect(["no-such-program"], around=around, name="demo")
    (span,) = spans.all
    attributes = {"mcp.method.name": "initialize", "error.type": "CommandNotFound"}
    assert attributes.items() <= dict(span.attributes or {}).items()
    assert (span.attributes or {})["network.transport"] == "pipe"
    (point,) = measured(reader)["mcp.client.operation.duration"]
    assert attributes.items() <= point[0].items()


@pytest.fixture
def virtual_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "steady_seconds", lambda: asyncio.get_running_loop().time())


@pytest.mark.usefixtures("virtual_clock")
async def test_every_operation_is_measured(meters: Meters) -> None:
    """F-API-23: in seconds, with ``error.type`` where it failed, and never by URI."""
    provider, reader = meters

    async def add(params: Any) -> Any:
        await asyncio.sleep(2)
        if params["name"] == "broken":
            raise PeerError(-32000, "no")
        return {"content": [], "isError": params["name"] == "fail"}

    around = [telemetry.opentelemetry(meter_provider=provider)]
    server = ScriptedServer({**ANSWERS, "tools/call": add}, version=HANDSHAKE)
    async with server.client(around=around, name="demo") as client:
        await client.call_tool("add")
        await client.call_tool("fail")
        for timeout in (5, 1):
            with pytest.raises(mcpclient.McpError):
                await client.call_tool("broken", timeout=timeout)
        task = asyncio.ensure_future(client.call_tool("add"))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        for number in range(3):
            await client.read_resource(f"mem://{number}")
        await client.get_prompt("review")
        await client.ping()
    points = measured(reader)["mcp.client.operation.duration"]
    known = {
        (
            each["mcp.method.name"],
            each.get("gen_ai.tool.name", each.get("gen_ai.prompt.name")),
            each.get("error.type"),
        ): (each["count"], seconds)
        for each, seconds in points
    }
    assert known == {
        ("initialize", None, None): (1, 0),
        ("tools/call", "add", None): (1, 2),
        ("tools/call", "fail", "tool_error"): (1, 2),
        ("tools/call", "broken", "-32000"): (1, 2),
        ("tools/call", "broken", "timeout"): (1, 1),
        ("tools/call", "add", "CancelledError"): (1, 1),
        ("resources/read", None, None): (3, 0),
        ("prompts/get", "review", None): (1, 0),
        ("ping", None, None): (1, 0),
    }
    assert all("mcp.resource.uri" not in each for each, _ in points)


@pytest.mark.usefixtures("virtual_clock")
async def test_sessions_are_measured(meters: Meters) -> None:
    """F-API-23: until they are closed or lost, each once."""
    provider, reader = meters
    around = [telemetry.opentelemetry(meter_provider=provider)]
    server = ScriptedServer(ANSWERS, version=HANDSHAKE)
    client = server.client(around=around, name="demo")
    async with client:
        await asyncio.sleep(5)
    async with client:
        await asyncio.sleep(7)
        server.lose()
        await asyncio.sleep(1)
    whole, lost = sorted(measured(reader)["mcp.client.session.duration"], key=str)
    attributes = {"mcpclient.server": "demo", "mcp.protocol.version": HANDSHAKE, "count": 1}
    assert whole == (attributes, 5)
    assert lost == ({**attributes, "error.type": "ConnectionLost"}, 7)


def test_an_older_api_takes_no_advice_on_buckets() -> None:
    """F-API-23"""
    made = []

    class Meter:
        def create_histogram(self, name: str, unit: str, description: str) -> None:
            made.append((name, unit))

    telemetry._histogram(Meter(), "session", "text")
    assert made == [("mcp.client.session.duration", "s")]


async def test_the_servers_of_a_manager_are_told_apart(spans: Spans) -> None:
    """F-API-23, F-MANY-1: and the blocking twin takes the hook as it is."""
    hook = telemetry.opentelemetry(spans.provider)
    async with mcpclient.Manager({"a": Member("x"), "b": Member("x")}, around=[hook]) as many:
        await many.call_tool("b__x")
    names = sorted(
        (span.name, str((span.attributes or {})["mcpclient.server"])) for span in spans.all
    )
    assert names == [
        ("connect", "a"),
        ("connect", "b"),
        ("tools/call x", "b"),
        ("tools/list", "a"),
        ("tools/list", "b"),
    ]
    assert with_workers({"around": [hook]})["around"] == [hook]
