"""OpenAI's Responses API; `test_provider_sdks` has it with the SDK."""

from __future__ import annotations

from typing import Any

from mcpclient.adapters.definitions import ToolCall
from mcpclient.adapters.openai_responses import messages, request, results, tools
from mcpclient.protocol.sampling import SamplingRequest
from tests.adapters.outcomes import OUTCOMES, PNG, PROMPT, encoded
from tests.adapters.shapes import tool
from tests.adapters.test_provider_types import SAMPLING

SCHEMA = {"type": "object", "properties": {}}
IMAGE = {
    "type": "input_image",
    "image_url": f"data:image/png;base64,{encoded(PNG)}",
    "detail": "auto",
}


def test_definitions() -> None:
    """F-TOOL-1: strict is always said, since leaving it out means yes."""
    (made,) = tools([tool({}, "web.search", description="d")])
    assert made == {
        "type": "function",
        "name": "web_search",
        "description": "d",
        "parameters": SCHEMA,
        "strict": False,
    }
    (strict,) = tools([tool({})], strict=True)
    assert strict["strict"] is True
    assert strict["parameters"] == {**SCHEMA, "required": [], "additionalProperties": False}


def output(name: str) -> Any:
    (item,) = results([(ToolCall("c", "t"), OUTCOMES[name])])
    assert (item["type"], item["call_id"]) == ("function_call_output", "c")
    return item["output"]


def test_prompts() -> None:
    """F-TOOL-4."""
    made = messages(PROMPT)
    assert made[0] == {"role": "user", "content": [{"type": "input_text", "text": "look"}]}
    assert made[1] == {"role": "user", "content": [IMAGE]}
    assert made[2] == {"role": "assistant", "content": "a dot"}


def test_what_a_server_asks() -> None:
    """F-API-11."""
    made = request(SAMPLING, "m")
    assert made["instructions"] == "Be brief."
    assert made["input"][1:] == [
        {"role": "assistant", "content": "I look."},
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "weather_now",
            "arguments": '{"city": "Rome"}',
        },
        {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
    ]
    assert request(SamplingRequest({"messages": []}), "m") == {"model": "m", "input": []}
