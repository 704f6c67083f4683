"""Sampling by a function or by a model, in both eras."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from mcpclient import SamplingModel
from mcpclient.client.answers.answerers import SamplingAnswerer, SamplingOption
from mcpclient.errors import HandlerFailed, UsageError

pytestmark = pytest.mark.virtual_time

ASKED = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "6 x 7?"}}],
    "systemPrompt": "Be brief.",
    "maxTokens": 10,
}
ANSWERED = {
    "role": "assistant",
    "content": {"type": "text", "text": "42"},
    "model": "unknown",
    "stopReason": "endTurn",
}


def answer(option: SamplingOption, params: Mapping[str, Any] = ASKED) -> dict[str, Any]:
    return asyncio.run(SamplingAnswerer(option).answer(params, "server"))


@pytest.mark.parametrize(
    "completed",
    [
        "42",
        {"content": "42"},
        {"content": "42", "model": None, "finish_reason": "stop"},
        {"choices": [{"message": {"content": "42"}, "finish_reason": "stop"}]},
        SimpleNamespace(model_dump=lambda **options: {"choices": [{"message": {"content": "42"}}]}),
    ],
)
def test_a_model(completed: object) -> None:
    """F-API-11: any function of chat messages and options will do."""
    calls: list[tuple[Any, Any]] = []

    def complete(messages: list[dict[str, Any]], options: dict[str, Any]) -> object:
        calls.append((messages, options))
        return completed

    assert answer({"model": "m", "complete": complete}) == {**ANSWERED, "model": "m"}
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "6 x 7?"}]
    assert calls == [(messages, {"model": "m", "max_tokens": 10})]


@pytest.mark.parametrize("option", [lambda _: None, {"model": "m", "complete": lambda *_: None}])
def test_the_user_may_say_no(option: SamplingOption) -> None:
    """F-API-10: None rejects the request, with the code the specification has for it."""
    with pytest.raises(HandlerFailed) as caught:
        answer(option)
    assert (caught.value.code, caught.value.reason) == (-1, "User rejected sampling request")


@pytest.mark.parametrize(
    "option",
    [
        lambda request: 42,
        lambda request: {"content": None},
        {"model": "m", "complete": lambda *_: 42},
        {"model": "m", "complete": lambda *_: {"content": "", "tool_calls": [1]}},
    ],
)
def test_answers_of_the_wrong_shape(option: SamplingOption) -> None:
    """F-API-10: an error for the server, and nothing else."""
    with pytest.raises(HandlerFailed, match="invalid sampling result"):
        answer(option)


@pytest.mark.parametrize(
    "option", ["gpt", 7, {"model": "m"}, {"model": "m", "complete": 1, "x": 2}]
)
def test_options_that_are_none(option: Any) -> None:
    """F-API-11"""
    with pytest.raises(UsageError, match="sampling"):
        SamplingAnswerer(option)


F = {"name": "f", "description": "d", "inputSchema": {"type": "object"}}


def asked(answer: object, **params: Any) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    """The messages and the options that a model gets, and the response to the server."""
    seen: list[Any] = []

    def complete(messages: list[dict[str, Any]], options: dict[str, Any]) -> object:
        seen.extend((messages, options))
        return answer

    answerer = SamplingAnswerer(SamplingModel("m", complete, tools=True))
    result = asyncio.run(answerer.answer({"messages": [], "maxTokens": 5, **params}, "server"))
    return seen[0], seen[1], result


def messages_of(*messages: dict[str, Any], **params: Any) -> list[dict[str, Any]]:
    return asked("x", messages=list(messages), **params)[0]


def message(content: object, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": content}


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
