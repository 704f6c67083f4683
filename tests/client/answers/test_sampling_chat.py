"""Sampling in the words of chat completions."""

from __future__ import annotations

from typing import Any

import pytest

from mcpclient.client.answers.sampling import answer_from_chat, chat_messages, chat_options
from mcpclient.protocol.sampling import SamplingRequest, result_of


def messages_of(*messages: dict[str, Any], **params: Any) -> list[dict[str, Any]]:
    return chat_messages(SamplingRequest({"messages": list(messages), **params}))


def message(content: object, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": content}


def test_text() -> None:
    """F-API-11: the system prompt comes first, and text is plain text."""
    text = {"type": "text", "text": "hi"}
    assert messages_of(message(text), message([text, text], "assistant"), systemPrompt="S") == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hi\nhi"},
    ]


def test_images_and_sound() -> None:
    """F-API-11."""
    content = [
        {"type": "text", "text": "see"},
        {"type": "image", "data": "AA==", "mimeType": "image/png"},
        {"type": "audio", "data": "AA==", "mimeType": "audio/mpeg"},
        {"type": "hologram"},
    ]
    (only,) = messages_of(message(content))
    assert only.pop("content") == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "mp3"}},
        {"type": "text", "text": "[hologram]"},
    ]
    assert only == {"role": "user"}


def test_tools_and_their_results() -> None:
    """F-API-11: calls belong to the assistant, each result is a message of its tool."""
    use = {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": "\u00e9"}}
    said = {"type": "text", "text": "18"}
    results = [
        {"type": "tool_result", "toolUseId": "c1", "content": [said, {"type": "image"}]},
        {"type": "tool_result", "toolUseId": "c2", "content": [], "structuredContent": {"t": 1}},
        {"type": "tool_result", "toolUseId": "c3", "content": [said], "structuredContent": {}},
        {"type": "tool_result", "toolUseId": "c4", "content": []},
    ]
    assert messages_of(message([said, use], "assistant"), message(results)) == [
        {
            "role": "assistant",
            "content": "18",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "f", "arguments": '{"x": "\u00e9"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "18\n[image]"},
        {"role": "tool", "tool_call_id": "c2", "content": '{"t": 1}'},
        {"role": "tool", "tool_call_id": "c3", "content": "18"},
        {"role": "tool", "tool_call_id": "c4", "content": ""},
    ]
    assert messages_of(message(use, "assistant"))[0]["content"] is None


def test_options() -> None:
    """F-API-11: only what the server asked for, by the names of chat completions."""
    assert chat_options(SamplingRequest({"maxTokens": 5}), "m") == {"model": "m", "max_tokens": 5}
    schema = {"type": "object"}
    request = SamplingRequest(
        {
            "maxTokens": 5,
            "temperature": 0,
            "stopSequences": ["END"],
            "tools": [{"name": "f", "description": "d", "inputSchema": schema}],
            "toolChoice": {"mode": "none"},
        }
    )
    assert chat_options(request, "m") == {
        "model": "m",
        "max_tokens": 5,
        "temperature": 0,
        "stop": ["END"],
        "tools": [
            {
                "type": "function",
                "function": {"name": "f", "description": "d", "parameters": schema},
            }
        ],
        "tool_choice": "none",
    }


def test_text_stays_text() -> None:
    assert answer_from_chat("hi") == "hi"


def test_a_message() -> None:
    """F-API-11: an assistant's message, with the reason it ended."""
    answer = {"role": "assistant", "content": "hi", "tool_calls": None, "finish_reason": "length"}
    assert result_of(answer_from_chat(answer))["stopReason"] == "maxTokens"


def test_a_whole_response() -> None:
    """F-API-11: the first choice counts."""
    call = {"id": "c1", "function": {"name": "f", "arguments": '{"x": 1}'}}
    response = {
        "model": "m-1",
        "choices": [
            {
                "message": {"role": "assistant", "content": "so", "tool_calls": [call]},
                "finish_reason": "tool_calls",
            }
        ],
    }
    assert result_of(answer_from_chat(response)) == {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "so"},
            {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}},
        ],
        "model": "m-1",
        "stopReason": "toolUse",
    }


@pytest.mark.parametrize("arguments", ["", {}])
def test_calls_without_arguments(arguments: object) -> None:
    calls = [{"id": "c", "function": {"name": "f", "arguments": arguments}}]
    result = result_of(answer_from_chat({"content": None, "tool_calls": calls}))
    assert result["content"]["input"] == {}


@pytest.mark.parametrize(
    ("calls", "problem"),
    [
        ("f", "not a list"),
        (["f"], "has no function"),
        ([{"id": "c"}], "has no function"),
        ([{"id": "c", "function": {"name": "f", "arguments": "{"}}], "not JSON"),
        ([{"id": "c", "function": {"name": "f", "arguments": "[]"}}], "has no input"),
        ([{"function": {"name": "f", "arguments": "{}"}}], "has no id"),
    ],
)
def test_tool_calls_that_are_none(calls: object, problem: str) -> None:
    """F-API-11: what a model made up is not passed on."""
    with pytest.raises(ValueError, match=problem):
        result_of(answer_from_chat({"content": "", "tool_calls": calls}))


@pytest.mark.parametrize("choices", [[{}], [], ["x"], "x", {"0": {}}])
def test_a_response_without_a_message(choices: object) -> None:
    with pytest.raises(ValueError, match="neither text"):
        result_of(answer_from_chat({"choices": choices}))


def test_arguments_that_were_read_already() -> None:
    """F-API-11: some models' libraries hand them on as a mapping."""
    call = {"id": "c1", "function": {"name": "f", "arguments": {"x": 1}}}
    answer = result_of(answer_from_chat({"content": None, "tool_calls": [call]}))
    assert answer["content"] == {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}}
