"""A client's knowledge of its server's tools. F-API-13, F-API-23, F-MANY-12."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.client import listed_tools
from mcpclient.client.listed_tools import ListedTools
from mcpclient.errors import ProtocolViolation
from mcpclient.protocol import schema as json_schema
from mcpclient.protocol.schema import SchemaLimits, compile_schema
from mcpclient.protocol.types import CallToolResult, Tool
from tests.client.scripted_server import HANDSHAKE, ScriptedServer, turns

pytestmark = pytest.mark.virtual_time


# Tools that keep to their output schemas, and tools that do not

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "when": {"type": "string", "format": "date"}},
    "required": ["n"],
}


def tool(name: str = "t", **fields: Any) -> Tool:
    return Tool({"name": name, "inputSchema": {}, **fields})


def schemas(mode: str = "warn", **fields: Any) -> ListedTools:
    made = ListedTools(mode)
    list(made.learning([tool(**fields)]))
    return made


def checked(made: ListedTools, **raw: Any) -> list[str]:
    result = CallToolResult(raw)
    made.check("t", result)
    return result.warnings


@pytest.mark.parametrize("mode", ["warn", "strict"])
def test_what_takes_too_long_is_not_checked(mode: str) -> None:
    """F-API-17: it is a warning that says so, in strict mode as well: neither side is at fault."""
    made = ListedTools(mode, SchemaLimits(validation_steps=100))
    list(made.learning([tool(outputSchema={"items": {"type": "integer"}})]))
    (warning,) = checked(made, structuredContent=list(range(1_000)))
    assert warning == "the result of tool 't' was not checked: it takes too many steps"
    assert checked(made, structuredContent=[1]) == []


@pytest.mark.parametrize("mode", ["warn", "strict"])
def test_a_schema_that_takes_too_long_is_not_used(mode: str) -> None:
    """F-API-17: reading it is limited in the same way."""
    made = ListedTools(mode, SchemaLimits(compilation_steps=100))
    list(made.learning([tool(outputSchema={"enum": list(range(1_000))})]))
    (warning,) = checked(made, structuredContent=1)
    assert "was not checked: " in warning and "too many steps" in warning


@pytest.mark.slow
def test_many_schemas_made_to_cost_time_share_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-17: the event loop stands still for all of them together, not for each."""
    now = [0.0]

    def clock() -> float:
        now[0] += 0.001  # for each look at it
        return now[0]

    monkeypatch.setattr(listed_tools, "steady_seconds", clock)
    hostile = {"properties": {f"a{n}": {"pattern": f"{n}(a|b)*"} for n in range(2_000)}}
    tools = [tool(f"t{n}", outputSchema={**hostile, "title": str(n)}) for n in range(30)]
    made = ListedTools("warn", SchemaLimits(seconds=0.05))
    list(made.learning([*tools, tool("good", outputSchema=SCHEMA)]))
    for each in tools:
        result = CallToolResult({"structuredContent": {"a1": "x"}})
        made.check(each.name, result)
        assert "not checked" in result.warnings[0]
    assert now[0] < 0.5 + 0.05 + 30 * 0.015
    result = CallToolResult({"structuredContent": {"n": "x"}})
    made.check("good", result)
    assert "broke its output schema" in result.warnings[0]


def test_a_schema_whose_validation_costs_time_gets_less_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-API-17"""
    monkeypatch.setattr(listed_tools, "_MAX_WASTED", 0.0)
    made = ListedTools("warn", SchemaLimits(validation_steps=100))
    list(made.learning([tool(outputSchema={"items": {"type": "integer"}})]))
    for _ in range(2):
        assert "not checked" in checked(made, structuredContent=[1] * 1_000)[0]
        assert not made._compiled
    assert checked(made, structuredContent=[1]) == []


def test_schemas_too_deep_to_compare_are_compiled_again() -> None:
    """F-WIRE-7: what has passed the JSON parser may still be too deep for `==`."""
    made = ListedTools("warn")
    for _ in range(2):
        deep: dict[str, Any] = {}
        for _ in range(50_000):
            deep = {"not": deep}
        list(made.learning([tool(outputSchema=deep)]))
        (warning,) = checked(made, structuredContent=1)
        assert "nested over 128 deep" in warning


def test_what_is_not_checked() -> None:
    """F-API-17, F-API-19: a failure, a tool without a schema, one that was not listed, off."""
    bad = {"structuredContent": {"n": "x"}}
    assert checked(schemas("strict", outputSchema=SCHEMA), isError=True, **bad) == []
    assert checked(schemas("strict"), **bad) == []
    assert checked(schemas("strict", name="other", outputSchema=SCHEMA), **bad) == []
    assert checked(schemas("off", outputSchema=SCHEMA), **bad) == []


def test_a_schema_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-17: and again only when it has changed."""
    compiled: list[object] = []

    def counting(schema: object, **options: Any) -> Any:
        compiled.append(schema)
        return compile_schema(schema, **options)

    monkeypatch.setattr(json_schema, "compile_schema", counting)
    made = schemas(outputSchema=SCHEMA)
    assert compiled == []
    for _ in range(2):
        checked(made, structuredContent={"n": 1})
        list(made.learning([tool(outputSchema=dict(SCHEMA)), tool("other", outputSchema=True)]))
    assert len(compiled) == 1
    list(made.learning([tool(outputSchema={"type": "array"})]))
    assert checked(made, structuredContent={"n": 1})
    assert len(compiled) == 2


@pytest.mark.parametrize("listing", ["the same", "another", "none"])
async def test_strict_mode_lists_again_before_it_fails_a_call_over_an_old_schema(
    listing: str,
) -> None:
    """F-API-17: after the tools have changed, the present schema decides."""
    fits_now = {"type": "object", "properties": {"n": {"type": "string"}}}
    old, new = (
        {"tools": [{"name": "t", "inputSchema": {}, "outputSchema": schema}]}
        for schema in (SCHEMA, fits_now)
    )
    result = {"content": [], "structuredContent": {"n": "x"}}
    server = ScriptedServer({"tools/list": old, "tools/call": result}, version=HANDSHAKE)
    async with server.client(validate="strict") as client:
        await client.list_tools()
        if listing == "another":
            server.answers["tools/list"] = new
        elif listing == "none":
            del server.answers["tools/list"]
        server.notify("notifications/tools/list_changed")
        await turns()
        if listing == "another":
            assert (await client.call_tool("t")).data == {"n": "x"}
            (outcome,) = await client.call_tools([("t", {})])
            assert isinstance(outcome, CallToolResult)
        else:
            with pytest.raises(ProtocolViolation, match="broke its output schema"):
                await client.call_tool("t")
        assert len(server.sent("tools/list")) == 2
        assert len(server.sent("tools/call")) == (2 if listing == "another" else 1)
