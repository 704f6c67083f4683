"""OpenAI's Chat Completions API; `test_provider_sdks` has it with the SDK."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.adapters.definitions import ToolCall
from mcpclient.adapters.openai_chat import answer, calls, messages, request, results, tools
from mcpclient.protocol.sampling import SamplingRequest
from tests.adapters.outcomes import OUTCOMES, PDF, PNG, PROMPT, WAV, encoded
from tests.adapters.shapes import tool
from tests.adapters.test_provider_types import SAMPLING

SCHEMA = {"type": "object", "properties": {}}


def test_definitions() -> None:
    """F-TOOL-1."""
    (made,) = tools([tool({}, "web.search", description="d")])
    function = {"name": "web_search", "description": "d", "parameters": SCHEMA}
    assert made == {"type": "function", "function": function}


def test_strict_definitions_where_they_fit() -> None:
    """F-TOOL-1: tool by tool; nulls that strict mode asked for never reach the server."""
    fit = {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}
    made = tools([tool(fit, "fit"), tool({"properties": {"a": {}}}, "odd")], strict=True)
    assert [one["function"].get("strict") for one in made] == [True, None]
    assert [str(problem) for problem in made.problems] == [
        "odd: not strict: at /properties/a: accepts anything"
    ]
    function = {"name": "fit", "arguments": '{"a": "x", "b": null}'}
    (call,) = calls({"tool_calls": [{"id": "c", "function": function}]}, made)
    assert call.arguments == {"a": "x"}


FUNCTION = {"name": "a", "arguments": '{"x": 1}'}
MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "content": "I look.",
    "tool_calls": [{"id": "c", "type": "function", "function": FUNCTION}],
}


@pytest.mark.parametrize(
    "response",
    [MESSAGE, {"choices": [{"message": MESSAGE, "finish_reason": "tool_calls"}], "model": "m"}],
)
def test_calls(response: Any) -> None:
    """F-TOOL-2: of a response, or of a message."""
    assert calls(response) == [ToolCall("c", "a", {"x": 1}, None, "a")]


def test_calls_that_are_hardly_any() -> None:
    """F-TOOL-2: as some endpoints make them; each has an answer."""
    odd = {"role": "assistant", "tool_calls": [{}, "call", {"function": {"name": "a"}}]}
    assert [(call.id, call.problem is None) for call in calls(odd)] == [
        ("", False),
        ("", False),
        ("", True),
    ]
    assert calls({"role": "assistant", "content": "hi", "tool_calls": None}) == []


def test_results() -> None:
    """F-TOOL-3: text in the tool's message, media in one of the user that follows all of them."""
    names = ("an image", "an error", "sound", "an embedded document")
    pairs = [
        (ToolCall(f"c{n}", "t", called_as="t"), OUTCOMES[name]) for n, name in enumerate(names)
    ]
    *answers, following = results(pairs)
    assert answers == [
        {
            "role": "tool",
            "tool_call_id": "c0",
            "content": f"see\n[image, image/png, {len(PNG)} bytes: see the next message]\nabove",
        },
        {"role": "tool", "tool_call_id": "c1", "content": "Tool error: disk full"},
        {
            "role": "tool",
            "tool_call_id": "c2",
            "content": f"[audio, audio/wav, {len(WAV)} bytes: see the next message]",
        },
        {
            "role": "tool",
            "tool_call_id": "c3",
            "content": (
                f"[document file:///a/b.pdf, application/pdf, {len(PDF)} bytes: "
                "see the next message]"
            ),
        },
    ]
    announced = {"type": "text", "text": "From the result of t (call c0):"}
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded(PNG)}"}}
    assert following["role"] == "user"
    assert following["content"][:2] == [announced, image]
    assert following["content"][3] == {
        "type": "input_audio",
        "input_audio": {"data": encoded(WAV), "format": "wav"},
    }
    assert following["content"][5] == {
        "type": "file",
        "file": {"filename": "b.pdf", "file_data": f"data:application/pdf;base64,{encoded(PDF)}"},
    }


def test_prompts() -> None:
    """F-TOOL-4: text is plain text, and a model's image, which the API does not take, is a note."""
    made = messages(PROMPT)
    assert made[0] == {"role": "user", "content": "look"}
    assert made[1]["content"][0]["type"] == "image_url"
    assert made[2] == {"role": "assistant", "content": "a dot"}
    assert made[3]["content"].startswith(f"[image, image/png, {len(PNG)} bytes: ")


def test_what_a_server_asks() -> None:
    """F-API-11."""
    made = request(SAMPLING, "m")
    assert made["messages"][0] == {"role": "system", "content": "Be brief."}
    assert made["messages"][2]["tool_calls"][0]["function"]["name"] == "weather_now"
    assert made["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": "sunny"}
    assert request(SamplingRequest({"messages": []}), "m") == {"model": "m", "messages": []}


def test_no_more_stop_sequences_than_the_api_takes() -> None:
    """F-API-11: four; a fifth would have the whole request refused."""
    many = SamplingRequest({"messages": [], "stopSequences": list("abcde")})
    assert request(many, "m")["stop"] == list("abcd")


def test_what_a_server_is_answered() -> None:
    """F-API-11."""
    asked = SamplingRequest({"messages": [], "tools": [{"name": "a"}]})
    choice = {"message": MESSAGE, "finish_reason": "tool_calls"}
    use = {"type": "tool_use", "id": "c", "name": "a", "input": {"x": 1}}
    assert answer({"choices": [choice], "model": "m"}, asked) == {
        "content": [{"type": "text", "text": "I look."}, use],
        "model": "m",
        "stop_reason": "tool_calls",
    }
    refused = {"choices": [{"message": {"role": "assistant", "content": None, "refusal": "no"}}]}
    assert answer(refused, asked)["content"] == [{"type": "text", "text": "no"}]
