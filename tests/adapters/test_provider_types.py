"""The adapters' output, checked by the request types and validators of the providers' own SDKs.

These need ``anthropic``, ``openai``, ``google-genai`` and ``botocore``, and are skipped without.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any, Callable

import pytest

from mcpclient.adapters.providers import PROVIDERS
from mcpclient.protocol.sampling import SamplingRequest
from tests.adapters.outcomes import PROMPT, pairs
from tests.adapters.shapes import SHAPES, tool
from tests.support.requirements import required

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

Validate = Callable[[list[Any], list[Any]], None]
"""Takes definitions and messages, and raises for what the SDK's types do not allow."""


def adapter_of(kind: object) -> Any:
    return required("pydantic").TypeAdapter(kind)


def whole(adapter: Any, values: Iterable[object]) -> None:
    """Validate values; the types look through generators and lists alike."""
    for value in values:
        json.dumps(
            adapter.dump_python(adapter.validate_python(value), warnings=False), default=list
        )


# The types of definitions and of messages, by the module that has them.
TYPES = {
    "anthropic": ("anthropic.types", "ToolUnionParam", "MessageParam"),
    "openai_chat": (
        *("openai.types.chat", "ChatCompletionFunctionToolParam", "ChatCompletionMessageParam"),
    ),
    "openai_responses": ("openai.types.responses", "ToolParam", "ResponseInputItemParam"),
}


@cache
def validator(provider: str) -> Validate:
    if provider not in TYPES:
        return {"google": _google, "bedrock": _bedrock}[provider]()
    module, *names = TYPES[provider]
    adapters = [adapter_of(getattr(required(module), name)) for name in names]

    def validate(definitions: list[Any], conversation: list[Any]) -> None:
        for adapter, values in zip(adapters, (definitions, conversation)):
            whole(adapter, values)

    return validate


def _google() -> Validate:
    types = required("google.genai.types")

    def validate(definitions: list[Any], conversation: list[Any]) -> None:
        for definition in definitions:
            types.Tool.model_validate(definition)
        for content in conversation:
            types.Content.model_validate(content)

    return validate


def _bedrock() -> Validate:
    session = required("botocore.session").get_session()
    checks = required("botocore.validate").ParamValidator()
    model = session.get_service_model("bedrock-runtime")
    shape = model.operation_model("Converse").input_shape

    def validate(definitions: list[Any], conversation: list[Any]) -> None:
        asked: dict[str, Any] = {"modelId": "m", "messages": conversation}
        if definitions:
            asked["toolConfig"] = {"tools": definitions}
        report = checks.validate(asked, shape)
        assert not report.has_errors(), report.generate_report()

    return validate


each_provider = pytest.mark.parametrize("provider", PROVIDERS)


@each_provider
@pytest.mark.parametrize("strict", [False, True])
def test_definitions_have_the_types_of_the_sdk(provider: str, strict: bool) -> None:
    """F-TOOL-1: whatever the schema, with and without strict mode and deferring."""
    tools = [tool(schema, f"{name}!") for name, (schema, _) in SHAPES.items()]
    made = PROVIDERS[provider].tools(tools, strict=strict, defer=lambda one: "union" in one.name)
    validator(provider)(made, [])


@each_provider
def test_answers_have_the_types_of_the_sdk(provider: str) -> None:
    """F-TOOL-2, F-TOOL-3: whatever came of a call."""
    validator(provider)([], PROVIDERS[provider].results(pairs()))


@each_provider
def test_prompts_have_the_types_of_the_sdk(provider: str) -> None:
    """F-TOOL-4."""
    validator(provider)([], PROVIDERS[provider].messages(PROMPT))


CONVERSATION = [
    {"role": "user", "content": [{"type": "text", "text": "weather?"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c1", "name": "weather.now", "input": {"city": "Rome"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "toolUseId": "c1",
                "content": [{"type": "text", "text": "sunny"}],
                "structuredContent": {"sky": "sunny"},
                "isError": False,
            }
        ],
    },
]
SAMPLING = SamplingRequest(
    {
        "messages": CONVERSATION,
        "systemPrompt": "Be brief.",
        "maxTokens": 100,
        "temperature": 0.5,
        "stopSequences": ["END"],
        "tools": [
            {
                "name": "weather.now",
                "description": "Weather",
                "inputSchema": {"properties": {"city": {"type": "string"}}},
            }
        ],
        "toolChoice": {"mode": "required"},
    }
)
CONVERSATION_KEYS = {"openai_responses": "input", "google": "contents"}


@each_provider
def test_what_a_server_asks_of_a_model(provider: str) -> None:
    """F-API-11: the conversation with calls and results, the tools, and the choice among them."""
    made = PROVIDERS[provider].request(SAMPLING, "m")
    config = made.get("config", made)
    tools = made["toolConfig"]["tools"] if provider == "bedrock" else config["tools"]
    validator(provider)(tools, made[CONVERSATION_KEYS.get(provider, "messages")])
    assert "weather.now" not in json.dumps(made)
    assert json.dumps(made).count("weather_now") == (3 if provider == "google" else 2)


WRONG: dict[str, list[Any]] = {
    "anthropic": [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}],
    "openai_chat": [{"role": "tool", "content": [{"type": "image_url"}], "tool_call_id": "c"}],
    "openai_responses": [{"type": "function_call_output", "call_id": "c", "output": {"a": 1}}],
    "google": [{"role": "user", "parts": [{"functionResponse": {"nome": "t"}}]}],
    "bedrock": [{"role": "user", "content": [{"toolResult": {"toolUseId": "c"}}]}],
}


@each_provider
def test_the_validators_do_refuse(provider: str) -> None:
    """F-TOOL-1: the tests above rely on it."""
    with pytest.raises(Exception, match=r"(?s)."):
        validator(provider)([], WRONG[provider])
