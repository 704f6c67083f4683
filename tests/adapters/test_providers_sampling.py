"""Models of the providers that answer what servers ask."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcpclient.adapters.providers import sampling_model
from mcpclient.client.answers.answerers import SamplingAnswerer
from mcpclient.errors import HandlerFailed
from tests.adapters.model_apis import APIS

PARAMS = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}],
    "maxTokens": 100,
}
LOOK = {"name": "look.up", "inputSchema": {"type": "object", "properties": {"a b": {}}}}
# What the property is called for those APIs that would not take it.


def answered(provider: str, turn: Any, params: dict[str, Any], **options: Any) -> dict[str, Any]:
    """The response to the server for this turn of the model."""
    api = APIS[provider]([])

    def create(**request: Any) -> Any:
        calls = [] if isinstance(turn, str) else api.numbered(turn)
        return api.whole(turn if isinstance(turn, str) else "", calls)

    option = sampling_model(provider, "model-0", create, **options)
    return asyncio.run(SamplingAnswerer(option).answer(params, "server"))


@pytest.mark.parametrize("provider", APIS)
def test_text(provider: str) -> None:
    """F-API-11: text, the model that said it, and why it stopped."""
    assert answered(provider, "hello", PARAMS) == {
        "role": "assistant",
        "content": {"type": "text", "text": "hello"},
        "model": "model-0" if provider == "bedrock" else "model-1",
        "stopReason": "endTurn",
    }


@pytest.mark.parametrize("provider", APIS)
def test_a_call_that_makes_no_sense(provider: str) -> None:
    """F-API-11: the server gets an error, and the connection goes on."""
    with pytest.raises(HandlerFailed, match="is invalid: there is no tool 'nope'"):
        answered(provider, [("nope", {})], {**PARAMS, "tools": [LOOK]})


@pytest.mark.parametrize(
    ("provider", "response"),
    [
        ("anthropic", {"content": [{"type": "text", "text": "a"}], "stop_reason": "max_tokens"}),
        ("openai_chat", {"choices": [{"message": {"content": "a"}, "finish_reason": "length"}]}),
        (
            "openai_responses",
            {
                "status": "incomplete",
                "output": [{"type": "message", "content": [{"type": "output_text", "text": "a"}]}],
            },
        ),
        (
            "google",
            {"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "MAX_TOKENS"}]},
        ),
        (
            "bedrock",
            {"output": {"message": {"content": [{"text": "a"}]}}, "stopReason": "max_tokens"},
        ),
    ],
)
def test_why_it_stopped(provider: str, response: dict[str, Any]) -> None:
    """F-API-11: an answer that was cut off is reported in the protocol's word."""
    option = sampling_model(provider, "m", lambda **request: response)
    result = asyncio.run(SamplingAnswerer(option).answer(PARAMS, "server"))
    assert (result["stopReason"], result["content"]["text"]) == ("maxTokens", "a")
