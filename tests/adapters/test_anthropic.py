"""Anthropic's Messages API; `test_provider_sdks` has it with the SDK."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from mcpclient.adapters.anthropic import answer, calls, messages, request, results, tools
from mcpclient.adapters.definitions import ToolCall
from mcpclient.adapters.limits import Limits
from mcpclient.protocol.sampling import SamplingRequest
from mcpclient.protocol.types import CallToolResult
from tests.adapters.outcomes import OUTCOMES, PDF, PNG, PROMPT, encoded
from tests.adapters.shapes import tool
from tests.adapters.test_provider_types import SAMPLING

SCHEMA = {"type": "object", "properties": {}}


def test_definitions() -> None:
    """F-TOOL-1."""
    made = tools([tool({}, "web.search", description="d")])
    assert made == [{"name": "web_search", "description": "d", "input_schema": SCHEMA}]


def test_deferred_definitions_come_with_the_search_tool() -> None:
    """F-TOOL-7."""
    made = tools([tool({}, "a"), tool({}, "b")], defer=lambda one: one.name == "b")
    assert [one["name"] for one in made] == ["tool_search_tool_bm25", "a", "b"]
    assert [one.get("defer_loading") for one in made] == [None, None, True]


RESPONSE: dict[str, Any] = {
    "content": [
        {"type": "thinking", "thinking": "…"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c", "name": "a", "input": {"x": 1}},
        {"type": "server_tool_use", "id": "s", "name": "web", "input": {}},
    ]
}


@pytest.mark.parametrize("response", [RESPONSE, RESPONSE["content"]])
def test_calls(response: Any) -> None:
    """F-TOOL-2: of a message, or of its content; not those the service makes itself."""
    assert calls(response, tools([tool({}, "a")])) == [
        ToolCall("c", "a", {"x": 1}, None, "a", tool({}, "a"))
    ]
    assert calls({"role": "assistant", "content": "text"}) == []


def result(name: str) -> dict[str, Any]:
    (message,) = results([(ToolCall("c", "t"), OUTCOMES[name])])
    assert message["role"] == "user"
    (block,) = message["content"]
    assert (block["type"], block["tool_use_id"]) == ("tool_result", "c")
    return {key: value for key, value in block.items() if key not in ("type", "tool_use_id")}


def test_results() -> None:
    """F-TOOL-3."""
    assert result("text") == {"content": "one\ntwo"}
    assert result("an error") == {"content": "disk full", "is_error": True}
    source = {"type": "base64", "media_type": "image/png", "data": encoded(PNG)}
    image = {"type": "image", "source": source}
    texts = [{"type": "text", "text": text} for text in ("see", "above")]
    assert result("an image") == {"content": [texts[0], image, texts[1]]}
    (document,) = result("an embedded document")["content"]
    assert document["type"] == "document"
    assert base64.b64decode(document["source"]["data"]) == PDF
    assert results([]) == []


def test_an_image_is_as_large_as_the_service_takes_it() -> None:
    """F-TOOL-3: 5,242,880 characters of Base64, whatever the caller allows beyond that."""
    largest = 5_242_880 // 4 * 3
    sizes = {}
    for more in (0, 1):
        data = encoded(PNG + bytes(largest - len(PNG) + more))
        outcome = CallToolResult(
            {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}
        )
        (message,) = results([(ToolCall("c", "t"), outcome)], Limits(max_image_bytes=10**9))
        sizes[more] = message["content"][0]["content"]
    assert len(sizes[0][0]["source"]["data"]) == 5_242_880
    assert "larger than" in str(sizes[1])


@pytest.mark.parametrize(("name", "longest"), [("t", 128), ("p", 64)])
def test_names_are_as_long_as_the_service_takes_them(name: str, longest: int) -> None:
    """F-TOOL-1: of tools and of properties; one that is too long fails the whole request."""
    for length in (longest, longest + 1):
        long = name * length
        properties: dict[str, Any] = {long if name == "p" else "p": {}}
        (made,) = tools([tool({"properties": properties}, long if name == "t" else "t")])
        found = made["name"] if name == "t" else next(iter(made["input_schema"]["properties"]))
        assert len(found) == longest
        assert (found == long) == (length == longest)


def test_two_answers_to_one_id_are_one() -> None:
    """F-TOOL-2: the service refuses two results of one call."""
    call = ToolCall("c", "t")
    pairs = [
        (call, OUTCOMES["text"]),
        (ToolCall("d", "t"), OUTCOMES["nothing"]),
        (call, OUTCOMES["an error"]),
    ]
    (message,) = results(pairs)
    assert [block["tool_use_id"] for block in message["content"]] == ["c", "d"]
    assert message["content"][0]["content"] == [
        {"type": "text", "text": "one\ntwo"},
        {"type": "text", "text": "disk full"},
    ]


def test_prompts() -> None:
    """F-TOOL-4: a model's image, which the API does not take, is a note."""
    made = messages(PROMPT)
    assert made[0] == {"role": "user", "content": [{"type": "text", "text": "look"}]}
    assert made[1]["content"][0]["type"] == "image"
    assert made[2]["role"] == made[3]["role"] == "assistant"
    assert made[3]["content"][0]["text"].startswith(f"[image, image/png, {len(PNG)} bytes: ")


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


def test_what_a_server_is_answered() -> None:
    """F-API-11: text and calls in their order; thoughts stay here."""
    asked = SamplingRequest({"messages": [], "tools": [{"name": "a"}]})
    made = answer({**RESPONSE, "model": "m", "stop_reason": "tool_use"}, asked)
    assert made == {
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c", "name": "a", "input": {"x": 1}},
        ],
        "model": "m",
        "stop_reason": "tool_use",
    }
