"""Sampling by a function or by a model, in both eras."""

from __future__ import annotations

import asyncio
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
