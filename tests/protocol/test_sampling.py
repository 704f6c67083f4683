"""A server's requests to a language model, and the answers that it may get.

It proves F-API-10, F-API-11.
"""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.errors import ProtocolViolation
from mcpclient.protocol.sampling import SamplingRequest, check_request, result_of
from mcpclient.protocol.types import ToolResultContent, ToolUseContent
from tests.support.tables import each_row

TOOL_USE = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Paris"}}
TOOL_RESULT = {
    "type": "tool_result",
    "toolUseId": "c1",
    "content": [{"type": "text", "text": "18 degrees"}],
}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content[0] if len(content) == 1 else list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {**user(*content), "role": "assistant"}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def test_everything_a_request_can_hold() -> None:
    """F-API-10: both shapes of content, preferences, tools."""
    request = SamplingRequest(
        {
            "messages": [user(text("hi")), assistant(TOOL_USE), user(TOOL_RESULT, TOOL_RESULT)],
            "systemPrompt": "Be brief.",
            "maxTokens": 100.0,
            "temperature": 0.5,
            "stopSequences": ["END", 3],
            "includeContext": "thisServer",
            "metadata": {"a": 1},
            "modelPreferences": {"hints": [{"name": "big"}, {}, 5], "costPriority": 0.3},
            "tools": [{"name": "weather", "inputSchema": {"type": "object"}}],
            "toolChoice": {"mode": "required"},
        },
        "a server",
    )
    assert request.server == "a server"
    assert [message.role for message in request.messages] == ["user", "assistant", "user"]
    assert request.messages[0].text == "hi"
    assert isinstance(request.messages[1].content[0], ToolUseContent)
    assert request.messages[1].content[0].input == {"city": "Paris"}
    results = request.messages[2].content
    assert isinstance(results[1], ToolResultContent) and results[1].text == "18 degrees"
    assert (request.system_prompt, request.max_tokens) == ("Be brief.", 100)
    assert (request.temperature, request.stop_sequences) == (0.5, ["END"])
    assert (request.include_context, request.metadata) == ("thisServer", {"a": 1})
    assert request.model_hints == ["big"]
    assert request.model_preferences["costPriority"] == 0.3
    assert [tool.name for tool in request.tools] == ["weather"]
    assert request.tool_choice == "required"


@each_row(
    ("messages", "reason"),
    [
        (None, "without messages"),
        ([{"role": "system", "content": text("x")}], "without messages"),
        ("hello", "without messages"),
        (["hello"], "without messages"),
        ([{"role": "user"}], "without messages"),
        ([{"role": "user", "content": "hello"}], "without messages"),
        ([{"role": "user", "content": [text("x"), 7]}], "without messages"),
        ([assistant(TOOL_USE), user(TOOL_RESULT, text("x"))], "mixed with other content"),
        ([user(TOOL_USE), user(TOOL_RESULT)], "wrong role, user"),
        ([assistant(TOOL_RESULT)], "wrong role, assistant"),
        ([assistant(TOOL_USE), user(text("x"))], "tool result missing"),
        ([assistant(TOOL_USE)], "tool result missing"),
        ([assistant(TOOL_USE, {**TOOL_USE, "id": "c2"}), user(TOOL_RESULT)], "missing"),
    ],
)
def test_messages_that_break_the_rules(messages: object, reason: str) -> None:
    """F-API-10: "Message Content Constraints"."""
    with pytest.raises(ProtocolViolation, match=reason):
        check_request(SamplingRequest({"messages": messages}), tools=True)


def test_tools_need_to_be_declared() -> None:
    """F-API-10: 2025-11-25, ``CreateMessageRequestParams.tools``."""
    check_request(SamplingRequest({"messages": [user(text("hi"))]}), tools=False)
    messages = [assistant(TOOL_USE), user(TOOL_RESULT), assistant(text("18"))]
    both: list[dict[str, Any]] = [{"tools": []}, {"toolChoice": {"mode": "none"}}]
    for params in both:
        request = SamplingRequest({"messages": messages, **params})
        check_request(request, tools=True)
        with pytest.raises(ProtocolViolation, match="was not declared"):
            check_request(request, tools=False)


@each_row(
    ("answer", "problem"),
    [
        (7, "neither text nor a mapping but int"),
        ({}, "neither text, a block"),
        ({"content": []}, "no content"),
        ({"content": [7]}, "neither text, a block"),
        ({"content": {"type": "video"}}, "no content of type 'video'"),
        ({"content": {"type": ["text"]}}, "no content of type"),
        ({"content": {"type": "text"}}, "its text content has no text"),
        ({"content": {"type": "image", "data": b"", "mimeType": "x"}}, "has no data"),
        ({"content": {"type": "image", "data": "AA=="}}, "its image content has no mimeType"),
        ({"content": {"type": "audio", "mimeType": "audio/x"}}, "its audio content has no data"),
        ({"content": {"type": "audio", "data": "AA=="}}, "its audio content has no mimeType"),
        ({"content": {**TOOL_USE, "id": 1}}, "its tool_use content has no id"),
        ({"content": {**TOOL_USE, "name": None}}, "its tool_use content has no name"),
        ({"content": {"type": "tool_result", "content": []}}, "has no toolUseId"),
        ({"content": {**TOOL_USE, "input": "{}"}}, "has no input"),
        ({"content": "x", "role": None}, "its role is not text"),
        ({"content": "x", "model": 5}, "its model is not text"),
        ({"content": "x", "stopReason": 5}, "its stopReason is not text"),
    ],
)
def test_answers_of_the_wrong_shape(answer: object, problem: str) -> None:
    """F-API-10: what the protocol has no place for is never sent."""
    with pytest.raises(ValueError, match=problem):
        result_of(answer)


@each_row(
    ("sent", "read"),
    [(7, 7), (7.9, 7), (float("nan"), None), (float("inf"), None), (True, None), ("7", None)],
)
def test_how_many_tokens(sent: object, read: int | None) -> None:
    """F-API-10"""
    assert SamplingRequest({"maxTokens": sent}).max_tokens == read


def test_content_of_several_blocks() -> None:
    """F-API-10: using tools is a reason to stop; an empty model is unknown."""
    given = {"content": [text("x"), TOOL_USE], "_meta": {"a": 1}, "model": "", "extra": 1}
    result = result_of(given)
    assert result["content"] == [text("x"), TOOL_USE]
    assert (result["stopReason"], result["_meta"]) == ("toolUse", {"a": 1})
    assert result["model"] == "unknown" and "extra" not in result
