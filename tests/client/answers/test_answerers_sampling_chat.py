"""Sampling in the words of chat completions."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcpclient import SamplingModel
from mcpclient.client.answers.answerers import SamplingAnswerer
from mcpclient.errors import HandlerFailed

F = {"name": "f", "description": "d", "inputSchema": {"type": "object"}}
FUNCTION = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}


def asked(answer: object, **params: Any) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    """The messages and the options that a model gets, and what the server is told."""
    seen: list[Any] = []

    def complete(messages: list[dict[str, Any]], options: dict[str, Any]) -> object:
        seen.extend((messages, options))
        return answer

    answerer = SamplingAnswerer(SamplingModel("m", complete, tools=True))
    result = asyncio.run(answerer.answer({"messages": [], "maxTokens": 5, **params}, "server"))
    return seen[0], seen[1], result


def messages_of(*messages: dict[str, Any], **params: Any) -> list[dict[str, Any]]:
    return asked("x", messages=list(messages), **params)[0]


def result_of(answer: object) -> dict[str, Any]:
    return asked(answer, tools=[F])[2]


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
        {"type": "text", "text": '{"type": "hologram"}'},
    ]
    assert only == {"role": "user"}


def test_tools_and_their_results() -> None:
    """F-API-11: calls belong to the assistant, each result is a message of its tool."""
    ids = ("c1", "c2", "c3", "c4")
    uses = [{"type": "tool_use", "id": each, "name": "f", "input": {"x": "\u00e9"}} for each in ids]
    said = {"type": "text", "text": "18"}
    results = [
        {"type": "tool_result", "toolUseId": "c1", "content": [said, {"type": "image"}]},
        {"type": "tool_result", "toolUseId": "c2", "content": [], "structuredContent": {"t": 1}},
        {"type": "tool_result", "toolUseId": "c3", "content": [said], "structuredContent": {}},
        {"type": "tool_result", "toolUseId": "c4", "content": []},
    ]
    made, *answers = messages_of(message([said, *uses], "assistant"), message(results))
    assert (made["role"], made["content"]) == ("assistant", "18")
    assert made["tool_calls"][0] == {
        "id": "c1",
        "type": "function",
        "function": {"name": "f", "arguments": json.dumps({"x": "\u00e9"})},
    }
    assert [(each["role"], each["tool_call_id"]) for each in answers] == [("tool", i) for i in ids]
    first, *others = [each["content"] for each in answers]
    assert first.startswith("18\n[") and "empty or damaged" in first
    assert others == ['{"t": 1}', "18\n{}", "[no output]"]
    (only, _) = messages_of(message(uses[0], "assistant"), message(results[:1]))
    assert only["content"] is None


def test_options() -> None:
    """F-API-11: only what the server asked for, by the names of chat completions."""
    assert asked("x")[1] == {"model": "m", "max_tokens": 5}
    further = {"stopSequences": ["END"], "tools": [F], "toolChoice": {"mode": "none"}}
    assert asked("x", temperature=0, **further)[1] == {
        "model": "m",
        "max_tokens": 5,
        "temperature": 0,
        "stop": ["END"],
        "tools": [{"type": "function", "function": FUNCTION}],
        "tool_choice": "none",
    }


def test_text_stays_text() -> None:
    """F-API-11"""
    assert result_of("hi")["content"] == {"type": "text", "text": "hi"}


def test_a_message() -> None:
    """F-API-11: an assistant's message, with the reason it ended."""
    answer = {"role": "assistant", "content": "hi", "tool_calls": None, "finish_reason": "length"}
    assert result_of(answer)["stopReason"] == "maxTokens"


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
    assert result_of(response) == {
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
    """F-API-11"""
    calls = [{"id": "c", "function": {"name": "f", "arguments": arguments}}]
    result = result_of({"content": None, "tool_calls": calls})
    assert result["content"]["input"] == {}


@pytest.mark.parametrize(
    ("calls", "problem"),
    [
        ("f", "no list of tool_calls"),
        (["f"], "names no tool"),
        ([{"id": "c"}], "names no tool"),
        ([{"id": "c", "function": {"name": "g"}}], "there is no tool 'g'"),
        ([{"id": "c", "function": {"name": "f", "arguments": "{"}}], "not valid JSON"),
        ([{"id": "c", "function": {"name": "f", "arguments": "[]"}}], "not a JSON object"),
    ],
)
def test_tool_calls_that_are_none(calls: object, problem: str) -> None:
    """F-API-11: what a model made up is not passed on."""
    with pytest.raises(HandlerFailed, match=problem):
        result_of({"content": "", "tool_calls": calls})


@pytest.mark.parametrize("choices", [[{}], [], ["x"], "x", {"0": {}}])
def test_a_response_without_a_message(choices: object) -> None:
    """F-API-11"""
    with pytest.raises(HandlerFailed, match="not a response of"):
        result_of({"choices": choices})


def test_arguments_that_were_read_already() -> None:
    """F-API-11: some models' libraries hand them on as a mapping."""
    call = {"id": "c1", "function": {"name": "f", "arguments": {"x": 1}}}
    answer = result_of({"content": None, "tool_calls": [call]})
    assert answer["content"] == {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}}
