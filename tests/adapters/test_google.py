"""Google's Gemini API; `test_provider_sdks` has it with the SDK."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.adapters.definitions import ToolCall
from mcpclient.adapters.google import answer, calls, request, results
from mcpclient.protocol.sampling import SamplingRequest
from tests.adapters.outcomes import OUTCOMES, PNG, encoded

PARTS: list[dict[str, Any]] = [
    {"text": "hm", "thought": True},
    {"text": "I look."},
    {"functionCall": {"name": "a", "args": {"x": 1}}, "thoughtSignature": b"sig"},
    {"function_call": {"id": "c", "name": "a", "args": None}},
]
IMAGE = {"inlineData": {"mimeType": "image/png", "data": encoded(PNG)}}


@pytest.mark.parametrize(
    "response",
    [
        {"candidates": [{"content": {"role": "model", "parts": PARTS}}]},
        {"role": "model", "parts": PARTS},
        PARTS,
    ],
)
def test_calls(response: Any) -> None:
    """F-TOOL-2: of a response, a content, or its parts; with and without ids."""
    assert calls(response) == [
        ToolCall("", "a", {"x": 1}, None, "a"),
        ToolCall("c", "a", {}, None, "a"),
    ]


@pytest.mark.parametrize(
    "response", [{"candidates": []}, {"candidates": None}, {"candidates": [{}]}, {"role": "model"}]
)
def test_a_response_that_was_blocked_has_no_calls(response: Any) -> None:
    """F-TOOL-2."""
    assert calls(response) == []


def response_to(name: str, identity: str = "c") -> dict[str, Any]:
    call = ToolCall(identity, "web.search", called_as="web_search")
    (content,) = results([(call, OUTCOMES[name])])
    assert content["role"] == "user"
    (part,) = content["parts"]
    response: dict[str, Any] = part["functionResponse"]
    assert response.pop("name") == "web_search"
    return response


def test_results() -> None:
    """F-TOOL-3: text as text, since some JSON inside would be refused."""
    assert response_to("text") == {"id": "c", "response": {"output": "one\ntwo"}}
    assert response_to("text", "") == {"response": {"output": "one\ntwo"}}
    assert response_to("an error") == {"id": "c", "response": {"error": "disk full"}}
    assert response_to("structured")["response"] == {"output": '{"$ref": "#/a", "n": [1, null]}'}
    assert response_to("an image") == {
        "id": "c",
        "response": {"output": "see\nabove"},
        "parts": [IMAGE],
    }
    assert response_to("sound")["response"] == {"output": "See the attached parts."}
    assert "image/gif" in response_to("only an image")["response"]["output"]
    assert results([]) == []


def test_what_a_server_is_answered() -> None:
    """F-API-11: with ids, which MCP needs, and signatures, which the API wants back."""
    asked = SamplingRequest({"messages": [], "tools": [{"name": "a"}]})
    candidate = {"content": {"role": "model", "parts": PARTS}, "finishReason": "STOP"}
    made = answer({"candidates": [candidate], "modelVersion": "m"}, asked)
    use = {"type": "tool_use", "name": "a"}
    signed = {"_meta": {"mcpclient/thoughtSignature": "c2ln"}}
    assert made == {
        "content": [
            {"type": "text", "text": "I look."},
            {**use, "id": "call_1", "input": {"x": 1}, **signed},
            {**use, "id": "c", "input": {}},
        ],
        "model": "m",
        "stop_reason": None,
    }
    back = {"role": "assistant", "content": [made["content"][1]]}
    (content,) = request(SamplingRequest({"messages": [back]}), "m")["contents"]
    assert content["parts"][0]["thoughtSignature"] == "c2ln"
