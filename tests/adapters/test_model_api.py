"""The way through a model API that all of them share."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.adapters.definitions import ToolCall
from mcpclient.adapters.providers import PROVIDERS
from mcpclient.errors import UsageError
from tests.adapters.outcomes import OUTCOMES, PROMPT

# By the provider: how an error calls its API, and how a response without it looks.
NO_RESPONSES: dict[str, tuple[str, list[Any]]] = {
    "anthropic": ("Anthropic's Messages API", [{"content": 5}, {"choices": []}]),
    "openai_chat": (
        "OpenAI's Chat Completions API",
        [
            {"choices": []},
            {"choices": [{}]},
            {"choices": {"a": 1}},
            {"output": []},
            [],
            {"role": "a", "tool_calls": 5},
        ],
    ),
    "openai_responses": ("OpenAI's Responses API", [{"output": "text"}, {"content": []}]),
    "google": ("Google's Gemini API", [{"parts": 5}]),
    "bedrock": ("Bedrock's Converse API", [{"output": {}}, {"content": "x"}, {"output": []}]),
}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_object_that_is_not_a_response(provider: str) -> None:
    """F-TOOL-2: the error names the API, the missing part, and the value given."""
    name, others = NO_RESPONSES[provider]
    for response in (None, {}, "text", 5, *others):
        kind = type(response).__name__
        said = rf"^not a response of {name}: it has no [\w ]+ \(it is a {kind}\)$"
        with pytest.raises(UsageError, match=said):
            PROVIDERS[provider].calls(response)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_call_has_a_result_and_every_message_a_place(provider: str) -> None:
    """F-TOOL-3, F-TOOL-4."""
    pairs = [(ToolCall(f"c{n}", "t"), outcome) for n, outcome in enumerate(OUTCOMES.values())]
    told = str(PROVIDERS[provider].results(pairs))
    assert all(repr(call.id) in told for call, _ in pairs)
    assert "look" in str(PROVIDERS[provider].messages(PROMPT)[0])
