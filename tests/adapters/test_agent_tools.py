"""A tool on its own: definition and execute."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from mcpclient.adapters import anthropic
from mcpclient.adapters.agent_tools import AgentTool
from mcpclient.adapters.definitions import ToolCall
from mcpclient.adapters.limits import Limits
from mcpclient.adapters.parts import Outcome
from mcpclient.errors import UsageError
from mcpclient.protocol.types import CallToolResult, Tool
from tests.adapters.outcomes import OUTCOMES, PNG

OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


Calling = Callable[[ToolCall, Mapping[str, Any]], Awaitable[Outcome]]


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
    ("schema", "said"),
    [(None, "[no output]"), ({"type": 5}, "Tool error: the result does not fit its schema: ")],
)
def test_schemas_that_say_nothing(schema: object, said: str) -> None:
    """F-TOOL-2."""
    tool, _ = answering(CallToolResult({"content": []}), outputSchema=schema)
    assert str(asyncio.run(tool.execute({}, validate_output=True))).startswith(said)
