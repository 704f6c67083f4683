"""Sampling by a function or by a model, in both eras."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from mcpclient import Sampling, SamplingModel, SamplingRequest
from mcpclient.client.answers.answerers import SamplingAnswerer, SamplingOption
from mcpclient.errors import HandlerFailed, ProtocolViolation, UsageError
from tests.client.scripted_server import HANDSHAKE, STATELESS, ScriptedServer

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


def test_a_function() -> None:
    """F-API-10, F-API-11: it takes the request and returns text, or a mapping."""
    requests: list[SamplingRequest] = []

    async def asked(request: SamplingRequest) -> str:
        requests.append(request)
        return "42"

    assert answer(asked) == ANSWERED
    assert (requests[0].server, requests[0].max_tokens) == ("server", 10)
    named = answer(lambda request: {"content": "42", "model": "m", "stopReason": "length"})
    assert (named["model"], named["stopReason"]) == ("m", "maxTokens")


def test_what_is_declared() -> None:
    """F-API-10: the parts of sampling that are supported, and no others."""

    def handler(request: SamplingRequest) -> str:
        return ""

    def settings(option: SamplingOption) -> dict[str, Any]:
        return SamplingAnswerer(option).settings

    assert settings(handler) == {}
    assert settings(Sampling(handler, tools=True, context=True)) == {"tools": {}, "context": {}}
    assert settings(SamplingModel("m", lambda messages, options: "", tools=True)) == {"tools": {}}
    assert settings({"model": "m", "complete": print}) == {}


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


def test_a_model_that_uses_tools() -> None:
    """F-API-10, F-API-11: the tools of the request go out, the model's calls come back."""

    async def complete(messages: list[dict[str, Any]], options: dict[str, Any]) -> object:
        name = options["tools"][0]["function"]["name"]
        call = {"id": "c1", "function": {"name": name, "arguments": '{"x": 1}'}}
        return {"content": None, "tool_calls": [call], "finish_reason": "tool_calls"}

    tools = {"tools": [{"name": "add", "inputSchema": {}}], "toolChoice": {"mode": "required"}}
    result = answer(SamplingModel("m", complete, tools=True), {**ASKED, **tools})
    use = {"type": "tool_use", "id": "c1", "name": "add", "input": {"x": 1}}
    assert (result["content"], result["stopReason"]) == (use, "toolUse")
    with pytest.raises(ProtocolViolation, match="not declared"):
        answer(SamplingModel("m", complete), {**ASKED, **tools})


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


async def test_the_server_asks_by_itself() -> None:
    """F-API-10: a request of the server's in the handshake era; the handler may use the client."""
    server = ScriptedServer({"tools/list": {"tools": []}}, version=HANDSHAKE)

    async def handler(request: SamplingRequest) -> str:
        assert await client.list_tools() == []
        return "42"

    async with server.client(sampling=Sampling(handler, tools=True)) as client:
        declared = server.sent("initialize")[0]["capabilities"]
        assert declared == {"sampling": {"tools": {}}}
        reply = await server.ask("a1", "sampling/createMessage", **ASKED)
        assert reply == {"jsonrpc": "2.0", "id": "a1", "result": ANSWERED}


async def test_the_server_asks_within_a_call() -> None:
    """F-API-10, F-API-12: the same handler serves an input request of the stateless era."""

    def call(params: Mapping[str, Any]) -> dict[str, Any]:
        if "inputResponses" in params:
            return {"content": [], "structuredContent": params["inputResponses"]["s"]}
        request = {"method": "sampling/createMessage", "params": ASKED}
        return {"resultType": "input_required", "inputRequests": {"s": request}}

    server = ScriptedServer({"tools/call": call}, version=STATELESS)
    async with server.client(sampling=lambda request: "42") as client:
        assert (await client.call_tool("ask")).structured == ANSWERED


# Sampling in the words of chat completions

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


@pytest.mark.parametrize(("arguments", "given"), [("", {}), ({}, {}), ({"x": 1}, {"x": 1})])
def test_arguments_that_are_none_or_were_read_already(arguments: object, given: object) -> None:
    """F-API-11: some models' libraries hand them on as a mapping."""
    calls = [{"id": "c", "function": {"name": "f", "arguments": arguments}}]
    result = result_of({"content": None, "tool_calls": calls})
    assert result["content"]["input"] == given


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
