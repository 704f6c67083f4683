"""Sampling: the server asks the caller's language model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable, Union

from ...errors import HandlerFailed, UsageError
from ...protocol.sampling import SamplingMessage, SamplingRequest, check_request, result_of
from ...protocol.types import (
    AudioContent,
    Content,
    ImageContent,
    TextContent,
    Tool,
    ToolResultContent,
    ToolUseContent,
)
from ..events.callbacks import ask

# The error that a server gets when the user refuses, as the specification has it.
_REJECTED = -1
_REJECTION = "User rejected sampling request"

SamplingHandler = Callable[[SamplingRequest], Any]
"""Takes a `SamplingRequest`; plain or async."""

Complete = Callable[[list[dict[str, Any]], dict[str, Any]], Any]
"""Takes chat messages and options; plain or async."""


@dataclass(frozen=True)
class Sampling:
    """A sampling handler, and which optional parts of sampling it supports.

    ``answer`` takes a `SamplingRequest` and returns the text of the answer, or a mapping with
    ``content`` (text, a block as the protocol has it, or a list of blocks), and ``model`` and
    ``stopReason`` where they are known; None when the user rejects the request. ``tools``: it gives
    the model the tools of the request. ``context``: it respects ``include_context`` (deprecated).
    """

    answer: SamplingHandler
    tools: bool = False
    context: bool = False


@dataclass(frozen=True)
class SamplingModel:
    """A language model that answers sampling: its name, and a function that calls it.

    ``complete(messages, options)``, plain or async, takes the conversation as chat messages
    (``role`` and ``content``, in the form of chat completions) and, by the names of chat
    completions, what else was asked for (``model``, ``max_tokens``, …). It returns text, an
    assistant's message, or a whole response with ``choices``, each as a dict or as the object that
    an SDK makes of it (with ``model_dump``); None rejects the request.
    A ``finish_reason`` in it is translated: ``stop`` to ``endTurn``, ``length`` to
    ``maxTokens``, ``tool_calls`` to ``toolUse``. ``tools``: it passes tools on to the model.
    """

    model: str
    complete: Complete
    tools: bool = False

    async def answer(self, request: SamplingRequest) -> object:
        """Ask the model."""
        answer = await ask(
            SamplingAnswerer.method,
            self.complete,
            chat_messages(request),
            chat_options(request, self.model),
        )
        try:
            answer = answer_from_chat(answer)
        except ValueError as error:
            raise _unfit(error) from None
        if isinstance(answer, str):
            return {"content": answer, "model": self.model}
        if isinstance(answer, Mapping):
            return {**answer, "model": answer.get("model") or self.model}
        return answer


SamplingOption = Union[SamplingHandler, Sampling, SamplingModel, Mapping[str, Any]]
"""A function, or one of the records; a mapping has the fields of a `SamplingModel`."""


class SamplingAnswerer:
    """Answers ``sampling/createMessage``."""

    method = "sampling/createMessage"
    capability = "sampling"

    def __init__(self, option: SamplingOption) -> None:
        self._sampling = _sampling_of(option)

    @property
    def settings(self) -> dict[str, Any]:
        supported = {"tools": self._sampling.tools, "context": self._sampling.context}
        return {name: {} for name, is_supported in supported.items() if is_supported}

    async def answer(self, params: Mapping[str, Any], server: str) -> dict[str, Any]:
        request = SamplingRequest(params, server)
        check_request(request, tools=self._sampling.tools)
        answer = await ask(self.method, self._sampling.answer, request)
        if answer is None:
            raise HandlerFailed(self.method, _REJECTION, _REJECTED)
        try:
            return result_of(answer)
        except ValueError as error:
            raise _unfit(error) from None


def _sampling_of(option: SamplingOption) -> Sampling:
    if isinstance(option, Mapping):
        try:
            option = SamplingModel(**option)
        except TypeError:
            raise UsageError(
                "sampling as a mapping has model, complete and, where supported, tools"
            ) from None
    if isinstance(option, SamplingModel):
        return Sampling(option.answer, tools=option.tools)
    if isinstance(option, Sampling):
        return option
    if not callable(option):
        raise UsageError(f"sampling is a function, or a model to ask, not {option!r}")
    return Sampling(option)


def _unfit(problem: ValueError) -> HandlerFailed:
    return HandlerFailed(SamplingAnswerer.method, f"invalid sampling result: {problem}")


def chat_messages(request: SamplingRequest) -> list[dict[str, Any]]:
    """Return the conversation as chat messages, the system prompt first."""
    messages: list[dict[str, Any]] = []
    if request.system_prompt:
        messages.append({"role": "system", "content": request.system_prompt})
    for message in request.messages:
        messages += _chat_message(message)
    return messages


def chat_options(request: SamplingRequest, model: str) -> dict[str, Any]:
    """Return the other things that the server asks for, by their names in chat completions."""
    options: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens}
    if request.temperature is not None:
        options["temperature"] = request.temperature
    if request.stop_sequences:
        options["stop"] = request.stop_sequences
    if request.tools:
        options["tools"] = [_chat_tool(tool) for tool in request.tools]
        options["tool_choice"] = request.tool_choice
    return options


def answer_from_chat(answer: object) -> object:
    """Turn the answer of a chat model into what `sampling.result_of` takes.

    ``answer``: text, an assistant's message (with ``tool_calls`` where the model wants tools), or a
    whole response with ``choices``, of which the first counts; also as an object with
    ``model_dump``, as SDKs make it. Raises `ValueError` for malformed tool calls.
    """
    dump = getattr(answer, "model_dump", None)
    if callable(dump):
        answer = dump()
    if not isinstance(answer, Mapping):
        return answer
    message = answer
    choices = answer.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        inner = choices[0].get("message")
        finish = {"finish_reason": choices[0].get("finish_reason"), "model": answer.get("model")}
        message = {**(inner if isinstance(inner, Mapping) else {}), **finish}
    calls = message.get("tool_calls")
    if not calls:
        return {key: value for key, value in message.items() if key != "tool_calls"}
    if not isinstance(calls, list):
        raise ValueError("its tool_calls are not a list")
    text = message.get("content")
    said = [{"type": "text", "text": text}] if isinstance(text, str) and text else []
    return {**message, "content": [*said, *(_tool_use(call) for call in calls)]}


def _chat_message(message: SamplingMessage) -> list[dict[str, Any]]:
    results = [block for block in message.content if isinstance(block, ToolResultContent)]
    if results:
        return [
            {"role": "tool", "tool_call_id": result.tool_use_id, "content": _text_of(result)}
            for result in results
        ]
    calls = [_chat_call(block) for block in message.content if isinstance(block, ToolUseContent)]
    if calls:
        return [{"role": message.role, "content": message.text or None, "tool_calls": calls}]
    if all(isinstance(block, TextContent) for block in message.content):
        return [{"role": message.role, "content": message.text}]
    return [{"role": message.role, "content": [_chat_part(block) for block in message.content]}]


def _chat_part(block: Content) -> dict[str, Any]:
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text}
    if isinstance(block, AudioContent):
        kind = block.mime_type.rpartition("/")[2].replace("mpeg", "mp3").replace("x-wav", "wav")
        audio = {"data": block.raw.get("data", ""), "format": kind}
        return {"type": "input_audio", "input_audio": audio}
    if isinstance(block, ImageContent):
        url = f"data:{block.mime_type};base64,{block.raw.get('data', '')}"
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "text", "text": f"[{block.type}]"}


def _text_of(result: ToolResultContent) -> str:
    """The text of a tool's result; a block that is not text becomes its type in brackets."""
    texts = [
        block.text if isinstance(block, TextContent) else f"[{block.type}]"
        for block in result.content
    ]
    if not texts and result.structured is not None:
        return json.dumps(result.structured, ensure_ascii=False)
    return "\n".join(texts)


def _chat_tool(tool: Tool) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description or "",
        "parameters": tool.input_schema,
    }
    return {"type": "function", "function": function}


def _chat_call(block: ToolUseContent) -> dict[str, Any]:
    function = {"name": block.name, "arguments": json.dumps(block.input, ensure_ascii=False)}
    return {"id": block.id, "type": "function", "function": function}


def _tool_use(call: object) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping):
        raise ValueError("one of its tool_calls has no function")
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise ValueError("the arguments of a tool call are not JSON") from None
    return {
        "type": "tool_use",
        "id": call.get("id"),
        "name": function.get("name"),
        "input": arguments,
    }
