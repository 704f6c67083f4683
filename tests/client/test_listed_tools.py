"""What a client knows of its server's tools. F-API-13, F-API-23, F-MANY-12."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mcpclient.client import listed_tools
from mcpclient.client.events.around import Call, Proceed
from mcpclient.client.listed_tools import MODES, ListedTools
from mcpclient.errors import ProtocolViolation, ToolError
from mcpclient.protocol import schema as json_schema
from mcpclient.protocol.schema import SchemaLimits, compile_schema
from mcpclient.protocol.types import CallToolResult, Tool
from tests.client.scripted_server import HANDSHAKE, STATELESS, ScriptedServer, turns
from tests.client.task_servers import DONE, handshake_server, listed
from tests.support.virtual_time import run

pytestmark = pytest.mark.virtual_time

READS = Tool({"name": "reads", "annotations": {"readOnlyHint": True}})
SLOW = Tool({"name": "slow", "execution": {"taskSupport": "required"}})


def test_the_last_list_is_what_is_known() -> None:
    """F-API-23"""
    tools = ListedTools()
    assert tools.are_stale and tools.find("reads") is None
    tools.learn([READS, SLOW])
    assert not tools.are_stale
    assert (tools.find("reads"), tools.find("other")) == (READS, None)
    assert tools.only_tasks == {"slow"}
    tools.learn([READS])
    assert tools.find("slow") is None and not tools.only_tasks


def test_a_definition_that_may_have_changed_is_not_known() -> None:
    """F-API-23, F-MANY-12: how a tool is called is no matter of trust, and stays."""
    tools = ListedTools()
    tools.learn([READS, SLOW])
    tools.notified("notifications/prompts/list_changed", {})
    assert tools.find("reads") is READS
    tools.notified("notifications/tools/list_changed", {})
    assert tools.are_stale and tools.find("reads") is None
    assert tools.only_tasks == {"slow"}


@pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])
async def test_no_approval_rests_on_what_a_tool_was(version: str) -> None:
    """F-API-23: a tool that was read-only may destroy something once the tools have changed."""
    answers = {"tools/list": {"tools": [READS.raw]}, "tools/call": DONE}
    server = ScriptedServer(answers, version=version)
    seen: list[bool] = []

    async def note(call: Call, proceed: Proceed) -> CallToolResult:
        seen.append(call.read_only)
        return await proceed(call)

    async with server.client(around=[note], trusted=True, cache=False) as client:
        await client.call_tool("reads")
        await client.list_tools()
        await client.call_tool("reads")
        server.notify("notifications/tools/list_changed")
        await turns()
        await client.call_tool("reads")
        await client.list_tools()
        await client.call_tool("reads")
    assert seen == [False, True, False, True]


async def test_a_tool_that_can_only_be_a_task_stays_one_until_the_next_list() -> None:
    """F-API-13: news of some other tool does not break calls of this one."""
    server = handshake_server()
    server.answers["tools/list"] = listed("required")
    async with server.client() as client:
        await client.list_tools()
        server.notify("notifications/tools/list_changed")
        await turns()
        assert (await client.call_tool("slow")).text == "done"
    assert server.sent("tools/call")[0]["task"] == {}


async def test_of_two_tools_with_one_name_the_first_counts() -> None:
    """F-SAFE-5: for hooks and for output schemas, as for a manager and for a lock."""
    first = {"name": "x", "description": "first", "outputSchema": {"type": "object"}}
    second = {"name": "x", "description": "second", "outputSchema": {"type": "array"}}
    seen: list[Tool | None] = []

    async def note(call: Call, proceed: Proceed) -> CallToolResult:
        seen.append(call.tool)
        return await proceed(call)

    answers: dict[str, Any] = {
        "tools/list": {"tools": [first, second]},
        "tools/call": {"content": [], "structuredContent": {}},
    }
    scripted = ScriptedServer(answers, version=STATELESS, capabilities={"tools": {}})
    async with scripted.client(around=[note], validate="strict") as client:
        assert [each.description for each in await client.list_tools()] == ["first", "second"]
        assert (await client.call_tool("x")).structured == {}
    assert [each and each.description for each in seen] == ["first"]


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
    made.learn([tool(**fields)])
    return made


def checked(made: ListedTools, **raw: Any) -> list[str]:
    result = CallToolResult(raw)
    made.check("t", result)
    return result.warnings


def test_structured_content_that_fits() -> None:
    """F-API-17."""
    made = schemas(outputSchema=SCHEMA)
    assert checked(made, structuredContent={"n": 1, "when": "someday"}) == []


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({"structuredContent": {"n": "x"}}, "at /n: "),
        ({"structuredContent": None}, "at the top: "),
        ({"content": []}, "there is no structured content"),
        ({"structuredContent": {"n": float("nan")}}, "broke its output schema"),
    ],
)
def test_structured_content_that_does_not_fit(
    raw: dict[str, Any], problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    """F-API-17: a warning on the result, an error in strict mode."""
    with caplog.at_level(logging.DEBUG, "mcpclient.client"):
        (warning,) = checked(schemas(outputSchema=SCHEMA), **raw)
    assert problem in warning and warning.startswith("tool 't' broke its output schema")
    assert len(caplog.records) == 1
    with pytest.raises(ProtocolViolation, match="broke its output schema"):
        checked(schemas("strict", outputSchema=SCHEMA), **raw)


@pytest.mark.parametrize("mode", ["warn", "strict"])
def test_what_takes_too_long_is_not_checked(mode: str) -> None:
    """F-API-17: it is a warning that says so, in strict mode as well: nobody has done wrong."""
    made = ListedTools(mode, SchemaLimits(validation_steps=100))
    made.learn([tool(outputSchema={"items": {"type": "integer"}})])
    (warning,) = checked(made, structuredContent=list(range(1_000)))
    assert warning == "the result of tool 't' was not checked: it takes too many steps"
    assert checked(made, structuredContent=[1]) == []


@pytest.mark.parametrize("mode", ["warn", "strict"])
def test_a_schema_that_takes_too_long_is_not_used(mode: str) -> None:
    """F-API-17: reading it is limited in the same way."""
    made = ListedTools(mode, SchemaLimits(compilation_steps=100))
    made.learn([tool(outputSchema={"enum": list(range(1_000))})])
    (warning,) = checked(made, structuredContent=1)
    assert "was not checked: " in warning and "too many steps" in warning


def test_many_schemas_made_to_cost_time_share_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """F-API-17: the event loop stands still for all of them together, not for each."""
    now = [0.0]

    def clock() -> float:
        now[0] += 0.001  # for each look at it
        return now[0]

    monkeypatch.setattr(listed_tools, "steady_seconds", clock)
    hostile = {"properties": {f"a{n}": {"pattern": f"{n}(a|b)*"} for n in range(2_000)}}
    tools = [tool(f"t{n}", outputSchema={**hostile, "title": str(n)}) for n in range(100)]
    made = ListedTools("warn", SchemaLimits(seconds=0.05))
    made.learn([*tools, tool("good", outputSchema=SCHEMA)])
    for each in tools:
        result = CallToolResult({"structuredContent": {"a1": "x"}})
        made.check(each.name, result)
        assert "not checked" in result.warnings[0]
    assert now[0] < 0.5 + 0.05 + 100 * 0.015
    result = CallToolResult({"structuredContent": {"n": "x"}})
    made.check("good", result)
    assert "broke its output schema" in result.warnings[0]


def test_a_schema_whose_validation_costs_time_gets_less_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F-API-17"""
    monkeypatch.setattr(listed_tools, "_MAX_WASTED", 0.0)
    made = ListedTools("warn", SchemaLimits(validation_steps=100))
    made.learn([tool(outputSchema={"items": {"type": "integer"}})])
    for _ in range(2):
        assert "not checked" in checked(made, structuredContent=[1] * 1_000)[0]
        assert not made._compiled
    assert checked(made, structuredContent=[1]) == []


def test_the_limits_are_an_option_of_the_client() -> None:
    """F-API-17: whoever expects large results gives them more time."""

    async def warnings(**options: Any) -> list[str]:
        fields = {"inputSchema": {}, "outputSchema": {"items": {"type": "integer"}}}
        server = ScriptedServer(
            {
                "tools/list": {"tools": [{"name": "t", **fields}]},
                "tools/call": {"structuredContent": list(range(1_000))},
            },
            capabilities={"tools": {}},
        )
        async with server.client(**options) as client:
            await client.list_tools()
            return (await client.call_tool("t")).warnings

    assert run(warnings()) == []
    (warning,) = run(warnings(schema_limits=SchemaLimits(validation_steps=100)))
    assert "was not checked" in warning


def test_schemas_too_deep_to_compare_are_compiled_again() -> None:
    """F-WIRE-7: what has passed the JSON parser may still be too deep for `==`."""
    made = ListedTools("warn")
    for _ in range(2):
        deep: dict[str, Any] = {}
        for _ in range(50_000):
            deep = {"not": deep}
        made.learn([tool(outputSchema=deep)])
        (warning,) = checked(made, structuredContent=1)
        assert "nested over 128 deep" in warning


def test_a_long_list_of_problems_is_cut() -> None:
    """F-API-17"""
    made = schemas(outputSchema={"items": {"type": "string"}})
    (warning,) = checked(made, structuredContent=[1, 2, 3, 4, 5])
    assert warning.endswith("; and 2 more")


def test_what_is_not_checked() -> None:
    """F-API-17, F-API-19: a failure, a tool without a schema, one that was not listed, off."""
    bad = {"structuredContent": {"n": "x"}}
    assert checked(schemas("strict", outputSchema=SCHEMA), isError=True, **bad) == []
    assert checked(schemas("strict"), **bad) == []
    assert checked(schemas("strict", name="other", outputSchema=SCHEMA), **bad) == []
    assert checked(schemas("off", outputSchema=SCHEMA), **bad) == []


@pytest.mark.parametrize(
    "schema", [{"type": "nonsense"}, {"$ref": "https://example.com/x"}, {"$ref": "#/nowhere"}]
)
def test_a_schema_that_cannot_be_used(schema: dict[str, Any]) -> None:
    """F-API-17: a warning, never an error; nothing is fetched."""
    made = schemas("strict", outputSchema=schema)
    for _ in range(2):
        (warning,) = checked(made, structuredContent={})
        assert "was not checked" in warning


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
        made.learn([tool(outputSchema=dict(SCHEMA)), tool("other", outputSchema=True)])
    assert len(compiled) == 1
    made.learn([tool(outputSchema={"type": "array"})])
    assert checked(made, structuredContent={"n": 1})
    assert len(compiled) == 2


def test_a_changed_list_is_checked_with_what_is_known() -> None:
    """F-API-17: until the next list; a warning says that the schema may be out of date."""
    made = schemas("warn", outputSchema=SCHEMA)
    made.notified("notifications/resources/list_changed", {})
    assert "out of date" not in checked(made, structuredContent={})[0]
    made.notified("notifications/tools/list_changed", {})
    assert "out of date" in checked(made, structuredContent={})[0]
    made.learn([])
    assert checked(made, structuredContent={}) == []


def test_a_wrapper_stays_one_when_the_tools_change() -> None:
    """F-API-19: ``data`` keeps its form; the server said that some tool changed, not this one."""
    wrapping = {"type": "object", "properties": {"result": {"type": "array"}}}
    for mode in MODES:
        made = schemas(mode, outputSchema=wrapping)
        made.notified("notifications/tools/list_changed", {})
        result = CallToolResult({"content": [], "structuredContent": {"result": [1]}})
        made.check("t", result)
        assert result.data == [1]


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


@pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])
async def test_calls_of_a_client(version: str) -> None:
    """F-API-17, F-API-19: checked once the caller has listed the tools, never listed for that."""
    listed = {"tools": [{"name": "t", "inputSchema": {}, "outputSchema": SCHEMA}]}
    wrong = {"content": [], "structuredContent": {"n": "x"}}
    server = ScriptedServer({"tools/list": listed, "tools/call": wrong}, version=version)
    async with server.client() as client:
        assert (await client.call_tool("t")).warnings == []
        assert not server.sent("tools/list")
        await client.list_tools()
        assert len((await client.call_tool("t")).warnings) == 1
        server.notify("notifications/tools/list_changed")
        await turns()
        assert "out of date" in (await client.call_tool("t")).warnings[0]
        assert len(server.sent("tools/list")) == 1
    async with server.client(validate="strict") as client:
        await client.list_tools()
        with pytest.raises(ProtocolViolation, match="broke its output schema"):
            await client.call_tool("t")
        server.answers["tools/call"] = {"content": [], "isError": True}
        with pytest.raises(ToolError):
            await client.call_tool("t", raise_on_error=True)
