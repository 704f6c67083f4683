"""A tool on its own: definition and execute."""

from __future__ import annotations

import asyncio
import base64
import copy
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from mcpclient.adapters import anthropic, openai_chat
from mcpclient.adapters.agent_tools import AgentOutcome, AgentTool
from mcpclient.adapters.definitions import ToolCall
from mcpclient.adapters.limits import Limits
from mcpclient.adapters.parts import Outcome
from mcpclient.errors import ConnectionLost, UsageError
from mcpclient.protocol.types import CallToolResult, Tool
from tests.adapters.outcomes import OUTCOMES, PNG

OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("raw", "parameters"),
    [
        ({}, {"type": "object", "properties": {}}),
        ({"inputSchema": True}, {"type": "object", "properties": {}}),
        (
            {"inputSchema": {"$schema": "x", "type": "any", "properties": None}},
            {"type": "object", "properties": {}},
        ),
        (
            {"inputSchema": {"properties": {"a": {}}, "required": ["a"]}},
            {"type": "object", "properties": {"a": {}}, "required": ["a"]},
        ),
    ],
)
def test_the_definition(raw: dict[str, Any], parameters: dict[str, Any]) -> None:
    """F-TOOL-1: the schema with type and properties; the original is not touched."""
    tool = Tool({"name": "t", "title": "T", **copy.deepcopy(raw)})
    made = agent_tool(tool, never_called).definition
    assert made == {"type": "function", "name": "t", "description": "T", "parameters": parameters}
    if "required" not in parameters:
        (shaped,) = openai_chat.tools([tool], strict=True)
        assert shaped["function"]["parameters"]["additionalProperties"] is False
    assert tool.raw == {"name": "t", "title": "T", **raw}


Calling = Callable[[ToolCall, Mapping[str, Any]], Awaitable[Outcome]]


async def never_called(made: ToolCall, options: Mapping[str, Any]) -> Outcome:
    raise AssertionError(made)


def agent_tool(tool: Tool, call: Calling) -> AgentTool:
    (defined,) = anthropic.tools([tool]).defined
    return AgentTool(defined, call, Limits())


def answering(outcome: Outcome, **fields: Any) -> tuple[AgentTool, list[Any]]:
    """A tool whose calls come to this outcome, and the calls with their options."""
    seen: list[Any] = []

    async def call(made: ToolCall, call_options: Mapping[str, Any]) -> Outcome:
        seen.append((made, dict(call_options)))
        return outcome

    return agent_tool(Tool({"name": "t", **fields}), call), seen


def executed(
    outcome: Outcome, arguments: Any = None, context: object = None, **options: Any
) -> tuple[Any, list[Any]]:
    tool, seen = answering(outcome, name="web.search", outputSchema=OUTPUT)
    assert tool.definition["name"] == tool.name == "web_search"
    return asyncio.run(tool.execute(arguments, context, **options)), seen


def test_execute() -> None:
    """F-TOOL-2: by the server's own name, with the options of a call."""
    said, ((call, options),) = executed(OUTCOMES["text"], '{"a": 1}', "trace-1", timeout=5)
    assert said == "one\ntwo"
    assert (call.name, call.arguments) == ("web.search", {"a": 1})
    assert options == {"trace": "trace-1", "timeout": 5}
    assert executed(OUTCOMES["text"])[1][0][1] == {}


def test_names_that_the_api_takes() -> None:
    """F-TOOL-1, F-TOOL-2: in the definition; the server is called with its own."""
    schema = {"oneOf": [{"properties": {"page size": {"type": "integer"}}}]}
    tool, seen = answering(OUTCOMES["text"], inputSchema=schema)
    assert tool.definition["parameters"] == {
        "type": "object",
        "properties": {"page_size": {"type": "integer"}},
    }
    asyncio.run(tool.execute('{"page_size": 3}'))
    assert [call.arguments for call, _ in seen] == [{"page size": 3}]


def test_media_make_parts() -> None:
    """F-TOOL-3."""
    said, _ = executed(OUTCOMES["an image"], media=True)
    data = base64.b64encode(PNG).decode()
    assert said == [
        {"type": "text", "text": "see"},
        {"type": "image", "mime_type": "image/png", "data": data},
        {"type": "text", "text": "above"},
    ]
    failed, _ = executed(OUTCOMES["an error with an image"], media=True)
    assert failed[0] == {"type": "text", "text": "Tool error:"}
    assert executed(OUTCOMES["text"], media=True)[0] == "one\ntwo"


def test_a_tool_as_a_function() -> None:
    """F-TOOL-10: as frameworks call it, whatever a parameter is called."""
    tool, seen = answering(OUTCOMES["text"])
    assert asyncio.run(tool.call(a=1, self=2, context=3)) == "one\ntwo"
    assert [call.arguments for call, _ in seen] == [{"a": 1, "self": 2, "context": 3}]


def test_media_are_notes_unless_asked_for() -> None:
    """F-TOOL-9: what a framework gets is a string."""
    said, _ = executed(OUTCOMES["an image"])
    assert said == f"see\n[image, image/png, {len(PNG)} bytes]\nabove"


async def test_an_outcome_has_all_of_it() -> None:
    """F-TOOL-9: text, whether it failed, structured content, and parts."""
    made = await answering(OUTCOMES["structured"])[0].outcome("{}")
    assert (made.is_error, made.structured) == (False, {"$ref": "#/a", "n": [1, None]})
    assert made.parts == [{"type": "text", "text": made.text}]
    image = await answering(OUTCOMES["an error with an image"])[0].outcome("{}")
    assert image == AgentOutcome(
        f"[image, image/png, {len(PNG)} bytes]",
        True,
        None,
        [{"type": "image", "mime_type": "image/png", "data": base64.b64encode(PNG).decode()}],
    )
    gone = await answering(ConnectionLost("gone"))[0].outcome("{}")
    assert gone == AgentOutcome("gone", True, None, [{"type": "text", "text": "gone"}])


def test_execute_sync() -> None:
    """F-TOOL-9: from a thread beside the loop; in the loop it would wait for itself."""

    async def call(call: ToolCall, options: Mapping[str, Any]) -> Outcome:
        await asyncio.sleep(0)
        return OUTCOMES["text"]

    async def main() -> AgentTool:
        (defined,) = anthropic.tools([Tool({"name": "t"})]).defined
        tool = AgentTool(defined, call, Limits(), asyncio.get_running_loop())
        assert await asyncio.to_thread(tool.execute_sync, {}) == "one\ntwo"
        with pytest.raises(UsageError, match="await execute instead"):
            tool.execute_sync({})
        return tool

    tool = asyncio.run(main())
    with pytest.raises(UsageError, match=r"use mcpclient\.sync"):
        tool.execute_sync({})


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (OUTCOMES["an error"], "Tool error: disk full"),
        (ConnectionLost("gone"), "Tool error: gone"),
        (KeyError("secret"), "Tool error: KeyError"),
    ],
)
def test_what_goes_wrong_is_text(outcome: Outcome, said: str) -> None:
    """F-TOOL-2."""
    assert executed(outcome)[0] == said


@pytest.mark.parametrize(
    ("structured", "said"),
    [
        ({"n": 1}, '{"n": 1}'),
        ({"n": "x"}, "Tool error: the result does not fit its schema: at /n: "),
    ],
)
def test_output_is_validated_on_request(structured: object, said: str) -> None:
    """F-TOOL-2."""
    result = CallToolResult({"content": [], "structuredContent": structured})
    assert executed(result, validate_output=True)[0].startswith(said)
    assert not executed(result)[0].startswith("Tool error")


@pytest.mark.parametrize(
    ("schema", "said"),
    [(None, "[no output]"), ({"type": 5}, "Tool error: the result does not fit its schema: ")],
)
def test_schemas_that_say_nothing(schema: object, said: str) -> None:
    """F-TOOL-2."""
    tool, _ = answering(CallToolResult({"content": []}), outputSchema=schema)
    assert str(asyncio.run(tool.execute({}, validate_output=True))).startswith(said)
