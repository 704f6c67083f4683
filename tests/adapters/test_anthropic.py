"""Anthropic's Messages API; `test_provider_sdks` has it with the SDK."""

from __future__ import annotations

from typing import Any

from mcpclient.adapters.anthropic import request, results, tools
from mcpclient.adapters.definitions import ToolCall
from mcpclient.protocol.sampling import SamplingRequest
from tests.adapters.outcomes import OUTCOMES
from tests.adapters.shapes import tool
from tests.adapters.test_provider_types import SAMPLING


def test_deferred_definitions_come_with_the_search_tool() -> None:
    """F-TOOL-7."""
    made = tools([tool({}, "a"), tool({}, "b")], defer=lambda one: one.name == "b")
    assert [one["name"] for one in made] == ["tool_search_tool_bm25", "a", "b"]
    assert [one.get("defer_loading") for one in made] == [None, None, True]


def result(name: str) -> dict[str, Any]:
    (message,) = results([(ToolCall("c", "t"), OUTCOMES[name])])
    assert message["role"] == "user"
    (block,) = message["content"]
    assert (block["type"], block["tool_use_id"]) == ("tool_result", "c")
    return {key: value for key, value in block.items() if key not in ("type", "tool_use_id")}


def test_what_a_server_asks() -> None:
    """F-API-11."""
    made = request(SAMPLING, "m")
    assert made["tool_choice"] == {"type": "any"}
    assert made["system"] == "Be brief."
    assert made["messages"][1]["content"][1] == {
        "type": "tool_use",
        "id": "c1",
        "name": "weather_now",
        "input": {"city": "Rome"},
    }
    plain = SamplingRequest({"messages": []})
    assert request(plain, "m") == {"model": "m", "max_tokens": 1024, "messages": []}


def test_a_conversation_without_tools_tells_of_calls() -> None:
    """F-API-11: the API refuses calls and results where no tools are declared."""
    made = request(SamplingRequest({**SAMPLING.raw, "tools": []}), "m")
    assert "tools" not in made
    told = [[block["text"] for block in message["content"]] for message in made["messages"][1:]]
    assert told == [
        ["I look.", '[called weather_now with {"city": "Rome"}]'],
        ["[the result of weather_now]", "sunny"],
    ]


def test_what_the_api_does_not_take() -> None:
    """F-API-11: no temperature, no stop at white space, no more than comes unstreamed."""
    asked: dict[str, Any] = {"messages": [], "maxTokens": 64_000, "temperature": 0.5}
    asked["stopSequences"] = ["\n", "END"]
    made = request(SamplingRequest(asked), "m")
    expected = {"model": "m", "max_tokens": 21_333, "messages": [], "stop_sequences": ["END"]}
    assert made == expected
    assert "stop_sequences" not in request(SamplingRequest({**asked, "stopSequences": [" "]}), "m")
