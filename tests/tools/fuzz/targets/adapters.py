"""A tool's schema, a model's response, a tool's result: a line of JSON for each.

Whatever they are, there is a valid definition, and a call has an answer.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from mcpclient.adapters.definitions import ToolCall, ToolDefinitions
from mcpclient.adapters.providers import PROVIDERS
from mcpclient.errors import UsageError
from mcpclient.protocol.schema import NotChecked, SchemaError, SchemaLimits, compile_schema
from mcpclient.protocol.types import CallToolResult, GetPromptResult, Tool

from ..inputs import json_lines_of

LIMITS = SchemaLimits(validation_steps=20_000, pattern_states=2_000, subschemas=2_000)
SCHEMA_OF: dict[str, Any] = {
    "anthropic": lambda made: made[0]["input_schema"],
    "openai_chat": lambda made: made[0]["function"]["parameters"],
    "openai_responses": lambda made: made[0]["parameters"],
    "google": lambda made: made[0]["functionDeclarations"][0]["parametersJsonSchema"],
    "bedrock": lambda made: made[0]["toolSpec"]["inputSchema"]["json"],
}


def target(data: bytes) -> None:
    schema, response, result = json_lines_of(data, 3)
    tool = Tool({"name": "tool", "inputSchema": schema})
    before = repr(schema)
    for provider, adapter in PROVIDERS.items():
        made = adapter.tools([tool], strict=len(data) % 2 == 0)
        check_definition(SCHEMA_OF[provider](made), schema, response, made)
        with suppress(UsageError):
            calls = adapter.calls(response, made)
            answer(adapter, calls or [ToolCall("c", "tool", called_as="tool")], result)
    assert repr(schema) == before


def check_definition(defined: Any, schema: object, value: object, made: ToolDefinitions) -> None:
    compiled = compile_schema(defined)
    is_strict = made.defined[0].strict
    if is_strict or not isinstance(value, dict) or not isinstance(schema, (dict, bool)):
        return
    with suppress(SchemaError, NotChecked):
        original = compile_schema(schema, limits=LIMITS)
        renamed = {old: new for new, old in made.bindings["tool"].properties.items()}
        sent = {renamed.get(name, name): item for name, item in value.items()}
        if not original.validate(value):
            assert not compiled.validate(sent), f"lost: {value!r}"


def answer(adapter: Any, calls: list[ToolCall], result: object) -> None:
    outcome = CallToolResult(result if isinstance(result, dict) else {})
    messages = adapter.results([(call, outcome) for call in calls])
    assert messages
    json.dumps(messages, default=lambda value: value.hex(), ensure_ascii=False).encode()
    adapter.messages(GetPromptResult(outcome.raw))
