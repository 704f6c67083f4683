"""The model APIs by name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from mcpclient.adapters import google
from mcpclient.adapters.providers import PROVIDERS, provider_of
from mcpclient.errors import UsageError
from tests.adapters.model_apis import APIS
from tests.adapters.shapes import SHAPES, tool
from tests.support.strategies import json_objects


def test_by_name_or_by_itself() -> None:
    """F-TOOL-7: one of your own has the same functions."""
    assert provider_of("google") is google
    assert provider_of(google) is google
    assert set(PROVIDERS) == {"anthropic", "openai_chat", "openai_responses", "google", "bedrock"}


def test_unknown_names() -> None:
    """F-TOOL-7."""
    with pytest.raises(UsageError, match="there are anthropic, openai_chat, openai_responses, goo"):
        provider_of("claude")


@given(json_objects)
def test_arguments_come_through_every_api(arguments: dict[str, Any]) -> None:
    """F-TOOL-2: by the model as it answers, to what the server is sent."""
    for name, provider in PROVIDERS.items():
        tools = provider.tools([tool({}, "web.search")])
        response = APIS[name]([]).whole("", [("c", "web_search", arguments)])
        (call,) = provider.calls(response, tools)
        assert (call.name, call.arguments, call.problem) == ("web.search", arguments, None)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_arguments_of_every_shape_come_through(provider: str, shape: str) -> None:
    """F-TOOL-1, F-TOOL-2: under the names the API takes, and back to the server's."""
    schema, values = SHAPES[shape]
    tools = PROVIDERS[provider].tools([tool(schema)])
    renamed = {old: new for new, old in tools.bindings["t"].properties.items()}
    for value in values:
        sent = {renamed.get(name, name): item for name, item in value.items()}
        response = APIS[provider]([]).whole("", [("c", "t", sent)])
        (call,) = PROVIDERS[provider].calls(response, tools)
        assert call.arguments == value
